"""A runtime's own fabrication events, sent beside the turns (``POST /events/fabrication``)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Any, Final

from reviews.client.errors import ReviewClientError

__all__ = ["EventLane"]

#: Events that may wait for a server that is away; they are rare, and the turn goes its own, safer way.
MOST_WAITING: Final = 1_000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0


class EventLane:
    """Sends events through the connection and the thread of a client, again and again until the client is
    closed. An event that is lost takes nothing from its turn but the word on what the runtime did.

    ``sent`` were taken in, known ones included; ``refused`` the server would not take; ``lost`` found no
    room, or the client was closed first.
    """

    def __init__(self, client: Any) -> None:
        # None for a client that is not ours, such as one that only writes turns down.
        self._engine: Any = getattr(client, "engine", None)
        self._lock = threading.Lock()
        self._waiting: set[Future[None]] = set()
        self.sent = 0
        self.refused = 0
        self.lost = 0

    def send(self, event: Mapping[str, Any]) -> None:
        """Never waits."""
        with self._lock:
            crowded = len(self._waiting) >= MOST_WAITING
        if self._engine is None or crowded:
            self.lost += 1
            return
        raw = json.dumps(event, ensure_ascii=False).encode()
        future: Future[None] = self._engine.submit(self._deliver(raw))
        with self._lock:
            self._waiting.add(future)
        future.add_done_callback(self._done)

    def flush(self, seconds: float) -> bool:
        """Wait until all are answered; whether they were in time."""
        with self._lock:
            waiting = list(self._waiting)
        return not wait(waiting, timeout=seconds).not_done

    def _done(self, future: Future[None]) -> None:
        with self._lock:
            self._waiting.discard(future)
        if future.cancelled() or future.exception() is not None:
            self.lost += 1

    async def _deliver(self, raw: bytes) -> None:
        # Have the turn go first, which would wait so long for others. The order is a courtesy to readers.
        await self._engine.flush_within(self._engine.options.flush_seconds)
        pause = _FIRST_PAUSE
        while True:
            try:
                transport = await self._engine.connection()
                answer = await transport.request(
                    "POST",
                    "events/fabrication",
                    seconds=self._engine.options.timeout,
                    content=raw,
                    headers={"Content-Type": "application/json"},
                )
            except ReviewClientError:
                answer = None
            if answer is not None and answer.status not in (408, 429) and answer.status < 500:
                # 409: the turn holds another event already.
                taken = answer.status in (200, 201)
                self.sent, self.refused = self.sent + taken, self.refused + (not taken)
                return
            await asyncio.sleep(max(pause, (answer.retry_after or 0.0) if answer is not None else 0.0))
            pause = min(2 * pause, _LONGEST_PAUSE)
