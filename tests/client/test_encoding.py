"""Whatever an agent records becomes a line that the server reads, and what JSON can say stays as it is."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reviews.client.encoding import encode, repair
from reviews.formats import decode_turn

UUID_TEXT = "7f4df6a3-5a1e-4a40-9f5e-1c1d0a3f1d10"


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Row:
    number: int
    colour: Colour


class Model:
    """As pydantic's models are asked."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        return {"mode": mode}


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")


def sent(attribute: Any) -> tuple[Any, bool]:
    """What the server reads of an attribute, and whether the client says that it was reworded."""
    line = encode({"external_id": "a", "draft": "b", "attributes": {"value": attribute}})
    better = repair(line.raw)
    record = decode_turn(better or line.raw)
    return record.attributes["value"], line.reworded or better is not None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00+00:00"),
        (date(2026, 1, 31), "2026-01-31"),
        (UUID(UUID_TEXT), UUID_TEXT),
        (Colour.RED, "red"),
        (Row(1, Colour.RED), {"number": 1, "colour": "red"}),
        ((1, 2), [1, 2]),
        ({7}, [7]),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (PurePosixPath("a/b"), "a/b"),
        (Model(), {"mode": "json"}),
        (
            {1: "one", None: "none", False: "no", 2.5: "half"},
            {"1": "one", "null": "none", "false": "no", "2.5": "half"},
        ),
        (2**63 - 1, 2**63 - 1),
        ("a text that speaks of \\u0000 and \\ud800", "a text that speaks of \\u0000 and \\ud800"),
        ("\U0001f600 ümlaut \x01", "\U0001f600 ümlaut \x01"),
    ],
)
def test_what_has_a_form_in_json_is_sent_in_it_and_not_counted(value: Any, expected: Any) -> None:
    assert sent(value) == (expected, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (2**63, "9223372036854775808"),
        (-(2**63) - 1, "-9223372036854775809"),
        ("a\0b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ({"k\0": 1}, {"k\ufffd": 1}),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        (Decimal("1.10"), "1.10"),
        (1 + 2j, "(1+2j)"),
        (Hostile(), "<Hostile>"),
        ({(1, 2): "pair"}, {"(1, 2)": "pair"}),
        ({1: "a", "1": "b"}, {"1": "a", "1~2": "b"}),
        ([math.nan, {"deep": math.inf}], ["NaN", {"deep": "Infinity"}]),
    ],
)
def test_what_has_none_becomes_text_and_is_counted(value: Any, expected: Any) -> None:
    assert sent(value) == (expected, True)


def nested(levels: int) -> Any:
    value: Any = "core"
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_is_cut_where_the_server_cuts_it() -> None:
    # The turn and its attributes are two of the 64 levels.
    assert sent(nested(62)) == (nested(62), False)
    deep, reworded = sent(nested(64))
    for _ in range(62):
        [deep] = deep
    assert (deep, reworded) == ('[["core"]]', True)


@pytest.mark.parametrize("levels", [900, 100_000])
def test_an_abyss_is_no_reason_to_fail(levels: int) -> None:
    deep, reworded = sent(nested(levels))
    for _ in range(62):
        [deep] = deep
    assert isinstance(deep, str)
    assert reworded


def test_what_contains_itself_is_told_as_such() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert sent(loop) == ([1, "<contains itself>"], True)


def test_an_id_is_made_where_there_is_none_and_a_number_is_taken_as_text() -> None:
    made = [
        json.loads(encode({"draft": "b", "external_id": given}).raw)["external_id"] for given in (None, "")
    ]
    assert len(set(made)) == 2
    assert all(len(name) == 32 for name in made)
    assert encode({"draft": "b", "external_id": 17}).external_id == "17"


def test_the_agents_name_is_filled_in_only_where_it_is_missing() -> None:
    named = [
        json.loads(encode({"draft": "b", **more}, agent="ops").raw)["agent"] for more in ({}, {"agent": "x"})
    ]
    assert named == ["ops", "x"]


def test_the_mapping_itself_is_left_as_it_is() -> None:
    turn: dict[str, Any] = {"draft": "b"}
    encode(turn, agent="ops")
    assert turn == {"draft": "b"}


TEXTS = st.text(st.characters(codec=None, categories=None), max_size=20)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=9)
    | st.datetimes() | st.decimals() | st.uuids() | st.just(Hostile()) | st.complex_numbers()
)  # fmt: skip
KEYS = TEXTS | st.integers() | st.floats() | st.booleans() | st.none() | st.tuples(st.integers())
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=15,
)


@given(VALUES, TEXTS)
@example({float("nan"): 1, "NaN": 2, 1: 3, "1": 4, "1~2": 5}, "")
def test_any_value_arrives(value: Any, draft: str) -> None:
    line = encode({"external_id": "a", "draft": draft, "attributes": {"v": value}, "activation": None})
    better = repair(line.raw)
    # Raises when the server would refuse it.
    decode_turn(better or line.raw)
    # Once mended, there is nothing left to mend: a client never goes round in circles.
    assert better is None or repair(better) is None


SENDABLE = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | SENDABLE,
    lambda inner: st.lists(inner) | st.dictionaries(SENDABLE, inner),
    max_leaves=15,
)


@given(PLAIN)
def test_what_json_can_say_arrives_unchanged(value: Any) -> None:
    assert sent(value) == (value, False)


class Odd(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __getitem__(self, key: str) -> Any:
        return {"draft": "b", "external_id": "a"}[key]

    def __iter__(self) -> Any:
        return iter(("draft", "external_id"))

    def __len__(self) -> int:
        return 2


def test_any_mapping_is_a_turn() -> None:
    assert decode_turn(encode(Odd()).raw).draft == "b"
