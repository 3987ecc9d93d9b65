"""The turns that are happening now, by the ids of their runs, and what becomes of them."""

from __future__ import annotations

import functools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar

from reviews.client.handlers._turns import OpenTurn

__all__ = ["Assembler", "Counts", "Recorder", "guarded"]

logger = logging.getLogger("reviews.client.handlers")

#: Turns that may be open at once; the one untouched for longest is recorded as it is to make room.
MOST_OPEN: Final = 1_000
#: Ended runs that are remembered, so that late events of theirs begin no new turn.
MOST_ENDED: Final = 10_000

Open = TypeVar("Open", bound=OpenTurn)
P = ParamSpec("P")
R = TypeVar("R")


class Recorder(Protocol):
    """The part of ``ReviewClient`` that takes turns."""

    def record(self, turn: Mapping[str, Any], /) -> bool: ...


@dataclass
class Counts:
    """What a handler did so far. ``recorded`` are turns that the client took, ``refused`` those it did not.

    ``empty``: runs that ended without anything to review. ``unended``: recorded as they were, because too
    many were open or the handler was closed. ``late``: events of runs that had ended. ``failures``: errors of
    the handler itself, which the agent never saw. ``checked``: turns that were taken in by a check.
    """

    recorded: int = 0
    refused: int = 0
    empty: int = 0
    unended: int = 0
    late: int = 0
    failures: int = 0
    checked: int = 0


class Assembler(Generic[Open]):
    """Open turns of one handler. ``draft_of`` tells a turn's draft as far as it is known.

    Safe to use from any number of threads. Functions given to ``with_run`` run under a lock and must neither
    wait nor call back.
    """

    def __init__(
        self,
        client: Recorder,
        *,
        make: Callable[[str], Open],
        draft_of: Callable[[Open], str],
        agent: str = "",
        most_open: int = MOST_OPEN,
        after: Callable[[Open], None] | None = None,
    ) -> None:
        self._client = client
        self._make = make
        self._draft_of = draft_of
        self._agent = agent
        self._most_open = most_open
        self._after = after
        self._open: OrderedDict[str, Open] = OrderedDict()
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.RLock()
        self.counts = Counts()

    @property
    def open_count(self) -> int:
        with self._lock:
            return len(self._open)

    def with_run(self, run_id: str, work: Callable[[Open], R]) -> R | None:
        """Do something with an open turn; a run's first event opens it. None for a run that has ended."""
        evicted: Open | None = None
        with self._lock:
            if run_id in self._ended:
                self.counts.late += 1
                return None
            run = self._open.get(run_id)
            if run is None:
                run = self._open[run_id] = self._make(run_id)
                run.begin()
                if len(self._open) > self._most_open:
                    _, evicted = self._open.popitem(last=False)
                    self._remember(evicted.run_id)
            else:
                self._open.move_to_end(run_id)
            result = work(run)
        if evicted is not None:
            self._record_unended(evicted)
        return result

    def end(
        self, run_id: str, work: Callable[[Open], None] | None = None, *, keep_empty: bool = False
    ) -> None:
        """A run is over: record its turn, once. Without anything to review nothing is recorded;
        ``keep_empty`` then leaves it open, for a run that may go on.
        """
        with self._lock:
            if run_id in self._ended:
                self.counts.late += 1
                return
            run = self._open.get(run_id) or self._make(run_id)
            run.begin()
            if work is not None:
                work(run)
            has_something = bool(self._draft_of(run).strip()) or run.error is not None
            if not has_something and keep_empty:
                self._open[run_id] = run
                return
            self._open.pop(run_id, None)
            self._remember(run_id)
        if has_something:
            self._record(run)
        else:
            self._count("empty")

    def take(self, run_id: str, other: str, work: Callable[[Open, Open], None]) -> None:
        """A run turns out to be a part of another one: ``work(whole, part)`` moves what is known of it."""
        with self._lock:
            part = self._open.pop(other, None)
        if part is not None:
            found = part
            self.with_run(run_id, lambda run: work(run, found))

    def close(self) -> None:
        """Record what is still open, as it is."""
        with self._lock:
            runs = list(self._open.values())
            self._open.clear()
            for run in runs:
                self._remember(run.run_id)
        for run in runs:
            self._record_unended(run)

    def failed(self, name: str, error: BaseException) -> None:
        """Count an error of ours. Its text may quote the turn, so only its type is logged."""
        self._count("failures")
        logger.warning("review handler: %s failed with %s", name, type(error).__name__)

    def _record_unended(self, run: Open) -> None:
        if not self._draft_of(run).strip() and run.error is None:
            self._count("empty")
            return
        run.attributes["unended"] = True
        self._count("unended")
        self._record(run)

    def _record(self, run: Open) -> None:
        if run.stored:
            self._count("checked")
            return
        turn = run.document(draft=self._draft_of(run), agent=self._agent)
        self._count("recorded" if self._client.record(turn) else "refused")
        if self._after is not None:
            self._after(run)

    def _remember(self, run_id: str) -> None:
        self._ended[run_id] = None
        while len(self._ended) > MOST_ENDED:
            self._ended.popitem(last=False)

    def _count(self, name: str) -> None:
        with self._lock:
            setattr(self.counts, name, getattr(self.counts, name) + 1)


def guarded(method: Callable[P, R]) -> Callable[P, R | None]:
    """A hook whose errors never reach the agent: ``self.assembler`` counts them, and None is returned."""

    @functools.wraps(method)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return method(*args, **kwargs)
        except Exception as error:
            handler: Any = args[0]
            handler.assembler.failed(method.__name__, error)
            return None

    return wrapper
