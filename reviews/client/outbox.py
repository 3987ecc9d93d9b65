"""The queue between the agent's threads and the sender: bounded, and quick to put something into."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Final

__all__ = ["Outbox"]

#: What the interpreter needs to keep a line beside its bytes: header of the object and place in the queue.
ROW_OVERHEAD: Final = 64


class Outbox:
    """Lines of JSON, oldest first.

    A line that was taken out counts against the bounds until it is ``settle``d, so that what is under way is
    bounded as well. When there is no room, the newest line is the one that is dropped: its sender learns it.
    ``wake`` is called, without the lock, when there is something after nothing, a whole batch, or half of the
    room used up.
    """

    def __init__(self, *, rows: int, size: int, batch: int, wake: Callable[[], None]) -> None:
        self._most_rows, self._most_bytes, self._batch, self._wake = rows, size, batch, wake
        # Reentrant, for a signal handler or a finalizer may record in the middle of a record.
        self._lock = RLock()
        self._ready: deque[bytes] = deque()
        self._crowd_told = False
        self._shut = False
        self.rows = 0
        self.bytes = 0
        self.recorded = 0
        self.dropped = 0
        self.reworded = 0

    def __len__(self) -> int:
        """Lines that nobody has taken."""
        return len(self._ready)

    def offer(self, raw: bytes, *, reworded: bool = False) -> bool:
        """False when there is no room."""
        size = len(raw) + ROW_OVERHEAD
        with self._lock:
            self.recorded += 1
            self.reworded += reworded
            if self._shut or self.rows >= self._most_rows or self.bytes + size > self._most_bytes:
                self.dropped += 1
                return False
            self._ready.append(raw)
            self.rows += 1
            self.bytes += size
            ready = len(self._ready)
            news = ready in (1, self._batch)
            if not self._crowd_told and self.crowded:
                news = self._crowd_told = True
        if news:
            self._wake()
        return True

    def shut(self) -> None:
        """From now on there is no room."""
        with self._lock:
            self._shut = True

    def drop(self) -> None:
        """Count a turn that never became a line."""
        with self._lock:
            self.recorded += 1
            self.dropped += 1

    @property
    def crowded(self) -> bool:
        return self.rows * 2 >= self._most_rows or self.bytes * 2 >= self._most_bytes

    def take(self, rows: int, size: int) -> list[bytes]:
        """Up to so many lines and bytes, but at least one line when there is any."""
        taken: list[bytes] = []
        left = size
        with self._lock:
            while self._ready and len(taken) < rows:
                left -= len(self._ready[0]) + 1
                if left < 0 and taken:
                    break
                taken.append(self._ready.popleft())
        return taken

    def settle(self, lines: Sequence[bytes]) -> None:
        """Their place is free again."""
        with self._lock:
            self.rows -= len(lines)
            self.bytes -= sum(map(len, lines)) + ROW_OVERHEAD * len(lines)
            if self._crowd_told and not self.crowded:
                self._crowd_told = False

    def swap(self, line: bytes, better: bytes) -> None:
        """A line that was taken is kept in other words."""
        with self._lock:
            self.bytes += len(better) - len(line)

    def put_back(self, lines: Sequence[bytes]) -> None:
        """To the front, as if they had never been taken."""
        with self._lock:
            self._ready.extendleft(reversed(lines))
