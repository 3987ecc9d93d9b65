from __future__ import annotations

from typing import Any

import pytest

from reviews.formats import RecordError
from reviews.formats.record import ToolCall, ToolInfo, TurnRecord
from tests.formats.samples import cut, outcomes, refusal, stream

ASK = {"role": "user", "content": "Where is my parcel?"}


def read(*messages: Any, reply: Any = None, **request: Any) -> list[TurnRecord]:
    document = {"format": "anthropic", "request": {"messages": list(messages), **request}, "response": reply}
    return cut("anthropic", document)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(call_id: str, name: str = "track", **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def result(call_id: str, content: Any = "at the depot", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def test_a_message_of_nothing_but_results_opens_no_turn() -> None:
    reply = {"model": "m-2", "content": [text("It is "), text("at the depot.")]}
    (record,) = read(
        ASK,
        said(text("Let me look."), use("a", number=7)),
        user(result("a")),
        reply=reply,
        model="m",
        system=[text("Be kind.")],
        tools=[{"name": "track", "description": "finds parcels"}],
    )
    assert record.external_id == "log:1/1"
    assert (record.user_message, record.draft) == ("Where is my parcel?", "It is at the depot.")
    assert record.hydrated_context == "Be kind."
    assert record.tool_calls == [ToolCall(name="track", args={"number": 7}, result="at the depot", id="a")]
    assert record.tools == [ToolInfo(name="track", description="finds parcels")]
    assert record.model == "m-2"


def test_a_message_of_results_and_words_opens_one() -> None:
    first, second = read(ASK, said(use("a")), user(result("a"), text("Hurry!")), said(text("Yes.")))
    assert (first.draft, [call.result for call in first.tool_calls]) == ("", ["at the depot"])
    assert (second.user_message, second.draft, second.tool_calls) == ("Hurry!", "Yes.", [])
    assert second.earlier_calls == first.tool_calls


def test_media_that_a_tool_returned_and_the_client_posted_belongs_to_the_turn() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    (record,) = read(
        ASK, said(use("a")), user(result("a")), user(text("This is file 1:"), image), said(text("A photo."))
    )
    assert (record.user_message, record.draft) == ("Where is my parcel?", "A photo.")


@pytest.mark.parametrize(
    ("block", "ok", "error"),
    [
        ({"is_error": True}, False, "at the depot"),
        ({"is_error": True, "content": []}, False, None),
        ({"is_error": False}, True, None),
        ({}, None, None),
        ({"is_error": None}, None, None),
        ({"is_error": "no"}, None, None),
        ({"content": "Error: no such parcel"}, None, None),
    ],
)
def test_success_is_what_is_error_states(block: Any, ok: bool | None, error: str | None) -> None:
    (record,) = read(ASK, said(use("a")), user(result("a") | block))
    assert [(call.ok, call.error) for call in record.tool_calls] == [(ok, error)]


@pytest.mark.parametrize(
    ("content", "ok", "error"),
    [
        ({"type": "bash_code_execution_result", "return_code": 0, "stderr": ""}, True, None),
        ({"type": "bash_code_execution_result", "return_code": 2, "stderr": "no file"}, False, "no file"),
        ({"type": "code_execution_result", "return_code": 1, "stderr": ""}, False, "return code 1"),
        ({"type": "web_search_tool_result_error", "error_code": "max_uses"}, False, "max_uses"),
        ({"type": "advisor_result", "text": "4"}, None, None),
        ([{"type": "web_search_result", "title": "News"}], None, None),
    ],
)
def test_tools_of_the_provider_are_calls_with_results(content: Any, ok: Any, error: Any) -> None:
    call = {"type": "server_tool_use", "id": "s", "name": "run", "input": {}}
    back = {"type": "bash_code_execution_tool_result", "tool_use_id": "s", "content": content}
    (record,) = read(ASK, reply={"content": [text("I will run it. "), call, back, text("Done.")]})
    assert outcomes(record) == [("run", content, ok, error)]
    assert record.draft == "Done."


def test_parts_of_results_become_text_and_long_base64_a_note() -> None:
    image = {"type": "image", "source": {"data": "AAAA"}}
    page = {"type": "web_fetch_result", "content": {"data": "QUJD" * 1000, "title": "Prices " * 1000}}
    back = {"type": "web_fetch_tool_result", "tool_use_id": "b", "content": page}
    (record,) = read(ASK, said(use("a"), use("b")), user(result("a", [text("seen"), image]), back))
    first, second = (call.result for call in record.tool_calls)
    assert first == "seen\n[image]"
    assert second["content"] == {"data": "[4000 characters]", "title": "Prices " * 1000}


def test_an_id_that_is_used_again_means_the_nearest_open_call() -> None:
    (record,) = read(
        ASK,
        said(use("a", "one")),
        user(result("a", "1")),
        said(use("a", "two")),
        user(result("a", "2")),
    )
    assert [(call.name, call.result) for call in record.tool_calls] == [("one", "1"), ("two", "2")]


def test_a_streamed_reply() -> None:
    events = stream(
        {"type": "message_start", "message": {"model": "m-2", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": text("")},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I will "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look.\u2028"}},
        {"type": "content_block_start", "index": 1, "content_block": use("a")},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"number"'}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ": 7}"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    )
    (record,) = read(ASK, reply=events)
    assert (record.draft, record.model) == ("I will look.\u2028", "m-2")
    assert record.tool_calls == [ToolCall(name="track", args={"number": 7}, id="a")]


@pytest.mark.parametrize(
    "reply",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        {"string": '{"type": "error", "error": {"message": "Overloaded"}}'},
        stream({"type": "error", "error": {"message": "Overloaded"}}),
        {"content": None},
        None,
        "Bad gateway",
    ],
)
def test_an_error_reply_leaves_the_history(reply: Any) -> None:
    first, second = read(ASK, said(text("Soon.")), ASK, reply=reply)
    assert (first.draft, second.draft) == ("Soon.", "")


def test_a_reply_with_a_status_of_failure_says_nothing() -> None:
    document = {"request": {"messages": [ASK]}, "response": {"content": [text("Hi")]}, "status": 529}
    assert [record.draft for record in cut("anthropic", document)] == [""]


def test_what_stands_before_the_first_user_message_is_history_only() -> None:
    (record,) = read(said(text("Hello!"), use("a")), user(result("a")), ASK, said(text("Soon.")))
    assert (record.external_id, record.draft) == ("log:1/2", "Soon.")
    assert [call.result for call in record.earlier_calls] == ["at the depot"]


def test_a_bare_request_is_a_conversation() -> None:
    (record,) = cut("anthropic", {"id": "c", "messages": [ASK, said(text("Soon."))]})
    assert (record.external_id, record.draft) == ("c/1", "Soon.")


def test_thinking_is_not_said() -> None:
    (record,) = read(ASK, said({"type": "thinking", "thinking": "hm"}, text("Soon.")))
    assert record.draft == "Soon."


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        ([], ""),
        ({}, ""),
        ({"format": "gemini", "messages": []}, "/format"),
        ({"request": 3}, "/request"),
        ({"request": {"messages": {}}}, "/request/messages"),
        ({"messages": [3]}, "/messages/0"),
        ({"request": {"messages": [ASK, {"role": "tool"}]}}, "/request/messages/1/role"),
        ({"messages": [{"role": ["user"]}]}, "/messages/0/role"),
    ],
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    error: RecordError = refusal(cut, "anthropic", document)
    assert error.pointer == spot
