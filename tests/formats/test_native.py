from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.formats import RecordError, TurnRecord, content_hash, decode_turn, encode_turn
from reviews.formats.limits import TURN_BYTES
from tests.formats.samples import raw, records, refusal, turn, values


@given(records)
def test_a_record_survives_the_round_trip(record: TurnRecord) -> None:
    again = decode_turn(encode_turn(record))
    assert again == record
    assert content_hash(again) == content_hash(record)


@given(records)
def test_one_record_is_one_line(record: TurnRecord) -> None:
    assert b"\n" not in encode_turn(record)


def test_the_smallest_turn() -> None:
    assert decode_turn(b'{"external_id":"a","draft":""}') == TurnRecord(external_id="a", draft="")


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        (b"[]", ""),
        (b'"x"', ""),
        (b'{"external_id": "a", "draft": "", "draft": ""}', "/draft"),
        (
            b'{"external_id": "a", "draft": "", "tool_calls": [{"name": "x", "args": {"k": 1, "k": 1}}]}',
            "/tool_calls/0/args/k",
        ),
        (raw(turn(draft="a\0b")), "/draft"),
        (raw(turn(draft="\ud800")), "/draft"),
        (raw(turn(attributes={"a": [2**63]})), "/attributes/a/0"),
        (raw(turn(attributes={"a": float("nan")})), "/attributes/a"),
        (raw(turn(activation={"a": float("inf")})), "/activation/a"),
        (
            b'{"external_id": "a", "draft": "", "intent": {"label": "action", "confidence": 1e400}}',
            "/intent/confidence",
        ),
        (raw(turn(tool_calls=[{"name": "x", "duration_ms": 10**400}])), "/tool_calls/0/duration_ms"),
        (raw(turn(tool_calls=[{"name": "x", "result": {"a": {"b": "\0"}}}])), "/tool_calls/0/result/a/b"),
        (raw(turn(id="x")), "/id"),
    ],
)
def test_refusals_point_at_the_spot(document: bytes, spot: str) -> None:
    assert refusal(decode_turn, document).pointer == spot


def test_depth_counts_from_the_turn() -> None:
    def nested(levels: int) -> bytes:
        return b'{"external_id":"a","draft":"","attributes":{"x":' + b"[" * levels + b"]" * levels + b"}}"

    decode_turn(nested(62))
    assert refusal(decode_turn, nested(63)).pointer.startswith("/attributes/x/0/0")
    refusal(decode_turn, nested(50_000))


def test_a_turn_has_a_size() -> None:
    document = raw(turn(draft="x" * TURN_BYTES))
    assert "expected at most 4194304" in refusal(decode_turn, document).message
    room = TURN_BYTES - len(raw(turn(draft="")))
    assert len(decode_turn(raw(turn(draft="x" * room))).draft) == room


@given(
    st.dictionaries(
        st.sampled_from(["external_id", "draft", "tool_calls", "intent", "occurred_at", "x"]), values
    )
)
def test_any_object_gives_a_record_or_a_record_error(document: dict[str, Any]) -> None:
    with contextlib.suppress(RecordError):
        record = decode_turn(raw(document))
        assert decode_turn(encode_turn(record)) == record


def test_hash_is_sixteen_bytes() -> None:
    assert len(content_hash(TurnRecord(external_id="a", draft=""))) == 16


@given(records, st.randoms())
def test_hash_ignores_the_order_of_keys(record: TurnRecord, random: Any) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, list):
            return [shuffled(item) for item in value]
        if not isinstance(value, dict):
            return value
        members = [(key, shuffled(item)) for key, item in value.items()]
        random.shuffle(members)
        return dict(members)

    other = decode_turn(raw(shuffled(json.loads(encode_turn(record)))))
    assert content_hash(other) == content_hash(record)


def test_hash_ignores_defaults_spelled_out() -> None:
    short = turn(
        intent={"label": "action", "confidence": 1}, tool_calls=[{"name": "x"}], critic={"verdict": "revise"}
    )
    full = turn(
        user_message="",
        hydrated_context="",
        tool_calls=[
            {
                "name": "x",
                "args": None,
                "result": None,
                "ok": None,
                "error": None,
                "id": None,
                "duration_ms": None,
            }
        ],
        earlier_calls=[],
        tools=[],
        conversation_id="",
        agent="",
        model="",
        occurred_at=None,
        intent={
            "label": "action",
            "confidence": 1.0,
            "matched_tool_keywords": [],
            "reasoning": "",
            "action_score": 0,
            "knowledge_score": -0.0,
        },
        critic={
            "verdict": "revise",
            "confidence_before": None,
            "sensitive_tag_hit": None,
            "revised_draft": None,
            "refusal_message": None,
            "matched_preferences": [],
            "reflection_latency_ms": None,
        },
        activation=None,
        attributes={},
    )
    assert content_hash(decode_turn(raw(short))) == content_hash(decode_turn(raw(full)))


def test_hash_ignores_the_zone_a_time_is_written_in() -> None:
    hashes = {
        content_hash(decode_turn(raw(turn(occurred_at=when))))
        for when in ("2026-01-01T12:00:00Z", "2026-01-01T14:00:00+02:00", "2026-01-01T00:00:00-12:00")
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"external_id": "t2"},
        {"draft": "Done"},
        {"activation": {}},
        {"attributes": {"a": None}},
        {"tool_calls": [{"name": "x"}]},
        {"earlier_calls": [{"name": "x"}]},
        {"occurred_at": "2026-01-01T00:00:00Z"},
    ],
)
def test_hash_sees_every_difference(change: dict[str, Any]) -> None:
    assert content_hash(decode_turn(raw(turn(**change)))) != content_hash(decode_turn(raw(turn())))


def test_hash_is_the_same_in_every_process_and_version() -> None:
    record = TurnRecord(
        external_id="a", draft="b", occurred_at=datetime(2026, 1, 1, tzinfo=UTC), attributes={"b": 1, "a": 2}
    )
    assert content_hash(record).hex() == "1b39522ae6d7ef3a3885ab527d4746b5"
