"""The policy in force and the approved skills, as an agent reads them."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from reviews.client import AsyncReviewClient, PolicyInForce, ReviewClient, ReviewClientError
from tests.client.conftest import KEY, QUICK
from tests.client.fake_server import (
    FakeServer,
    Fault,
    drips_body,
    free_port,
    hangs_up,
    policy_of,
    says,
    serving,
    talks_nonsense,
)

MakeClient = Callable[..., ReviewClient]

AWAY: dict[str, Fault] = {
    "500": says(500),
    "401": says(401, {"code": "not_authenticated"}),
    "hangs up": hangs_up,
    "nonsense": talks_nonsense,
    "drips": drips_body,
    "a page": says(200, b"<html>"),
    "no policy": says(200, {"version": "three"}),
    "UTF-16": says(200, json.dumps(policy_of(4)).encode("utf-16")),
    "304 without a question": says(304),
}


def test_the_policy_is_read(fake: FakeServer, client: ReviewClient) -> None:
    policy = client.policy()
    assert (policy.version, policy.number, policy.stale) == (3, 3, False)
    assert policy.settings == policy.framework_config == {"fabrication_check_mode": "observe"}
    assert fake.seen[0].path == "/api/v1/policy"


def test_a_young_policy_is_not_asked_for_again(fake: FakeServer, make_client: MakeClient) -> None:
    client = make_client(fake.url, policy_max_age=3600)
    for _ in range(5):
        client.policy().settings["fabrication_check_mode"] = "changed by the caller"
    assert client.policy().settings == {"fabrication_check_mode": "observe"}
    assert len(fake.seen) == 1


def test_an_old_one_is_confirmed_by_its_etag_and_a_new_one_replaces_it(
    fake: FakeServer, make_client: MakeClient
) -> None:
    client = make_client(fake.url, policy_max_age=0)
    first, second = client.policy(), client.policy()
    assert second.version == 3
    assert second.confirmed_at >= first.confirmed_at
    assert fake.seen[1].headers["if-none-match"] == '"policy-3"'
    fake.policy = policy_of(4)
    assert client.policy().version == 4
    assert client.policy().version == 4
    assert [seen.headers.get("if-none-match") for seen in fake.seen][2:] == ['"policy-3"', '"policy-4"']


@pytest.mark.parametrize("fault", AWAY.values(), ids=AWAY.keys())
def test_the_last_good_one_is_kept_while_the_server_is_away(
    fake: FakeServer, make_client: MakeClient, fault: Fault
) -> None:
    client = make_client(fake.url, policy_max_age=0, timeout=0.3)
    confirmed = client.policy().confirmed_at
    # 304 is what a server says that knows the policy; without a question of ours it is nonsense.
    fake.always = says(500) if fault is AWAY["304 without a question"] else fault
    kept = client.policy()
    assert (kept.version, kept.stale, kept.confirmed_at) == (3, True, confirmed)
    fake.always = None
    fake.policy = policy_of(4)
    assert (client.policy().version, client.policy().stale) == (4, False)


@pytest.mark.parametrize("fault", AWAY.values(), ids=AWAY.keys())
def test_where_there_never_was_one_there_is_an_error(
    fake: FakeServer, make_client: MakeClient, fault: Fault
) -> None:
    fake.always = fault
    client = make_client(fake.url, timeout=0.3)
    with pytest.raises(ReviewClientError) as caught:
        client.policy()
    assert KEY not in str(caught.value)


def test_a_server_that_is_away_is_not_asked_before_every_turn(
    make_client: MakeClient, tmp_path: Path
) -> None:
    with serving() as fake:
        make_client(fake.url, policy_file=tmp_path / "p.json").policy()
    fake.seen.clear()
    fake.always = says(500)
    with serving(fake, port=fake.port):
        client = make_client(fake.url, policy_file=tmp_path / "p.json", policy_max_age=3600)
        assert [client.policy().stale for _ in range(5)] == [True] * 5
        assert len(fake.seen) == 1


def test_the_policy_outlives_the_process_beside_the_spill(make_client: MakeClient, tmp_path: Path) -> None:
    with serving() as fake:
        make_client(fake.url, spill=tmp_path).policy()
    assert stat.S_IMODE((tmp_path / "policy.json").stat().st_mode) == 0o600
    assert KEY not in (tmp_path / "policy.json").read_text()
    later = make_client(fake.url, spill=tmp_path)
    kept = later.policy()
    assert (kept.version, kept.stale) == (3, True)
    # It is confirmed with a 304 as if it had never been on a disk.
    with serving(fake, port=fake.port):
        again = make_client(fake.url, spill=tmp_path)
        assert (again.policy().version, again.policy().stale) == (3, False)
        assert fake.seen[-1].headers["if-none-match"] == '"policy-3"'


@pytest.mark.parametrize("kept", ["", "{", "[]", "{}", '{"owner": 1}', None])
def test_a_file_that_is_damaged_or_of_another_key_is_no_policy(
    make_client: MakeClient, tmp_path: Path, kept: str | None
) -> None:
    with serving() as fake:
        make_client(fake.url, policy_file=tmp_path / "p.json").policy()
    if kept is None:
        other = ReviewClient(fake.url, "sr_another", policy_file=tmp_path / "p.json", **QUICK)
    else:
        (tmp_path / "p.json").write_text(kept)
        other = make_client(fake.url, policy_file=tmp_path / "p.json")
    with other, pytest.raises(ReviewClientError):
        other.policy()


def test_all_who_ask_at_once_ask_once(fake: FakeServer, make_client: MakeClient) -> None:
    client = make_client(fake.url, policy_max_age=3600)
    found: list[PolicyInForce] = []
    threads = [Thread(target=lambda: found.append(client.policy())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [policy.version for policy in found] == [3] * 20
    assert len(fake.seen) == 1


def test_the_asynchronous_client_keeps_the_last_good_one_as_well(fake: FakeServer) -> None:
    async def talk() -> None:
        async with AsyncReviewClient(fake.url, KEY, policy_max_age=0, **QUICK) as client:
            assert not (await client.policy()).stale
            fake.always = says(500)
            assert (await client.policy()).stale
        with pytest.raises(ReviewClientError):
            await AsyncReviewClient(f"http://127.0.0.1:{free_port()}", KEY).policy()

    asyncio.run(talk())


# -- Skills


def page(*numbers: int, then: str | None = None) -> dict[str, Any]:
    return {
        "skills": [{"id": number, "state": "approved", "entry": {}} for number in numbers],
        "next_cursor": then,
    }


def test_all_pages_are_followed(fake: FakeServer, client: ReviewClient) -> None:
    fake.pages = {"": page(1, 2, then="aa"), "aa": page(3, then="bb"), "bb": page(4)}
    assert [skill["id"] for skill in client.skills()] == [1, 2, 3, 4]
    assert [seen.path for seen in fake.seen] == [
        "/api/v1/skills?limit=500",
        "/api/v1/skills?limit=500&cursor=aa",
        "/api/v1/skills?limit=500&cursor=bb",
    ]


@pytest.mark.parametrize("since", ["2026-01-31T12:00:00+00:00", datetime(2026, 1, 31, 12, tzinfo=UTC)])
def test_only_what_has_changed_since_may_be_asked_for(
    fake: FakeServer, client: ReviewClient, since: str | datetime
) -> None:
    fake.pages = {"": page(1, then="aa"), "aa": page(2)}
    assert len(client.skills(since=since)) == 2
    assert all("since=2026-01-31T12%3A00%3A00%2B00%3A00" in seen.path for seen in fake.seen)


@pytest.mark.parametrize(
    "fault",
    [
        says(500),
        says(403, {"code": "forbidden", "message": "no"}),
        says(200, b"<html>"),
        says(200, {"skills": 5}),
        says(200, {"skills": [], "next_cursor": 5}),
        says(200, page(1, then="in a circle")),
        hangs_up,
        drips_body,
    ],
)
def test_without_skills_there_is_an_error(fake: FakeServer, make_client: MakeClient, fault: Fault) -> None:
    fake.always = fault
    with pytest.raises(ReviewClientError):
        make_client(fake.url, timeout=0.3).skills()
