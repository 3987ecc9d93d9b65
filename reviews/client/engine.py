"""What runs behind a client, of either kind: the queue, the thread, and what is asked in it.

The thread is started by the first call that needs it. A forked child begins with nothing: what the parent has
recorded, the parent sends. At the interpreter's end every client is closed, with a short limit.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakSet

from reviews.client.checking import CheckResult, OnFailure, answered, unanswered
from reviews.client.counters import Counters, Tally
from reviews.client.encoding import encode, repair
from reviews.client.errors import ReviewClientError
from reviews.client.loop import LoopThread, closed
from reviews.client.options import Options
from reviews.client.outbox import Outbox
from reviews.client.policy import PolicyInForce, PolicyKeeper
from reviews.client.sender import Sender
from reviews.client.skills import all_skills
from reviews.client.transport import Transport

if TYPE_CHECKING:
    from reviews.client.spill import Spill

__all__ = ["GRACE_SECONDS", "Engine", "Question", "bounded"]

#: Within its limit the thread answers by itself; so much later the caller goes on without it.
GRACE_SECONDS: Final = 0.1
#: At the interpreter's end, for all clients together.
EXIT_SECONDS: Final = 2.0
_DAY: Final = 86_400.0


def bounded(seconds: float) -> float:
    """Seconds that a lock and a loop can wait: none for what is less, a day for what is more."""
    return min(seconds, _DAY) if seconds > 0 else 0.0


class Question(NamedTuple):
    """A check under way, and what to say when nothing comes of it."""

    answer: Future[CheckResult]
    external_id: str
    on_failure: OnFailure

    def without_answer(self, reason: str) -> CheckResult:
        self.answer.cancel()
        return unanswered(self.external_id, reason, self.on_failure)


class Engine:
    """Thread-safe; futures are those of ``concurrent.futures``."""

    def __init__(self, url: str, key: str, options: Options) -> None:
        self.url, self.options = url, options
        self._key = key
        self._transport: Transport | None = Transport(url, key, options.transport)
        self._policy = PolicyKeeper(
            max_age=options.policy_max_age, file=options.policy_path, owner=f"{url} {key}"
        )
        self._spill = _spill_of(options)
        self._begin()
        self._refuse_strangers()
        _ENGINES.add(self)
        if self._spill is not None and self._spill.has_leftovers:
            self._running()

    def _refuse_strangers(self) -> None:
        """A folder that two keys share would hand one tenant's turns to the other."""
        folder = self.options.spill_folder
        for other in list(_ENGINES):
            theirs = other.options.spill_folder
            if folder is None or theirs is None or other._closed or folder.resolve() != theirs.resolve():
                continue
            if (self.url, self._key) != (other.url, other._key):
                raise ValueError(
                    "spill is the folder of another client of this process, with another url or key"
                )

    def _begin(self) -> None:
        """Nothing recorded, nothing running."""
        self._lock = Lock()
        self._closed = False
        self._lost = 0
        self._tally = Tally()
        self._outbox = Outbox(
            rows=self.options.queue_size,
            size=self.options.queue_bytes,
            batch=self.options.batch_size,
            wake=self._wake,
        )
        self._thread: LoopThread | None = None
        self._sender: Sender | None = None
        self._up = asyncio.Event()
        self._closing = asyncio.Event()
        self._close_seconds = 0.0

    # -- Recording

    def record(self, turn: Mapping[str, Any]) -> bool:
        try:
            if self._thread is None and not self._closed:
                self._running()
            line = encode(turn, agent=self.options.agent)
            return self._outbox.offer(line.raw, reworded=line.reworded)
        except Exception as error:  # whatever an agent's own classes raise, the agent goes on
            self._outbox.drop()
            self._tally.last_error = f"a turn could not be recorded ({type(error).__name__})"
            return False

    @property
    def counters(self) -> Counters:
        outbox, tally, sender, transport = self._outbox, self._tally, self._sender, self._transport
        return Counters(
            recorded=outbox.recorded,
            adopted=tally.adopted,
            sent=tally.sent,
            duplicates=tally.duplicates,
            conflicts=tally.conflicts,
            refused=tally.refused,
            dropped=outbox.dropped + tally.dropped,
            waiting=outbox.rows + (sender.on_disk if sender is not None else 0),
            waiting_bytes=outbox.bytes,
            spilled=tally.spilled,
            replayed=tally.replayed,
            reworded=outbox.reworded + tally.reworded,
            retries=tally.retries + (transport.repeats if transport is not None else 0),
            last_error=tally.last_error,
            last_refusal=tally.last_refusal,
        )

    # -- Asking

    def check(self, turn: Mapping[str, Any], *, deadline: float, on_failure: OnFailure) -> Question:
        """Raises ValueError for an ``on_failure`` that is none."""
        if on_failure not in ("allow", "refuse"):
            raise ValueError('on_failure must be "allow" or "refuse"')
        try:
            line = encode(turn, agent=self.options.agent)
        except Exception as error:
            nothing: Future[CheckResult] = Future()
            nothing.set_result(
                unanswered("", f"the turn cannot be written as JSON ({type(error).__name__})", on_failure)
            )
            return Question(nothing, "", on_failure)
        asked = self._ask(line.raw, line.external_id, deadline, on_failure)
        return Question(self.submit(asked), line.external_id, on_failure)

    async def _ask(self, raw: bytes, external_id: str, deadline: float, on_failure: OnFailure) -> CheckResult:
        try:
            transport = await self.connection()
            answer = await transport.request(
                "POST",
                "check",
                seconds=deadline,
                content=repair(raw) or raw,
                headers={"Content-Type": "application/json"},
            )
            return answered(answer, external_id, on_failure)
        except ReviewClientError as error:
            return unanswered(external_id, str(error), on_failure)

    def policy(self) -> Future[PolicyInForce]:
        """Done at once while the policy at hand is young enough."""
        held = self._policy.held()
        if held is None:
            return self.submit(self._ask_policy())
        done: Future[PolicyInForce] = Future()
        done.set_result(held)
        return done

    async def _ask_policy(self) -> PolicyInForce:
        return await self._policy.ask(await self.connection(), self.options.timeout)

    def last_policy(self) -> PolicyInForce | None:
        return self._policy.last()

    def skills(self, since: str | datetime | None) -> Future[list[dict[str, Any]]]:
        return self.submit(self._ask_skills(since))

    async def _ask_skills(self, since: str | datetime | None) -> list[dict[str, Any]]:
        return await all_skills(await self.connection(), since=since, seconds=self.options.timeout)

    def flush(self, seconds: float) -> Future[bool]:
        """Whether everything was answered in time."""
        return self.submit(self.flush_within(seconds))

    async def flush_within(self, seconds: float) -> bool:
        await self._up.wait()
        if self._sender is None:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._sender.flush()
        return self._sender.rests

    async def connection(self) -> Transport:
        await self._up.wait()
        if self._transport is None:
            raise ReviewClientError("the client is closed")
        return self._transport

    # -- The thread

    def submit(self, coroutine: Any) -> Future[Any]:
        try:
            thread = self._running()
        except RuntimeError:  # no more threads, or the interpreter is shutting down
            thread = None
        if thread is None:
            coroutine.close()
            return closed()
        return thread.submit(coroutine)

    def _running(self) -> LoopThread | None:
        """The thread, started when there is none; None once the client is closed."""
        if self._thread is not None or self._closed:
            return self._thread
        with self._lock:
            if self._thread is None and not self._closed:
                thread = LoopThread(self._main)
                thread.start()
                self._thread = thread
            return self._thread

    def _wake(self) -> None:
        if self._thread is not None:
            self._thread.call(self._tell_sender)

    def _tell_sender(self) -> None:
        if self._sender is not None:
            self._sender.news()

    async def _main(self) -> None:
        """Until the client is closed."""
        if self._transport is None:
            self._transport = Transport(self.url, self._key, self.options.transport)
        self._sender = sender = Sender(
            outbox=self._outbox,
            spill=self._spill,
            transport=self._transport,
            tally=self._tally,
            pace=self.options.pace,
        )
        sending = asyncio.create_task(sender.run())
        self._up.set()
        await self._closing.wait()
        await sender.finish(self._close_seconds)
        self._outbox.shut()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        self._lost = sender.leave()
        await self._transport.close()

    def close(self, seconds: float) -> Future[None]:
        """Record nothing more, and end within ``seconds``; done when the thread has ended."""
        with self._lock:
            already, self._closed = self._closed, True
        if self._thread is None:
            self._outbox.shut()
            done: Future[None] = Future()
            done.set_result(None)
            return done
        if not already:
            self._close_seconds = seconds
            self._thread.call(self._closing.set)
        return self._thread.ended

    @property
    def lost_at_close(self) -> int:
        """Turns that closing has lost."""
        return self._lost

    def forget(self) -> None:
        """In a forked child: the thread is the parent's, and so are its turns, files and connections."""
        # Kept, so that no finalizer of theirs runs here and speaks on the parent's connections.
        _PARENTS.append((self._thread, self._sender, self._transport))
        if self._spill is not None:
            self._spill.forget()
        self._transport = None
        self._policy.forget()
        was_closed = self._closed
        self._begin()
        self._closed = was_closed


def _spill_of(options: Options) -> Spill | None:
    folder = options.spill_folder
    if folder is None:
        return None
    # Only here, for it needs locks on files, which not every system has.
    from reviews.client.spill import Spill

    return Spill(folder, most_bytes=options.spill_bytes)


_ENGINES: WeakSet[Engine] = WeakSet()
_PARENTS: list[object] = []


def _forget_parents() -> None:
    for engine in list(_ENGINES):
        engine.forget()


def _close_all() -> None:
    endings = [engine.close(EXIT_SECONDS) for engine in list(_ENGINES)]
    for ending in endings:
        with suppress(TimeoutError):
            ending.result(EXIT_SECONDS + GRACE_SECONDS)


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parents)
