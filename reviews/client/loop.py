"""An event loop in a thread of its own, for agents that have none and for those whose own is busy."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

from reviews.client.errors import ReviewClientError

__all__ = ["LoopThread", "closed", "until_news"]

T = TypeVar("T")


class _Loop(asyncio.SelectorEventLoop):
    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> Any:
        """Names are resolved in a thread that nobody has to wait for.

        The loop's own pool is closed before the functions of ``atexit`` run, and the turns that wait then
        are to be sent all the same.
        """
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()

        def ask() -> None:
            try:
                answer.set_result(socket.getaddrinfo(host, port, family, type, proto, flags))
            except Exception as error:
                answer.set_exception(error)

        try:
            Thread(target=ask, name="reviews-client-names", daemon=True).start()
        except RuntimeError:
            # The interpreter is shutting down and starts no threads; nothing else is left to be held up.
            ask()
        return await asyncio.wrap_future(answer, loop=self)


class LoopThread:
    """Runs ``main`` until it returns; then everything else that runs in the loop is cancelled.

    A daemon: it never keeps a process alive. ``ended`` is done when the loop is closed.
    """

    def __init__(self, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._main = main
        self._loop = _Loop()
        self._over = False
        self.ended: Future[None] = Future()
        self._thread = Thread(target=self._run, name="reviews-client", daemon=True)

    def start(self) -> None:
        """Raises RuntimeError when no thread can be started."""
        try:
            self._thread.start()
        except BaseException:
            self._loop.close()
            raise

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._until_over())
        finally:
            self._loop.close()
            self.ended.set_result(None)

    async def _until_over(self) -> None:
        try:
            await self._main()
        finally:
            self._over = True
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._loop.shutdown_asyncgens()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run it in the loop. When the loop ends before, the future has a ReviewClientError."""
        guarded = self._unless_over(coroutine)
        try:
            return asyncio.run_coroutine_threadsafe(guarded, self._loop)
        except RuntimeError:
            guarded.close()
            coroutine.close()
            return closed()

    async def _unless_over(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return await coroutine
        except asyncio.CancelledError:
            if self._over:
                raise ReviewClientError("the client is closed") from None
            raise  # whoever asked has left

    def call(self, function: Callable[[], None]) -> None:
        """Call it in the loop soon; nothing when the loop is over."""
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            return


def closed() -> Future[Any]:
    """The answer of a client that is no more."""
    over: Future[Any] = Future()
    over.set_exception(ReviewClientError("the client is closed"))
    return over


async def until_news(news: asyncio.Event, seconds: float) -> None:
    """Wait for the event, but no longer than ``seconds``."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await news.wait()
