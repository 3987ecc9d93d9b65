"""Long documents take work in proportion to their length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from reviews.formats import FORMATS
from reviews.formats.origin import FileOrigin, LineOrigin
from tests.formats.samples import raw, stream

ASK = {"role": "user", "content": "Where?"}


def chat(count: int) -> list[dict[str, Any]]:
    """Calls without results, results of unknown ids, ids used again, and many turns."""
    messages: list[dict[str, Any]] = []
    for number in range(count):
        calls = [
            {"id": f"open-{number}", "name": "t", "arguments": {}},
            {"id": "a", "name": "t", "arguments": {}},
        ]
        messages += [
            {"role": "system", "content": "s"},
            ASK,
            {"role": "assistant", "content": "y", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "a", "content": "x"},
            {"role": "tool", "tool_call_id": f"unknown-{number}", "content": "x"},
        ]
    return messages


def one_turn(count: int) -> list[dict[str, Any]]:
    calls = [{"id": str(number), "name": "t", "arguments": {}} for number in range(count)]
    results = [
        {"role": "tool", "tool_call_id": str(number), "content": "x"} for number in reversed(range(count))
    ]
    unknown = [{"role": "tool", "content": "x"} for _ in range(count)]
    return [ASK, {"role": "assistant", "tool_calls": calls + calls}, *results, *unknown]


def streamed(count: int) -> dict[str, Any]:
    pieces = [{"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "1"}}]}}]}] * count
    return {"request": {"messages": [ASK]}, "response": stream(*pieces)}


def gemini(count: int) -> dict[str, Any]:
    call = {"functionCall": {"name": "t", "args": {}}}
    answer = {"functionResponse": {"name": "t", "response": {}}}
    return {
        "contents": [{"role": "model", "parts": [call] * count}, {"role": "user", "parts": [answer] * count}]
    }


def steps(count: int) -> dict[str, Any]:
    step = [{"role": "assistant", "thought": "x", "action": "ls"}, {"role": "user", "content": "y"}]
    return {"history": [ASK, *step * count]}


LONG: list[tuple[str, Callable[[int], Any]]] = [
    ("openai-chat", chat),
    ("openai-chat", one_turn),
    ("openai-chat", streamed),
    ("gemini", gemini),
    ("swe-agent", steps),
]


def instructions(action: Callable[[], object]) -> int:
    """Bytecode instructions that ``action`` takes: the same on every machine, unlike seconds."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def assert_linear(work: Callable[[int], int], step: int) -> None:
    """The third ``step`` costs what the second did. The first is left out: histories grow to their limit."""
    first, second, third = (work(number * step) for number in (1, 2, 3))
    assert second - first > step
    assert third - second < 1.2 * (second - first)


@pytest.mark.parametrize(("name", "build"), LONG)
def test_every_part_of_a_document_takes_the_same_work(name: str, build: Callable[[int], Any]) -> None:
    def work(count: int) -> int:
        data = raw(build(count))
        return instructions(lambda: list(FORMATS[name](data, LineOrigin(FileOrigin("log"), 1))))

    assert_linear(work, 220)


def test_many_documents_of_one_name_are_told_apart_with_the_same_work_each() -> None:
    document = raw({"id": "same", "messages": [ASK]})

    def ids(count: int) -> list[str]:
        origin = FileOrigin("log")
        read = FORMATS["openai-chat"]
        return [
            record.external_id
            for line in range(count)
            for _n, record in read(document, LineOrigin(origin, line))
        ]

    assert ids(3) == ["same/1", "same~2/1", "same~3/1"]
    assert len(set(ids(400))) == 400
    assert_linear(lambda count: instructions(lambda: ids(count)), 100)
