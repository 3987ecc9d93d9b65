"""The worklist of disagreements: what stands in it, in which order, on which page, and what that costs."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.db import connection

from reviews.models import Turn
from reviews.models.tenants import Role
from reviews.services import critic_worklist
from reviews.services.critic_worklist import SIDES, worklist_page
from reviews.services.errors import InvalidError
from reviews.services.queue import QueueFilter, queue_page
from tests.factories import make_member
from tests.services.critic_judged import NOON, Judged, store_judged
from tests.services.query_plans import plans

pytestmark = pytest.mark.django_db


def listed(tenant, **chosen):
    """All rows, page by page."""
    size, cursor, rows = chosen.pop("size", 50), "", []
    for _ in range(1000):
        page = worklist_page(tenant=tenant, cursor=cursor, size=size, **chosen)
        assert len(page.rows) <= size
        rows += page.rows
        if not page.cursor:
            return rows
        cursor = page.cursor
    raise AssertionError("the list never ends")


# -- What stands in it

AGREEING = [
    Judged(said="approve", verdict="false_alarm"),
    Judged(said="approve", human="approve"),
    Judged(said="revise", verdict="fabricated", human="revise"),
    Judged(said="refuse", verdict="fabricated"),
    Judged(said="refuse", verdict="unsure"),
    Judged(said="approve", verdict="unsure"),
    Judged(said="revise"),
    Judged(cause="timeout", verdict="fabricated", human="refuse"),
    Judged(cause="timeout", forced=True, verdict="false_alarm", human="approve"),
    Judged(said="approve", forced=True, verdict="false_alarm", human="approve"),
]
DIFFERING = [
    (Judged(said="approve", verdict="fabricated"), ("missed",)),
    (Judged(said="approve", forced=True, verdict="fabricated"), ("missed",)),
    (Judged(said="revise", verdict="false_alarm"), ("needless",)),
    (Judged(said="refuse", verdict="false_alarm"), ("needless",)),
    (Judged(said="revise", human="refuse"), ("overruled",)),
    (Judged(said="approve", human="revise"), ("overruled",)),
    (Judged(said="approve", forced=True, human="revise"), ("overruled",)),
    (Judged(said="revise", verdict="fabricated", human="refuse"), ("overruled",)),
    (Judged(said="approve", verdict="fabricated", human="refuse"), ("missed", "overruled")),
    (Judged(said="refuse", verdict="false_alarm", human="approve"), ("needless", "overruled")),
]


@pytest.mark.parametrize("case", AGREEING, ids=str)
def test_who_agrees_or_says_nothing_is_not_listed(tenant, case):
    store_judged(tenant, case)
    assert listed(tenant) == []
    for side in SIDES:
        assert listed(tenant, side=side) == []


@pytest.mark.parametrize(("case", "sides"), DIFFERING, ids=str)
def test_who_differs_is_listed_once_with_every_side(tenant, other_tenant, case, sides):
    (turn,) = store_judged(tenant, case)
    assert [(row.turn_id, row.sides) for row in listed(tenant)] == [(turn.pk, sides)]
    for side in SIDES:
        rows = listed(tenant, side=side)
        assert [row.turn_id for row in rows] == ([turn.pk] if side in sides else [])
        assert all(row.sides == sides for row in rows)
    assert listed(other_tenant) == []


def test_a_row_tells_what_a_list_needs(tenant):
    rita = make_member(tenant, Role.REVIEWER, "rita")
    (turn,) = store_judged(
        tenant,
        Judged(
            said="approve", forced=True, verdict="fabricated", human="refuse", decided=5, judged=3,
            blind=True, reason="It promises a date.", by=rita,
        ),
    )  # fmt: skip
    (row,) = listed(tenant)
    assert (row.turn_id, row.external_id, row.agent) == (turn.pk, turn.external_id, "support-bot")
    assert row.occurred_at == turn.occurred_at
    assert row.snippet.startswith("We open at nine")
    assert (row.snippet_start, row.snippet_end) == (turn.snippet_start, turn.snippet_end)
    assert (row.origin, row.gate_reason, row.model) == ("ours", "low_confidence", "judge-1")
    assert (row.said, row.verdict, row.forced) == ("approve", "revise", True)
    assert (row.turn_verdict, row.human, row.blind) == ("fabricated", "refuse", True)
    assert row.reason == "It promises a date."
    assert (row.who, row.when) == ("Rita", NOON - timedelta(hours=3))


def test_the_newest_word_that_differs_places_a_turn(tenant):
    """The second turn's decision is newer, but agrees; each side alone has its own moment."""
    ann, bob = make_member(tenant, username="ann"), make_member(tenant, username="bob")
    first, second = store_judged(
        tenant,
        Judged(said="approve", verdict="fabricated", human="refuse", decided=2, judged=4, by=ann),
        Judged(said="revise", verdict="fabricated", human="refuse", decided=1, judged=3, by=bob),
    )
    # Who judged the verdict was another person than who decided the turn.
    first.critic_verdict.human_by = bob
    first.critic_verdict.save()
    assert [(r.turn_id, r.when, r.who) for r in listed(tenant)] == [
        (first.pk, NOON - timedelta(hours=2), "Ann"),
        (second.pk, NOON - timedelta(hours=3), "Bob"),
    ]
    assert [(r.turn_id, r.when, r.who) for r in listed(tenant, side="overruled")] == [
        (second.pk, NOON - timedelta(hours=3), "Bob"),
        (first.pk, NOON - timedelta(hours=4), "Bob"),
    ]
    assert [(r.turn_id, r.who) for r in listed(tenant, side="missed")] == [(first.pk, "Ann")]


def test_a_person_who_is_gone_has_no_name(tenant):
    store_judged(tenant, Judged(said="revise", verdict="false_alarm", human="approve"))
    assert [row.who for row in listed(tenant)] == [""]


def test_either_critic_can_be_asked_for(tenant):
    ours, theirs = store_judged(
        tenant,
        Judged(said="approve", verdict="fabricated", human="revise"),
        Judged(said="approve", verdict="fabricated", human="revise", origin="runtime"),
    )
    assert {row.turn_id for row in listed(tenant)} == {ours.pk, theirs.pk}
    assert [row.turn_id for row in listed(tenant, origin="ours")] == [ours.pk]
    assert [row.turn_id for row in listed(tenant, origin="runtime", side="overruled")] == [theirs.pk]


# -- Order and pages


@pytest.fixture
def crowd(tenant, other_tenant):
    """150 turns with all sorts of words at few moments, so that many stand at the same one."""
    rng = random.Random(11)
    cases = [
        Judged(
            said=rng.choice(["approve", "revise", "refuse"]),
            verdict=rng.choice(["", "fabricated", "false_alarm", "unsure"]),
            human=rng.choice(["", "approve", "revise", "refuse"]),
            decided=rng.randrange(6),
            judged=rng.randrange(6),
            origin=rng.choice(["ours", "ours", "runtime"]),
        )
        for _ in range(150)
    ]
    turns = store_judged(tenant, *cases)
    store_judged(other_tenant, *cases[:20])
    return list(zip(turns, cases, strict=True))


def expected(crowd, side="", origin=""):
    """Turn ids in order, by the words of the rule itself."""
    places = []
    for turn, case in crowd:
        if origin and case.origin != origin:
            continue
        hours = []
        if case.said == "approve" and case.verdict == "fabricated" and side in ("", "missed"):
            hours.append(case.decided)
        if case.said != "approve" and case.verdict == "false_alarm" and side in ("", "needless"):
            hours.append(case.decided)
        if case.human and case.human != case.said and side in ("", "overruled"):
            hours.append(case.judged)
        if hours:
            places.append((min(hours), -turn.pk))
    return [-minus for _, minus in sorted(places)]


@pytest.mark.parametrize("size", [1, 7, 50, 200])
@pytest.mark.parametrize("side", ["", *SIDES])
def test_pages_are_complete_in_order_and_without_repetition(tenant, crowd, side, size):
    rows = listed(tenant, side=side, size=size)
    assert [row.turn_id for row in rows] == expected(crowd, side)
    assert len(rows) > 10
    assert all(row.sides for row in rows)
    ours = [row.turn_id for row in listed(tenant, side=side, origin="ours", size=size)]
    assert ours == expected(crowd, side, "ours")


@pytest.mark.parametrize("limit", [1, 2, 5, 40])
@pytest.mark.parametrize("side", ["", *SIDES])
def test_a_page_that_looked_at_enough_says_so_and_leads_on(tenant, crowd, monkeypatch, side, limit):
    monkeypatch.setattr(critic_worklist, "SCAN_LIMIT", limit)
    page = worklist_page(tenant=tenant, side=side)
    # Two words on one turn at one moment are looked at together.
    assert limit <= page.looked_at <= limit + 1
    assert page.cursor
    assert [row.turn_id for row in listed(tenant, side=side)] == expected(crowd, side)


def test_chunks_join_without_a_gap(tenant):
    """More decisions that agree than are read at once, and one that differs at either end."""
    cases = [Judged(said="revise", verdict="fabricated", decided=2)] * 620
    cases[0] = Judged(said="revise", verdict="false_alarm", decided=1)
    cases[300] = Judged(said="revise", verdict="false_alarm", decided=2)
    cases[619] = Judged(said="revise", verdict="false_alarm", decided=3)
    turns = store_judged(tenant, *cases)
    assert [row.turn_id for row in listed(tenant)] == [turns[n].pk for n in (0, 300, 619)]


def test_an_undone_decision_leaves_the_list(tenant):
    store_judged(tenant, Judged(said="approve", verdict="fabricated"))
    assert len(listed(tenant)) == 1
    Turn.objects.for_tenant(tenant).update(verdict="", review_state="open", decided_at=None)
    assert listed(tenant) == []


# -- What is refused


@pytest.mark.parametrize(("name", "value"), [("side", "both"), ("side", "MISSED"), ("origin", "theirs")])
def test_what_cannot_be_listed_is_named(tenant, name, value):
    with pytest.raises(InvalidError) as caught:
        worklist_page(tenant=tenant, **{name: value})
    assert set(caught.value.details["fields"]) == {name}


def test_a_cursor_belongs_to_its_list(tenant, crowd):
    cursor = worklist_page(tenant=tenant, side="missed", size=1).cursor
    assert worklist_page(tenant=tenant, side="missed", size=1, cursor=cursor).rows
    foreign = queue_page(tenant=tenant, wanted=QueueFilter(state="all", order="newest"), size=1).cursor
    for chosen in (
        {"side": "", "cursor": cursor},
        {"side": "missed", "origin": "ours", "cursor": cursor},
        {"side": "missed", "cursor": foreign},
        {"side": "missed", "cursor": "!!!"},
    ):
        with pytest.raises(InvalidError) as caught:
            worklist_page(tenant=tenant, **chosen)
        assert set(caught.value.details["fields"]) == {"cursor"}


# -- Cost


def test_the_number_of_queries_does_not_grow_with_the_rows(tenant, django_assert_num_queries):
    who = make_member(tenant)
    store_judged(tenant, *[Judged(said="approve", verdict="fabricated", human="revise", by=who)] * 3)
    with django_assert_num_queries(3):
        assert len(worklist_page(tenant=tenant).rows) == 3
    store_judged(tenant, *[Judged(said="approve", verdict="fabricated", human="revise", by=who)] * 60)
    with django_assert_num_queries(3):
        page = worklist_page(tenant=tenant)
    assert len(page.rows) == 50
    # Behind a cursor each of the two lists of decisions takes two.
    with django_assert_num_queries(5):
        assert len(worklist_page(tenant=tenant, cursor=page.cursor).rows) == 13


@pytest.mark.sqlite  # reads its query plans
def test_every_row_is_found_through_an_index(tenant):
    store_judged(tenant, *[Judged(said="approve", verdict="fabricated", human="revise")] * 3)
    cursor = worklist_page(tenant=tenant, size=1).cursor
    found = plans("EXPLAIN QUERY PLAN", lambda: worklist_page(tenant=tenant, cursor=cursor, size=1))
    assert len(found) == 5
    *walks, rows = found
    for plan in walks:
        first, second, *rest = plan.split("\n")
        assert "SEARCH" in first
        assert "INDEX turn_critic_decided (" in first or "INDEX critic_human (" in first, plan
        assert second.startswith("SEARCH"), plan
        # Verdicts of one moment are put in order; never more.
        assert rest in ([], ["USE TEMP B-TREE FOR LAST TERM OF ORDER BY"]), plan
    assert "SCAN" not in rows


@pytest.mark.postgresql  # reads its query plans
def test_every_row_is_found_through_an_index_on_postgresql_too(tenant):
    """With enough turns for the planner to care: two thousand with a verdict, of which twenty were judged."""
    judged = [Judged(verdict="fabricated", human="revise", decided=n, judged=n) for n in range(20)]
    store_judged(tenant, *[Judged()] * 2000, *judged)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE reviews_turn")
        cursor.execute("ANALYZE reviews_criticverdict")
    cursor = worklist_page(tenant=tenant, size=1).cursor
    *walks, rows = plans("EXPLAIN", lambda: worklist_page(tenant=tenant, cursor=cursor, size=1))
    assert len(walks) == 4
    for plan in walks:
        assert "turn_critic_decided" in plan or "critic_human" in plan, plan
        assert "Seq Scan" not in plan, plan
    assert "Seq Scan on reviews_turn" not in rows
    assert "Seq Scan on reviews_criticverdict" not in rows
