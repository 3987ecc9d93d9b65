"""Replies of models, well-behaved and not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.draft_reply import DraftReply, read_draft_reply
from reviews.core.drafts import VALID_PROCEDURAL_KINDS, ProceduralDraft
from reviews.core.reply_text import REPLY_CHARACTERS

ITEM = {"kind": "preflight", "trigger": "before refund", "action": "get_order", "rationale": "it failed"}


def read(value, max_drafts=5):
    return read_draft_reply(value if isinstance(value, str) else json.dumps(value), max_drafts=max_drafts)


def one(**changes):
    reply = read({"drafts": [ITEM | changes]})
    assert len(reply.drafts) == 1
    return reply.drafts[0]


def test_a_plain_reply():
    full = ITEM | {"confidence": 0.8, "precondition": "get_user", "source_episode_ids": ["e1", "e2"]}
    assert read({"drafts": [full, ITEM]}) == DraftReply(
        "read",
        (
            ProceduralDraft(
                "preflight", "before refund", "get_order", "it failed", 0.8, "get_user", ["e1", "e2"]
            ),
            ProceduralDraft("preflight", "before refund", "get_order", "it failed"),
        ),
        2,
    )


def test_chatter_and_code_fences_around_the_json_are_no_matter():
    text = f"Sure, here it is:\n```json\n{json.dumps({'drafts': [ITEM]})}\n```\nAnything else?"
    assert len(read(text).drafts) == 1


@pytest.mark.parametrize("name", ["trigger", "action", "rationale"])
@pytest.mark.parametrize("value", [None, "", " \n\u3000", 5, ["x"], {}])
def test_an_item_without_a_text_where_one_is_needed_is_dropped(name, value):
    assert read({"drafts": [ITEM | {name: value}, ITEM]}) == read({"drafts": [ITEM]})._replace(emitted=2)


def test_texts_are_stripped():
    assert one(trigger="  before refund\n").trigger == "before refund"


@pytest.mark.parametrize("kind", [None, "habit", "Preflight", "preflight ", 3, ["preflight"], {}])
def test_an_unknown_kind_is_an_action(kind):
    assert one(kind=kind).kind == "action"


@pytest.mark.parametrize(
    ("value", "confidence"),
    [(0, 0.0), (1, 1.0), (0.25, 0.25), (-3, 0.0), (7, 1.0), (10**400, 1.0), (-(10**400), 0.0), ("0.5", 0.5),
     (float("inf"), 1.0), (float("-inf"), 0.0), (float("nan"), 0.0), ("nan", 0.0), ("high", 0.0), (None, 0.0),
     ([], 0.0), ({}, 0.0)],
)  # fmt: skip
def test_confidence_is_clamped_and_0_when_it_is_no_number(value, confidence):
    assert one(confidence=value).confidence == confidence


@pytest.mark.parametrize(
    ("value", "precondition"),
    [(None, None), ("", None), ("  ", None), (" a ", "a"), ([], None), (["a"], "a"),
     ([" ", None, "b ", 4], "b"), (["a", "b"], ["a", "b"]), (5, None), ({"a": 1}, None), (True, None)],
)  # fmt: skip
def test_preconditions(value, precondition):
    assert one(precondition=value).precondition == precondition


def test_source_ids_are_texts_and_none_is_empty():
    assert one(source_episode_ids=["e1", 2, None, "", 0]).source_episode_ids == ["e1", "2"]
    assert one(source_episode_ids="e1").source_episode_ids == []


def test_only_as_many_items_as_were_asked_for_are_looked_at():
    reply = read({"drafts": [{}, ITEM, ITEM]}, max_drafts=2)
    assert (len(reply.drafts), reply.emitted) == (1, 3)


def test_nothing_to_propose_is_no_failure():
    assert read({"drafts": []}) == DraftReply("read")


@pytest.mark.parametrize(
    "text",
    ["", "I cannot help with that.", "[]", '"x"', "{}", '{"drafts": null}', '{"drafts": {}}',
     '{"drafts": ["x", 1]}', "{nonsense}", "} {", '{"drafts": []} {"drafts": []}',
     '{"drafts": [' + "[" * 9000 + "]" * 9000 + "]}",
     '{"drafts": [' + "9" * 5000 + "]}"],
)  # fmt: skip
def test_what_is_not_what_was_asked_for(text):
    reply = read(text)
    assert (reply.drafts, reply.status) == ((), "malformed" if text != "} {" else "truncated")


@pytest.mark.parametrize("cut", range(20, len(json.dumps({"drafts": [ITEM, ITEM]}))))
def test_every_cut_of_a_reply_is_truncated(cut):
    assert read(json.dumps({"drafts": [ITEM, ITEM]})[:cut]) == DraftReply("truncated")


def test_braces_and_quotes_in_strings_open_nothing():
    assert read('{"a": "\\"{[", nonsense}').status == "malformed"
    assert read('{"a": "\\"{[').status == "truncated"


def test_too_large_a_reply_is_not_parsed():
    text = json.dumps({"drafts": [ITEM]})
    assert read(text + " " * (REPLY_CHARACTERS - len(text))).status == "read"
    assert read(text + " " * (REPLY_CHARACTERS - len(text) + 1)) == DraftReply("too_large")


def test_what_no_database_can_store_is_replaced():
    made = one(trigger="a\x00b", action="\ud800x", precondition=["\x00", "ok"], source_episode_ids=["\udfff"])
    assert (made.trigger, made.action, made.precondition) == ("a\ufffdb", "\ufffdx", ["\ufffd", "ok"])
    assert made.source_episode_ids == ["\ufffd"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
items = st.fixed_dictionaries(
    {},
    optional={
        name: json_values | st.sampled_from(["x", " y ", "guardrail"])
        for name in (
            "kind",
            "trigger",
            "action",
            "rationale",
            "confidence",
            "precondition",
            "source_episode_ids",
        )
    },
)


@settings(database=None, deadline=None, max_examples=400)
@given(
    st.fixed_dictionaries({"drafts": st.lists(items | json_values, max_size=4) | json_values}).map(json.dumps)
    | st.text()
    | st.lists(st.sampled_from(["{", "}", "[", "]", '"', "\\", "drafts", ":", ",", "1"]), max_size=30).map(
        "".join
    )
)
def test_no_reply_makes_it_raise_and_every_draft_is_sound(text):
    reply = read_draft_reply(text, max_drafts=3)
    assert reply.status in {"read", "malformed", "truncated"}
    assert len(reply.drafts) <= min(3, reply.emitted)
    for made in reply.drafts:
        assert made.kind in VALID_PROCEDURAL_KINDS
        assert 0 <= made.confidence <= 1
        assert all(part and part == part.strip() for part in (made.trigger, made.action, made.rationale))
