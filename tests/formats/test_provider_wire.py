from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.origin import FileOrigin, LineOrigin
from reviews.formats.provider_wire import WIRES, read_provider_wire
from tests.formats.samples import cut, raw, refusal, stream

ANSWER = "It is 31."
OPENAI = {"messages": [{"role": "user", "content": "Warm?"}]}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Warm?"}]}]}
RESPONSES = {"input": "Warm?"}
MESSAGE = {"role": "assistant", "content": ANSWER}
PARTS = {"candidates": [{"content": {"parts": [{"text": ANSWER}]}}]}
OUTPUT = {"output": [{"type": "message", "role": "assistant", "content": ANSWER}]}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "openai": (
        OPENAI,
        {"choices": [{"message": MESSAGE}]},
        {"choices": [{"index": 0, "delta": MESSAGE}]},
    ),
    "anthropic": (
        OPENAI,
        {"content": [{"type": "text", "text": ANSWER}]},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ANSWER}},
    ),
    "gemini": (GEMINI, PARTS, PARTS),
    "responses": (RESPONSES, OUTPUT, {"type": "response.completed", "response": OUTPUT}),
}


def wire(name: str, response: Any, **more: Any) -> dict[str, Any]:
    return {"format": name, "request": CASES[name][0], "response": response, **more}


def test_every_format_has_its_case() -> None:
    assert WIRES.keys() == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_whole_and_streamed_replies_give_the_same_turn(name: str) -> None:
    _request, whole, event = CASES[name]
    (record,) = cut("provider-wire", wire(name, whole))
    assert (record.external_id, record.user_message, record.draft) == ("log:1/1", "Warm?", ANSWER)
    assert cut("provider-wire", wire(name, stream(event))) == [record]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("response", "status"),
    [
        ({"string": '{"error": {"message": "no", "code": "invalid_request_error"}}'}, 400),
        ({"error": {"message": "no"}}, 500),
        ({"string": "<html>Bad gateway</html>"}, 502),
        (None, None),
    ],
)
def test_an_error_reply_leaves_a_turn_without_a_draft(name: str, response: Any, status: int | None) -> None:
    (record,) = cut("provider-wire", wire(name, response, status=status))
    assert (record.user_message, record.draft) == ("Warm?", "")


@pytest.mark.parametrize("name", CASES)
def test_a_body_that_came_with_an_error_status_is_no_answer(name: str) -> None:
    whole = CASES[name][1]
    assert [record.draft for record in cut("provider-wire", wire(name, whole, status=429))] == [""]
    assert [record.draft for record in cut("provider-wire", wire(name, whole, status=201))] == [ANSWER]


def test_turns_before_the_first_user_message_can_be_kept() -> None:
    greeting = {"messages": [{"role": "assistant", "content": "Hello!"}, *OPENAI["messages"]]}
    document = {"format": "openai", "request": greeting, "response": CASES["openai"][1]}
    assert [record.external_id for record in cut("provider-wire", document)] == ["log:1/2"]
    origin = LineOrigin(FileOrigin("log"), 1)
    kept = [record.draft for _n, record in read_provider_wire(raw(document), origin, keep_headless=True)]
    assert kept == ["Hello!", ANSWER]


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        ([], ""),
        ({"request": OPENAI}, "/format"),
        ({"format": "cohere", "request": OPENAI}, "/format"),
        ({"format": ["openai"], "request": OPENAI}, "/format"),
        ({"format": "openai", "messages": []}, "/request"),
        ({"format": "gemini", "request": OPENAI}, "/request/contents"),
        ({"format": "responses", "request": {}}, "/request/input"),
        ({"format": "anthropic", "request": {}}, "/request/messages"),
        ({"format": "openai", "request": OPENAI, "response": {"string": "data: {"}}, "/response/string"),
    ],
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(cut, "provider-wire", document).pointer == spot
