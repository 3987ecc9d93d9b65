"""Conversations written as OpenAI-style chat messages, given to the ``TurnCutter`` message by message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from reviews.formats.content import content_text, result_value
from reviews.formats.errors import RecordError, pointer
from reviews.formats.lenient import clean_text, parse_arguments
from reviews.formats.record import ToolInfo, TurnRecord
from reviews.formats.turns import Conversation, TurnCutter
from reviews.formats.typed import describe

__all__ = ["Chat", "Path", "cut_turns", "read_time", "read_tools"]

Path = tuple[str | int, ...]

_SYSTEM_ROLES = frozenset({"system", "developer"})
_CALL_ROLES = frozenset({"function call", "function_call", "tool_call"})
_RESULT_ROLES = frozenset({"tool", "function"})
_ROLES = ("system", "developer", "user", "assistant", "tool", "function", "function call")


@dataclass(frozen=True, kw_only=True, slots=True)
class Chat:
    """One conversation as its reader found it; ``path`` is where ``messages`` stand in the document."""

    conversation_id: str
    messages: list[Any]
    path: Path
    tools: list[ToolInfo] = field(default_factory=list)
    agent: str = ""
    model: str = ""
    occurred_at: datetime | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


def cut_turns(chat: Chat, *, keep_headless: bool = True) -> Iterator[tuple[int, TurnRecord]]:
    """Each turn with its number from 1, as ``TurnCutter.records`` gives them.

    Raises ``RecordError`` for a message that cannot be understood: cutting goes no further.
    """
    feeder = _Feeder(chat.path)
    for index, message in enumerate(chat.messages):
        feeder.add(index, message)
    conversation = Conversation(
        id=chat.conversation_id,
        tools=chat.tools,
        agent=chat.agent,
        model=chat.model,
        occurred_at=chat.occurred_at,
        attributes=chat.attributes,
    )
    return feeder.cutter.records(conversation, keep_headless=keep_headless)


class _Feeder:
    """Goes through the messages once."""

    def __init__(self, path: Path) -> None:
        self.cutter = TurnCutter()
        self._path = path

    def add(self, index: int, message: Any) -> None:
        if not isinstance(message, dict):
            raise self._error((index,), message, "a message object")
        self.cutter.begin()
        role = message.get("role")
        if not isinstance(role, str):
            raise self._error((index, "role"), role, f"one of {', '.join(_ROLES)}")
        if role in _SYSTEM_ROLES:
            self.cutter.system(content_text(message.get("content")))
        elif role == "user":
            self.cutter.user(message.get("content"), when=read_time(message.get("timestamp")))
        elif role == "assistant":
            self._add_assistant(index, message)
        elif role in _CALL_ROLES:
            self._add_call(message.get("content"), (index, "content"))
        elif role in _RESULT_ROLES:
            self._add_result(message)
        else:
            raise self._error((index, "role"), role, f"one of {', '.join(_ROLES)}")

    def _error(self, path: Path, found: Any, expected: str) -> RecordError:
        return RecordError(pointer((*self._path, *path)), f"found {describe(found)}, expected {expected}")

    def _add_assistant(self, index: int, message: dict[str, Any]) -> None:
        text = content_text(message.get("content")) or _spoken(message)
        self.cutter.answer(text, when=read_time(message.get("timestamp")))
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise self._error((index, "tool_calls"), calls, "a list")
        for number, call in enumerate(calls):
            self._add_call(call, (index, "tool_calls", number))
        legacy = message.get("function_call")
        # Some gateways fill in every field they know: a call without a name is none.
        if legacy and not (isinstance(legacy, dict) and not legacy.get("name")):
            self._add_call(legacy, (index, "function_call"))

    def _add_call(self, call: Any, path: Path) -> None:
        if isinstance(call, str):
            call = parse_arguments(call)
        if not isinstance(call, dict):
            raise self._error(path, call, "a call with name and arguments")
        function = call.get("function", call)
        if not isinstance(function, dict):
            raise self._error((*path, "function"), function, "an object with name and arguments")
        args = function.get("arguments", function.get("args"))
        self.cutter.call(function.get("name"), parse_arguments(args), call.get("id"))

    def _add_result(self, message: dict[str, Any]) -> None:
        if message.get("requestor") == "user":
            return  # the user's own tool, in a simulation: nothing the agent did
        result = result_value(message.get("content"))
        failed = message.get("error")
        self.cutter.result(
            result,
            message.get("tool_call_id") or message.get("id"),
            name=message.get("name"),
            ok=not failed if isinstance(failed, bool) else None,
            error=content_text(result) if failed is True else None,
        )


def _spoken(message: dict[str, Any]) -> str:
    """What the user got when there is no content: a refusal, or the transcript of an audio answer."""
    audio = message.get("audio")
    for text in (message.get("refusal"), audio.get("transcript") if isinstance(audio, dict) else None):
        if isinstance(text, str) and text:
            return text
    return ""


def read_time(value: Any) -> datetime | None:
    """An ISO time (UTC when it names no zone) or unix seconds; None for anything else."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
            return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def read_tools(value: Any) -> list[ToolInfo]:
    """Tools by name, or as OpenAI definitions (``function`` inside or not); what has no name is left out."""
    tools = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str):
            tools.append(ToolInfo(name=clean_text(item)))
        elif isinstance(item, dict):
            inner = item["function"] if isinstance(item.get("function"), dict) else item
            name = inner.get("name") or item.get("type")
            text = inner.get("description")
            if isinstance(name, str) and name.strip():
                tools.append(ToolInfo(name=name, description=text if isinstance(text, str) else ""))
    return tools
