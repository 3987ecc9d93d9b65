from __future__ import annotations

from typing import Any

import pytest

from tests.formats.samples import cut, outcomes, refusal


def tool(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "id": call_id, "content": content, "requestor": "assistant", **more}


def calls(*names: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"id": i, "name": name, "arguments": {"n": 1}, "requestor": "assistant"} for i, name in names]


MESSAGES: list[dict[str, Any]] = [
    {"role": "assistant", "content": "Hello! How can I help?", "tool_calls": None},
    {"role": "user", "content": "Is my line down?", "tool_calls": None},
    {"role": "assistant", "content": None, "tool_calls": calls(("a", "status"), ("b", "outages"))},
    tool("a", '{"line": "up"}', error=False),
    tool("b", "Error: no such region", error=True),
    {"role": "user", "content": None, "tool_calls": [{"id": "u", "name": "reboot", "arguments": {}}]},
    {"role": "tool", "id": "u", "content": "done", "requestor": "user", "error": True},
    {"role": "assistant", "content": "Your line is up."},
    {"role": "user", "content": "Thanks. ###STOP###"},
]


def test_a_simulation() -> None:
    document = {
        "id": "s",
        "task_id": "7",
        "trial": 0,
        "termination_reason": "user_stop",
        "messages": MESSAGES,
    }
    greeting, ask, own, last = cut("tau2", document)
    assert (greeting.user_message, greeting.draft) == ("", "Hello! How can I help?")
    assert (ask.user_message, ask.draft) == ("Is my line down?", "")
    assert ask.tool_calls[0].args == {"n": 1}
    assert outcomes(ask) == [
        ("status", '{"line": "up"}', True, None),
        ("outages", "Error: no such region", False, "Error: no such region"),
    ]
    # What the customer ran is not among the agent's calls.
    assert (own.draft, own.tool_calls, own.earlier_calls) == ("Your line is up.", [], ask.tool_calls)
    assert (last.external_id, last.draft) == ("s/4", "")
    assert last.earlier_user_messages == ["Is my line down?"]
    assert ask.attributes == {"task_id": "7", "trial": 0, "termination_reason": "user_stop"}


@pytest.mark.parametrize(
    ("document", "spot"), [([], ""), ({"traj": []}, "/messages"), ({"messages": [3]}, "/messages/0")]
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(cut, "tau2", document).pointer == spot
