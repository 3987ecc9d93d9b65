"""The decorator for agents that are one function.

@reviewed(client)
def answer(question: str) -> str:
    found = current_turn().tool(search)(question)
    return model.complete(question, found)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from reviews.client.handlers.loops import Turn, turn

__all__ = ["reviewed"]

F = TypeVar("F", bound=Callable[..., Any])
#: Begins the turn of one call.
Begin = Callable[[tuple[Any, ...], dict[str, Any]], Turn]
#: Reads an answer, or a piece of one.
Text = Callable[[Any], str]


def reviewed(client: Any, *, text: Text | None = None, message: str = "", **options: Any) -> Callable[[F], F]:
    """A decorator for a function that takes the user's message and returns, or yields, the answer.

    Works on functions, coroutine functions, generators and asynchronous generators. ``message`` names the
    parameter with the user's message; without it that is the first argument that is a text. An answer that
    is no text is read by ``text``; it is returned as it is unless it is refused. Pieces of a stream go out as
    they come; with ``check`` they wait until the whole has been asked about. A stream that its reader leaves
    counts as far as it was read. ``options`` are those of ``turn``. A function that calls
    ``current_turn().answer`` itself is not asked about its result once more.
    """
    read = _careful(text or _as_text)

    def decorate(function: F) -> F:
        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Turn:
            return turn(client, user_message=_message(function, args, kwargs, message), **options)

        if inspect.isasyncgenfunction(function):
            made = _asynchronous_stream(function, begin, read)
        elif inspect.isgeneratorfunction(function):
            made = _stream(function, begin, read)
        elif inspect.iscoroutinefunction(function):
            made = _coroutine(function, begin, read)
        else:
            made = _call(function, begin, read)
        return cast("F", functools.wraps(function)(made))

    return decorate


def _call(function: Any, begin: Begin, text: Text) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        with begin(args, kwargs) as t:
            answer = function(*args, **kwargs)
            if t.answered:
                return answer
            draft = text(answer)
            said = t.answer(draft)
            return answer if said == draft else said

    return call


def _coroutine(function: Any, begin: Begin, text: Text) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        async with begin(args, kwargs) as t:
            answer = await function(*args, **kwargs)
            if t.answered:
                return answer
            draft = text(answer)
            said = await t.answer_async(draft)
            return answer if said == draft else said

    return call


def _stream(function: Any, begin: Begin, text: Text) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        # The turn is the current one while the function runs, and not while its reader does.
        t = begin(args, kwargs)
        pieces = function(*args, **kwargs)
        held: list[Any] = []
        try:
            while (piece := t.within(lambda: next(pieces, _END))) is not _END:
                t.token(text(piece))
                if t.checks:
                    held.append(piece)
                else:
                    yield piece
            draft = "".join(map(text, held))
            said = draft if t.answered or not t.checks else t.answer(draft)
            yield from held if said == draft else [said]
        except BaseException as error:
            t.finish(error)
            raise
        finally:
            pieces.close()
            t.finish()

    return call


def _asynchronous_stream(function: Any, begin: Begin, text: Text) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        t = begin(args, kwargs)
        pieces = function(*args, **kwargs)
        held: list[Any] = []
        try:
            while (piece := await t.within_async(lambda: anext(pieces, _END))) is not _END:
                t.token(text(piece))
                if t.checks:
                    held.append(piece)
                else:
                    yield piece
            draft = "".join(map(text, held))
            said = draft if t.answered or not t.checks else await t.answer_async(draft)
            for piece in held if said == draft else [said]:
                yield piece
        except BaseException as error:
            t.finish(error)
            raise
        finally:
            await pieces.aclose()
            t.finish()

    return call


#: No function yields this.
_END = object()


def _as_text(answer: Any) -> str:
    return answer if isinstance(answer, str) else "" if answer is None else str(answer)


def _careful(text: Text) -> Text:
    """An answer that cannot be read is no reason for the agent to fail: it is spelled out, if it can be."""

    def read(answer: Any) -> str:
        for way in (text, _as_text):
            with suppress(Exception):
                return way(answer)
        return ""

    return read


def _message(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> str:
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return ""  # the call will fail by itself
    values = [given.get(name)] if name else list(given.values())
    return next((value for value in values if isinstance(value, str)), "")
