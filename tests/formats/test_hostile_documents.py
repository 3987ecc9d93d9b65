"""Every transcript reader against documents that were tampered with."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reviews.formats import FORMATS, RecordError, decode_turn, encode_turn
from reviews.formats.checks import check_turn
from reviews.formats.origin import FileOrigin, LineOrigin
from reviews.formats.recognise import recognise_document
from tests.formats.samples import cut, stream
from tests.formats.transcripts import ASK, DOCUMENTS

CASES = [(name, document) for name, documents in sorted(DOCUMENTS.items()) for document in documents]

odd_values = st.sampled_from(
    [None, True, 0, -1, 2.5, 2**70, "", "x", "user", "assistant", "\ud800", "\0", "{", '{"a": 1}', "data: {}"]
) | st.sampled_from(
    [
        [],
        {},
        [None],
        [[]],
        {"type": []},
        {"type": {}},
        {"text": 5},
        {"role": []},
        {"string": "data: 5"},
        ["x"] * 3,
    ]
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a document with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in [(value, key), *places(item)]]


@st.composite
def tampered(draw: st.DrawFn) -> tuple[str, Any]:
    """A document with a few values replaced, taken out, or put where another was."""
    name, document = draw(st.sampled_from(CASES))
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 4))):
        if not (found := places(document)):
            break
        holder, key = draw(st.sampled_from(found))
        match draw(st.integers(0, 3)):
            case 0 | 1:
                holder[key] = copy.deepcopy(draw(odd_values))
            case 2:
                del holder[key]
            case 3:
                other, from_key = draw(st.sampled_from(found))
                holder[key] = copy.deepcopy(other[from_key])
    return name, document


def test_every_transcript_format_has_a_document() -> None:
    assert DOCUMENTS.keys() == FORMATS.keys() - {"native"}


@pytest.mark.parametrize(("name", "document"), CASES)
def test_the_documents_are_good_before_they_are_tampered_with(name: str, document: Any) -> None:
    records = cut(name, document)
    assert records
    for record in records:
        check_turn(record)
        assert decode_turn(encode_turn(record)) == record


@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(tampered())
@example(
    (
        "openai-chat",
        {
            "request": {"messages": []},
            "response": stream({"choices": [{"delta": {"tool_calls": [{"id": []}]}}]}),
        },
    )
)
def test_only_record_errors_come_out_and_every_turn_is_a_good_native_one(case: tuple[str, Any]) -> None:
    name, document = case
    recognise_document(document)
    try:
        records = cut(name, document)
    except RecordError:
        return
    for record in records:
        try:
            check_turn(record)
        except RecordError:
            continue
        assert decode_turn(encode_turn(record)) == record


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(FORMATS)), st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_anything_that_is_no_document_is_refused(name: str, junk: bytes) -> None:
    with pytest.raises(RecordError):
        list(FORMATS[name](junk, LineOrigin(FileOrigin("log"), 1)))


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("openai-chat", lambda value: [{"role": "tool", "content": value}]),
        ("responses", lambda value: {"input": [ASK, {"type": "x_call", "id": "a", "more": value}]}),
        ("reports", lambda value: {"draft": "x", "expected": value, "tool_calls": [{"result": value}]}),
        ("tau2", lambda value: {"messages": [ASK], "task_id": value}),
    ],
)
def test_what_is_nested_as_deep_as_it_may_be_can_be_stored(name: str, build: Callable[[Any], Any]) -> None:
    refused = [refusal_of(name, build(deep(levels))) for levels in range(56, 66)]
    assert refused[0] is None
    assert refused[-1] is not None
    assert {error.message for error in refused if error} == {"found nesting deeper than 63 levels"}


def refusal_of(name: str, document: Any) -> RecordError | None:
    """The error for a document; without one, its turns are good native turns."""
    try:
        records = cut(name, document)
    except RecordError as error:
        return error
    for record in records:
        assert decode_turn(encode_turn(record)) == record
    return None
