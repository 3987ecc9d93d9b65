from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.openai_chat import read_openai_chat
from reviews.formats.origin import FileOrigin, LineOrigin
from reviews.formats.record import ToolInfo, TurnRecord
from tests.formats.samples import raw, refusal

ASK = {"role": "user", "content": "x"}
ANSWER = {"role": "assistant", "content": "y"}


def read(document: Any, line: int = 3) -> list[TurnRecord]:
    origin = LineOrigin(FileOrigin("log"), line)
    return [record for _number, record in read_openai_chat(raw(document), origin)]


def test_a_bare_list_is_named_after_file_and_line() -> None:
    (record,) = read([ASK, ANSWER])
    assert (record.external_id, record.draft) == ("log:3/1", "y")


def test_an_object_with_messages() -> None:
    (record,) = read(
        {
            "id": "c",
            "messages": [ASK, ANSWER],
            "model": "m",
            "agent": "ops",
            "tools": ["look"],
            "created_at": 1750000000,
        }
    )
    assert (record.external_id, record.model, record.agent) == ("c/1", "m", "ops")
    assert record.tools == [ToolInfo(name="look")]
    assert record.occurred_at is not None


def test_a_request_and_its_reply() -> None:
    response = {"model": "m-2", "created": 1750000000, "choices": [{"message": ANSWER}]}
    (record,) = read({"format": "openai", "request": {"model": "m", "messages": [ASK]}, "response": response})
    assert (record.draft, record.model) == ("y", "m-2")
    assert record.occurred_at is not None


def test_a_streamed_reply() -> None:
    text = 'data: {"model": "m-2", "choices": [{"delta": {"content": "y"}}]}\n\ndata: [DONE]\n'
    (record,) = read({"request": {"messages": [ASK]}, "response": {"string": text}})
    assert (record.draft, record.model) == ("y", "m-2")


@pytest.mark.parametrize(
    "response", [{"error": {"message": "no"}}, {"choices": []}, {"choices": [{}]}, None, "x"]
)
def test_an_error_reply_leaves_the_history(response: Any) -> None:
    first, second = read({"request": {"messages": [ASK, ANSWER, ASK]}, "response": response})
    assert (first.draft, second.draft) == ("y", "")


def test_a_reply_with_a_status_of_failure_says_nothing() -> None:
    response = {"choices": [{"message": ANSWER}]}
    assert [r.draft for r in read({"request": {"messages": [ASK]}, "response": response, "status": 500})] == [
        ""
    ]


def test_a_greeting_is_kept_in_a_log_and_left_out_of_a_request() -> None:
    messages = [ANSWER, ASK, ANSWER]
    assert [record.external_id for record in read({"id": "c", "messages": messages})] == ["c/1", "c/2"]
    assert [record.external_id for record in read({"id": "c", "request": {"messages": messages}})] == ["c/2"]


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        ("text", ""),
        ({}, ""),
        ({"traj": []}, ""),
        ({"messages": {}}, "/messages"),
        ({"messages": [3]}, "/messages/0"),
        ([3], "/0"),
        ({"request": []}, "/request"),
        ({"request": {"contents": []}}, "/request/messages"),
        ({"request": {"messages": [ASK, 3]}}, "/request/messages/1"),
        ({"format": "gemini", "request": {"messages": [ASK]}}, "/format"),
    ],
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(read, document).pointer == spot
