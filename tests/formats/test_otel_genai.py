from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from reviews.formats.record import ToolCall, ToolInfo, TurnRecord
from tests.formats.samples import cut, outcomes, refusal

ASK = {"role": "user", "parts": [{"type": "text", "content": "Warm in Pune?"}]}
CALL = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "a", "name": "warmth", "arguments": {"city": "Pune"}}],
}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "a", "response": "31 °C"}]}
ANSWER = {"role": "assistant", "parts": [{"type": "text", "content": "It is 31."}]}


def span(*given: Any, out: Any = (ANSWER,), trace: str = "t1", **more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.input.messages": list(given), "gen_ai.output.messages": list(out)}
    return {"trace_id": trace, "attributes": attributes | more}


def tool_span(**more: Any) -> dict[str, Any]:
    return {"trace_id": "t1", "attributes": {"gen_ai.tool.call.id": "a"}, **more}


def read(*spans: Any, **more: Any) -> list[TurnRecord]:
    return cut("otel-genai", {"spans": list(spans), **more})


def exported(*spans: dict[str, Any]) -> dict[str, Any]:
    """The same spans as an OTLP/JSON export, where messages are JSON strings."""

    def value(item: Any) -> dict[str, Any]:
        if isinstance(item, list) and item and isinstance(item[0], str):
            return {"arrayValue": {"values": [value(part) for part in item]}}
        if isinstance(item, int):
            return {"intValue": str(item)}
        return {"stringValue": item if isinstance(item, str) else json.dumps(item)}

    out = [
        {
            "traceId": one["trace_id"],
            "attributes": [{"key": k, "value": value(v)} for k, v in one["attributes"].items()],
            **{key: value for key, value in one.items() if key not in ("trace_id", "attributes")},
        }
        for one in spans
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": out}]}]}


def test_the_last_span_with_messages_tells_the_whole_exchange() -> None:
    more = {"gen_ai.request.model": "m", "gen_ai.response.model": "m-2", "gen_ai.agent.name": "ops"}
    tools = {"gen_ai.tool.definitions": [{"type": "function", "name": "warmth", "description": "measures"}]}
    spans = (span(ASK, out=(CALL,)), tool_span(), span(ASK, CALL, RESULT, **more, **tools))
    (record,) = read(*spans, id="c")
    assert (record.external_id, record.draft, record.model, record.agent) == (
        "c/1",
        "It is 31.",
        "m-2",
        "ops",
    )
    assert record.tool_calls == [ToolCall(name="warmth", args={"city": "Pune"}, result="31 °C", id="a")]
    assert record.tools == [ToolInfo(name="warmth", description="measures")]
    assert cut("otel-genai", {"id": "c", **exported(*spans)}) == [record]


def test_of_two_choices_the_first_is_the_draft() -> None:
    other = {"role": "assistant", "parts": [{"type": "text", "content": "It is 12."}]}
    assert [record.draft for record in read(span(ASK, out=(ANSWER, other)))] == ["It is 31."]


def test_media_alone_leave_their_marks() -> None:
    media = [
        {"type": "uri", "modality": "video", "uri": "gs://x"},
        {"type": "file", "modality": "scent", "file_id": "y"},
        {"type": "blob", "modality": "image", "content": "QUJD"},
    ]
    painted = {"role": "assistant", "parts": media[2:]}
    (record,) = read(span({"role": "user", "parts": media}, out=(painted,)))
    assert (record.user_message, record.draft) == ("[video]\n[file]\n[image]", "[image]")


def test_media_that_a_tool_returned_belongs_to_the_turn() -> None:
    posted = {"role": "user", "parts": [{"type": "blob", "modality": "image", "content": "QUJD"}]}
    (record,) = read(span(ASK, CALL, RESULT, posted))
    assert (record.user_message, record.draft) == ("Warm in Pune?", "It is 31.")


@pytest.mark.parametrize("outside", [[{"type": "text", "content": "Be short."}], "Be short."])
def test_system_text_outside_the_messages_comes_first(outside: Any) -> None:
    system = {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}
    (record,) = read(span(system, ASK, **{"gen_ai.system_instructions": outside}))
    assert record.hydrated_context == "Be short.\n\nBe kind."


def test_reasoning_is_not_said() -> None:
    thought = {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, *ANSWER["parts"]]}
    assert [record.draft for record in read(span(ASK, out=(thought,)))] == ["It is 31."]


@pytest.mark.parametrize(
    ("state", "ok", "error"),
    [
        ({}, None, None),
        ({"status": {"code": 0}}, None, None),
        ({"status": {"code": 1}}, True, None),
        ({"status": {"code": "STATUS_CODE_OK"}}, True, None),
        ({"status": {"code": 2, "message": "timed out"}}, False, "timed out"),
        ({"status": {"code": "STATUS_CODE_ERROR"}}, False, None),
        ({"status": {"code": ["odd"]}}, None, None),
    ],
)
def test_success_is_the_status_of_the_tools_span(state: Any, ok: Any, error: Any) -> None:
    (record,) = read(tool_span(**state), span(ASK, CALL, RESULT))
    assert outcomes(record) == [("warmth", "31 °C", ok, error)]


def test_an_error_type_and_a_result_of_the_tools_span() -> None:
    tool = tool_span()
    tool["attributes"] |= {"error.type": "TimeoutError", "gen_ai.tool.call.result": '{"n": 1}'}
    empty = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "a"}]}
    (record,) = read(tool, span(ASK, CALL, empty))
    assert outcomes(record) == [("warmth", {"n": 1}, False, "TimeoutError")]


def test_an_export_of_several_conversations() -> None:
    named = {"gen_ai.conversation.id": "c9"}
    spans = (span(ASK), span(ASK, trace="t2", **named), span(ASK, ANSWER, ASK, trace="t3", **named))
    assert [record.external_id for record in cut("otel-genai", exported(*spans))] == ["t1/1", "c9/1", "c9/2"]


def test_times_are_nanoseconds() -> None:
    one = span(ASK) | {"startTimeUnixNano": "1", "endTimeUnixNano": "1750000000000000000"}
    (record,) = cut("otel-genai", exported(one))
    assert record.occurred_at == datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"spans": []},
        {"spans": [3, {"attributes": 3}, {}]},
        {"resourceSpans": [{"scopeSpans": 3}, 4]},
        {"spans": [span(ASK) | {"attributes": {"gen_ai.input.messages": "{"}}]},
        {"spans": [span({"role": "user"})]},
        {"spans": [span({"role": "narrator", "parts": []})]},
        {"spans": [span(ASK, out=(3,))]},
    ],
)
def test_other_shapes_are_refused(document: Any) -> None:
    assert refusal(cut, "otel-genai", document).pointer == ""
