"""The broker of files that an installation without a server uses: kombu's, made safe for many processes.

kombu's own (5.6) opens a file under its final name and fills it afterwards, so a reader that comes in
between finds half a message, or none, and a worker that cannot read one ends. Here every file gets its name
when it is whole. A message that cannot be read all the same is thrown away: it is only a hint, and the
database says what is to do.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from time import time_ns
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)


class Channel(filesystem.Channel):
    """Messages in the order of their names, ``<time>_<random>.<queue>.msg``, in one folder."""

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        name = f"{time_ns():020}_{secrets.token_hex(8)}.{queue}.msg"
        _write_whole(folder / name, dumps(payload).encode())

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = folder / f"{name}.taken-{secrets.token_hex(8)}"
            try:
                # One process succeeds, whoever else tries.
                (folder / name).rename(taken)
            except FileNotFoundError:
                continue
            raw = taken.read_bytes()
            taken.unlink()
            try:
                return loads(raw.decode())
            except ValueError:
                logger.warning("a message cannot be read", extra={"queue": queue, "bytes": len(raw)})
        raise Empty

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        file = self._exchange_file(exchange)
        bound = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._tables():
            table: list[Any] = self.get_table(exchange)
            if bound not in table:
                _write_whole(file, dumps([bound, *table]).encode())

    def get_table(self, exchange: str) -> list[Any]:
        """What is bound to an exchange; nothing when its file cannot be read, so that it is bound again."""
        try:
            return list(super().get_table(exchange))
        except ValueError:
            return []

    @contextmanager
    def _tables(self) -> Iterator[None]:
        self.control_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.control_folder / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


class Transport(filesystem.Transport):
    """Name it ``reviews.server.broker:Transport`` in ``broker_transport``."""

    Channel = Channel


def _write_whole(file: Path, raw: bytes) -> None:
    """Write a file that nobody sees before it is whole."""
    part = file.with_name(f".{secrets.token_hex(8)}.part")
    part.write_bytes(raw)
    part.replace(file)
