"""The client and the product itself, over HTTP: as an agent in production meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from benchmarks.installation import PATIENCE, Installation
from benchmarks.turns import make_turns
from reviews.client import ReviewClient, ReviewClientError
from reviews.formats.native import encode_turn
from tests.client.conftest import balanced, wait_until

pytestmark = pytest.mark.slow

TURNS = 10_000
KILLS = 10


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation(tmp_path_factory.mktemp("installation")) as found:
        found.start("web")
        found.wait_until_up()
        yield found


def url(installation: Installation) -> str:
    return f"http://127.0.0.1:{installation.port}"


def key(installation: Installation, *scopes: str) -> str:
    arguments = [part for scope in scopes for part in ("--scope", scope)]
    return installation.manage("create_key", "--tenant", "acme", "--name", "t", *arguments).strip()


def test_a_draft_is_checked_and_its_turn_stored(installation: Installation) -> None:
    with ReviewClient(url(installation), installation.secret) as client:
        result = client.check(
            "I sent the invoice.", user_message="Did you?", external_id="checked", deadline=60
        )
        again = client.check(
            "I sent the invoice.", user_message="Did you?", external_id="checked", deadline=60
        )
        other = client.check("Another draft.", external_id="checked", deadline=60)
    assert (result.answered, result.outcome, result.mode, result.status) == (
        True,
        "observed",
        "observe",
        "accepted",
    )
    assert (result.refused, result.policy_version) == (False, 1)
    assert result.findings[0]["kind"] == "verb_claim"
    assert (again.status, again.findings) == ("duplicate", result.findings)
    assert (other.answered, other.status) == (True, "conflict")
    assert installation.query("SELECT count(*) FROM reviews_turn WHERE external_id = 'checked'") == [(1,)]


def test_hostile_values_are_stored(installation: Installation) -> None:
    deep: list[object] = []
    for _ in range(100):
        deep = [deep]
    values = (float("nan"), 2**64, "\ud83d\0", deep, {1: 2, "1": 3}, object(), b"\xff")
    with ReviewClient(url(installation), installation.secret) as client:
        for number, value in enumerate(values):
            client.record({"external_id": f"hostile-{number}", "draft": "d", "attributes": {"v": value}})
        assert client.flush(60)
        assert (client.counters.sent, client.counters.refused) == (7, 0)
    stored = installation.query("SELECT count(*) FROM reviews_turn WHERE external_id LIKE 'hostile-%'")
    assert stored == [(7,)]


def test_policy_and_skills_are_read_with_the_scopes_they_need(installation: Installation) -> None:
    secret = key(installation, "policy", "skills")
    with ReviewClient(url(installation), secret, policy_max_age=0) as client:
        first, second = client.policy(), client.policy()
        assert (first.version, first.stale) == (1, False)
        assert first.framework_config["fabrication_check_mode"] == "observe"
        assert (second.settings, second.stale) == (first.settings, False)
        assert client.skills() == []
    with ReviewClient(url(installation), installation.secret) as client:
        with pytest.raises(ReviewClientError, match="403"):
            client.policy()
        with pytest.raises(ReviewClientError, match="403"):
            client.skills()


def kill_again_and_again(installation: Installation) -> None:
    """Spread over the stored turns, at no special moment of a request, since the database is asked."""
    for kill in range(KILLS):
        least = TURNS * (kill + 1) // (KILLS + 2)
        installation.wait_for(f"SELECT count(*) >= {least} FROM reviews_turn", "turns to be stored")
        installation.kill("web")
        installation.start("web")


def test_every_turn_arrives_once_although_the_server_is_killed_again_and_again(
    installation: Installation, tmp_path: Path
) -> None:
    """SIGKILL in the middle of requests. The queue holds a tenth of the turns, so the disk has its part."""
    turns = [json.loads(encode_turn(turn)) for turn in make_turns(TURNS, seed=7)]
    client = ReviewClient(
        url(installation), installation.secret, spill=tmp_path, batch_size=100, queue_size=TURNS // 10,
        flush_seconds=0.01, retry_first=0.05, retry_most=0.5, timeout=60.0,
    )  # fmt: skip
    killer = Thread(target=kill_again_and_again, args=(installation,))
    killer.start()
    for number, turn in enumerate(turns):
        if number % 400 == 399:
            # An agent takes its time; half of the queue goes to the disk meanwhile.
            wait_until(lambda: client.counters.waiting_bytes < 500_000)
        assert client.record(turn)
    assert client.flush(PATIENCE)
    killer.join()
    counters = client.counters
    assert client.close(60)
    # The kills did hit something.
    assert counters.retries > 0
    assert counters.spilled > 0
    assert (counters.dropped, counters.refused, counters.conflicts) == (0, 0, 0)
    assert counters.sent + counters.duplicates == TURNS
    assert balanced(client)
    stored = installation.query("SELECT external_id FROM reviews_turn WHERE external_id LIKE 'run-7-%'")
    assert sorted(row[0] for row in stored) == [turn["external_id"] for turn in turns]
    assert list(tmp_path.glob("*.jsonl")) == []
