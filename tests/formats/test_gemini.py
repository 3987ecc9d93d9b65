from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.record import ToolCall, ToolInfo, TurnRecord
from tests.formats.samples import cut, outcomes, refusal, stream

ASK = {"role": "user", "parts": [{"text": "How warm is it?"}]}


def read(*contents: Any, reply: Any = None, **request: Any) -> list[TurnRecord]:
    return cut("gemini", {"request": {"contents": list(contents), **request}, "response": reply})


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def answer(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": model(*parts)}], **more}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"city": "Pune"}, **more}}


def response(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": value, **more}}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def test_a_content_of_nothing_but_results_opens_no_turn() -> None:
    (record,) = read(
        ASK,
        model(call("warmth")),
        user(response("warmth", {"degrees": 31})),
        reply=answer(
            {"text": "thinking", "thought": True}, {"text": "It is "}, {"text": "31."}, modelVersion="m-2"
        ),
        systemInstruction={"parts": [{"text": "Be short."}]},
        tools=[
            {"functionDeclarations": [{"name": "warmth", "description": "measures"}]},
            {"googleSearch": {}},
        ],
    )
    assert (record.draft, record.hydrated_context, record.model) == ("It is 31.", "Be short.", "m-2")
    assert record.tool_calls == [ToolCall(name="warmth", args={"city": "Pune"}, result={"degrees": 31})]
    assert record.tools == [
        ToolInfo(name="warmth", description="measures"),
        ToolInfo(name="googleSearch"),
    ]


def test_calls_without_an_id_are_answered_by_name_and_order() -> None:
    (record,) = read(
        ASK,
        model(call("warmth"), call("wind"), call("warmth")),
        user(response("wind", {"n": 2}), response("warmth", {"n": 1}), response("warmth", {"n": 3})),
    )
    assert [(c.name, c.result) for c in record.tool_calls] == [
        ("warmth", {"n": 1}),
        ("wind", {"n": 2}),
        ("warmth", {"n": 3}),
    ]
    assert all(c.id is None for c in record.tool_calls)


def test_calls_with_an_id_are_answered_by_it() -> None:
    (record,) = read(
        ASK,
        model(call("warmth", id="a"), call("warmth", id="b")),
        user(response("warmth", {"n": 2}, id="b"), response("warmth", {"n": 1}, id="a")),
    )
    assert [c.result for c in record.tool_calls] == [{"n": 1}, {"n": 2}]


def test_names_of_the_python_library_are_understood() -> None:
    (record,) = read(
        ASK,
        model({"function_call": {"name": "warmth", "args": {}}}),
        user({"function_response": {"name": "warmth", "response": {}}}),
        system_instruction="Be short.",
    )
    assert (record.hydrated_context, [c.result for c in record.tool_calls]) == ("Be short.", [{}])


@pytest.mark.parametrize(
    ("value", "ok", "error"),
    [
        ({"error": "no such city"}, False, "no such city"),
        ({"error": {"code": 404, "message": "no such city"}}, False, "no such city"),
        ({"error": {"code": 404}}, False, '{"code":404}'),
        ({"error": None, "output": 31}, None, None),
        ({"error": ""}, None, None),
        ({"status": "failed"}, None, None),
        ("Error: no such city", None, None),
    ],
)
def test_success_is_what_the_protocols_error_field_states(value: Any, ok: Any, error: Any) -> None:
    (record,) = read(ASK, model(call("warmth")), user(response("warmth", value)))
    assert outcomes(record) == [("warmth", value, ok, error)]


@pytest.mark.parametrize(
    ("word", "ok", "error"),
    [
        ("OUTCOME_OK", True, None),
        ("OUTCOME_FAILED", False, "ZeroDivisionError"),
        ("OUTCOME_UNSPECIFIED", None, None),
    ],
)
def test_code_that_the_model_ran(word: str, ok: Any, error: Any) -> None:
    (record,) = read(
        ASK,
        reply=answer(
            {"executableCode": {"code": "1/0", "language": "PYTHON", "id": "x"}},
            {"codeExecutionResult": {"outcome": word, "output": "ZeroDivisionError", "id": "x"}},
            {"text": "Hm."},
        ),
    )
    result = {"outcome": word, "output": "ZeroDivisionError"}
    assert outcomes(record) == [("code_execution", result, ok, error)]
    assert (record.tool_calls[0].args, record.draft) == ({"code": "1/0", "language": "PYTHON"}, "Hm.")


def test_a_tool_that_google_runs() -> None:
    (record,) = read(
        ASK,
        reply=answer(
            {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["pune"]}}},
            {"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {"hits": 3}}},
            {"text": "31."},
        ),
    )
    assert outcomes(record) == [("google_search_web", {"hits": 3}, None, None)]


def test_media_that_a_tool_returned_belongs_to_the_turn() -> None:
    media = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    for contents in (
        [user(response("photo", {}), media)],
        [user(response("photo", {})), user({"text": "This is file 7:"}, media)],
    ):
        (record,) = read(ASK, model(call("photo")), *contents, model({"text": "A cat."}))
        assert (record.user_message, record.draft) == ("How warm is it?", "A cat.")


def test_media_of_the_user_opens_a_turn() -> None:
    (record,) = read(user({"fileData": {"fileUri": "gs://x"}}), model({"text": "A cat."}))
    assert record.user_message == "[file]"


@pytest.mark.parametrize("contents", ["How warm is it?", ASK, ["How warm is it?"], [{"parts": ASK["parts"]}]])
def test_contents_may_be_short(contents: Any) -> None:
    document = {"contents": contents}
    assert [record.user_message for record in cut("gemini", document)] == ["How warm is it?"]


@pytest.mark.parametrize("reply", [stream(answer({"text": "It "}), answer({"text": "is 31."}))])
def test_a_streamed_reply(reply: Any) -> None:
    assert [record.draft for record in read(ASK, reply=reply)] == ["It is 31."]


def test_a_reply_as_a_list_of_pieces() -> None:
    assert [r.draft for r in read(ASK, reply=[answer({"text": "It "}), answer({"text": "is 31."})])] == [
        "It is 31."
    ]


def test_of_two_candidates_the_first_counts() -> None:
    reply = {"candidates": [{"content": model({"text": "31."})}, {"content": model({"text": "12."})}]}
    assert [record.draft for record in read(ASK, reply=reply)] == ["31."]


@pytest.mark.parametrize(
    "reply",
    [{"error": {"code": 503}}, {"candidates": []}, {"candidates": [{"finishReason": "SAFETY"}]}, None, "x"],
)
def test_an_error_reply_leaves_the_history(reply: Any) -> None:
    first, second = read(ASK, model({"text": "31."}), ASK, reply=reply)
    assert (first.draft, second.draft) == ("31.", "")


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        ({}, ""),
        ({"contents": 3}, "/contents"),
        ({"request": {"contents": [3]}}, "/request/contents/0"),
        ({"contents": [{"role": "assistant"}]}, "/contents/0/role"),
        ({"contents": [{"role": {}, "parts": []}, {"role": [1]}]}, "/contents/1/role"),
        ({"format": "openai", "contents": []}, "/format"),
    ],
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(cut, "gemini", document).pointer == spot
