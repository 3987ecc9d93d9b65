from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.formats import RecordError, RowError, TurnRecord, decode_turns, encode_turn
from reviews.formats.limits import BODY_BYTES
from tests.formats.samples import raw, records, refusal, turn

JSON = "application/json"
NDJSON = "application/x-ndjson"
GOOD = raw(turn())
BAD = raw(turn(draft=3))


def kinds(rows: list[TurnRecord | RowError]) -> list[str]:
    return ["good" if isinstance(row, TurnRecord) else row.pointer for row in rows]


@given(st.lists(records, min_size=1, max_size=4))
def test_lists_and_lines_carry_the_same_records(sent: list[TurnRecord]) -> None:
    documents = [encode_turn(record) for record in sent]
    assert decode_turns(b"[" + b", ".join(documents) + b"]", JSON) == sent
    assert decode_turns(b"\r\n".join(documents) + b"\n", NDJSON) == sent


def test_one_object_is_one_row() -> None:
    assert kinds(decode_turns(b"\n " + GOOD + b" \n", JSON)) == ["good"]
    assert decode_turns(BAD, JSON) == [RowError(0, "/draft", "found the number 3, expected a string")]


def test_a_pretty_printed_object_is_not_ndjson() -> None:
    for indent in (0, 1, 4):
        assert kinds(decode_turns(raw(turn(attributes={"b": {}, "a": "}"}), indent=indent), JSON)) == ["good"]
    tricky = b'{"draft":"}","attributes":{}\n,"external_id":"}"}'
    assert kinds(decode_turns(tricky, "")) == ["good"]


@pytest.mark.parametrize("content_type", [JSON, f"{JSON}; charset=utf-8", "", "text/plain"])
def test_lines_are_recognised_without_their_content_type(content_type: str) -> None:
    assert kinds(decode_turns(GOOD + b"\n" + BAD + b"\n", content_type)) == ["good", "/draft"]
    assert kinds(decode_turns(b'{"draft": nope}\n' + GOOD, content_type)) == ["", "good"]


@pytest.mark.parametrize(
    "content_type",
    [NDJSON, "application/jsonl", "Application/NDJSON; charset=utf-8", "application/jsonlines"],
)
def test_the_content_type_decides_for_lines(content_type: str) -> None:
    assert kinds(decode_turns(b'{"dra\n' + GOOD, content_type)) == ["", "good"]


def test_good_rows_are_kept_and_bad_ones_reported_by_index_and_line() -> None:
    body = b"\n".join([GOOD, b"", b'{"external_id": "x"', BAD, b"[]", GOOD])
    rows = decode_turns(body, NDJSON)
    assert kinds(rows) == ["good", "", "/draft", "", "good"]
    errors = [row for row in rows if isinstance(row, RowError)]
    assert [(error.index, error.line) for error in errors] == [(1, 3), (2, 4), (3, 5)]


def test_a_list_keeps_good_rows_beside_every_kind_of_bad_one() -> None:
    bad = [
        BAD,
        b"null",
        b'{"external_id": "a", "draft": "\\ud800"}',
        b'{"external_id": "a", "draft": "\xff"}',
        b'{"external_id": "a", "draft": "\\u0000"}',
        b'{"external_id": "a", "draft": "", "draft": ""}',
        b'{"external_id": "a", "draft": "", "attributes": {"a": NaN}}',
        b'{"external_id": "a", "draft": "", "attributes": {"a": "]", "b": '
        + b"[" * 5000
        + b"]" * 5000
        + b"}}",
        b"1" + b"0" * 5000,
    ]
    body = b"[" + GOOD + b"," + b",".join(row + b"," + GOOD for row in bad) + b"]"
    rows = decode_turns(body, JSON)
    assert [isinstance(row, TurnRecord) for row in rows] == [True] + [False, True] * len(bad)
    spots = [row.pointer for row in rows if isinstance(row, RowError)]
    assert spots[:7] == ["/draft", "", "/draft", "", "/draft", "/draft", "/attributes/a"]
    assert spots[7].startswith("/attributes/b/0/0")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty body"),
        (b" \n", "empty body"),
        (b"[" + GOOD + b",]", "not valid JSON"),
        (b"[" + GOOD + b" " + GOOD + b"]", "Expecting ',' delimiter"),
        (b"[" + GOOD, "not valid JSON"),
        (b"[" + GOOD + b"] x", "Extra data"),
        (b"[\n" + GOOD + b",\n  nope]", "line 3, column 3 (byte 45)"),
        (b"[" + b"[" * 100_000, "not valid JSON"),
        (b"[" + b",".join([GOOD] * 1001) + b"]", "at most 1000 in one body"),
        (b"\n".join([GOOD] * 1001), "at most 1000 in one body"),
        (b"[" + b"1," * 600_000 + b"1]", "at most 1000 in one body"),
        (b" " * BODY_BYTES + b"[", "found 16777217 bytes"),
    ],
)
def test_a_body_that_cannot_be_taken_is_one_error(body: bytes, words: str) -> None:
    error = refusal(decode_turns, body, JSON)
    assert error.pointer == ""
    assert words in error.message


def test_limits_can_be_reached() -> None:
    assert len(decode_turns(b"[" + b",".join([GOOD] * 1000) + b"]", JSON)) == 1000
    assert len(decode_turns(b"\n".join([GOOD] * 1000), NDJSON)) == 1000


def test_an_empty_list_has_no_rows() -> None:
    assert decode_turns(b"[ ]", JSON) == []


@given(st.binary(max_size=60), st.sampled_from([JSON, NDJSON, ""]))
def test_any_body_gives_rows_or_one_record_error(body: bytes, content_type: str) -> None:
    if body.strip(b" \t\r\n")[:1] not in (b"[", b""):
        assert decode_turns(body, content_type)
    for start in (b"[", b'[{"a":1},', b'[{"a":"\\ud800"},'):
        with contextlib.suppress(RecordError):
            decode_turns(start + body, content_type)
