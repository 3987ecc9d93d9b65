"""When to try again: later each time, and not all agents at once."""

from __future__ import annotations

import random
import time

__all__ = ["Backoff"]


class Backoff:
    """After the ``n``-th failure in a row, a random share, at least half, of ``first * 2**(n-1)`` seconds.

    Never more than ``most``, and never less than the server asked for.
    """

    def __init__(self, *, first: float, most: float) -> None:
        self._first, self._most = first, most
        self._failures = 0
        self._until = 0.0
        self._asked_until = 0.0

    @property
    def failing(self) -> bool:
        """Whether the last attempt failed."""
        return self._failures > 0

    def failed(self, asked: float | None = None) -> None:
        self._failures += 1
        # The exponent is bounded, since a float is.
        delay = min(self._most, self._first * 2.0 ** min(self._failures - 1, 32))
        now = time.monotonic()
        # No secret hangs on it.
        self._until = now + delay * random.uniform(0.5, 1.0)  # noqa: S311
        self._asked_until = now + (asked or 0.0)

    def succeeded(self) -> None:
        self._failures = 0
        self._until = self._asked_until = 0.0

    def hurry(self) -> None:
        """Somebody waits: try at once, unless the server asked to be left alone."""
        self._until = 0.0

    def left(self) -> float:
        """Seconds to wait, 0 or less when there is nothing to wait for."""
        return max(self._until, self._asked_until) - time.monotonic()
