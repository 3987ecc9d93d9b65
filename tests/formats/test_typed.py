from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.record import TurnRecord
from reviews.formats.typed import convert, describe
from tests.formats.samples import refusal, turn


@pytest.mark.parametrize(
    ("value", "spot", "message"),
    [
        ([], "", "found a list of 0, expected an object"),
        ({"external_id": "x"}, "/draft", "missing, expected a string"),
        (turn(draft=3), "/draft", "found the number 3, expected a string"),
        (turn(draft=None), "/draft", "found null, expected a string"),
        (turn(tool_calls={}), "/tool_calls", "found an object, expected a list"),
        (turn(tool_calls=[{"name": 3}]), "/tool_calls/0/name", "found the number 3, expected a string"),
        (turn(tool_calls=[{}]), "/tool_calls/0/name", "missing, expected a string"),
        (
            turn(tool_calls=[{"name": "x", "ok": 1}]),
            "/tool_calls/0/ok",
            "found the number 1, expected true or false",
        ),
        (turn(attributes=[1]), "/attributes", "found a list of 1, expected an object"),
        (
            turn(intent={"label": "action", "confidence": True}),
            "/intent/confidence",
            "found true, expected a number",
        ),
    ],
)
def test_wrong_types_are_named_and_located(value: Any, spot: str, message: str) -> None:
    error = refusal(convert, value, TurnRecord)
    assert (error.pointer, error.message) == (spot, message)


@pytest.mark.parametrize(
    ("value", "spot", "hint"),
    [
        (turn(tool_call=[]), "/tool_call", 'did you mean "tool_calls"?'),
        (turn(Draft=""), "/Draft", 'did you mean "draft"?'),
        (turn(session_id=""), "/session_id", 'did you mean "conversation_id"?'),
        (
            turn(tool_calls=[{"name": "x", "arguments": {}}]),
            "/tool_calls/0/arguments",
            'did you mean "args"?',
        ),
        (turn(zzz=1), "/zzz", "expected one of external_id, draft"),
    ],
)
def test_unknown_fields_come_with_a_hint(value: Any, spot: str, hint: str) -> None:
    error = refusal(convert, value, TurnRecord)
    assert error.pointer == spot
    assert hint in error.message


@pytest.mark.parametrize("when", [5, "", "yesterday", "2026-01-01", "2026-13-01T00:00:00Z"])
def test_times_are_rfc_3339(when: Any) -> None:
    error = refusal(convert, turn(occurred_at=when), TurnRecord)
    assert error.pointer == "/occurred_at"
    assert "RFC 3339" in error.message


def test_converts_what_fits() -> None:
    assert convert(turn(intent=None), TurnRecord) == TurnRecord(external_id="t1", draft="Done.")


def test_described_values_are_short_and_printable() -> None:
    assert describe("a" * 100) == '"'.join(["the string ", "a" * 40 + "\\u2026", ""])
    assert describe("\x1b[0m") == 'the string "\\u001b[0m"'
    assert describe(None) == "null"
    assert describe(False) == "false"
    assert describe(1.5) == "the number 1.5"
