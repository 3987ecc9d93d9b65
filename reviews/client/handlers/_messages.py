"""Reading chat messages, LangChain's own or plain dictionaries, without importing LangChain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["SeenCall", "calls_in", "is_call_for_tools", "since_the_user", "text_in", "type_of"]

_TYPES = {
    "assistant": "ai",
    "user": "human",
    "developer": "system",
    "function": "tool",
    "AIMessageChunk": "ai",
    "HumanMessageChunk": "human",
    "SystemMessageChunk": "system",
    "ToolMessageChunk": "tool",
}


class SeenCall(NamedTuple):
    """A tool call as messages tell of it. ``ok`` is None and ``result`` None until its answer is there."""

    id: str
    name: str
    args: Any
    result: Any
    ok: bool | None


def type_of(message: object) -> str:
    """``human``, ``ai``, ``system``, ``tool``, or whatever it calls itself; "" for what is no message."""
    if isinstance(message, tuple) and message:
        kind = message[0]
    else:
        kind = _read(message, "type") or _read(message, "role")
    return _TYPES.get(kind, kind) if isinstance(kind, str) else ""


def text_in(message: object) -> str:
    """The text of a message; of a message in blocks, its text blocks one after the other."""
    if isinstance(message, str):
        return message
    content = message[1] if isinstance(message, tuple) and len(message) > 1 else _read(message, "content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_block_text(block) for block in content)
    return ""


def is_call_for_tools(message: object) -> bool:
    """Whether a message of the model asks for tools, and so is no answer yet."""
    return bool(_read(message, "tool_calls"))


def since_the_user(messages: Sequence[object], said: str = "") -> int:
    """Where this turn begins: after the last message of the user, of those that say ``said`` if any do."""
    human = [index for index, message in enumerate(messages) if type_of(message) == "human"]
    if said:
        human = [index for index in human if text_in(messages[index]) == said] or human
    return human[-1] + 1 if human else 0


def calls_in(messages: Sequence[object]) -> list[SeenCall]:
    """The tool calls that the model asked for, in order, with their answers."""
    answers = {str(_read(m, "tool_call_id") or ""): m for m in messages if type_of(m) == "tool"}
    calls = []
    for message in messages:
        asked = _read(message, "tool_calls") if type_of(message) == "ai" else None
        for call in asked if isinstance(asked, list) else ():
            call_id = str(_read(call, "id") or "")
            name, args = _name_and_args(call)
            answer = answers.get(call_id) if call_id else None
            result = None if answer is None else _read(answer, "content")
            ok = None if answer is None else _read(answer, "status") != "error"
            calls.append(SeenCall(call_id, name, args, result, ok))
    return calls


def _name_and_args(call: object) -> tuple[str, Any]:
    function = _read(call, "function")  # the shape of OpenAI's dictionaries
    holder, args = (function, "arguments") if function else (call, "args")
    return str(_read(holder, "name") or ""), _read(holder, args)


def _block_text(block: object) -> str:
    text = block if isinstance(block, str) else _read(block, "text")
    return text if isinstance(text, str) else ""


def _read(holder: object, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
