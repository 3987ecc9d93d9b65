"""Whatever a server or a network does, every turn arrives once, or is counted with the reason."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reviews.client import ReviewClient
from reviews.client.backoff import Backoff
from tests.client.conftest import balanced
from tests.client.fake_server import (
    FakeServer,
    Fault,
    Handler,
    behave,
    hangs_up,
    says,
    serving,
    stores_and_hangs_up,
    talks_nonsense,
)

MakeClient = Callable[..., ReviewClient]

PASSING = {
    "500": says(500, {"code": "internal", "message": "Something went wrong on our side."}),
    "503": says(503, {"code": "unavailable"}, Retry_After="0"),
    "429": says(429, b"slow down", Retry_After="0"),
    "401": says(401, {"code": "not_authenticated", "message": "This API key is not valid."}),
    "403": says(403, {"code": "forbidden", "message": "no"}),
    "404": says(404, b"<html>"),
    "302": says(302, b"", Location="https://elsewhere.example/"),
    "a proxy's 400": says(400, b"<html>Bad Request</html>"),
    "a log-in page": says(200, b"<html>Welcome to the hotel</html>"),
    "another JSON": says(200, {"results": []}),
    "rows that are none": says(200, {"results": [None]}),
    "rows of another order": says(200, {"results": [{"index": 1, "status": "accepted"}]}),
    "a broken length": says(200, b"{}", Content_Encoding="gzip"),
    "hangs up": hangs_up,
    "nonsense": talks_nonsense,
}


@pytest.mark.parametrize("spilling", [False, True], ids=["memory", "spill"])
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_turn_survives_every_fault_that_passes(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path, fault: Fault, spilling: bool
) -> None:
    fake.faults = [fault] * 4
    client = make_client(fake.url, spill=tmp_path / "spill" if spilling else None)
    client.record({"external_id": "a", "draft": "d"})
    assert client.flush(30)
    counters = client.counters
    assert (counters.sent, counters.duplicates, counters.dropped, counters.refused) == (1, 0, 0, 0)
    assert (counters.replayed, counters.spilled) == ((1, 1) if spilling else (0, 0))
    assert counters.retries >= 3
    assert balanced(client)


def test_an_answer_that_is_lost_doubles_nothing(fake: FakeServer, client: ReviewClient) -> None:
    fake.faults = [stores_and_hangs_up] * 3
    for number in range(5):
        client.record({"external_id": str(number), "draft": "d"})
    assert client.flush(30)
    assert len(fake.turns) == 5
    assert fake.counts["accepted"] == 5
    assert (client.counters.sent, client.counters.duplicates) == (0, 5)


def test_a_server_that_asks_for_a_pause_gets_it(fake: FakeServer, client: ReviewClient) -> None:
    came: list[float] = []

    def note(handler: Handler) -> None:
        came.append(time.monotonic())
        handler.answer(429, b"", Retry_After="1") if len(came) == 1 else behave(handler)

    fake.always = note
    client.record({"draft": "d"})
    # Not even a flush breaks in on it.
    assert client.flush(30)
    assert came[1] - came[0] >= 1.0


def test_pauses_grow_to_a_limit_and_differ() -> None:
    """In seconds so long that the time the test takes does not matter."""

    def pause(failures: int) -> float:
        backoff = Backoff(first=1000.0, most=64_000.0)
        for _ in range(failures):
            backoff.failed()
        return backoff.left()

    for failures, least in ((1, 500), (2, 1000), (5, 8_000), (7, 32_000), (50, 32_000), (5000, 32_000)):
        pauses = [pause(failures) for _ in range(20)]
        assert all(least - 100 <= seconds <= 2 * least for seconds in pauses)
        assert len(set(map(round, pauses))) > 1


def test_a_bad_turn_is_counted_once_told_and_never_sent_again(
    fake: FakeServer, client: ReviewClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="reviews.client")
    for number in range(3):
        client.record({"external_id": f"bad-{number}", "draft": 5, "user_message": "private matter"})
        client.record({"external_id": f"good-{number}", "draft": "private matter"})
    assert client.flush(30)
    counters = client.counters
    assert (counters.sent, counters.refused, counters.dropped) == (3, 3, 0)
    refusal = counters.last_refusal
    assert refusal is not None
    assert (refusal.external_id, refusal.pointer) == ("bad-2", "/draft")
    assert "expected a string" in refusal.message
    assert sum(seen.rows for seen in fake.seen) == 6
    warnings = [record for record in caplog.records if record.name == "reviews.client"]
    assert len(warnings) == 1
    assert "private" not in caplog.text


def test_a_conflict_is_counted_and_changes_nothing(fake: FakeServer, client: ReviewClient) -> None:
    for draft in ("first", "second"):
        client.record({"external_id": "a", "draft": draft})
        assert client.flush(30)
    assert fake.turns["a"].draft == "first"
    assert (client.counters.sent, client.counters.conflicts) == (1, 1)
    assert len(fake.seen) == 2


def takes_only(rows: int, status: int, said: Any) -> Fault:
    """Some proxies have limits of their own."""

    def fault(handler: Handler) -> None:
        if handler.request_seen.rows > rows:
            handler.answer(status, said)
        else:
            behave(handler)

    return fault


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (413, b"<html>too large"),
        (413, {"code": "too_large"}),
        (400, {"code": "invalid", "message": "more rows"}),
    ],
)
def test_a_batch_that_is_too_large_goes_in_parts(
    fake: FakeServer, make_client: MakeClient, status: int, said: Any
) -> None:
    fake.always = takes_only(3, status, said)
    client = make_client(fake.url, flush_seconds=60)
    for number in range(20):
        client.record({"external_id": str(number), "draft": "d"})
    assert client.flush(30)
    assert len(fake.turns) == 20
    assert (client.counters.sent, client.counters.refused) == (20, 0)


def test_a_turn_that_is_too_large_by_itself_is_refused_and_the_others_pass(
    fake: FakeServer, make_client: MakeClient
) -> None:
    def limited(handler: Handler) -> None:
        handler.answer(413, b"") if len(handler.request_seen.body) > 10_000 else behave(handler)

    fake.always = limited
    client = make_client(fake.url, flush_seconds=60)
    for number in range(9):
        client.record({"external_id": str(number), "draft": "d" * (20_000 if number == 4 else 10)})
    assert client.flush(30)
    assert (client.counters.sent, client.counters.refused) == (8, 1)
    assert client.counters.last_refusal is not None
    assert client.counters.last_refusal.external_id == "4"
    assert sorted(fake.turns) == ["0", "1", "2", "3", "5", "6", "7", "8"]


def test_the_servers_own_limit_of_a_turn_refuses_that_turn_only(
    fake: FakeServer, client: ReviewClient
) -> None:
    client.record({"external_id": "huge", "draft": "d" * (4 * 1024 * 1024)})
    client.record({"external_id": "small", "draft": "d"})
    assert client.flush(30)
    assert list(fake.turns) == ["small"]
    assert client.counters.refused == 1


def test_a_key_that_is_mended_sends_what_was_kept(tmp_path: Path, make_client: MakeClient) -> None:
    with serving() as fake:
        fake.always = PASSING["401"]
        client = make_client(fake.url, spill=tmp_path)
        client.record({"external_id": "a", "draft": "d"})
        fake.wait_for(lambda: len(fake.seen) >= 2)
        assert client.counters.last_error == "the key is not accepted (status 401)"
        assert client.close()
        fake.always = None
        again = make_client(fake.url, spill=tmp_path)
        assert again.flush(30)
        assert list(fake.turns) == ["a"]


def test_trouble_is_told_once_until_it_is_over(
    fake: FakeServer, client: ReviewClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="reviews.client")
    for _ in range(2):
        fake.faults = [says(500)] * 5
        client.record({"draft": "private matter"})
        assert client.flush(30)
    told = [record.getMessage() for record in caplog.records if record.name == "reviews.client"]
    assert told == ["turns cannot be sent and are kept in memory: the server answered with status 500"] * 2
