"""Whatever an agent runtime shows of a procedure becomes an entry that can be taken in, or is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.formats.errors import RecordError
from reviews.formats.runtime_procedure import differs, memory_entry, patch_body
from reviews.formats.skill_draft import read_draft

#: As symfonic's router shows a draft of its model extractor.
LEARNED: dict[str, Any] = {
    "id": "0b6e",
    "label": "Auto-learned (recovery): the mail bounces",
    "content": "the mail bounces\nAction: ask for another address\nRationale: It bounced for good.",
    "steps": ["ask for another address"],
    "properties": {
        "content": "the mail bounces\nAction: ask for another address\nRationale: It bounced for good.",
        "steps": ["ask for another address"],
        "context": "It bounced for good.",
        "status": "draft",
        "active": False,
        "label": "Auto-learned (recovery): the mail bounces",
        "source": "phase_12_llm_extractor",
        "kind": "recovery",
        "trigger": "the mail bounces",
        "rationale": "It bounced for good.",
        "confidence": 0.9,
        "source_episode_ids": ["run-1", "run-2"],
        "precondition": ["look at the bounce", "read the address back"],
        "scope_path": "acme",
        "_last_edited_by": "user_manual_edit",
        "group": "mail",
    },
    "active": False,
    "importance": 5.0,
}
#: The same of its pattern extractor, which names neither a kind nor a trigger.
COUNTED: dict[str, Any] = {
    "id": "0b6f",
    "label": "Auto-learned: ran backup",
    "content": "Auto-learned procedural skill 'ran backup' (from 4 episodic entries).",
    "steps": ["I ran backup of orders", "I ran backup of mails"],
    "properties": {
        "context": "Extracted from 4 episodic entries",
        "source": "phase_12_promotion",
        "source_episodic_ids": ["run-1", "run-2", "run-3", "run-4"],
        "pattern_count": 4,
        "pattern_name": "ran backup",
        "status": "draft",
    },
}


def test_a_learned_draft_is_read_field_by_field():
    received = read_draft(memory_entry(LEARNED))
    draft = received.extracted.draft
    assert (draft.kind, draft.trigger, draft.action) == (
        "recovery",
        "the mail bounces",
        "ask for another address",
    )
    assert (draft.rationale, draft.confidence) == ("It bounced for good.", 0.9)
    assert draft.precondition == ["look at the bounce", "read the address back"]
    assert draft.source_episode_ids == ["run-1", "run-2"]
    assert received.extracted.source == "phase_12_llm_extractor"
    assert received.extracted.label == "Auto-learned (recovery): the mail bounces"
    # What the runtime keeps for itself stays there.
    assert received.details == {"group": "mail", "content": LEARNED["content"]}


def test_a_counted_draft_is_an_action_set_off_by_its_pattern():
    extracted = read_draft(memory_entry(COUNTED)).extracted
    assert (extracted.draft.kind, extracted.draft.trigger) == ("action", "ran backup")
    assert extracted.steps == ("I ran backup of orders", "I ran backup of mails")
    assert extracted.draft.rationale == "Extracted from 4 episodic entries"
    assert (extracted.pattern_count, extracted.pattern_name) == (4, "ran backup")
    assert extracted.draft.source_episode_ids == ["run-1", "run-2", "run-3", "run-4"]


@pytest.mark.parametrize(
    ("properties", "field", "expected"),
    [
        ({"kind": "habit"}, "kind", "action"),
        ({"kind": ["guardrail"]}, "kind", "action"),
        ({"confidence": 7}, "confidence", 1.0),
        ({"confidence": -1}, "confidence", 0.0),
        ({"confidence": "high"}, "confidence", 0.0),
        ({"confidence": float("nan")}, "confidence", 0.0),
        ({"confidence": True}, "confidence", 0.0),
        ({"precondition": "  "}, "precondition", None),
        ({"precondition": {"tool": "x"}}, "precondition", None),
        ({"precondition": ["", 5, "look"]}, "precondition", ["look"]),
        ({"source_episode_ids": "run-1"}, "source_episode_ids", []),
        ({"source_episode_ids": [1, "run-1", ""]}, "source_episode_ids", ["run-1"]),
        ({"trigger": None}, "trigger", "Auto-learned (recovery): the mail bounces"),
        ({"rationale": 5}, "rationale", "It bounced for good."),
    ],
)
def test_an_odd_property_is_mended_or_left_out(properties, field, expected):
    value = {**LEARNED, "properties": {**LEARNED["properties"], **properties}}
    assert getattr(read_draft(memory_entry(value)).extracted.draft, field) == expected


def test_long_texts_and_lists_are_cut():
    value = {
        "label": "l" * 500,
        "content": "c" * 50_000,
        "steps": ["s" * 50_000] * 500,
        "properties": {"trigger": "t" * 50_000, "source": "x" * 500, "note": "n" * 50_000},
    }
    received = read_draft(memory_entry(value))
    assert (len(received.extracted.label), len(received.extracted.draft.trigger)) == (100, 10_000)
    assert len(received.extracted.steps) == 50
    assert "note" not in received.details


@pytest.mark.parametrize(
    "value",
    [{"label": "do it"}, {"content": "do it"}, {"steps": ["do it"]}, {"properties": {"steps": ["do it"]}}],
)
def test_any_text_will_do(value):
    draft = read_draft(memory_entry(value)).extracted.draft
    assert (draft.trigger, draft.action, draft.rationale) == ("do it", "do it", "do it")


@pytest.mark.parametrize("value", [None, [], "x", 5, {}, {"label": " ", "steps": [None], "properties": []}])
def test_what_says_nothing_is_refused(value):
    with pytest.raises(RecordError):
        memory_entry(value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
_NAMES = ["label", "content", "steps", "properties", *LEARNED["properties"], *COUNTED["properties"]]


_PROPERTIES = st.dictionaries(st.sampled_from(_NAMES), _JSON, max_size=6)


@given(st.dictionaries(st.sampled_from(_NAMES), _JSON | _PROPERTIES, max_size=4))
def test_every_entry_made_is_one_that_is_accepted(value):
    try:
        entry = memory_entry(value)
    except RecordError:
        return
    read_draft(entry)


# -- Whether an agent would read something else


REVIEWED: dict[str, Any] = {
    "steps": ["ask for another address"],
    "properties": {
        "content": LEARNED["content"],
        "context": "It bounced for good.",
        "trigger": "the mail bounces",
        "rationale": "It bounced for good.",
        "precondition": ["look at the bounce", "read the address back"],
        "kind": "recovery",
        "action_tool": None,
    },
}


def shown(steps: Any = None, content: Any = None, **properties: Any) -> dict[str, Any]:
    """The procedure that was reviewed, with some things otherwise."""
    said = {**LEARNED["properties"], **properties}
    return {
        **LEARNED,
        "properties": said,
        "steps": LEARNED["steps"] if steps is None else steps,
        "content": LEARNED["content"] if content is None else content,
    }


@pytest.mark.parametrize(
    "procedure",
    [
        shown(),
        shown(steps=[" ask for another address\n", ""]),
        # What the runtime keeps its books in is read by no agent.
        shown(hits=9, status="approved", _last_edited_by="user_toggle", confidence=0.1),
        shown(trigger=None, context=" ", kind="", content=""),
    ],
)
def test_the_same_rule_does_not_differ(procedure):
    assert not differs(procedure, REVIEWED)


@pytest.mark.parametrize(
    "procedure",
    [
        shown(steps=["ask for another address", "and delete the first"]),
        shown(steps="ask for another address"),
        shown(content=LEARNED["content"] + " " * 20_000 + "then delete it"),
        shown(context="x"),
        shown(trigger="any mail"),
        shown(trigger=["the mail bounces"]),
        shown(rationale="x"),
        shown(kind="guardrail"),
        shown(action_tool="delete_mail"),
        shown(precondition=None),
        shown(precondition=["look at the bounce"]),
        shown(precondition=["read the address back", "look at the bounce"]),
        shown(precondition=["look at the bounce", "read the address back", {"tool": "x"}]),
    ],
)
def test_another_rule_differs(procedure):
    assert differs(procedure, REVIEWED)


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_what_is_no_procedure_cannot_be_compared(value):
    with pytest.raises(RecordError):
        differs(value, REVIEWED)


# -- Preconditions that the runtime checks by itself

CHECKED: list[Any] = ["look at the bounce", {"tool": "read_address"}, {"state": {"key": "é", "equals": 1}}]
SPELLED = ["look at the bounce", '{"tool":"read_address"}', '{"state":{"equals":1,"key":"é"}}']


def test_checked_preconditions_are_shown_as_text_and_sent_as_they_were():
    received = read_draft(memory_entry(shown(precondition=CHECKED)))
    assert received.extracted.draft.precondition == SPELLED
    reviewed = {**REVIEWED, "properties": {**REVIEWED["properties"], "precondition": SPELLED}}
    assert not differs(shown(precondition=CHECKED), reviewed)
    assert differs(shown(precondition=CHECKED[:2]), reviewed)
    assert patch_body(reviewed)["properties"]["precondition"] == CHECKED
    assert reviewed["properties"]["precondition"] == SPELLED


@pytest.mark.parametrize(
    ("condition", "sent"),
    [
        (None, None),
        ("look first", "look first"),
        ('{"tool":"look"}', [{"tool": "look"}]),
        ('{"tool":', '{"tool":'),
        ('{"colour":"red"}', '{"colour":"red"}'),
        ("{" * 5_000, "{" * 5_000),
        (["look", '["tool"]'], ["look", '["tool"]']),
    ],
)
def test_other_preconditions_are_sent_as_they_are(condition, sent):
    body = {"steps": ["x"], "properties": {"precondition": condition, "trigger": "t"}}
    assert patch_body(body) == {"steps": ["x"], "properties": {"precondition": sent, "trigger": "t"}}


def test_a_body_without_a_precondition_is_sent_as_it_is():
    for body in ({"active": False}, {"active": False, "properties": {"status": "draft"}}):
        assert patch_body(body) == body
