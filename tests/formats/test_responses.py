from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.record import ToolCall, TurnRecord
from tests.formats.samples import cut, outcomes, refusal, stream

ASK = {"role": "user", "content": "Who won?"}


def read(*items: Any, reply: Any = None, **request: Any) -> list[TurnRecord]:
    return cut("responses", {"request": {"input": list(items), **request}, "response": reply})


def said(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text} for text in texts]
    return {"type": "message", "role": "assistant", "content": parts}


def call(call_id: str, name: str = "score") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"n": 1}'}


def output(call_id: str, value: Any = "3:1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value, **more}


def test_input_may_be_a_plain_string() -> None:
    document = {
        "request": {"input": "Who won?", "instructions": "Be short.", "model": "m"},
        "response": {"model": "m-2", "created_at": 1750000000, "output": [said("We ", "did.")]},
    }
    (record,) = cut("responses", document)
    assert (record.user_message, record.draft) == ("Who won?", "We did.")
    assert (record.hydrated_context, record.model) == ("Be short.", "m-2")
    assert record.occurred_at is not None
    assert [r.user_message for r in cut("responses", {"input": "Who won?"})] == ["Who won?"]


def test_items_of_input_and_output_are_one_conversation() -> None:
    first, second = read(
        {"role": "developer", "content": "Be short."},
        ASK,
        said("Let me look."),
        call("a"),
        {"type": "reasoning", "summary": []},
        output("a"),
        said("We did."),
        {"role": "user", "content": [{"type": "input_text", "text": "Sure?"}]},
        reply={"output": [said("Yes.")]},
    )
    assert (first.draft, first.hydrated_context) == ("We did.", "Be short.")
    assert first.tool_calls == [ToolCall(name="score", args={"n": 1}, result="3:1", id="a")]
    assert (second.user_message, second.draft) == ("Sure?", "Yes.")
    assert (second.earlier_calls, second.earlier_user_messages) == (first.tool_calls, ["Who won?"])


@pytest.mark.parametrize(
    ("more", "ok", "error"),
    [
        ({}, None, None),
        ({"status": "completed"}, None, None),
        ({"error": "timed out"}, False, "timed out"),
        ({"output": "Error: timed out"}, None, None),
        ({"output": ""}, None, None),
    ],
)
def test_the_status_of_an_output_item_is_not_the_tools(more: Any, ok: Any, error: Any) -> None:
    (record,) = read(ASK, call("a"), output("a") | more)
    assert [(c.ok, c.error) for c in record.tool_calls] == [(ok, error)]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "cup"}},
            ("web_search", {"query": "cup"}, None, True, None),
        ),
        (
            {"type": "web_search_call", "id": "w", "status": "failed", "action": {"query": "cup"}},
            ("web_search", {"query": "cup"}, None, False, "failed"),
        ),
        (
            {"type": "web_search_call", "id": "w", "status": "searching", "action": {"query": "cup"}},
            ("web_search", {"query": "cup"}, None, None, None),
        ),
        (
            {
                "type": "file_search_call",
                "id": "f",
                "status": "completed",
                "queries": ["cup"],
                "results": [1],
            },
            ("file_search", {"queries": ["cup"]}, [1], True, None),
        ),
        (
            {
                "type": "mcp_call",
                "id": "m",
                "name": "ask",
                "arguments": '{"q": 1}',
                "output": "x",
                "error": None,
            },
            ("ask", {"q": 1}, "x", None, None),
        ),
        (
            {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "error": {"message": "denied"}},
            ("ask", {}, None, False, "denied"),
        ),
        (
            {"type": "image_generation_call", "id": "i", "status": "completed", "result": "QUJD" * 600},
            ("image_generation", {}, "[2400 characters]", True, None),
        ),
        # Run by the client: without its output nothing is known.
        (
            {
                "type": "local_shell_call",
                "call_id": "s",
                "status": "completed",
                "action": {"command": ["ls"]},
            },
            ("local_shell", {"command": ["ls"]}, None, None, None),
        ),
    ],
)
def test_calls_that_the_provider_runs(item: Any, expected: Any) -> None:
    (record,) = read(ASK, reply={"output": [item, said("We did.")]})
    (made,) = record.tool_calls
    assert (made.name, made.args, made.result, made.ok, made.error) == expected
    assert record.draft == "We did."


def test_an_output_item_of_another_kind_answers_its_call() -> None:
    ask = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {"q": 1}}
    ask |= {"status": "completed"}
    found = {
        "type": "tool_search_output",
        "call_id": None,
        "execution": "server",
        "tools": [{"name": "score"}],
    }
    (record,) = read(ASK, ask, found)
    assert outcomes(record) == [("tool_search", [{"name": "score"}], None, None)]


def test_custom_tools_take_text() -> None:
    (record,) = read(
        ASK,
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
    )
    assert record.tool_calls == [ToolCall(name="sql", args="select 1", result="1", id="c")]


def test_what_only_the_provider_remembers_is_left_out_and_keeps_its_number() -> None:
    """A request that continues an earlier response may begin with the result of a call."""
    (record,) = read(output("a"), said("We did."), ASK, reply={"output": [said("Yes.")]})
    assert (record.external_id, record.draft) == ("log:1/2", "Yes.")
    assert [(c.name, c.result) for c in record.earlier_calls] == [("unknown", "3:1")]
    assert read(output("a"), reply={"output": [said("We did.")]}) == []


@pytest.mark.parametrize("ending", ["response.completed", "response.incomplete", "response.failed"])
def test_a_streamed_reply(ending: str) -> None:
    reply = stream(
        {"type": "response.created", "response": {"output": []}},
        {"type": "response.output_text.delta", "delta": "We"},
        {"type": ending, "response": {"model": "m-2", "output": [said("We did.")]}},
    )
    (record,) = read(ASK, reply=reply)
    assert (record.draft, record.model) == ("We did.", "m-2")


def test_a_stream_that_broke_off_has_its_whole_items() -> None:
    reply = stream(
        {"type": "response.output_item.done", "item": call("a")},
        {"type": "response.output_item.done", "item": said("We did.")},
        {"type": "response.output_text.delta", "delta": "And"},
    )
    (record,) = read(ASK, reply=reply)
    assert (record.draft, [c.name for c in record.tool_calls]) == ("We did.", ["score"])


@pytest.mark.parametrize(
    "reply",
    [
        {"string": '{"error": {"message": "No tool output found."}}'},
        {"error": {"message": "no"}, "output": []},
        stream({"type": "error", "message": "no"}),
        {"output": "odd"},
        {"output": [3, {"role": "narrator"}]},
        None,
    ],
)
def test_an_error_reply_leaves_the_history(reply: Any) -> None:
    first, second = read(ASK, said("We did."), ASK, reply=reply)
    assert (first.draft, second.draft) == ("We did.", "")


def test_media_that_a_tool_returned_belongs_to_the_turn() -> None:
    media = [{"type": "input_file", "file_data": "AAAA"}]
    (record,) = read(
        ASK, call("a"), output("a", "File attached"), {"role": "user", "content": media}, said("A.")
    )
    assert (record.user_message, record.draft) == ("Who won?", "A.")


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        ({}, ""),
        ({"input": 3}, "/input"),
        ({"request": {"input": [3]}}, "/request/input/0"),
        ({"input": [ASK, {"role": "narrator"}]}, "/input/1/role"),
        ({"input": [{"type": "message"}]}, "/input/0/role"),
        ({"format": "openai", "input": []}, "/format"),
    ],
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(cut, "responses", document).pointer == spot
