"""The draft's shape and its entry in a memory, as the documentation of ``ProceduralDraft`` shows them."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.drafts import (
    VALID_PROCEDURAL_KINDS,
    MemoryEntry,
    ProceduralDraft,
    draft_from_json,
    draft_to_json,
    draft_to_memory_entry,
)

SCOPE = SimpleNamespace(tenant_id="shop")

texts = st.text(max_size=30)
drafts = st.builds(
    ProceduralDraft,
    kind=st.sampled_from(sorted(VALID_PROCEDURAL_KINDS)),
    trigger=texts,
    action=texts,
    rationale=texts,
    confidence=st.floats(0, 1),
    precondition=st.none() | texts | st.lists(texts, max_size=3),
    source_episode_ids=st.lists(texts, max_size=3),
)


def draft(**changes):
    return ProceduralDraft(**{"kind": "action", "trigger": "t", "action": "a", "rationale": "r"} | changes)


def test_fields_their_order_and_their_defaults():
    assert [field.name for field in dataclasses.fields(ProceduralDraft)] == [
        "kind",
        "trigger",
        "action",
        "rationale",
        "confidence",
        "precondition",
        "source_episode_ids",
    ]
    made = ProceduralDraft("recovery", "t", "a", "r")
    assert (made.confidence, made.precondition, made.source_episode_ids) == (0.0, None, [])
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.trigger = "other"  # type: ignore[misc]


def test_four_kinds():
    assert {"action", "preflight", "recovery", "guardrail"} == VALID_PROCEDURAL_KINDS


def test_a_draft_becomes_a_memory_entry():
    entry = draft_to_memory_entry(
        ProceduralDraft("preflight", "before refund", "get_order", "it failed", 0.7, "get_user", ["e1"]),
        SCOPE,
    )
    assert entry == MemoryEntry(
        layer="procedural",
        tenant_id="shop",
        content="before refund\nAction: get_order\nRationale: it failed",
        importance=5.0,
        metadata={
            "label": "Auto-learned (preflight): before refund",
            "steps": ["get_order"],
            "context": "it failed",
            "source": "phase_12_llm_extractor",
            "kind": "preflight",
            "trigger": "before refund",
            "rationale": "it failed",
            "confidence": 0.7,
            "source_episode_ids": ["e1"],
            "precondition": "get_user",
        },
    )
    assert list(entry.metadata) == [
        *("label", "steps", "context", "source", "kind", "trigger", "rationale", "confidence"),
        *("source_episode_ids", "precondition"),
    ]


@pytest.mark.parametrize("precondition", [None, "", []])
def test_an_unset_precondition_is_not_stored(precondition):
    assert "precondition" not in draft_to_memory_entry(draft(precondition=precondition), SCOPE).metadata


def test_the_label_takes_80_characters_of_the_trigger_and_has_100_at_most():
    label = draft_to_memory_entry(draft(kind="guardrail", trigger="x" * 200), SCOPE).metadata["label"]
    assert label == f"Auto-learned (guardrail): {'x' * 74}"
    label = draft_to_memory_entry(draft(kind="action", trigger="x" * 200), SCOPE).metadata["label"]
    assert label == f"Auto-learned (action): {'x' * 77}"


def test_an_entry_shares_no_list_with_its_draft():
    made = draft(precondition=["a", "b"], source_episode_ids=["1"])
    entry = draft_to_memory_entry(made, SCOPE)
    entry.metadata["precondition"].append("c")
    entry.metadata["source_episode_ids"].append("2")
    assert made == draft(precondition=["a", "b"], source_episode_ids=["1"])


@settings(database=None, deadline=None)
@given(drafts)
def test_a_draft_survives_json(made):
    assert draft_from_json(json.loads(json.dumps(draft_to_json(made)))) == made


@settings(database=None, deadline=None)
@given(drafts)
def test_every_draft_has_a_json_memory_entry(made):
    entry = draft_to_memory_entry(made, SCOPE)
    assert MemoryEntry(**json.loads(json.dumps(entry.to_json()))) == entry


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "habit"}, "kind"),
        ({"kind": None}, "kind"),
        ({"kind": ["action"]}, "kind"),
        ({"trigger": None}, "trigger"),
        ({"action": 5}, "action"),
        ({"rationale": []}, "rationale"),
        ({"confidence": 1.5}, "confidence"),
        ({"confidence": True}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"confidence": "0.5"}, "confidence"),
        ({"precondition": 7}, "precondition"),
        ({"precondition": ["a", None]}, "precondition"),
        ({"source_episode_ids": "e1"}, "source_episode_ids"),
        ({"source_episode_ids": [1]}, "source_episode_ids"),
        ({"label": "x"}, "label"),
    ],
)
def test_what_is_no_stored_draft_is_refused_by_its_field(changes, said):
    with pytest.raises(ValueError, match=said):
        draft_from_json(draft_to_json(draft()) | changes)


@pytest.mark.parametrize("value", [None, [], "draft", 3])
def test_only_an_object_is_a_draft(value):
    with pytest.raises(ValueError, match="object"):
        draft_from_json(value)
