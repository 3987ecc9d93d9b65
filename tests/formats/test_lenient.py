from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.formats.lenient import clean_text, parse_arguments, parse_lenient
from reviews.formats.strict import parse_strict
from tests.formats.samples import raw, refusal


def test_what_cannot_be_stored_is_repaired() -> None:
    numbers = b"18446744073709551616, 1e400, -1e400, NaN"
    document = b'{"a\\u0000": ["\\ud800x", "\\ud83d\\ude00", "\xff", %b], "b": "a\x01\tb"}' % numbers
    assert parse_lenient(document) == {
        "a\ufffd": ["\ufffdx", "😀", "\ufffd", "18446744073709551616", "1e400", "-1e400", "NaN"],
        "b": "a\x01\tb",
    }


def test_the_last_of_a_repeated_key_counts() -> None:
    assert parse_lenient(b'{"a": 1, "a": 2}') == {"a": 2}


@given(st.text(st.characters(exclude_categories=[])))
def test_cleaned_text_can_be_sent(text: str) -> None:
    assert parse_strict(raw(clean_text(text), ensure_ascii=False)) == clean_text(text)


def test_not_json_is_an_error() -> None:
    assert refusal(parse_lenient, b'{"a": }').message == "not valid JSON: Expecting value: line 1, column 7"


@pytest.mark.parametrize("depth", [65, 100_000])
def test_too_deep_is_an_error(depth: int) -> None:
    assert "deeper than 64" in refusal(parse_lenient, b"[" * depth + b"]" * depth).message


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": "\\u0000"}', {"a": "\ufffd"}),
        ({"a": "1"}, {"a": "1"}),
        ("", ""),
        ('{"a": ', '{"a": '),
        (None, None),
        ("[" * 60 + "]" * 60, "[" * 60 + "]" * 60),
        ("[" * 9999, "[" * 9999),
    ],
)
def test_arguments_are_json_or_stay_what_they_are(given_value: object, expected: object) -> None:
    assert parse_arguments(given_value) == expected
