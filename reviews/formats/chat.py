"""Cutting an OpenAI-style chat into turns.

A turn is one user message, every tool call and result after it, and the last assistant text before the next
user message (the draft). Assistant texts before the last one are intermediate. An assistant that speaks first
opens a turn without a user message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from reviews.formats.content import content_text, is_media_only, result_value
from reviews.formats.errors import RecordError, pointer
from reviews.formats.lenient import clean_text, parse_arguments
from reviews.formats.limits import EARLIER_CALLS
from reviews.formats.record import ToolCall, ToolInfo, TurnRecord
from reviews.formats.typed import describe

__all__ = ["Chat", "Path", "cut_turns", "read_time", "read_tools"]

Path = tuple[str | int, ...]

_UNNAMED_TOOL = "unknown"
# Earlier calls are repeated in every later turn of a conversation; the oldest make way beyond this.
_EARLIER_BYTES = 1024 * 1024

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


@dataclass(slots=True, eq=False)
class _Call:
    name: str
    args: Any
    id: str | None
    message: int
    """Index of the message that made the call: parallel calls share it."""
    result: Any = None
    ok: bool | None = None
    error: str | None = None
    open: bool = True

    def frozen(self) -> ToolCall:
        return ToolCall(
            name=self.name, args=self.args, result=self.result, ok=self.ok, error=self.error, id=self.id
        )


@dataclass(slots=True)
class _Turn:
    context: str
    user: str = ""
    draft: str = ""
    when: datetime | None = None
    calls: list[_Call] = field(default_factory=list)
    takes_media: bool = False
    """A tool has just answered, so a user message of mere media is part of that answer."""


def cut_turns(chat: Chat) -> Iterator[tuple[int, TurnRecord]]:
    """Each turn with its number from 1; a turn without a draft has the draft "".

    Turns are numbered whether or not the caller keeps them, so the ``external_id`` of a turn does not depend
    on that choice. Raises ``RecordError`` for a message that cannot be understood: cutting goes no further.
    """
    cutter = _Cutter(chat)
    for index, message in enumerate(chat.messages):
        cutter.add(index, message)
    earlier = _Earlier()
    for number, turn in enumerate(cutter.turns, 1):
        calls = [call.frozen() for call in turn.calls]
        yield (
            number,
            TurnRecord(
                external_id=f"{chat.conversation_id}/{number}",
                conversation_id=chat.conversation_id,
                user_message=turn.user,
                draft=turn.draft,
                hydrated_context=turn.context,
                tool_calls=calls,
                earlier_calls=earlier.calls(),
                tools=chat.tools,
                agent=chat.agent,
                model=chat.model,
                occurred_at=turn.when or chat.occurred_at,
                attributes=chat.attributes,
            ),
        )
        earlier.add(calls)


class _Earlier:
    """The latest calls of the turns before, within a number and a size."""

    def __init__(self) -> None:
        self._calls: list[tuple[ToolCall, int]] = []
        self._bytes = 0

    def add(self, calls: list[ToolCall]) -> None:
        for call in calls:
            size = len(msgspec.json.encode(call))
            self._calls.append((call, size))
            self._bytes += size
        while self._calls and (len(self._calls) > EARLIER_CALLS or self._bytes > _EARLIER_BYTES):
            self._bytes -= self._calls.pop(0)[1]

    def calls(self) -> list[ToolCall]:
        return [call for call, _size in self._calls]


class _Cutter:
    """Goes through the messages once; ``turns`` grows as user messages come by."""

    def __init__(self, chat: Chat) -> None:
        self.turns: list[_Turn] = []
        self._path = chat.path
        self._context: list[str] = []

    def add(self, index: int, message: Any) -> None:
        if not isinstance(message, dict):
            raise self._error((index,), message, "a message object")
        role = message.get("role")
        if role in _SYSTEM_ROLES:
            self._add_system(content_text(message.get("content")))
        elif role == "user":
            self._add_user(message)
        elif role == "assistant":
            self._add_assistant(index, message)
        elif role in _CALL_ROLES:
            self._add_call(index, message.get("content"), (index, "content"))
        elif role in _RESULT_ROLES:
            self._add_result(index, message)
        else:
            raise self._error((index, "role"), role, f"one of {', '.join(_ROLES)}")

    def _error(self, path: Path, found: Any, expected: str) -> RecordError:
        return RecordError(pointer((*self._path, *path)), f"found {describe(found)}, expected {expected}")

    def _turn(self) -> _Turn:
        if not self.turns:
            self.turns.append(_Turn(context="\n\n".join(self._context)))
        return self.turns[-1]

    def _add_system(self, text: str) -> None:
        if text:
            self._context.append(text)

    def _add_user(self, message: dict[str, Any]) -> None:
        content = message.get("content")
        if self.turns and self.turns[-1].takes_media and is_media_only(content):
            return  # what a tool returned, posted by the client: still the same turn
        self.turns.append(
            _Turn(
                context="\n\n".join(self._context),
                user=content_text(content),
                when=read_time(message.get("timestamp")),
            )
        )

    def _add_assistant(self, index: int, message: dict[str, Any]) -> None:
        turn = self._turn()
        text = content_text(message.get("content")) or _spoken(message)
        if text.strip():
            turn.draft = text
            turn.when = read_time(message.get("timestamp")) or turn.when
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise self._error((index, "tool_calls"), calls, "a list")
        for number, call in enumerate(calls):
            self._add_call(index, call, (index, "tool_calls", number))
        legacy = message.get("function_call")
        # Some gateways fill in every field they know: a call without a name is none.
        if legacy and not (isinstance(legacy, dict) and not legacy.get("name")):
            self._add_call(index, legacy, (index, "function_call"))
        # Where no user message may follow a tool's, clients put a bare "OK" between them.
        turn.takes_media = turn.takes_media and text == "OK" and not calls

    def _add_call(self, index: int, call: Any, path: Path) -> None:
        if isinstance(call, str):
            call = parse_arguments(call)
        if not isinstance(call, dict):
            raise self._error(path, call, "a call with name and arguments")
        function = call.get("function", call)
        if not isinstance(function, dict):
            raise self._error((*path, "function"), function, "an object with name and arguments")
        args = function.get("arguments", function.get("args"))
        self._turn().calls.append(
            _Call(name=_name(function), args=parse_arguments(args), id=_id(call.get("id")), message=index)
        )

    def _add_result(self, index: int, message: dict[str, Any]) -> None:
        if message.get("requestor") == "user":
            return  # the user's own tool, in a simulation: nothing the agent did
        turn = self._turn()
        call_id = _id(message.get("tool_call_id") or message.get("id"))
        call = self._open_call(call_id, message.get("name"))
        if call is None:
            # A result of a call that was not recorded still grounds what the draft says.
            call = _Call(name=_name(message), args=None, id=call_id, message=index)
            turn.calls.append(call)
        call.open = False
        call.result = result_value(message.get("content"))
        if isinstance(failed := message.get("error"), bool):
            call.ok = not failed
            call.error = content_text(call.result) if failed else None
        turn.takes_media = True

    def _open_call(self, call_id: str | None, name: Any) -> _Call | None:
        """The nearest preceding open call with that id, else the nearest in this turn.

        Nearest is the latest *message*; among parallel calls of one message the first open one is meant,
        as results come in the order of the calls.
        """
        if call_id is not None:
            for turn in reversed(self.turns):
                if found := _nearest([call for call in turn.calls if call.open and call.id == call_id]):
                    return found
        still_open = [call for call in self._turn().calls if call.open]
        return _nearest([call for call in still_open if call.name == name]) or _nearest(still_open)


def _nearest(calls: list[_Call]) -> _Call | None:
    return next((call for call in calls if call.message == calls[-1].message), None)


def _name(holder: dict[str, Any]) -> str:
    name = holder.get("name")
    return name if isinstance(name, str) and name.strip() else _UNNAMED_TOOL


def _id(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


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
