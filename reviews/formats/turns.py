"""Cutting a conversation into turns, whatever format it was written in.

A turn is one user message, every tool call and result after it, and the last assistant text before the next
user message (the draft). Assistant texts before the last one are intermediate. What the assistant says or
calls before any user message is a turn of its own, without a user message. A user message that only hands
over media which a tool has just returned belongs to the turn before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from reviews.formats.content import content_text, is_media_only
from reviews.formats.history import History
from reviews.formats.record import ToolCall, ToolInfo, TurnRecord

__all__ = ["UNNAMED_TOOL", "Conversation", "TurnCutter"]

UNNAMED_TOOL = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """What all turns of one conversation share."""

    id: str
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
    """Number of the message that made the call: parallel calls share it."""
    result: Any = None
    ok: bool | None = None
    error: str | None = None
    open: bool = True

    def frozen(self) -> ToolCall:
        return ToolCall(
            name=self.name, args=self.args, result=self.result, ok=self.ok, error=self.error, id=self.id
        )


class _Waiting:
    """Calls without a result. The nearest is of the latest message; among parallel calls of one message the
    first, as results come in the order of the calls. Each call is passed over once: the time is linear."""

    def __init__(self) -> None:
        self._messages: list[tuple[int, deque[_Call]]] = []

    def add(self, call: _Call) -> None:
        if not self._messages or self._messages[-1][0] != call.message:
            self._messages.append((call.message, deque()))
        self._messages[-1][1].append(call)

    def nearest(self) -> _Call | None:
        while self._messages:
            calls = self._messages[-1][1]
            while calls and not calls[0].open:
                calls.popleft()
            if calls:
                return calls[0]
            self._messages.pop()
        return None


@dataclass(slots=True)
class _Turn:
    context: int
    """How many of the system texts the model had been shown by then."""
    user: str = ""
    draft: str = ""
    when: datetime | None = None
    headless: bool = False
    calls: list[_Call] = field(default_factory=list)
    takes_media: bool = False
    """A tool has just answered, so a user message of mere media is part of that answer."""


class TurnCutter:
    """Takes a conversation piece by piece, in order, and gives its turns.

    A reader calls ``begin`` for each message and then says what the message holds.
    """

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._context: list[str] = []
        self._message = 0
        self._pieces: list[str] = []
        self._by_id: dict[str, _Waiting] = {}
        self._by_name: dict[str, _Waiting] = {}
        self._in_turn = _Waiting()

    def begin(self) -> None:
        """A new message: calls up to the next one are parallel, and texts are not put together across it."""
        self._flush()
        self._message += 1

    def system(self, text: str) -> None:
        """Text the model was shown from here on."""
        self._flush()
        if text:
            self._context.append(text)

    def user(self, content: Any, *, when: datetime | None = None) -> None:
        """A user message: text, or parts with a ``type``."""
        self._flush()
        if self._turns and self._turns[-1].takes_media and is_media_only(content):
            return  # what a tool returned, posted by the client: still the same turn
        self._open_turn(user=content_text(content), when=when)

    def answer(self, text: str, *, when: datetime | None = None) -> None:
        """A whole text of the assistant."""
        self._flush()
        turn = self._turn()
        if text.strip():
            turn.draft = text
            turn.when = when or turn.when
        # Where no user message may follow a tool's, clients put a bare "OK" between them.
        turn.takes_media = turn.takes_media and text == "OK"

    def piece(self, text: str) -> None:
        """A part of a text: parts are put together without a separator, since providers split a sentence at
        citations. A call, a result or the next message ends the text."""
        self._pieces.append(text)

    def call(self, name: Any, args: Any, call_id: Any = None) -> None:
        self._flush()
        turn = self._turn()
        turn.takes_media = False
        call = _Call(name=_name(name), args=args, id=_id(call_id), message=self._message)
        turn.calls.append(call)
        self._in_turn.add(call)
        self._by_name.setdefault(call.name, _Waiting()).add(call)
        if call.id is not None:
            self._by_id.setdefault(call.id, _Waiting()).add(call)

    def result(
        self,
        value: Any,
        call_id: Any = None,
        *,
        name: Any = None,
        ok: bool | None = None,
        error: str | None = None,
    ) -> None:
        """The result of the nearest preceding call that is still open: by id, else in this turn by name, else
        in this turn at all. Conversations reuse ids, so an id alone names no call."""
        self._flush()
        turn = self._turn()
        known_id = _id(call_id)
        call = self._open_call(known_id, name)
        if call is None:
            # A result of a call that was not recorded still grounds what the draft says.
            call = _Call(name=_name(name), args=None, id=known_id, message=self._message)
            turn.calls.append(call)
        call.open = False
        call.result, call.ok, call.error = value, ok, error
        turn.takes_media = True

    def records(
        self, conversation: Conversation, *, keep_headless: bool = True
    ) -> Iterator[tuple[int, TurnRecord]]:
        """Each turn with its number from 1; a turn without a draft has the draft "".

        Turns are numbered whether or not they are kept, so the ``external_id`` of a turn depends neither on
        ``keep_headless`` (turns before the first user message) nor on what the caller leaves out.
        """
        self._flush()
        history = History()
        context, shown = "", 0
        for number, turn in enumerate(self._turns, 1):
            if shown < turn.context:
                # Joined while turns are given out: held for all turns at once, it could outgrow the memory.
                context = "\n\n".join(([context] if shown else []) + self._context[shown : turn.context])
                shown = turn.context
            record = TurnRecord(
                external_id=f"{conversation.id}/{number}",
                conversation_id=conversation.id,
                user_message=turn.user,
                draft=turn.draft,
                hydrated_context=context,
                tool_calls=[call.frozen() for call in turn.calls],
                tools=conversation.tools,
                agent=conversation.agent,
                model=conversation.model,
                occurred_at=turn.when or conversation.occurred_at,
                attributes=conversation.attributes,
            )
            if keep_headless or not turn.headless:
                yield number, history.complete(record)
            history.add(record)

    def _flush(self) -> None:
        if self._pieces:
            text, self._pieces = "".join(self._pieces), []
            self.answer(text)

    def _turn(self) -> _Turn:
        return self._turns[-1] if self._turns else self._open_turn(headless=True)

    def _open_turn(self, *, user: str = "", when: datetime | None = None, headless: bool = False) -> _Turn:
        turn = _Turn(context=len(self._context), user=user, when=when, headless=headless)
        self._turns.append(turn)
        self._in_turn, self._by_name = _Waiting(), {}
        return turn

    def _open_call(self, call_id: str | None, name: Any) -> _Call | None:
        if call_id is not None and (waiting := self._by_id.get(call_id)) and (found := waiting.nearest()):
            return found
        named = self._by_name.get(name) if isinstance(name, str) else None
        return (named.nearest() if named else None) or self._in_turn.nearest()


def _name(value: Any) -> str:
    return value if isinstance(value, str) and value.strip() else UNNAMED_TOOL


def _id(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None
