"""While the server is away turns lie on disk, and nothing that lies there is lost or sent in vain."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from reviews.client import ReviewClient
from reviews.client.spill import MOST_ADOPTED, SEGMENT_BYTES, Spill
from tests.client.conftest import balanced, wait_until
from tests.client.fake_server import (
    FakeServer,
    Handler,
    behave,
    free_port,
    says,
    serving,
    stores_and_hangs_up,
    waits_for,
)

MakeClient = Callable[..., ReviewClient]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.turns.jsonl"))


def ids(folder: Path) -> list[str]:
    return [
        json.loads(line)["external_id"] for file in files(folder) for line in file.read_bytes().splitlines()
    ]


def turn(number: int, draft: str = "d") -> dict[str, str]:
    return {"external_id": str(number), "draft": draft}


@pytest.fixture
def away() -> str:
    return f"http://127.0.0.1:{free_port()}"


def test_what_cannot_be_sent_lies_on_disk_and_the_next_client_sends_it(
    fake: FakeServer, make_client: MakeClient, away: str, tmp_path: Path
) -> None:
    first = make_client(away, spill=tmp_path / "new" / "spill")
    for number in range(500):
        first.record(turn(number))
    assert first.close()
    assert (first.counters.spilled, first.counters.waiting, first.counters.dropped) == (500, 500, 0)
    assert sorted(ids(tmp_path / "new" / "spill"), key=int) == [str(n) for n in range(500)]

    second = make_client(fake.url, spill=tmp_path / "new" / "spill")
    assert second.flush(30)
    assert len(fake.turns) == 500
    counters = second.counters
    assert (counters.adopted, counters.replayed, counters.sent, counters.duplicates) == (500, 500, 500, 0)
    assert balanced(first)
    assert balanced(second)
    assert files(tmp_path / "new" / "spill") == []


def test_the_same_client_sends_them_once_the_server_is_back(make_client: MakeClient, tmp_path: Path) -> None:
    with serving() as fake:
        client = make_client(fake.url, spill=tmp_path)
        client.record(turn(0))
        assert client.flush(30)
    for number in range(1, 301):
        client.record(turn(number))
    wait_until(lambda: client.counters.spilled == 300)
    with serving(fake, port=fake.port):
        assert client.flush(30)
    assert len(fake.turns) == 301
    assert (client.counters.sent, client.counters.replayed, client.counters.duplicates) == (301, 300, 0)
    assert files(tmp_path) == []


def test_nobody_else_may_read_what_lies_there(make_client: MakeClient, away: str, tmp_path: Path) -> None:
    client = make_client(away, spill=tmp_path / "spill")
    client.record(turn(1))
    client.close()
    [file] = files(tmp_path / "spill")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_memory_stays_bounded_while_the_server_is_away_for_good(
    make_client: MakeClient, away: str, tmp_path: Path
) -> None:
    """60 MB of turns; the queue may hold 2 MB of them."""
    client = make_client(away, spill=tmp_path, queue_bytes=2_000_000)
    client.record(turn(0))
    wait_until(lambda: client.counters.spilled == 1)
    text = "x" * 10_000
    tracemalloc.start()
    for number in range(1, 6_001):
        if not client.record(turn(number, text)):
            # Faster than the disk; an agent that talks to a model never is. What was dropped is given again.
            wait_until(lambda: client.counters.waiting_bytes == 0)
            client.record(turn(number, text))
        assert client.counters.waiting_bytes <= 2_000_000
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 16_000_000
    client.close()
    assert client.counters.waiting == 6_001
    assert len(set(ids(tmp_path))) == 6_001


def test_a_crowd_goes_to_the_disk_before_anything_is_dropped(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path
) -> None:
    """The server is there and hangs; a queue of 100 takes 1,000 turns without losing one."""
    go = Event()
    fake.always = waits_for(go)
    client = make_client(fake.url, spill=tmp_path, queue_size=100, batch_size=10)
    for number in range(1000):
        if number % 50 == 49:
            wait_until(lambda: client.counters.waiting_bytes < 5_000)
        assert client.record(turn(number))
    assert client.counters.spilled > 800
    go.set()
    assert client.flush(30)
    assert len(fake.turns) == 1000
    assert (client.counters.dropped, client.counters.duplicates) == (0, 0)


def test_a_torn_line_costs_itself_only(fake: FakeServer, make_client: MakeClient, tmp_path: Path) -> None:
    lines = [json.dumps(turn(number)).encode() for number in range(3)]
    (tmp_path / "1-a.turns.jsonl").write_bytes(b"\n".join(lines) + b'\n{"external_id": "torn", "dra')
    (tmp_path / "2-b.turns.jsonl").write_bytes(b"\n".join(lines) + b"\n\n" + json.dumps(turn(9)).encode())
    (tmp_path / "3-c.turns.jsonl").write_bytes(b'{"external')
    (tmp_path / "4-d.turns.jsonl").write_bytes(b"")
    client = make_client(fake.url, spill=tmp_path)
    assert client.flush(30)
    assert sorted(fake.turns) == ["0", "1", "2", "9"]
    assert (client.counters.sent, client.counters.duplicates, client.counters.dropped) == (4, 3, 2)
    assert client.counters.waiting == 0
    assert files(tmp_path) == []


def test_a_line_of_rubbish_is_refused_and_the_rest_is_sent(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path
) -> None:
    (tmp_path / "1-a.turns.jsonl").write_bytes(b"\xff\xfe rubbish\n" + json.dumps(turn(1)).encode() + b"\n")
    client = make_client(fake.url, spill=tmp_path)
    assert client.flush(30)
    assert list(fake.turns) == ["1"]
    assert (client.counters.sent, client.counters.refused) == (1, 1)


def test_lines_longer_than_a_batch_are_read_as_a_whole(
    fake: FakeServer, make_client: MakeClient, away: str, tmp_path: Path
) -> None:
    first = make_client(away, spill=tmp_path)
    for number in range(5):
        first.record(turn(number, str(number) * 100_000))
    first.close()
    second = make_client(fake.url, spill=tmp_path, batch_bytes=1_000)
    assert second.flush(30)
    assert [fake.turns[str(n)].draft for n in range(5)] == [str(n) * 100_000 for n in range(5)]


def test_an_answer_lost_during_the_replay_doubles_nothing(
    fake: FakeServer, make_client: MakeClient, away: str, tmp_path: Path
) -> None:
    first = make_client(away, spill=tmp_path)
    for number in range(100):
        first.record(turn(number))
    first.close()
    fake.faults = [stores_and_hangs_up, says(500), stores_and_hangs_up]
    second = make_client(fake.url, spill=tmp_path, batch_size=30)
    assert second.flush(30)
    assert fake.counts["accepted"] == len(fake.turns) == 100
    assert balanced(second)


def test_a_hostile_turn_is_mended_after_the_disk_as_well(
    fake: FakeServer, make_client: MakeClient, away: str, tmp_path: Path
) -> None:
    first = make_client(away, spill=tmp_path)
    first.record({"external_id": "a", "draft": "d", "attributes": {"big": 2**80}})
    first.close()
    second = make_client(fake.url, spill=tmp_path)
    assert second.flush(30)
    assert fake.turns["a"].attributes == {"big": str(2**80)}
    assert (second.counters.sent, second.counters.reworded, second.counters.refused) == (1, 1, 0)


def test_the_folder_has_a_limit_and_what_is_beyond_it_stays_in_memory_and_is_then_dropped(
    make_client: MakeClient, away: str, tmp_path: Path
) -> None:
    client = make_client(away, spill=tmp_path, spill_bytes=5_000, queue_size=100)
    client.record(turn(0, "x" * 1_000))
    wait_until(lambda: client.counters.spilled == 1)
    taken = [client.record(turn(number, "x" * 1_000)) for number in range(1, 200)]
    client.close()
    counters = client.counters
    assert sum(file.stat().st_size for file in files(tmp_path)) <= 5_000
    assert counters.dropped >= taken.count(False) > 0
    assert counters.waiting == counters.spilled == len(ids(tmp_path))
    assert counters.last_error == "the spill is full"
    assert balanced(client)


def test_a_folder_that_cannot_be_written_is_told_and_turns_stay_in_memory(
    make_client: MakeClient, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    with serving() as fake:
        fake.faults = [says(500)] * 3
        client = make_client(fake.url, spill=tmp_path / "file")
        client.record(turn(1))
        assert client.flush(30)
        assert list(fake.turns) == ["1"]
        assert "cannot be written" in client.counters.last_error


def test_files_of_the_living_are_left_alone(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path
) -> None:
    (tmp_path / "1-dead.turns.jsonl").write_bytes(json.dumps(turn(1)).encode() + b"\n")
    (tmp_path / "2-alive.turns.jsonl").write_bytes(json.dumps(turn(2)).encode() + b"\n")
    with locked(tmp_path / "2-alive.turns.jsonl"):
        client = make_client(fake.url, spill=tmp_path)
        assert client.flush(30)
        assert list(fake.turns) == ["1"]
    assert client.flush(30)
    assert sorted(fake.turns) == ["1", "2"]
    assert files(tmp_path) == []


def test_two_clients_share_a_folder(make_client: MakeClient, tmp_path: Path) -> None:
    with serving() as fake:
        pass
    clients = [make_client(fake.url, spill=tmp_path) for _ in range(2)]
    for number in range(400):
        clients[number % 2].record(turn(number))
    wait_until(lambda: sum(client.counters.spilled for client in clients) == 400)
    with serving(fake, port=fake.port):
        assert all(client.flush(30) for client in clients)
    assert len(fake.turns) == 400
    assert fake.counts == {"accepted": 400}
    assert files(tmp_path) == []


def test_a_folder_belongs_to_one_key(make_client: MakeClient, away: str, tmp_path: Path) -> None:
    first = make_client(away, spill=tmp_path)
    with pytest.raises(ValueError, match="another url or key"):
        ReviewClient(away, "sr_of_another_tenant", spill=tmp_path / "x" / "..")
    first.close()
    ReviewClient(away, "sr_of_another_tenant", spill=tmp_path).close()


def test_any_number_of_leftovers_is_sent_with_few_files_open(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path
) -> None:
    for number in range(300):
        (tmp_path / f"{number}-a.turns.jsonl").write_text(json.dumps(turn(number)) + "\n")
    client = make_client(fake.url, spill=tmp_path)
    most = 0

    def note_descriptors(handler: Handler) -> None:
        nonlocal most
        most = max(most, sum("turns.jsonl" in os.readlink(link) for link in links()))
        behave(handler)

    fake.always = note_descriptors
    assert client.flush(30)
    assert len(fake.turns) == 300
    assert files(tmp_path) == []
    assert most <= MOST_ADOPTED


def links() -> list[str]:
    """The files this process has open."""
    folder = "/proc/self/fd"
    return [f"{folder}/{name}" for name in os.listdir(folder) if os.path.lexists(f"{folder}/{name}")]


def test_full_files_are_given_back_while_the_rest_is_replayed(tmp_path: Path) -> None:
    spill = Spill(tmp_path, most_bytes=10 * SEGMENT_BYTES)
    line = b'{"x":"' + b"y" * 2_000_000 + b'"}'
    for _ in range(20):
        assert spill.append([line])
    assert len(files(tmp_path)) == 3
    left = []
    while spill.next(1, 1_000_000) == [line]:
        spill.done()
        left.append(len(files(tmp_path)))
    assert (left[0], left[-1], len(left)) == (3, 0, 20)
    assert left == sorted(left, reverse=True)


def test_what_is_appended_during_a_replay_comes_after_it(tmp_path: Path) -> None:
    spill = Spill(tmp_path, most_bytes=10**6)
    spill.append([b'{"n":1}', b'{"n":2}'])
    assert spill.next(1, 1000) == [b'{"n":1}']
    spill.append([b'{"n":3}'])
    assert spill.next(1, 1000) == [b'{"n":1}']  # the same until it is done
    seen = []
    while lines := spill.next(1, 1000):
        seen += lines
        spill.done()
    assert seen == [b'{"n":1}', b'{"n":2}', b'{"n":3}']
    assert (spill.rows, files(tmp_path)) == (0, [])


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """As another process holds it: a lock belongs to an open file, not to a process."""
    descriptor = os.open(path, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)
