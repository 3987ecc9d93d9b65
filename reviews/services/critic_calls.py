"""Calls to the critic's model, many at once, beside a thread that keeps the books.

Django's database layer wants one thread and no event loop; the calls want an event loop. So the loop runs in
a thread of its own, and the two meet in futures.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Any, Final, TypeVar

from reviews.core.model_provider import ModelProvider
from reviews.services.model_providers import OpenAIProvider

T = TypeVar("T")

logger = logging.getLogger(__name__)

#: A line that takes longer to close is left behind.
CLOSING_SECONDS: Final = 4.0


class Line:
    """An open line to a model; ``provider`` is used by coroutines given to ``run`` only."""

    def __init__(self, loop: asyncio.AbstractEventLoop, provider: ModelProvider | None) -> None:
        self.provider = provider
        self._loop = loop

    def run(self, call: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a call; the future has its result."""
        return asyncio.run_coroutine_threadsafe(call, self._loop)


@contextmanager
def open_line(provider: OpenAIProvider | None) -> Iterator[Line]:
    """A line with one client for all its calls, closed at the end; calls still under way are cancelled."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="critic-calls", daemon=True)
    thread.start()
    opened = provider.opened() if provider else None
    try:
        inner = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result() if opened else None
        try:
            yield Line(loop, inner)
        finally:
            _finish(asyncio.run_coroutine_threadsafe(_cancel_others(), loop))
            if opened:
                _finish(asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSING_SECONDS)
        if not thread.is_alive():
            loop.close()


def _finish(closing: Future[Any]) -> None:
    """Wait for a part of the closing, but not for ever: what is stuck stays behind in its daemon thread."""
    try:
        closing.result(CLOSING_SECONDS)
    except TimeoutError:
        logger.warning("the line to the model does not close")


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=CLOSING_SECONDS / 2)
