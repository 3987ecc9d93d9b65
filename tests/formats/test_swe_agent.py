from __future__ import annotations

from typing import Any

import pytest

from reviews.formats import decode_turn, encode_turn
from reviews.formats.record import ToolCall
from tests.formats.samples import cut, refusal

TASK = {"role": "user", "content": "Fix the bug."}


def step(action: Any, thought: Any = "Next.") -> dict[str, Any]:
    return {"role": "assistant", "content": f"{thought} ```{action}```", "thought": thought, "action": action}


def saw(content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


def read(*history: Any, **more: Any) -> Any:
    (record,) = cut("swe-agent", {"history": list(history), **more})
    return record


def test_a_task_is_one_turn() -> None:
    record = read(
        {"role": "system", "content": "You are a programmer."},
        {"role": "user", "content": "A demonstration.", "is_demo": True},
        TASK,
        step("open a.py\n", "I will look."),
        saw("1: pass"),
        step("edit 1:1\nraise", "I will edit."),
        saw([{"type": "text", "text": "edited"}], "tool"),
        step("submit", "All is fixed."),
        source_path="runs/1.traj",
    )
    assert (record.external_id, record.user_message) == ("runs/1.traj/1", "Fix the bug.")
    assert record.hydrated_context == "You are a programmer.\n\nA demonstration."
    assert record.draft == "All is fixed."
    assert record.tool_calls == [
        ToolCall(name="open", args={"command": "open a.py\n"}, result="1: pass"),
        ToolCall(name="edit", args={"command": "edit 1:1\nraise"}, result="edited"),
        ToolCall(name="submit", args={"command": "submit"}),
    ]


def test_escape_sequences_and_line_ends_stay_as_they_were() -> None:
    output = "\x1b[?2004l\r\n\x1b[31mFAILED\x1b[0m\r\n"
    record = read(TASK, step("pytest", "Red:\r\nsee \x1b[31m"), saw(output))
    assert (record.tool_calls[0].result, record.draft) == (output, "Red:\r\nsee \x1b[31m")
    assert decode_turn(encode_turn(record)) == record


def test_an_empty_result_is_a_result_and_two_steps_in_a_row_have_none() -> None:
    record = read(TASK, step("touch a"), saw(""), step("ls"), step("exit"))
    assert [(call.name, call.result) for call in record.tool_calls] == [
        ("touch", ""),
        ("ls", None),
        ("exit", None),
    ]


def test_a_message_to_the_agent_is_not_the_result_of_a_step_without_action() -> None:
    record = read(TASK, step(""), saw("Please go on."), step("   "), saw("no command"))
    assert [(call.name, call.result) for call in record.tool_calls] == [("unknown", "no command")]


def test_a_history_that_ends_on_a_tool_keeps_the_last_thought() -> None:
    assert (
        read(TASK, step("ls", "Looking."), saw("a.py", "tool"), step("cat", ""), saw("x", "tool")).draft
        == "Looking."
    )


def test_a_history_without_a_task() -> None:
    assert read(step("ls", "Looking.")).user_message == ""


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        ([], ""),
        ({"history": {}}, "/history"),
        ({"history": [TASK, 3]}, "/history/1"),
        ({"history": [TASK]}, "/history"),
        ({"history": [{"role": ["assistant"]}]}, "/history"),
    ],
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(cut, "swe-agent", document).pointer == spot
