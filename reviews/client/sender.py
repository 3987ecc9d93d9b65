"""Carries turns from the outbox to the server; while it is away, into the spill, and from there later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reviews.client.backoff import Backoff
from reviews.client.batch import RowAnswer, Trouble, body_of, read_answer
from reviews.client.counters import Refusal, Tally
from reviews.client.encoding import id_of, repair
from reviews.client.errors import UnreachableError
from reviews.client.loop import until_news
from reviews.client.outbox import Outbox
from reviews.client.transport import Transport

if TYPE_CHECKING:
    from reviews.client.spill import Spill

__all__ = ["Pace", "Sender"]

logger = logging.getLogger("reviews.client")

#: How often a client looks for files of processes that have died meanwhile.
ADOPT_SECONDS: Final = 30.0
#: Bytes written into the spill at once; between two writes the loop gets to other work.
_SPILL_BYTES: Final = 4 * 1024 * 1024
_SPILL_ROWS: Final = 5000
#: After the disk refused.
_REFUSED_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How turns are sent: sizes in turns and bytes, times in seconds."""

    batch_size: int
    batch_bytes: int
    flush_seconds: float
    timeout: float
    gzip_above: int
    retry_first: float
    retry_most: float


@dataclass(slots=True)
class _Parcel:
    """A batch under way. ``lines`` are those that the server has not judged yet."""

    lines: list[bytes]
    from_spill: bool


class Sender:
    """Lives in the loop of one client and is used nowhere else."""

    def __init__(
        self, *, outbox: Outbox, spill: Spill | None, transport: Transport, tally: Tally, pace: Pace
    ) -> None:
        self._outbox, self._spill, self._transport = outbox, spill, transport
        self._tally, self._pace = tally, pace
        self._backoff = Backoff(first=pace.retry_first, most=pace.retry_most)
        self._news = asyncio.Event()
        self._spill_news = asyncio.Event()
        self._changed = asyncio.Event()
        self._hurrying = 0
        self._closing = False
        self._spill_is_next = False
        #: What was read out of the spill and is not answered as a whole.
        self._replaying: _Parcel | None = None
        #: Lines of it that the server has judged already.
        self._judged = 0
        self._said: set[str] = set()

    def news(self) -> None:
        """There is something in the outbox."""
        self._news.set()
        self._spill_news.set()

    async def run(self) -> None:
        """Until cancelled."""
        self._adopt()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._for_ever(self._send_next))
            if self._spill is not None:
                tasks.create_task(self._for_ever(self._spill_next))
                tasks.create_task(self._for_ever(self._adopt_later))

    async def _for_ever(self, step: Callable[[], Awaitable[None]]) -> None:
        """A mistake of ours costs an attempt, never the thread."""
        while True:
            try:
                await step()
            except Exception as error:
                self._tally.last_error = f"internal error: {type(error).__name__}"
                self._say_once("internal", "the sender failed: %s", type(error).__name__)
                await asyncio.sleep(1.0)

    # -- Until all is done

    @property
    def rests(self) -> bool:
        """Whether every turn is answered."""
        return self._outbox.rows == 0 and (self._spill is None or self._spill.rows == 0)

    @property
    def on_disk(self) -> int:
        """Turns in the spill that are not answered."""
        return 0 if self._spill is None else self._spill.rows - self._judged

    async def flush(self) -> None:
        """Return once everything is answered; meanwhile nothing waits for its batch to fill."""
        self._hurrying += 1
        self._backoff.hurry()
        self._adopt()
        try:
            while not self.rests and not self._may_leave():
                self.news()
                self._changed.clear()
                await self._changed.wait()
        finally:
            self._hurrying -= 1

    async def finish(self, seconds: float) -> None:
        """``flush`` for no longer than ``seconds``; it does not insist when turns can be kept on disk."""
        self._closing = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.flush()

    def _may_leave(self) -> bool:
        return self._closing and self._spill is not None and self._backoff.failing

    def leave(self) -> int:
        """After ``run`` has ended: what is left goes into the spill, or is lost. The number of those lost."""
        lost = 0
        while lines := self._outbox.take(_SPILL_ROWS, _SPILL_BYTES):
            if not self._put_aside(lines):
                lost += len(lines)
                self._outbox.settle(lines)
        self._tally.dropped += lost
        if self._spill is not None:
            self._spill.close()
        return lost

    # -- Sending

    async def _send_next(self) -> None:
        parcel = await self._next()
        try:
            await self._deliver(parcel)
        finally:
            # Also when cancelled in the middle of a request: its turns may be stored already, and go again.
            self._keep(parcel)
            self._changed.set()

    async def _next(self) -> _Parcel:
        """The next batch; spill and outbox take turns while both have something."""
        while True:
            self._news.clear()
            if (wait := self._backoff.left()) > 0:
                await until_news(self._news, wait)
            elif self._replaying is not None:
                return self._replaying
            elif (
                self._spill is not None
                and self._spill.rows
                and (self._spill_is_next or not len(self._outbox))
            ):
                self._spill_is_next = False
                if parcel := self._out_of_spill(self._spill):
                    return parcel
            elif len(self._outbox):
                await self._gather(self._news)
                self._spill_is_next = True
                # Meanwhile it may all have gone into the spill.
                if lines := self._outbox.take(self._pace.batch_size, self._pace.batch_bytes):
                    return _Parcel(lines, from_spill=False)
            else:
                await self._news.wait()

    def _out_of_spill(self, spill: Spill) -> _Parcel | None:
        lines = spill.next(self._pace.batch_size, self._pace.batch_bytes)
        self._tally.dropped += spill.torn
        spill.torn = 0
        if not lines:
            self._tally.last_error = spill.trouble or self._tally.last_error
            self._changed.set()
            return None
        self._replaying = _Parcel(lines, from_spill=True)
        return self._replaying

    async def _gather(self, news: asyncio.Event) -> None:
        """Wait until a batch is full, somebody hurries, room gets scarce, or its time has come."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._pace.flush_seconds
        while (
            0 < len(self._outbox) < self._pace.batch_size
            and not self._hurrying
            and not self._outbox.crowded
            and (left := ends - loop.time()) > 0
        ):
            news.clear()
            await until_news(news, left)

    async def _deliver(self, parcel: _Parcel) -> None:
        """Send the parcel, in smaller parts where the server wants it so, until one fails."""
        most = len(parcel.lines)
        while parcel.lines:
            part = parcel.lines[:most]
            found = await self._post(part)
            if isinstance(found, list):
                self._backoff.succeeded()
                self._said.discard("away")
                self._settle(parcel, part, found)
            elif not found.split:
                self._failed(found)
                return
            elif len(part) > 1:
                self._tally.retries += 1
                most = len(part) // 2
            else:
                self._settle(parcel, part, [RowAnswer("invalid", message=found.reason)])

    async def _post(self, lines: Sequence[bytes]) -> list[RowAnswer] | Trouble:
        body, headers = body_of(lines, gzip_above=self._pace.gzip_above)
        try:
            answer = await self._transport.request(
                "POST", "turns", seconds=self._pace.timeout, content=body, headers=headers
            )
        except UnreachableError as error:
            return Trouble(str(error))
        return read_answer(answer, len(lines))

    def _failed(self, trouble: Trouble) -> None:
        self._backoff.failed(trouble.wait)
        self._tally.retries += 1
        self._tally.last_error = trouble.reason
        where = "memory" if self._spill is None else "the spill"
        self._say_once("away", "turns cannot be sent and are kept in %s: %s", where, trouble.reason)
        self._spill_news.set()

    def _settle(self, parcel: _Parcel, part: Sequence[bytes], found: Sequence[RowAnswer]) -> None:
        """Count what the server said; what it would not read but can be mended stays in the parcel."""
        mended: list[bytes] = []
        done: list[bytes] = []
        for line, row in zip(part, found, strict=True):
            if row.status == "invalid" and (better := repair(line)) is not None:
                self._tally.reworded += 1
                mended.append(better)
                if not parcel.from_spill:
                    self._outbox.swap(line, better)
            else:
                done.append(line)
                self._count(line, row)
        parcel.lines = mended + parcel.lines[len(part) :]
        if parcel.from_spill:
            self._tally.replayed += len(done)
            self._judged += len(done)
        else:
            self._outbox.settle(done)

    def _count(self, line: bytes, row: RowAnswer) -> None:
        tally = self._tally
        match row.status:
            case "accepted":
                tally.sent += 1
            case "duplicate":
                tally.duplicates += 1
            case "conflict":
                tally.conflicts += 1
                self._say_once("conflict", "a turn has the id of another one, which stays as it is")
            case _:
                tally.refused += 1
                tally.last_refusal = Refusal(
                    external_id=id_of(line), pointer=row.pointer, message=row.message
                )
                self._say_once("refused", "a turn was refused by the server; see counters.last_refusal")

    def _keep(self, parcel: _Parcel) -> None:
        """Nothing of a parcel that was not answered may be lost."""
        if not parcel.from_spill:
            if parcel.lines and not self._put_aside(parcel.lines):
                self._outbox.put_back(parcel.lines)
        elif not parcel.lines and self._spill is not None:
            self._spill.done()
            self._replaying, self._judged = None, 0
            if not self._spill.rows:
                self._adopt()

    # -- The spill

    async def _spill_next(self) -> None:
        """While the server is away, and whenever half of the outbox is used up, turns go to the disk."""
        await self._spill_news.wait()
        self._spill_news.clear()
        if self._backoff.failing:
            await self._gather(self._spill_news)
        while self._backoff.failing or self._outbox.crowded:
            lines = self._outbox.take(_SPILL_ROWS, _SPILL_BYTES)
            if lines and not self._put_aside(lines):
                self._outbox.put_back(lines)
                # More turns make no room: a disk that refuses is not asked all the time.
                await asyncio.sleep(max(self._pace.flush_seconds, _REFUSED_SECONDS))
            if not lines:
                break
            await asyncio.sleep(0)

    def _put_aside(self, lines: Sequence[bytes]) -> bool:
        """Out of the outbox's account and into the spill; False when they could not be written."""
        if self._spill is None:
            return False
        if not self._spill.append(lines):
            self._tally.last_error = self._spill.trouble
            self._say_once("spill", "turns are kept in memory only: %s", self._spill.trouble)
            return False
        self._said.discard("spill")
        self._tally.spilled += len(lines)
        self._outbox.settle(lines)
        self._news.set()
        return True

    def _adopt(self) -> None:
        if self._spill is not None and (found := self._spill.adopt()):
            self._tally.adopted += found
            self._news.set()

    async def _adopt_later(self) -> None:
        await asyncio.sleep(ADOPT_SECONDS)
        self._adopt()

    def _say_once(self, what: str, message: str, *arguments: object) -> None:
        """Into the log, once until it is over; never with a turn's content."""
        if what not in self._said:
            self._said.add(what)
            logger.warning(message, *arguments)
