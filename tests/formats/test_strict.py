from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reviews.formats.errors import RecordError
from reviews.formats.strict import looks_clean, parse_strict
from tests.formats.samples import raw, refusal, values

DEEP = 64


@given(values, st.booleans())
def test_reads_what_json_writes(value: Any, ascii_only: bool) -> None:
    assert parse_strict(raw(value, ensure_ascii=ascii_only)) == value


@pytest.mark.parametrize(
    ("document", "spot", "words"),
    [
        (b"", "", "not valid JSON"),
        (b"{", "", "line 1, column 2 (byte 1)"),
        (b'{"a":\n "\xc3\xa9" x}', "", "line 2, column 6 (byte 12)"),
        (b'{"a": 1} {', "", "Extra data"),
        (b'"\xff"', "", "not valid UTF-8: invalid start byte at byte 1"),
        (b'"\xed\xa0\x80"', "", "not valid UTF-8"),
        (b"\xef\xbb\xbf{}", "", "byte order mark"),
        (b'"a\x00"', "", "NUL at byte 2"),
        (b'"a\x01"', "", "Invalid control character"),
        (b"[1, 01]", "", "not valid JSON"),
        (b'{"a": ["\\u0000"]}', "/a/0", "NUL character"),
        (b'{"a\\u0000": 1}', "/a\ufffd", "NUL character in the key"),
        (b'["x", "\\ud800"]', "/1", "lone surrogate in the text (\\ud800)"),
        (b'["\\udc00\\ud800"]', "/0", "lone surrogate"),
        (b'["\\uD83D x"]', "/0", "lone surrogate"),
        (b'{"\\udfff": 1}', "/?", "lone surrogate in the key"),
        (b'{"a": NaN}', "/a", "NaN"),
        (b"[Infinity]", "/0", "Infinity"),
        (b"[1, -Infinity]", "/1", "-Infinity"),
        (b"[1e400]", "/0", "too large"),
        (b'{"a": {"b": -1e400}}', "/a/b", "too large"),
        (b"[9223372036854775808]", "/0", "signed 64 bits"),
        (b"[-9223372036854775809]", "/0", "signed 64 bits"),
        (b"[" + b"9" * 5000 + b"]", "/0", "signed 64 bits"),
        (b'{"a": 1, "a": 1}', "/a", "twice"),
        (b'{"a" :1,"\\u0061":2, "b": ":x"}', "/a", "twice"),
        (b'{"x": [{"k\\\\": 1, "k\\\\" : 2}]}', "/x/0/k\\", "twice"),
        (b'{"x": [0, {"a/b": {"c": 1, "c": 2}}]}', "/x/1/a~1b/c", "twice"),
    ],
)
def test_refuses_with_a_pointer(document: bytes, spot: str, words: str) -> None:
    error = refusal(parse_strict, document)
    assert error.pointer == spot
    assert words in error.message


@pytest.mark.parametrize(
    ("document", "value"),
    [
        (b"[9223372036854775807, -9223372036854775808]", [2**63 - 1, -(2**63)]),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"the text \\\\u0000"', "the text \\u0000"),
        (b'"\\\\ud800 in words"', "\\ud800 in words"),
        (b'{"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}', {"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}),
        (b" \r\n\t[1e-400] ", [0.0]),
        (b'"[[[[{{{{' + b"[" * 100 + b'"', "[[[[{{{{" + "[" * 100),
    ],
)
def test_takes_what_only_looks_suspicious(document: bytes, value: Any) -> None:
    assert parse_strict(document) == value


def test_depth_is_counted_in_containers() -> None:
    assert parse_strict(b"[" * DEEP + b"]" * DEEP) is not None
    error = refusal(parse_strict, b"[" * (DEEP + 1) + b"]" * (DEEP + 1))
    assert error.pointer == "/0" * DEEP
    assert "deeper than 64" in error.message


@pytest.mark.parametrize("depth", [65, 900, 1100, 100_000])
def test_no_depth_breaks_the_parser(depth: int) -> None:
    for document in (
        b"[" * depth,
        b"[" * depth + b"]" * depth,
        b'{"a":' * depth + b"1" + b"}" * depth,
        b'[{"]": [' * depth,
    ):
        refusal(parse_strict, document)


def test_an_abyss_is_pointed_at() -> None:
    document = b'{"x": "[", "y": [1, ' + b'{"k": ' * 5000
    assert refusal(parse_strict, document).pointer == "/y/1" + "/k" * 62


def test_little_stack_left_is_still_a_refusal_or_a_value() -> None:
    document = b"[" * 60 + b"]" * 60

    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
            return
        with contextlib.suppress(RecordError):
            parse_strict(document)

    frame, used = sys._getframe(), 0
    while frame.f_back:
        frame, used = frame.f_back, used + 1
    descend(sys.getrecursionlimit() - used - 40)


def test_size_is_looked_at_first() -> None:
    error = refusal(lambda: parse_strict(b"[" * 11, max_bytes=10))
    assert error.message == "found 11 bytes, expected at most 10"


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_a_record_error(document: bytes) -> None:
    try:
        value = parse_strict(document)
    except RecordError:
        return
    assert value == json.loads(document)


@given(values, st.data())
@example({"a": ["\\", '"', ":"]}, None)
def test_damaged_json_gives_a_value_or_a_record_error(value: Any, data: st.DataObject | None) -> None:
    document = bytearray(raw(value))
    for _ in range(2 if data else 0):
        assert data
        at = data.draw(st.integers(0, len(document)))
        document[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(
                [b"", b"\0", b'"', b"\\", b"\\ud800", b"\\u0000", b"[", b"}", b":", b",", b"1e999", b"\xff"]
            )
        )
    try:
        parsed = parse_strict(bytes(document))
    except RecordError:
        return
    assert parsed == json.loads(bytes(document))
    parsed_text = json.dumps(parsed, ensure_ascii=False)
    assert "\0" not in parsed_text
    parsed_text.encode()


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "\\u0061", "c\\\\"]), st.sampled_from([":", " :", "\n:"])))
)
def test_a_repeated_key_is_found_however_it_is_written(members: list[tuple[str, str]]) -> None:
    document = "{" + ",".join(f'"{key}"{colon}":"' for key, colon in members) + "}"
    spelled = [json.loads(f'"{key}"') for key, _colon in members]
    if len(set(spelled)) < len(spelled):
        assert not looks_clean(document.encode())
        assert "twice" in refusal(parse_strict, document.encode()).message
    else:
        assert looks_clean(document.encode())
