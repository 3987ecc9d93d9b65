"""What the overview reads: bounded stretches of indexes, and the counts a day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.models import DailyCount, Membership, ReviewDecision
from reviews.models.decisions import DecisionAction
from reviews.models.tenants import Role
from reviews.services import overview, review
from reviews.services.overview import Count
from tests.factories import make_member, make_turn

pytestmark = pytest.mark.django_db

TODAY = date(2026, 3, 31)


def add_count(tenant, day, name, count):
    DailyCount.objects.across_tenants().create(tenant=tenant, day=day, name=name, count=count)


def test_figures_stop_counting_at_the_limit(tenant, monkeypatch):
    monkeypatch.setattr(overview, "COUNT_LIMIT", 2)
    user = make_member(tenant)
    for _ in range(3):
        make_turn(tenant)
    found = overview.figures(tenant=tenant, user=user)
    assert found.open == Count(2, True)
    assert found.mine == Count(0, False)


def test_the_oldest_open_turn_is_the_one_that_occurred_first(tenant):
    user = make_member(tenant)
    make_turn(tenant, occurred_at=datetime(2026, 1, 5, tzinfo=UTC))
    make_turn(tenant, occurred_at=datetime(2026, 1, 2, tzinfo=UTC))
    make_turn(tenant, "Nothing claimed.", occurred_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert overview.figures(tenant=tenant, user=user).oldest_open == datetime(2026, 1, 2, tzinfo=UTC)


def test_waiting_looks_at_the_head_of_the_line_only(tenant, other_tenant, monkeypatch):
    monkeypatch.setattr(overview, "LINE_LIMIT", 2)
    user = make_member(tenant)
    for _ in range(2):
        make_turn(other_tenant, analysed=False)
    make_turn(tenant, analysed=False)
    found = overview.figures(tenant=tenant, user=user)
    assert found.waiting == Count(0, True)
    assert found.oldest_waiting is None


def test_history_covers_thirty_days_and_labels_ninety(tenant, other_tenant):
    for back, turns in ((0, 10), (29, 20), (30, 40)):
        add_count(tenant, TODAY - timedelta(days=back), "turns", turns)
    add_count(tenant, TODAY, "flagged", 4)
    add_count(tenant, TODAY - timedelta(days=89), "label:kv:fabricated", 6)
    add_count(tenant, TODAY - timedelta(days=90), "label:kv:fabricated", 100)
    add_count(other_tenant, TODAY, "turns", 1000)
    found = overview.history(tenant=tenant, today=TODAY)
    assert len(found.days) == 30
    assert (found.days[0].turns, found.days[0].rate) == (20, 0.0)
    assert (found.days[-1].turns, found.days[-1].rate) == (10, 0.4)
    assert found.days[1].rate is None
    assert [(p.kind, p.fabricated) for p in found.precision] == [("kv", 6)]


@pytest.mark.parametrize(("fabricated", "alarms", "known"), [(4, 0, False), (4, 1, True), (0, 5, True)])
def test_precision_needs_five_decided_labels(fabricated, alarms, known):
    found = overview.Precision("kv", fabricated, alarms, unsure=9)
    assert (found.share is not None) == known
    assert (found.interval is not None) == known


def test_labels_reach_the_precision_through_review(tenant):
    rita = make_member(tenant)
    for _ in range(5):
        turn = make_turn(tenant)
        review.decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="fabricated", seen_version=0)
    found = {p.kind: p for p in overview.history(tenant=tenant).precision}
    assert found["uuid"].share == 1.0
    assert found["uuid"].interval.low == pytest.approx(0.5655, abs=0.0001)


def test_speed_leaves_out_notes_and_unknown_times(tenant):
    rita, since = make_member(tenant), timezone.now() - timedelta(hours=1)
    for seconds in (10.0, None, 20.0):
        turn = make_turn(tenant)
        review.decide_turn(
            tenant=tenant, actor=rita, turn_id=turn.pk, label="unsure", seen_version=0, spent_seconds=seconds
        )
    review.add_note(tenant=tenant, actor=rita, turn_id=turn.pk, text="Hm.", seen_version=1)
    found = overview.my_speed(tenant=tenant, user=rita, since=since)
    assert (found.decisions.value, found.seconds) == (3, 15.0)


def test_team_speed_is_of_seven_days_and_this_tenant(tenant, other_tenant):
    rita, max_ = make_member(tenant), make_member(tenant, Role.MANAGER)
    Membership.objects.across_tenants().create(tenant=other_tenant, user=rita, role=Role.REVIEWER)
    for where, who, days, seconds in (
        (tenant, rita, 1, 5.0), (tenant, max_, 6, 7.0),
        (tenant, rita, 8, 500.0), (other_tenant, rita, 1, 900.0),
    ):  # fmt: skip
        turn = make_turn(where)
        review.decide_turn(
            tenant=where,
            actor=who,
            turn_id=turn.pk,
            label="unsure",
            seen_version=0,
            spent_seconds=seconds,
            at=timezone.now() - timedelta(days=days),
        )
    found = overview.team_speed(tenant=tenant)
    assert (found.decisions.value, found.seconds) == (2, 6.0)


def test_speed_reads_no_more_than_its_limit(tenant, monkeypatch):
    monkeypatch.setattr(overview, "SPEED_LIMIT", 2)
    rita, turn = make_member(tenant), make_turn(tenant)
    ReviewDecision.objects.across_tenants().bulk_create(
        ReviewDecision(
            tenant=tenant, turn=turn, actor=rita, action=DecisionAction.DECIDE, version=n, spent_seconds=n
        )
        for n in range(1, 6)
    )
    assert overview.team_speed(tenant=tenant).decisions == Count(2, True)


def test_no_query_scans_a_table(tenant):
    user = make_member(tenant)
    make_turn(tenant)
    with CaptureQueriesContext(connection) as captured:
        overview.figures(tenant=tenant, user=user)
        overview.history(tenant=tenant)
        overview.has_turns(tenant=tenant)
        overview.my_speed(tenant=tenant, user=user, since=timezone.now())
        overview.team_speed(tenant=tenant)
    assert len(captured) == 8
    for query in captured.captured_queries:
        assert not scans_of(query["sql"])


def scans_of(sql: str) -> list[str]:
    """Steps of the plan that read a table, or an index, from one end to the other.

    The index of the workers' line may be read so: it holds nothing but the line, and the query is limited.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Tables of one row are scanned for good reason; what is asked is whether an index could serve.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("EXPLAIN " + sql)
            return [row[0] for row in cursor.fetchall() if "Seq Scan" in row[0]]
        cursor.execute("EXPLAIN QUERY PLAN " + sql)
        steps = [row[3] for row in cursor.fetchall()]
    return [step for step in steps if step.startswith("SCAN") and "turn_pending" not in step]
