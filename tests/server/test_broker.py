"""The broker of files, with several readers and writers in processes of their own."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection
from kombu.simple import SimpleQueue

PATIENCE = 30.0
MESSAGES, WRITERS, READERS = 1_500, 2, 3


@contextmanager
def open_queue(folder: Path, name: str = "") -> Iterator[SimpleQueue]:
    # kombu remembers for the whole process what it has bound, wherever the files are.
    name = f"{folder.name}{name}"
    options = {
        "data_folder_in": str(folder / "messages"),
        "data_folder_out": str(folder / "messages"),
        "control_folder": str(folder / "control"),
        "polling_interval": 0.001,
    }
    connection = Connection(
        "filesystem://", transport="reviews.server.broker:Transport", transport_options=options
    )
    with connection, connection.SimpleQueue(name) as queue:
        yield queue


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "messages").mkdir()
    return tmp_path


def write(folder: Path, writer: int) -> None:
    with open_queue(folder) as queue:
        for number in range(MESSAGES):
            queue.put({"id": [writer, number], "more": "x" * 4_000})


def read(folder: Path, found: Any) -> None:
    """Read until a message says that it is over."""
    with open_queue(folder) as queue:
        while True:
            message = queue.get(timeout=PATIENCE)
            message.ack()
            found.put(message.payload["id"])
            if message.payload["id"] is None:
                return


@pytest.mark.slow
def test_each_message_is_read_once_and_whole_while_others_are_written(folder: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    found = spawn.Queue()
    readers = [spawn.Process(target=read, args=(folder, found)) for _ in range(READERS)]
    writers = [spawn.Process(target=write, args=(folder, writer)) for writer in range(WRITERS)]
    for process in (*readers, *writers):
        process.start()
    try:
        for process in writers:
            process.join(PATIENCE)
        with open_queue(folder) as queue:
            for _ in readers:
                queue.put({"id": None})
        got = [found.get(timeout=PATIENCE) for _ in range(MESSAGES * WRITERS + READERS)]
        for process in readers:
            process.join(PATIENCE)
    finally:
        for process in (*readers, *writers):
            process.kill()

    assert [process.exitcode for process in (*readers, *writers)] == [0] * (READERS + WRITERS)
    counted = Counter(tuple(each) if each else None for each in got)
    assert counted.pop(None) == READERS
    assert set(counted.values()) == {1}
    assert len(counted) == MESSAGES * WRITERS
    assert list((folder / "messages").iterdir()) == []


def test_messages_come_in_the_order_in_which_they_were_written(folder: Path) -> None:
    with open_queue(folder) as queue, open_queue(folder, "other") as other:
        for number in range(20):
            queue.put({"number": number})
            other.put({"number": -number})
        assert [queue.get(timeout=PATIENCE).payload["number"] for _ in range(20)] == list(range(20))
        assert [other.get(timeout=PATIENCE).payload["number"] for _ in range(20)] == [-n for n in range(20)]


@pytest.mark.parametrize("raw", [b"", b'{"body": "eyJh', b"\xff\xfe"])
def test_a_message_that_cannot_be_read_stops_nobody(folder: Path, raw: bytes) -> None:
    (folder / "messages" / f"0_torn.{folder.name}.msg").write_bytes(raw)
    with open_queue(folder) as queue:
        queue.put({"after": "it"})
        message = queue.get(timeout=PATIENCE)
        assert message.payload == {"after": "it"}
        message.ack()
        with pytest.raises(Empty):
            queue.get_nowait()
    assert list((folder / "messages").iterdir()) == []


@pytest.mark.parametrize("raw", [b"", b"[["])
def test_a_torn_table_of_bindings_is_made_again(folder: Path, raw: bytes) -> None:
    (folder / "control").mkdir()
    (folder / "control" / f"{folder.name}.exchange").write_bytes(raw)
    with open_queue(folder) as queue:
        queue.put({"it": "arrives"})
        assert queue.get(timeout=PATIENCE).payload == {"it": "arrives"}
