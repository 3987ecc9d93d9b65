from __future__ import annotations

import json
from typing import Any

from reviews.formats.sse import join_stream
from tests.formats.samples import refusal


def stream(*deltas: dict[str, Any], **more: Any) -> str:
    chunks = [{"model": "m", "choices": [{"index": 0, "delta": delta}], **more} for delta in deltas]
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}" for chunk in chunks]
    return ": PROCESSING\r\n\r\n" + "\n\n".join([*lines, "data: [DONE]", ""])


def test_text_is_joined() -> None:
    reply = join_stream(
        stream({"role": "assistant", "content": ""}, {"content": "a\u2028"}, {"content": "b"})
    )
    assert reply.message()["content"] == "a\u2028b"
    assert reply.model == "m"


def test_calls_are_joined_by_index() -> None:
    def piece(index: int, **function: str) -> dict[str, Any]:
        return {"index": index, "function": function}

    message = join_stream(
        stream(
            {
                "tool_calls": [
                    piece(0, name="a", arguments="") | {"id": "1"},
                    piece(1, name="b") | {"id": "2"},
                ]
            },
            {"tool_calls": [piece(0, arguments='{"x"')]},
            {"tool_calls": [piece(1, arguments="{}"), piece(0, arguments=": 1}")]},
        )
    ).message()
    assert message["tool_calls"] == [
        {"id": "1", "function": {"name": "a", "arguments": '{"x": 1}'}},
        {"id": "2", "function": {"name": "b", "arguments": "{}"}},
    ]


def test_calls_without_an_index_are_joined_by_id() -> None:
    message = join_stream(
        stream(
            {"tool_calls": [{"id": "1", "function": {"name": "a", "arguments": "{"}}]},
            {"tool_calls": [{"function": {"arguments": "}"}}]},
            {"tool_calls": [{"id": "2", "function": {"name": "b", "arguments": "{}"}}]},
        )
    ).message()
    assert [call["function"]["arguments"] for call in message["tool_calls"]] == ["{}", "{}"]


def test_only_the_first_choice_counts() -> None:
    text = stream({"content": "a"}) + 'data: {"choices": [{"index": 1, "delta": {"content": "b"}}]}\n'
    assert join_stream(text).message()["content"] == "a"


def test_an_error_instead_of_an_answer() -> None:
    assert refusal(join_stream, 'data: {"error": {"message": "overloaded"}}').pointer == "/response/string"


def test_a_chunk_that_is_not_json() -> None:
    assert "not valid JSON" in refusal(join_stream, "data: {").message


def test_odd_chunks_are_passed_over() -> None:
    text = 'data: 5\ndata: {"choices": 5}\ndata: {"choices": [5, {"delta": 5}]}\nevent: x\n'
    assert join_stream(text).message()["content"] is None


def test_odd_ids_of_calls_are_no_names_of_calls() -> None:
    message = join_stream(
        stream({"tool_calls": [{"id": [], "function": {"name": "a"}}, {"id": {}}]})
    ).message()
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["a"]
