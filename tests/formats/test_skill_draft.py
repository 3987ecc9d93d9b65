"""What others send as a draft of a skill is read field for field, or refused with its spot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.drafts import (
    MODEL_SOURCE,
    PATTERN_SOURCE,
    VALID_PROCEDURAL_KINDS,
    ProceduralDraft,
    draft_to_json,
    draft_to_memory_entry,
)
from reviews.core.extraction import Extracted
from reviews.formats.errors import RecordError
from reviews.formats.skill_draft import DRAFT_BYTES, EPISODES, STEPS, TEXT_CHARS, decode_draft, read_draft

DRAFT: dict[str, Any] = {
    "kind": "preflight",
    "trigger": "before issue_refund",
    "action": "call issue_refund",
    "rationale": "Refunds were reversed.",
    "confidence": 0.8,
    "precondition": ["get_order", "check_fraud"],
    "source_episode_ids": ["run-1", "run-2"],
}
ENTRY: dict[str, Any] = {
    "layer": "procedural",
    "metadata": {
        "label": "Printer",
        "steps": ["restart_printer", "print again"],
        "context": "It jams.",
    },
}


class Scope:
    tenant_id = "acme"


def decode(value: Any) -> Any:
    return decode_draft(json.dumps(value).encode())


def entry(**metadata: Any) -> dict[str, Any]:
    return {**ENTRY, "metadata": {**ENTRY["metadata"], **metadata}}


def refused(value: Any) -> tuple[str, str]:
    with pytest.raises(RecordError) as caught:
        decode(value)
    return caught.value.pointer, caught.value.message


def test_a_procedural_draft_is_read_field_for_field():
    received = decode(DRAFT)
    draft = ProceduralDraft(**DRAFT)
    assert received.extracted == Extracted(
        draft,
        source=MODEL_SOURCE,
        label="Auto-learned (preflight): before issue_refund",
        steps=("call issue_refund",),
        context="Refunds were reversed.",
    )
    assert received.details == {}


def test_only_four_fields_are_required():
    required = {name: DRAFT[name] for name in ("kind", "trigger", "action", "rationale")}
    draft = decode(required).extracted.draft
    assert (draft.confidence, draft.precondition, draft.source_episode_ids) == (0.0, None, [])
    for name in required:
        spot, message = refused({other: text for other, text in required.items() if other != name})
        assert (spot, message[:7]) == (f"/{name}", "missing")


def test_a_patterns_entry_says_what_sets_it_off_by_its_pattern_and_else_by_its_label():
    received = decode(entry(pattern_name="call get_order", pattern_count=4, source_episodic_ids=["e-1"]))
    found, draft = received.extracted, received.extracted.draft
    assert (draft.kind, draft.trigger, draft.action) == ("action", "call get_order", "restart_printer")
    assert (draft.rationale, draft.confidence, draft.source_episode_ids) == ("It jams.", 0.0, ["e-1"])
    assert (found.label, found.source) == ("Printer", PATTERN_SOURCE)
    assert (found.pattern_name, found.pattern_count) == ("call get_order", 4)
    assert found.steps == ("restart_printer", "print again")
    assert decode(ENTRY).extracted.draft.trigger == "Printer"
    assert decode(entry(trigger="it jams", pattern_name="p")).extracted.draft.trigger == "it jams"


def test_an_entry_without_a_label_gets_that_of_a_models_draft():
    found = decode(entry(label=None, trigger="it jams", kind="recovery")).extracted
    assert (found.label, found.source) == ("Auto-learned (recovery): it jams", MODEL_SOURCE)


def test_of_an_entrys_two_names_of_the_episodes_a_models_counts():
    both = entry(source_episode_ids=["a"], source_episodic_ids=["b"])
    assert decode(both).extracted.draft.source_episode_ids == ["a"]


def test_other_metadata_and_what_the_entry_itself_says_are_kept():
    sent = {
        **entry(team={"name": "warehouse", "shifts": [1, 2]}),
        "content": "It jams.\nAction: restart_printer",
        "importance": 7.5,
        "id": "n-1",
        "node_id": None,
        "score": 0.3,
        "created_at": "2026-01-31T12:00:00Z",
        "tenant_id": "of the sender",
    }
    assert decode(sent).details == {
        "team": {"name": "warehouse", "shifts": [1, 2]},
        "content": "It jams.\nAction: restart_printer",
        "importance": 7.5,
    }


def test_metadata_do_not_pass_for_what_the_entry_itself_says():
    assert decode(entry(importance="very", content=["no text"])).details == {}


@pytest.mark.parametrize("importance", [1, 10, 5.5])
def test_symfonics_importance_runs_from_1_to_10(importance):
    assert decode({**ENTRY, "importance": importance}).details == {"importance": importance}


@pytest.mark.parametrize("importance", [0.9, 10.1, -1, 1e300])
def test_an_importance_that_symfonic_could_not_read_is_refused(importance):
    spot, message = refused({**ENTRY, "importance": importance})
    assert spot == "/importance"
    assert message.endswith("expected a number from 1 to 10")


def test_texts_of_the_greatest_length_are_taken_and_longer_ones_are_not():
    most = "x" * TEXT_CHARS
    assert decode({**DRAFT, "trigger": most}).extracted.draft.trigger == most
    for name in ("trigger", "action", "rationale", "precondition"):
        spot, message = refused({**DRAFT, name: most + "x"})
        assert (spot, message) == (f"/{name}", "found 10001 characters, expected at most 10000")
    assert len(decode({**DRAFT, "source_episode_ids": ["e"] * EPISODES}).extracted.draft.source_episode_ids)
    assert len(decode(entry(steps=["s"] * STEPS)).extracted.steps) == STEPS
    assert refused(entry(steps=["s"] * (STEPS + 1)))[0] == "/metadata/steps"
    assert refused({**DRAFT, "precondition": ["p"] * (STEPS + 1)})[0] == "/precondition"


def test_a_draft_of_more_than_a_mebibyte_is_refused():
    room = DRAFT_BYTES - len(json.dumps(entry(notes="")).encode())
    assert len(decode(entry(notes="x" * room)).details["notes"]) == room
    assert refused(entry(notes="x" * (room + 1)))[0] == ""


@pytest.mark.parametrize(
    ("value", "spot"),
    [
        ({**DRAFT, "kind": "habit"}, "/kind"),
        ({**DRAFT, "kind": None}, "/kind"),
        ({**DRAFT, "trigger": "a\0b"}, "/trigger"),
        ({**DRAFT, "action": "half \ud83d"}, "/action"),
        ({**DRAFT, "trigger": " "}, "/trigger"),
        ({**DRAFT, "precondition": ""}, "/precondition"),
        ({**DRAFT, "precondition": ["a", " "]}, "/precondition/1"),
        ({**DRAFT, "source_episode_ids": None}, "/source_episode_ids"),
        ({**DRAFT, "source_episode_ids": ["a", ""]}, "/source_episode_ids/1"),
        ({**DRAFT, "confidence": -0.1}, "/confidence"),
        ({**DRAFT, "confidence": "0.5"}, "/confidence"),
        ({**DRAFT, "importance": 5.0}, "/importance"),
        ({**ENTRY, "kind": "action"}, "/kind"),
        ({**ENTRY, "layer": None}, "/layer"),
        ({**ENTRY, "metadata": []}, "/metadata"),
        ({**ENTRY, "importance": None}, "/importance"),
        ({**ENTRY, "importance": True}, "/importance"),
        ({**ENTRY, "content": "x" * (4 * TEXT_CHARS + 1)}, "/content"),
        (entry(confidence=None), "/metadata/confidence"),
        (entry(confidence=True), "/metadata/confidence"),
        (entry(context=5), "/metadata/context"),
        (entry(rationale=None, context=None), "/metadata/rationale"),
        (entry(kind=None), "/metadata/kind"),
        (entry(precondition=5), "/metadata/precondition"),
        (entry(pattern_count=1.5), "/metadata/pattern_count"),
        (entry(pattern_count=True), "/metadata/pattern_count"),
        (entry(source="x" * 41), "/metadata/source"),
        (entry(source_episodic_ids=[5]), "/metadata/source_episodic_ids/0"),
        (entry(**{"a/b~": "x\0"}), "/metadata/a~1b~0"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_spot(value, spot):
    assert refused(value)[0] == spot


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    str.strip
)
drafts = st.builds(
    ProceduralDraft,
    kind=st.sampled_from(sorted(VALID_PROCEDURAL_KINDS)),
    trigger=texts,
    action=texts,
    rationale=texts,
    confidence=st.floats(0, 1),
    precondition=st.none() | texts | st.lists(texts, min_size=1, max_size=5),
    source_episode_ids=st.lists(texts, max_size=5),
)


@given(drafts)
def test_every_draft_is_read_back_from_both_shapes(draft):
    assert decode(draft_to_json(draft)).extracted.draft == draft
    found = decode(draft_to_memory_entry(draft, Scope()).to_json()).extracted
    assert found.draft == draft
    assert draft_to_memory_entry(found.draft, Scope()).metadata["label"] == found.label


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from([*DRAFT, *ENTRY, *ENTRY["metadata"], "pattern_name", "pattern_count", "source"])


@given(st.sampled_from(["draft", "entry", "metadata"]), st.dictionaries(names, json_values, max_size=4))
def test_whatever_is_sent_is_read_or_refused(shape, changes):
    value = {"draft": DRAFT | changes, "entry": ENTRY | changes, "metadata": entry(**changes)}[shape]
    for read in (read_draft, decode):
        try:
            found = read(value).extracted.draft
        except RecordError:
            continue
        assert found.kind in VALID_PROCEDURAL_KINDS
        assert found.trigger.strip()
        assert found.action.strip()
        assert found.rationale.strip()
        assert 0 <= found.confidence <= 1
