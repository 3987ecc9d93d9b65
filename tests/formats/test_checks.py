from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from reviews.formats.checks import check_turn
from reviews.formats.record import TurnRecord
from tests.formats.samples import refusal, turn

CALL = {"name": "x"}
INTENT = {"label": "action", "confidence": 0.5}
CRITIC = {"verdict": "approve"}
LONG = "x" * 201


@pytest.mark.parametrize(
    ("fields", "spot", "words"),
    [
        ({"external_id": ""}, "/external_id", "non-blank"),
        ({"external_id": " \n\u3000"}, "/external_id", "non-blank"),
        ({"external_id": LONG}, "/external_id", "found 201 characters, expected at most 200"),
        ({"conversation_id": LONG}, "/conversation_id", "at most 200"),
        ({"agent": LONG}, "/agent", "at most 200"),
        ({"model": LONG}, "/model", "at most 200"),
        ({"tool_calls": [CALL] * 1001}, "/tool_calls", "found a list of 1001, expected at most 1000"),
        ({"earlier_calls": [CALL] * 1001}, "/earlier_calls", "at most 1000"),
        ({"earlier_user_messages": ["x"] * 1001}, "/earlier_user_messages", "at most 1000"),
        ({"tools": [CALL] * 1001}, "/tools", "at most 1000"),
        ({"tool_calls": [CALL, {"name": LONG}]}, "/tool_calls/1/name", "at most 200"),
        ({"tool_calls": [{"name": " "}]}, "/tool_calls/0/name", "name of a tool"),
        ({"earlier_calls": [{"name": ""}]}, "/earlier_calls/0/name", "name of a tool"),
        ({"tool_calls": [CALL | {"id": LONG}]}, "/tool_calls/0/id", "at most 200"),
        ({"tool_calls": [CALL | {"duration_ms": -0.5}]}, "/tool_calls/0/duration_ms", "0 or more"),
        ({"tools": [{"name": LONG}]}, "/tools/0/name", "at most 200"),
        ({"occurred_at": "2026-01-01T00:00:00"}, "/occurred_at", "without a zone"),
        ({"occurred_at": "0001-01-01T00:00:00+14:00"}, "/occurred_at", "the year 1"),
        ({"occurred_at": "9999-12-31T23:59:59-14:00"}, "/occurred_at", "the year 9999"),
        ({"intent": INTENT | {"label": "chat"}}, "/intent/label", "action, knowledge, ambiguous"),
        ({"intent": INTENT | {"confidence": 1.01}}, "/intent/confidence", "from 0 to 1"),
        ({"intent": INTENT | {"confidence": -0.1}}, "/intent/confidence", "from 0 to 1"),
        (
            {"intent": INTENT | {"matched_tool_keywords": ["x"] * 1001}},
            "/intent/matched_tool_keywords",
            "1000",
        ),
        ({"critic": {"verdict": "ok"}}, "/critic/verdict", "approve, revise, refuse"),
        ({"critic": CRITIC | {"confidence_before": 2}}, "/critic/confidence_before", "from 0 to 1"),
        ({"critic": CRITIC | {"matched_preferences": ["x"] * 1001}}, "/critic/matched_preferences", "1000"),
        ({"critic": CRITIC | {"reflection_latency_ms": -1}}, "/critic/reflection_latency_ms", "0 or more"),
    ],
)
def test_out_of_bounds_is_refused_with_its_pointer(fields: dict[str, Any], spot: str, words: str) -> None:
    error = refusal(check_turn, msgspec.convert(turn(**fields), TurnRecord))
    assert error.pointer == spot
    assert words in error.message


def test_every_limit_can_be_reached() -> None:
    call = {"name": "x" * 200, "id": "x" * 200, "duration_ms": 0}
    full = turn(
        external_id="x" * 200,
        conversation_id="x" * 200,
        agent="x" * 200,
        model="x" * 200,
        tool_calls=[call] * 1000,
        earlier_calls=[call] * 1000,
        earlier_user_messages=[""] * 1000,
        tools=[{"name": "x" * 200}] * 1000,
        occurred_at="0002-01-01T00:00:00+14:00",
        intent=INTENT | {"confidence": 1},
        critic=CRITIC | {"confidence_before": 0},
    )
    check_turn(msgspec.convert(full, TurnRecord))


def test_numbers_that_json_cannot_carry_are_refused_too() -> None:
    record = msgspec.convert(turn(intent=INTENT), TurnRecord)
    assert record.intent is not None
    intent = msgspec.structs.replace(record.intent, confidence=float("nan"))
    error = refusal(check_turn, msgspec.structs.replace(record, intent=intent))
    assert error.pointer == "/intent/confidence"


def test_a_zone_is_all_a_time_needs() -> None:
    check_turn(TurnRecord(external_id="x", draft="", occurred_at=datetime(2026, 1, 1, tzinfo=UTC)))
