from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.episodes import Episode, eligible_episodes, newest_first

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


def ids(episodes):
    return [episode.id for episode in episodes]


def eligible(*episodes, **options):
    return ids(eligible_episodes(episodes, now=NOW, **{"recency_days": 30} | options))


@pytest.mark.parametrize(
    ("speaker", "counts"),
    [
        ("user", True),
        ("Human", True),
        ("assistant", False),
        ("Assistant ", False),
        ("AI", False),
        ("\tai\n", False),
        ("aide", True),
        (None, False),
        ("", False),
        ("  ", False),
        (7, False),
    ],
)
def test_an_agent_does_not_learn_from_its_own_words(speaker, counts):
    episode = Episode("1", "I ran it", speaker)
    assert eligible(episode) == (["1"] if counts else [])
    assert eligible(episode, promote_assistant_content=True) == ["1"]


def test_the_window_holds_its_first_instant():
    start = NOW - timedelta(days=30)
    episodes = [
        Episode("before", "", "user", start - timedelta(microseconds=1)),
        Episode("first", "", "user", start),
        Episode("naive", "", "user", start.replace(tzinfo=None)),
        Episode("elsewhere", "", "user", start.astimezone(timezone(timedelta(hours=9)))),
        Episode("unknown", "", "user", None),
    ]
    assert eligible(*episodes) == ["first", "naive", "elsewhere", "unknown"]


@pytest.mark.parametrize(
    ("durability", "counts"), [("transient", False), ("expired", False), ("durable", True), (3, True)]
)
def test_what_a_memory_marks_as_passing_is_never_learned(durability, counts):
    episode = Episode("1", "", "user", metadata={"durability": durability})
    assert eligible(episode, promote_assistant_content=True) == (["1"] if counts else [])


def test_newest_first_and_the_unknown_last():
    day = timedelta(days=1)
    episodes = [
        Episode("u1", ""),
        Episode("old", "", None, NOW - day),
        Episode("new", "", None, NOW),
        Episode("u2", ""),
        Episode("same", "", None, NOW.replace(tzinfo=None)),
    ]
    assert ids(newest_first(episodes)) == ["new", "same", "old", "u1", "u2"]


@settings(database=None, deadline=None)
@given(st.lists(st.none() | st.datetimes(timezones=st.none() | st.just(UTC)), max_size=8))
def test_any_times_can_be_ordered(times):
    episodes = [Episode(str(number), "", "user", time) for number, time in enumerate(times)]
    ordered = newest_first(episodes)
    assert sorted(ids(ordered)) == sorted(ids(episodes))
    assert ids(newest_first(ordered)) == ids(ordered)
