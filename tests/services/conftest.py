"""Real threads on real connections: on SQLite the in-memory test database is copied into a file for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, connections

#: Far more than anything here takes on a slow machine.
PATIENCE = 120.0

InThreads = Callable[..., list[Any]]


@pytest.fixture
def in_threads(transactional_db: None, tmp_path: Path) -> Iterator[InThreads]:
    """Run callables at the same time, each in a thread with a connection of its own.

    Returns what each returned or raised, in their order.
    """
    in_memory = connection.vendor == "sqlite" and connection.is_in_memory_db()
    if in_memory:
        connection.ensure_connection()
        # Kept open, because an in-memory database ends with its last connection.
        kept, name = connection.connection, connection.settings_dict["NAME"]
        path = tmp_path / "threads.sqlite3"
        copy = sqlite3.connect(path)
        kept.backup(copy)
        copy.close()
        connection.connection = None
        connection.settings_dict["NAME"] = str(path)
    yield _run
    if in_memory:
        connection.close()
        connection.settings_dict["NAME"] = name
        connection.connection = kept


def _run(*jobs: Callable[[], Any]) -> list[Any]:
    start = Barrier(len(jobs), timeout=PATIENCE)

    def run(job: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            start.wait()
            return job()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        return [future.result(timeout=PATIENCE) for future in futures]
