"""Turns that are recorded arrive: as they were, in batches, counted, within bounds."""

from __future__ import annotations

import gc
import gzip
import json
import threading
import tracemalloc
from collections import UserDict
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviews.client import ReviewClient
from tests.client.conftest import KEY, balanced, wait_until
from tests.client.fake_server import FakeServer, free_port, waits_for

MakeClient = Callable[..., ReviewClient]


def test_a_turn_arrives_as_it_is(fake: FakeServer, client: ReviewClient) -> None:
    turn = {
        "external_id": "run-1",
        "draft": "I restarted job_id=J-88.",
        "tool_calls": [{"name": "restart", "args": {"id": "J-88"}, "result": "ok", "ok": True}],
        "occurred_at": "2026-01-31T12:00:00Z",
    }
    assert client.record(turn)
    assert client.flush()
    stored = fake.turns["run-1"]
    assert (stored.draft, stored.tool_calls[0].args) == (turn["draft"], {"id": "J-88"})
    [seen] = fake.seen
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["content-type"] == "application/x-ndjson"
    assert (client.counters.recorded, client.counters.sent, client.counters.waiting) == (1, 1, 0)


def test_what_the_agent_does_to_a_turn_afterwards_changes_nothing(
    fake: FakeServer, make_client: MakeClient
) -> None:
    client = make_client(fake.url, flush_seconds=60)
    turn: dict[str, Any] = {"external_id": "a", "draft": "before", "tool_calls": [{"name": "t", "args": [1]}]}
    client.record(turn)
    turn["draft"] = "after"
    turn["tool_calls"][0]["args"].append(2)
    turn["tool_calls"].clear()
    client.flush()
    assert fake.turns["a"].draft == "before"
    assert fake.turns["a"].tool_calls[0].args == [1]


def test_turns_without_an_id_are_different_turns(fake: FakeServer, client: ReviewClient) -> None:
    for _ in range(3):
        client.record({"draft": "the same"})
    client.flush()
    assert len(fake.turns) == 3


def test_turns_go_in_batches_of_the_size_asked_for(fake: FakeServer, make_client: MakeClient) -> None:
    client = make_client(fake.url, batch_size=100, flush_seconds=60)
    for number in range(1000):
        client.record({"external_id": str(number), "draft": "d"})
    assert client.flush()
    assert len(fake.turns) == 1000
    assert sum(seen.rows for seen in fake.seen) == 1000
    assert max(seen.rows for seen in fake.seen) == 100


def test_a_full_batch_does_not_wait(fake: FakeServer, make_client: MakeClient) -> None:
    client = make_client(fake.url, batch_size=10, flush_seconds=3600)
    for number in range(10):
        client.record({"external_id": str(number), "draft": "d"})
    fake.wait_for(lambda: len(fake.turns) == 10)


def test_a_lone_turn_waits_for_the_flush_only(fake: FakeServer, make_client: MakeClient) -> None:
    client = make_client(fake.url, batch_size=10, flush_seconds=0.05)
    client.record({"external_id": "a", "draft": "d"})
    fake.wait_for(lambda: "a" in fake.turns)


def test_batches_are_bounded_in_bytes_and_a_large_turn_goes_alone(
    fake: FakeServer, make_client: MakeClient
) -> None:
    client = make_client(fake.url, batch_bytes=10_000, flush_seconds=60)
    for number in range(20):
        client.record({"external_id": str(number), "draft": "d" * (50_000 if number == 7 else 2_000)})
    assert client.flush()
    assert len(fake.turns) == 20
    assert all(len(seen.body) <= 10_000 or seen.rows == 1 for seen in fake.seen)


def test_large_batches_are_compressed_and_small_ones_are_not(
    fake: FakeServer, make_client: MakeClient
) -> None:
    client = make_client(fake.url, gzip_above=5_000)
    for draft in ("short", "long " * 2_000):
        client.record({"draft": draft})
        assert client.flush()
    assert [seen.headers.get("content-encoding") for seen in fake.seen] == [None, "gzip"]
    assert len(gzip.compress(fake.seen[1].body)) < 5_000  # the server could read it
    assert len(fake.turns) == 2


def test_hostile_values_arrive_mended_and_the_good_turns_beside_them_unharmed(
    fake: FakeServer, client: ReviewClient
) -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    hostile = (float("nan"), 2**70, "\ud800\0", deep, {1: 2, "1": 3}, object(), b"\xff")
    for number, value in enumerate(hostile):
        client.record({"external_id": f"bad-{number}", "draft": "d", "attributes": {"v": value}})
        client.record({"external_id": f"good-{number}", "draft": "d"})
    assert client.flush()
    assert len(fake.turns) == 2 * len(hostile)
    counters = client.counters
    assert (counters.sent, counters.refused, counters.reworded) == (14, 0, 7)
    assert balanced(client)


def test_many_threads_may_record(fake: FakeServer, client: ReviewClient) -> None:
    def record(name: int) -> None:
        for number in range(500):
            client.record({"external_id": f"{name}-{number}", "draft": "d"})

    threads = [Thread(target=record, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.flush(30)
    assert len(fake.turns) == 4000
    assert (client.counters.sent, client.counters.duplicates) == (4000, 0)


def test_without_a_spill_memory_is_bounded_and_the_newest_turns_are_dropped(make_client: MakeClient) -> None:
    client = make_client(f"http://127.0.0.1:{free_port()}", queue_size=500)
    taken = [client.record({"external_id": str(number), "draft": "d"}) for number in range(2000)]
    assert taken == [True] * 500 + [False] * 1500
    counters = client.counters
    assert (counters.recorded, counters.waiting, counters.dropped) == (2000, 500, 1500)


def test_memory_is_bounded_in_bytes_as_well(make_client: MakeClient) -> None:
    client = make_client(f"http://127.0.0.1:{free_port()}", queue_bytes=1_000_000)
    client.record({"draft": "warm up"})
    text = "x" * 10_000
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(5_000):
        client.record({"draft": text})
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    counters = client.counters
    assert 900_000 < counters.waiting_bytes <= 1_000_000
    assert counters.waiting + counters.dropped == 5_001
    # The queue, a batch under way, and what Python and httpx need for it; not the 50 MB that were recorded.
    assert after - before < 8_000_000


def test_a_slow_server_holds_up_nobody(fake: FakeServer, make_client: MakeClient) -> None:
    """Every request hangs until the test lets go, and every record returns before."""
    go = Event()
    fake.always = waits_for(go)
    client = make_client(fake.url, queue_size=50, batch_size=10)
    taken = [client.record({"draft": "d"}) for _ in range(100)]
    assert taken.count(True) == 50
    go.set()
    assert client.flush(30)
    assert len(fake.turns) == 50
    assert balanced(client)


def test_close_sends_what_waits_and_takes_nothing_more(fake: FakeServer, make_client: MakeClient) -> None:
    with make_client(fake.url, flush_seconds=3600) as client:
        client.record({"external_id": "a", "draft": "d"})
    assert "a" in fake.turns
    assert client.record({"external_id": "b", "draft": "d"}) is False
    assert client.counters.dropped == 1
    assert client.close()  # once more does no harm
    assert balanced(client)


def test_close_without_spill_and_server_tells_that_turns_are_lost(make_client: MakeClient) -> None:
    client = make_client(f"http://127.0.0.1:{free_port()}")
    client.record({"draft": "d"})
    assert client.close(0.2) is False
    assert (client.counters.dropped, client.counters.waiting) == (1, 0)


def test_a_client_that_nobody_holds_sends_what_it_has_and_its_thread_ends(fake: FakeServer) -> None:
    client = ReviewClient(fake.url, KEY, flush_seconds=3600)
    client.record({"external_id": "a", "draft": "d"})
    threads = [thread for thread in threading.enumerate() if thread.name == "reviews-client"]
    del client
    gc.collect()
    fake.wait_for(lambda: "a" in fake.turns)
    wait_until(lambda: not any(thread.is_alive() for thread in threads))


def test_a_client_that_was_never_used_starts_nothing(make_client: MakeClient) -> None:
    client = make_client(f"http://127.0.0.1:{free_port()}")
    assert client.close()


@given(st.dictionaries(st.text(max_size=5), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)))  # fmt: skip
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_recording_never_raises(client: ReviewClient, turn: dict[str, Any]) -> None:
    assert client.record(turn) is True


class Raising(UserDict[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize("turn", [None, 5, "text", ["draft"], Raising(draft="d"), object()])
def test_what_is_no_turn_is_counted_and_does_not_raise(client: ReviewClient, turn: Any) -> None:
    assert client.record(turn) is False
    assert (client.counters.recorded, client.counters.dropped) == (1, 1)


@pytest.mark.parametrize(
    "url",
    ["", "reviews.example.org", "ftp://host", "http://", "http://a:b@host/", "http://host/?a=1", None, 7],
)
def test_an_address_that_is_none_is_said_at_once(url: Any) -> None:
    with pytest.raises(ValueError, match="url must"):
        ReviewClient(url, KEY)


@pytest.mark.parametrize("path", ["", "/", "/api/v1", "/api/v1/"])
def test_the_path_of_the_api_may_be_given_or_not(
    fake: FakeServer, make_client: MakeClient, path: str
) -> None:
    client = make_client(fake.url + path)
    client.record({"draft": "d"})
    assert client.flush()
    assert fake.seen[0].path == "/api/v1/turns"


@pytest.mark.parametrize("key", ["", "  ", "two words", "line\nbreak", "ümlaut", None])
def test_a_key_that_is_none_is_said_without_quoting_it(key: Any) -> None:
    with pytest.raises(ValueError, match="key must be an API key") as caught:
        ReviewClient("http://127.0.0.1:1", key)
    assert not key or key.strip() == "" or key not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [{"batch_size": 0}, {"batch_size": 1001}, {"queue_size": 0}, {"timeout": 0}, {"flush_seconds": -1}],
)
def test_options_out_of_bounds_are_said_by_name(options: dict[str, Any]) -> None:
    [name] = options
    with pytest.raises(ValueError, match=name):
        ReviewClient("http://127.0.0.1:1", KEY, **options)


def test_neither_key_nor_content_shows(fake: FakeServer, client: ReviewClient) -> None:
    fake.always = None
    client.record({"external_id": "a", "draft": "d", "agent": "private matter" * 50})
    assert client.flush()
    assert client.counters.refused == 1
    shown = repr(client) + repr(client.counters) + str(client.counters)
    assert KEY not in shown
    assert "private" not in shown
    assert json.loads(fake.seen[0].body)["agent"].startswith("private")
