"""How often assertions pass: sums of the counts, by assertion, agent and day, and nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from reviews.models import AssertionCount, Tenant
from reviews.services.assertion_numbers import (
    AGENTS_SHOWN,
    WINDOWS,
    AssertionFilter,
    AssertionNumbers,
    Tried,
    assertion_numbers,
)
from reviews.services.errors import InvalidError
from tests.factories import make_turn
from tests.services.asserted import CLEAN, CONTAINS, EXCLUDES, LEAK, PLAIN, publish, suite_of

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 10, 0, 30, tzinfo=UTC)
TODAY = NOW.date()


def count(
    tenant: Tenant,
    passed: int,
    failed: int,
    *,
    day: date = TODAY,
    about: tuple[str, str] = ("s", "a"),
    agent: str = "",
) -> None:
    for ok, number in ((True, passed), (False, failed)):
        if number:
            AssertionCount.objects.across_tenants().create(
                tenant=tenant,
                day=day,
                suite=about[0],
                assertion=about[1],
                agent=agent,
                passed=ok,
                count=number,
            )


def numbers(tenant: Tenant, days: int = 7, **about: str) -> AssertionNumbers:
    return assertion_numbers(tenant=tenant, days=days, about=AssertionFilter(**about), now=NOW)


def test_nothing_was_tried(tenant: Tenant) -> None:
    found = numbers(tenant)
    assert found.total == Tried(0, 0)
    assert found.total.rate is None
    assert (found.by_assertion, found.by_agent, found.other_agents) == ([], [], 0)
    assert [day.tried for day in found.days] == [Tried()] * 7


@pytest.mark.parametrize("days", WINDOWS)
def test_a_window_ends_today_and_holds_its_days(tenant: Tenant, days: int) -> None:
    first = TODAY - timedelta(days=days - 1)
    for n, day in enumerate((first - timedelta(days=1), first, TODAY, TODAY + timedelta(days=1))):
        count(tenant, 10**n, 0, day=day)
    found = numbers(tenant, days)
    assert found.total == Tried(110, 0)
    assert [day.day for day in found.days] == [first + timedelta(days=n) for n in range(days)]
    assert (found.days[0].tried, found.days[-1].tried) == (Tried(10, 0), Tried(100, 0))


def test_today_is_todays_in_utc(tenant: Tenant) -> None:
    count(tenant, 1, 0)
    east = datetime.fromisoformat("2026-03-11T03:30:00+05:00")
    assert assertion_numbers(tenant=tenant, days=7, now=east).days[-1] == (TODAY, Tried(1, 0))


@pytest.mark.parametrize("days", [0, 1, 31, -7])
def test_another_window_is_refused(tenant: Tenant, days: int) -> None:
    with pytest.raises(InvalidError) as caught:
        numbers(tenant, days)
    assert set(caught.value.details["fields"]) == {"days"}


def test_sums_by_assertion_agent_and_day_the_worst_first(tenant: Tenant, other_tenant: Tenant) -> None:
    yesterday = TODAY - timedelta(days=1)
    count(tenant, 8, 2, about=("s", "a"), agent="x")
    count(tenant, 5, 0, about=("s", "a"), agent="y", day=yesterday)
    count(tenant, 0, 3, about=("s", "b"), agent="y")
    count(tenant, 7, 0, about=("t", "a"), agent="")
    count(other_tenant, 100, 100, agent="x")
    found = numbers(tenant)
    assert found.total == Tried(20, 5)
    assert found.total.rate == 0.8
    assert found.by_assertion == [(("s", "b"), (0, 3)), (("s", "a"), (13, 2)), (("t", "a"), (7, 0))]
    assert found.by_agent == [("y", (5, 3)), ("x", (8, 2)), ("", (7, 0))]
    assert [day.tried for day in found.days[-2:]] == [(5, 0), (15, 5)]


def test_narrowed_to_a_suite_an_assertion_an_agent(tenant: Tenant) -> None:
    count(tenant, 1, 0, about=("s", "a"), agent="x")
    count(tenant, 2, 0, about=("s", "b"), agent="x")
    count(tenant, 4, 0, about=("t", "a"), agent="x")
    count(tenant, 8, 0, about=("s", "a"), agent="y")
    for about, total in (
        ({"suite": "s"}, 11),
        ({"suite": "s", "assertion": "a"}, 9),
        ({"agent": "x"}, 7),
        ({"suite": "s", "assertion": "a", "agent": "y"}, 8),
        ({"suite": "u"}, 0),
    ):
        assert numbers(tenant, **about).total.passed == total


def test_more_agents_than_are_shown_are_told_as_a_number(tenant: Tenant) -> None:
    for n in range(AGENTS_SHOWN + 3):
        count(tenant, 1, n, agent=f"bot-{n:03}")
    found = numbers(tenant)
    assert len(found.by_agent) == AGENTS_SHOWN
    assert (found.by_agent[0][0], found.other_agents) == (f"bot-{AGENTS_SHOWN + 2:03}", 3)


def test_what_was_taken_back_is_not_listed(tenant: Tenant) -> None:
    count(tenant, 1, 0, about=("s", "a"), agent="x")
    AssertionCount.objects.for_tenant(tenant).update(count=0)
    found = numbers(tenant)
    assert (found.by_assertion, found.by_agent, found.total) == ([], [], Tried())


def test_one_query_for_few_and_many(tenant: Tenant, django_assert_num_queries: Any) -> None:
    count(tenant, 1, 1)
    for n in range(100):
        count(tenant, 1, 1, agent=f"bot-{n}", about=("s", f"a{n % 7}"))
    with django_assert_num_queries(1):
        numbers(tenant, 90)


def test_they_are_those_of_the_turns(tenant: Tenant) -> None:
    publish(tenant, suite_of("privacy", EXCLUDES, CONTAINS))
    for attributes in (LEAK, CLEAN, CLEAN, {}):
        make_turn(tenant, PLAIN, attributes=attributes, occurred_at=NOW, agent="bot")
    found = numbers(tenant)
    # Excludes: LEAK and the turn without evidence fail. Contains: only the latter.
    assert found.by_assertion == [
        (("privacy", "no cards"), (2, 2)),
        (("privacy", "prompt_recall_contains"), (3, 1)),
    ]
    assert found.by_agent == [("bot", (5, 3))]
