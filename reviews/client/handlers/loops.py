"""A turn of an agent whose loop is written by hand.

    with turn(client, user_message=question) as t:
        text = t.answer(model.complete(question, t.tool(search)(question)))

A turn is recorded when its block is left, by an exception too; that one goes on as if nobody had looked.
With ``check=True`` the draft is asked about first, and the safe refusal takes its place when the policy
refuses it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from uuid import uuid4

from reviews.client.handlers._assembly import Assembler, guarded
from reviews.client.handlers._checks import check_options
from reviews.client.handlers._turns import MOST_TEXT, OpenTurn
from reviews.client.handlers._values import text_of
from reviews.core.outcome import SAFE_REFUSAL

__all__ = ["Turn", "current_turn", "turn"]

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")

_current: ContextVar[Turn | None] = ContextVar("reviews_turn", default=None)


def current_turn() -> Turn:
    """The turn that is under way in this thread or task. Raises LookupError outside of any."""
    found = _current.get()
    if found is None:
        raise LookupError("no turn is under way here")
    return found


@dataclass
class _Open(OpenTurn):
    draft: str = ""


class Turn:
    """One turn of a hand-written loop; made by ``turn`` and by the decorator ``reviewed``.

    What is told twice counts once, or, for ``answer`` and ``context``, as the docstrings say. Nothing but
    ``answer`` with a check waits, and nothing raises because of the review.
    """

    def __init__(
        self, client: Any, open_turn: _Open, *, check: bool, check_options: Mapping[str, Any]
    ) -> None:
        self._client = client
        self._check_options = dict(check_options)
        self._open = open_turn
        self._shown: list[str] = []
        self._outer: list[Token[Turn | None]] = []
        #: Whether drafts are asked about, and whether ``answer`` was called.
        self.checks = check
        self.answered = False
        self.assembler: Assembler[_Open] = Assembler(
            client, make=lambda _: open_turn, draft_of=lambda run: run.draft
        )

    @property
    def external_id(self) -> str:
        return self._open.run_id

    # -- What happens in the turn

    @guarded
    def tool_call(
        self,
        name: str,
        args: Any = None,
        result: Any = None,
        *,
        ok: bool | None = True,
        error: str | None = None,
        duration_ms: float | None = None,
    ) -> None:
        """A tool was called. ``ok`` is whether it worked, None when nobody knows."""
        call_id = uuid4().hex
        self._open.call_began(call_id, name, args, timed=False)
        ok = ok if error is None else False
        self._open.call_ended(call_id, result=result, ok=ok, error=error, duration_ms=duration_ms)

    def tool(self, function: F, name: str = "") -> F:
        """The same function, with its calls noted: arguments by name, result or exception, duration.

        Coroutine functions stay coroutine functions.
        """
        called = name or getattr(function, "__name__", "") or type(function).__name__

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                call_id = self._began(called, function, args, kwargs)
                try:
                    result = await function(*args, **kwargs)
                except BaseException as error:
                    self._ended(call_id, None, error)
                    raise
                self._ended(call_id, result, None)
                return result

            return cast("F", call_async)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            call_id = self._began(called, function, args, kwargs)
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                self._ended(call_id, None, error)
                raise
            self._ended(call_id, result, None)
            return result

        return cast("F", call)

    @guarded
    def context(self, text: str) -> None:
        """System text or memory that the model was shown; values in it count as grounded."""
        self._open.note_context(text)

    @guarded
    def describe(
        self, *, user_message: str = "", model: str = "", conversation_id: str = "", **attributes: Any
    ) -> None:
        """Facts that are known only now; whatever else is named becomes an attribute."""
        self._open.begin(user_message)
        self._open.model = model or self._open.model
        self._open.conversation_id = conversation_id or self._open.conversation_id
        self._open.note_attributes(attributes)

    @guarded
    def token(self, piece: str) -> None:
        """A piece of a streamed answer; the pieces together are the draft unless ``answer`` names one."""
        self._shown.append(piece)

    def answer(self, draft: str) -> str:
        """What the agent wants to say: returns what it may say. The last one is the turn's draft.

        With ``check`` the dashboard is asked, which takes no longer than the client's deadline.
        """
        if not self._asks(draft):
            return draft
        result = self._client.check(draft, **(self._question(draft) or self._check_options))
        if inspect.iscoroutine(result):
            result.close()
            raise TypeError("answer() needs a ReviewClient; with AsyncReviewClient await answer_async()")
        return self._may_say(draft, result)

    async def answer_async(self, draft: str) -> str:
        """The same without blocking the event loop, with either client."""
        if not self._asks(draft):
            return draft
        question = self._question(draft) or self._check_options
        if inspect.iscoroutinefunction(self._client.check):
            return self._may_say(draft, await self._client.check(draft, **question))
        return self._may_say(draft, await asyncio.to_thread(self._client.check, draft, **question))

    # -- Inside

    @guarded
    def _asks(self, draft: str) -> bool:
        self.answered = True
        self._open.draft = text_of(draft, MOST_TEXT)
        return self.checks and bool(self._open.draft.strip())

    @guarded
    def _question(self, draft: str) -> dict[str, Any]:
        self._open.checks += 1
        return check_options(self._open, draft) | self._check_options

    def _may_say(self, draft: str, result: Any) -> str:
        self._open.stored = bool(result.answered)
        return (result.safe_refusal or SAFE_REFUSAL) if result.refused else draft

    def within(self, step: Callable[[], R]) -> R:
        """Do one step with this turn as the current one."""
        token = _current.set(self)
        try:
            return step()
        finally:
            _current.reset(token)

    async def within_async(self, step: Callable[[], Awaitable[R]]) -> R:
        token = _current.set(self)
        try:
            return await step()
        finally:
            _current.reset(token)

    @guarded
    def _began(self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        call_id = uuid4().hex
        self._open.call_began(call_id, name, _by_name(function, args, kwargs))
        return call_id

    @guarded
    def _ended(self, call_id: str | None, result: Any, error: BaseException | None) -> None:
        if call_id is not None:
            words = None if error is None else f"{type(error).__name__}: {text_of(error, MOST_TEXT)}"
            self._open.call_ended(call_id, result=result, ok=error is None, error=words)

    @guarded
    def finish(self, error: BaseException | None = None) -> None:
        """The turn is over; leaving the block does this."""
        if self._shown and not self.answered:
            self._open.draft = text_of("".join(self._shown), MOST_TEXT)
        if isinstance(error, GeneratorExit):
            self._open.note_attributes({"stream_left": True})
        elif error is not None:
            self._open.note_error(type(error).__name__, text_of(error, MOST_TEXT))
        self.assembler.end(self._open.run_id)

    def __enter__(self) -> Self:
        self._outer.append(_current.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A block around a ``yield`` may be left in another context than it was entered in.
        with suppress(ValueError, IndexError):
            _current.reset(self._outer.pop())
        self.finish(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


def turn(
    client: Any,
    *,
    user_message: str = "",
    check: bool = False,
    external_id: str = "",
    conversation_id: str = "",
    agent: str = "",
    model: str = "",
    attributes: Mapping[str, Any] | None = None,
    **check_options: Any,
) -> Turn:
    """A turn, to be entered with ``with`` or ``async with``. ``check_options`` (``deadline``, ``on_failure``)
    go to the client's ``check``. Without ``external_id`` the turn gets one of its own.
    """
    made = _Open(run_id=external_id or uuid4().hex, conversation_id=conversation_id, agent=agent, model=model)
    made.begin(user_message)
    made.note_attributes(attributes or {})
    return Turn(client, made, check=check, check_options=check_options)


def _by_name(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a call by the names of their parameters."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        # A function that tells nothing of itself, or a call that will fail.
        return {"args": list(args)} | kwargs if args else kwargs
