"""The worklist of failing turns: one row a turn, newest first, every one once, by its index."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db import connection

from reviews.core.assertion_suites import MAX_ASSERTIONS, MAX_SUITES
from reviews.models import AssertionResult, Tenant, Turn
from reviews.services.assertion_numbers import AssertionFilter
from reviews.services.assertion_worklist import FailingTurn, failing_turns, results_of
from reviews.services.errors import InvalidError
from reviews.services.queue import QueueFilter, queue_page
from tests.factories import make_turn
from tests.services.asserted import NOON, PLAIN, make_failing
from tests.services.query_plans import plans

pytestmark = pytest.mark.django_db

CARDS, RECORDS, OTHER = ("privacy", "no cards"), ("privacy", "records"), ("claims", "no cards")


def listed(tenant: Tenant, size: int = 25, **about: str) -> list[FailingTurn]:
    """All rows, page by page."""
    cursor, rows = "", []
    for _ in range(500):
        page = failing_turns(tenant=tenant, about=AssertionFilter(**about), cursor=cursor, size=size)
        assert len(page.rows) <= size
        rows += page.rows
        if not page.cursor:
            return rows
        assert page.rows, "an empty page leads nowhere"
        cursor = page.cursor
    raise AssertionError("the list never ends")


def test_nothing_failed_nothing_listed(tenant: Tenant) -> None:
    make_turn(tenant, PLAIN)
    make_failing(tenant, failed=(), passed=(CARDS, RECORDS))
    page = failing_turns(tenant=tenant)
    assert (page.rows, page.cursor) == ([], "")


def test_a_turn_is_one_row_with_what_it_failed(tenant: Tenant, other_tenant: Tenant) -> None:
    turn = make_failing(tenant, failed=(RECORDS, CARDS, OTHER), passed=(("privacy", "passed"),))
    make_failing(other_tenant, failed=(CARDS,))
    (row,) = listed(tenant)
    assert row.turn == turn
    assert [(result.suite, result.assertion) for result in row.failed] == [OTHER, RECORDS, CARDS]
    assert all(not result.passed for result in row.failed)
    assert [row.turn.tenant for row in listed(other_tenant)] == [other_tenant]


def test_of_a_turn_only_what_was_sought_is_told(tenant: Tenant) -> None:
    turn = make_failing(tenant, failed=(RECORDS, CARDS, OTHER))

    def told(**about: str) -> list[tuple[str, str]]:
        rows = listed(tenant, **about)
        assert [row.turn for row in rows] == [turn]
        return [(result.suite, result.assertion) for result in rows[0].failed]

    assert told(suite="privacy") == [RECORDS, CARDS]
    assert told(suite="privacy", assertion="no cards") == [CARDS]
    assert told(suite="claims", agent="bot") == [OTHER]


def test_results_of_a_turn_are_in_the_order_of_their_suites(tenant: Tenant, other_tenant: Tenant) -> None:
    turn = make_failing(tenant, failed=(RECORDS, CARDS, OTHER), passed=(("privacy", "a"),))
    found = [(row.suite, row.position, row.passed) for row in results_of(tenant=tenant, turn_id=turn.pk)]
    expected = [("claims", 0, False), ("privacy", 0, False), ("privacy", 1, False), ("privacy", 2, True)]
    assert found == expected
    assert results_of(tenant=other_tenant, turn_id=turn.pk) == []


@pytest.fixture
def crowd(tenant: Tenant, other_tenant: Tenant) -> Tenant:
    """60 turns of three agents, most at a few equal moments, with one to three failures each."""
    rng = random.Random(5)
    for n in range(60):
        make_failing(
            tenant,
            agent=rng.choice(["bot-a", "bot-b", ""]),
            at=NOON + timedelta(hours=rng.choice([0, 0, 0, 1, 1, n])),
            failed=tuple(rng.sample([CARDS, RECORDS, OTHER], rng.randrange(4))),
            passed=(("privacy", "fine"),),
        )
    for _ in range(10):
        make_failing(other_tenant, at=NOON, failed=(CARDS, OTHER))
    return tenant


@pytest.mark.parametrize("size", [1, 2, 7, 25, 100])
@pytest.mark.parametrize(
    "about",
    [
        {name: value for name, value in zip(("suite", "assertion", "agent"), values, strict=True) if value}
        for values in product(["", "privacy", "claims"], ["", "no cards"], ["", "bot-a"])
        if values[0] or not values[1]
    ]
    + [{"suite": "nothing"}, {"agent": "nobody"}, {"suite": "claims", "assertion": "records"}],
    ids=str,
)
def test_pages_hold_every_failing_turn_once_newest_first(
    crowd: Tenant, size: int, about: dict[str, str]
) -> None:
    rows = AssertionResult.objects.for_tenant(crowd).filter(passed=False).select_related("turn")
    wanted = [row for row in rows if all(getattr(row, name) == value for name, value in about.items())]
    turns = {row.turn for row in wanted}
    expected = sorted(turns, key=lambda turn: (turn.occurred_at, turn.pk), reverse=True)
    found = listed(crowd, size, **about)
    assert [row.turn for row in found] == expected
    for row in found:
        assert {result.pk for result in row.failed} == {r.pk for r in wanted if r.turn_id == row.turn.pk}


def test_a_full_last_page_has_no_cursor(tenant: Tenant) -> None:
    for _ in range(4):
        make_failing(tenant, failed=(CARDS, RECORDS))
    assert [bool(failing_turns(tenant=tenant, size=size).cursor) for size in (3, 4, 5)] == [
        True,
        False,
        False,
    ]


def test_turns_with_as_many_failures_as_there_can_be(tenant: Tenant) -> None:
    most = tuple((f"s{n}", f"a{k}") for n in range(MAX_SUITES) for k in range(MAX_ASSERTIONS))
    turns = [make_failing(tenant, at=NOON, failed=most) for _ in range(3)]
    pages = [failing_turns(tenant=tenant, size=25)]
    while pages[-1].cursor:
        pages.append(failing_turns(tenant=tenant, cursor=pages[-1].cursor, size=25))
    found = [row for page in pages for row in page.rows]
    assert [row.turn for row in found] == turns[::-1]
    assert all(len(row.failed) == len(most) for row in found)


def test_a_turn_that_fails_later_does_not_move_those_behind_the_cursor(crowd: Tenant) -> None:
    expected = [row.turn.pk for row in listed(crowd)]
    first = failing_turns(tenant=crowd, size=5)
    make_failing(crowd, at=NOON + timedelta(days=9))
    rest = failing_turns(tenant=crowd, cursor=first.cursor, size=100)
    assert [row.turn.pk for row in [*first.rows, *rest.rows]] == expected


def test_a_cursor_of_another_list_is_refused(crowd: Tenant) -> None:
    cursor = failing_turns(tenant=crowd, size=1).cursor
    suite = failing_turns(tenant=crowd, about=AssertionFilter(suite="privacy"), size=1).cursor
    queue = queue_page(tenant=crowd, wanted=QueueFilter(state="all", order="newest"), size=1).cursor
    assert cursor
    assert suite
    assert queue
    for about, wrong in (
        (AssertionFilter(suite="privacy"), cursor),
        (AssertionFilter(), suite),
        (AssertionFilter(agent="bot-a"), suite),
        (AssertionFilter(), queue),
        (AssertionFilter(), "nonsense"),
        (AssertionFilter(), "!"),
    ):
        with pytest.raises(InvalidError):
            failing_turns(tenant=crowd, about=about, cursor=wrong)


def test_a_foreign_cursor_shows_nothing_foreign(crowd: Tenant, other_tenant: Tenant) -> None:
    strange = failing_turns(tenant=other_tenant, size=1).cursor
    for row in failing_turns(tenant=crowd, cursor=strange).rows:
        assert row.turn.tenant_id == crowd.pk
        assert {result.tenant_id for result in row.failed} == {crowd.pk}


def test_two_queries_and_one_more_behind_a_cursor(crowd: Tenant, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(2):
        page = failing_turns(tenant=crowd, size=5)
        assert [(row.turn.external_id, row.turn.snippet, row.failed[0].reason) for row in page.rows]
    with django_assert_num_queries(3):
        failing_turns(tenant=crowd, cursor=page.cursor, size=5)


SEEKS = [
    ({}, "assertion_failed"),
    ({"suite": "privacy"}, "assertion_failed_suite"),
    ({"suite": "privacy", "assertion": "no cards"}, "assertion_failed_one"),
    ({"agent": "bot-a"}, "assertion_failed_agent"),
    ({"agent": "bot-a", "suite": "privacy"}, "assertion_failed_agent_suite"),
    ({"agent": "bot-a", "suite": "privacy", "assertion": "no cards"}, "assertion_failed_agent_one"),
]


@pytest.mark.parametrize("later_page", [False, True])
@pytest.mark.parametrize(("about", "index"), SEEKS, ids=str)
def test_every_filter_is_found_through_its_index(
    crowd: Tenant, about: dict[str, str], index: str, later_page: bool
) -> None:
    wanted = AssertionFilter(**about)
    cursor = failing_turns(tenant=crowd, about=wanted, size=1).cursor if later_page else ""
    is_sqlite = connection.vendor == "sqlite"
    if not is_sqlite:
        # With enough results for the planner to care.
        bare = Turn.objects.for_tenant(crowd).first()
        AssertionResult.objects.across_tenants().bulk_create(
            AssertionResult(
                tenant=crowd, turn=bare, suite=f"s{n % 50}", position=n, assertion="x", passed=n % 4 > 0,
                reason="", agent=f"a{n % 20}", occurred_at=NOON - timedelta(minutes=n),
            )
            for n in range(20_000)
        )  # fmt: skip
        with connection.cursor() as database:
            database.execute("ANALYZE reviews_assertionresult")
    explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
    found = plans(
        explain,
        lambda: failing_turns(tenant=crowd, about=wanted, cursor=cursor, size=5),
        tables=("reviews_assertionresult",),
    )
    assert found
    for plan in found:
        assert "TEMP B-TREE" not in plan, plan
        if is_sqlite:
            assert f"USING INDEX {index} " in plan, plan
        else:
            assert "Seq Scan" not in plan, plan
