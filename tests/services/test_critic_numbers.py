"""The critic's numbers: sums by hand from the kept counts, and agreement from what reviewers decided."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection

from reviews.core.agreement import TooFew
from reviews.core.statistics import wilson_interval
from reviews.models import CriticCircuit, CriticVerdict, DailyCount, ModelUse, Turn
from reviews.models.tenants import Role
from reviews.services import critic_asking, critic_numbers, critic_review, review
from reviews.services.critic_numbers import Bound, Budget, Circuit, Use, agreements
from reviews.services.errors import InvalidError
from reviews.services.overview import Count
from tests.factories import make_member, make_tenant, make_turn
from tests.services.critic_judged import NOON, Judged, store_judged
from tests.services.critic_model import judging
from tests.services.model_server import fails, serving
from tests.services.query_plans import plans

pytestmark = pytest.mark.django_db

TODAY = date(2026, 3, 20)


def numbers(tenant, days=7, now=NOON):
    return critic_numbers.critic_numbers(tenant=tenant, days=days, now=now)


def count(tenant, back, **amounts):
    """Kept counts of a day so many before TODAY; "gate__confident" stands for gate:confident."""
    day = TODAY - timedelta(days=back)
    for name, amount in amounts.items():
        row = DailyCount(tenant=tenant, day=day, name=name.replace("__", ":"), count=amount)
        row.save(force_insert=True)


def used(tenant, back, purpose="critic", **values):
    ModelUse(tenant=tenant, day=TODAY - timedelta(days=back), purpose=purpose, **values).save(
        force_insert=True
    )


@pytest.fixture
def week(tenant, other_tenant):
    """Some days of one tenant, with days outside the week and another tenant's beside them."""
    count(
        tenant, 0, turns=10, flagged=3,
        gate__low_confidence=4, gate__sensitive_tag=1, gate__confident=5,
        critic__approve=2, critic__revise=1, critic__degraded=1, critic__waiting=1,
        cause__timeout=1,
    )  # fmt: skip
    count(
        tenant, 6, turns=8,
        gate__fabrication_revise=1, gate__not_trivial=2, gate__gate_failed=1, gate__trivial_acknowledgment=3,
        critic__refuse=3, critic__degraded=1, cause__timeout=1, cause__over_budget=2,
    )  # fmt: skip
    count(tenant, 7, turns=1000, gate__low_confidence=1000, critic__approve=1000)
    count(tenant, -1, turns=1000, gate__low_confidence=1000)
    count(other_tenant, 0, turns=500, gate__low_confidence=500, critic__approve=500)
    used(tenant, 0, calls=5, answered=4, tokens_in=1200, tokens_out=300, reserved=700, cost=0.25,
         latency_ms=1000.0)  # fmt: skip
    used(tenant, 6, calls=3, answered=1, tokens_in=90, tokens_out=10, cost=0.5, latency_ms=500.0)
    used(tenant, 7, calls=1000, answered=1000, tokens_in=1000, cost=1000.0, latency_ms=1e6)
    used(tenant, 0, "trial", calls=7, answered=6, tokens_in=70, tokens_out=7, cost=0.125)
    used(tenant, 0, "extract", calls=9, tokens_in=9000, cost=9.0)
    used(other_tenant, 0, calls=100, tokens_in=100, cost=100.0)
    return tenant


def test_the_days_and_their_sums(week):
    found = numbers(week)
    assert [day for day, _ in found.days] == [date(2026, 3, d) for d in range(14, 21)]
    first, today = found.days[0].activity, found.days[-1].activity
    assert today.turns == 10
    assert today.gates == {
        "fabrication_revise": 0, "sensitive_tag": 1, "low_confidence": 4, "not_trivial": 0, "gate_failed": 0,
        "trivial_acknowledgment": 0, "confident": 5,
    }  # fmt: skip
    assert (today.gated, today.fired, today.fire_rate) == (10, 5, 0.5)
    assert today.standings == {"waiting": 1, "approve": 2, "revise": 1, "refuse": 0, "degraded": 1}
    assert (today.settled, today.degraded_share) == (4, 0.25)
    assert today.causes == {"timeout": 1}
    assert today.use == Use(5, 4, 1200, 300, 0.25, 1000.0)
    assert today.use.tokens == 1500
    # Of 8 turns of the first day one has no gate decision: a runtime's event.
    assert (first.turns, first.gated, first.fired) == (8, 7, 4)
    assert first.fire_rate == 4 / 7
    assert first.use.cost == 0.5

    total = found.total
    assert (total.turns, total.gated, total.fired) == (18, 17, 9)
    assert total.fire_rate == 9 / 17
    assert total.standings == {"waiting": 1, "approve": 2, "revise": 1, "refuse": 3, "degraded": 2}
    assert (total.settled, total.degraded_share) == (8, 0.25)
    assert total.causes == {"timeout": 2, "over_budget": 2}
    assert total.use == Use(8, 5, 1290, 310, 0.75, 1500.0)
    assert total.use.mean_latency_ms == found.latency.mean_ms == 300.0
    assert found.trials == Use(7, 6, 70, 7, 0.125, 0.0)


def test_a_longer_window_takes_more_days_in(week):
    found = numbers(week, days=30)
    assert len(found.days) == 30
    assert found.total.turns == 1018
    assert found.total.use.cost == 1000.75
    assert len(numbers(week, days=90).days) == 90


def test_without_turns_there_are_no_shares(tenant):
    found = numbers(tenant)
    assert found.total.turns == 0
    assert found.total.fire_rate is found.total.degraded_share is None
    assert (found.latency.mean_ms, found.latency.p50, found.latency.p95) == (None, None, None)
    assert found.total.use == Use()
    assert found.circuit == Circuit("closed")
    assert found.waiting == Count(0, capped=False)


@pytest.mark.parametrize("days", [0, 1, 8, 365])
def test_other_windows_are_refused(tenant, days):
    with pytest.raises(InvalidError) as caught:
        numbers(tenant, days=days)
    assert set(caught.value.details["fields"]) == {"days"}


def test_a_day_is_one_of_utc(tenant):
    count(tenant, 0, turns=5)
    beyond = datetime(2026, 3, 21, 1, tzinfo=UTC).astimezone()
    found = numbers(tenant, now=beyond)
    assert found.days[-1].day == date(2026, 3, 21)
    assert found.days[-2].activity.turns == 5


# -- Latency


@pytest.mark.parametrize(
    ("counts", "p50", "p95"),
    [
        # Of 20 the 10th and the 19th.
        ({"100": 10, "500": 9, "more": 1}, Bound(100, False), Bound(500, False)),
        ({"100": 9, "200": 9, "more": 2}, Bound(200, False), Bound(60_000, True)),
        ({"60000": 1}, Bound(60_000, False), Bound(60_000, False)),
        # Of 3 the 2nd (1.5 rounded up) and the 3rd (2.85).
        ({"100": 1, "1000": 1, "30000": 1}, Bound(1000, False), Bound(30_000, False)),
    ],
)
def test_latency_quantiles_are_bounds_of_buckets(tenant, counts, p50, p95):
    for n, (bucket, amount) in enumerate(counts.items()):
        count(tenant, n, **{f"latency__{bucket}": amount})
    count(tenant, 7, latency__100=1000)
    found = numbers(tenant).latency
    assert (found.p50, found.p95) == (p50, p95)
    assert sum(amount for _, amount in found.buckets) == sum(counts.values())
    assert [bound.ms for bound, _ in found.buckets] == sorted(bound.ms for bound, _ in found.buckets)


# -- How it stands


def test_todays_use_stands_against_the_policy_in_force(week):
    tenant = make_tenant(
        slug="budgeted", critic_enabled=True, critic_daily_calls=40, critic_daily_tokens=9000,
        critic_blind_review=True,
    )  # fmt: skip
    used(tenant, 0, calls=4, tokens_in=100, tokens_out=20, reserved=3)
    used(tenant, 1, calls=30, tokens_in=7000)
    found = numbers(tenant)
    assert found.budget == Budget(TODAY, 4, 40, 120, 3, 9000)
    assert (found.enabled, found.blind_review) == (True, True)
    assert numbers(week).budget == Budget(TODAY, 5, 1000, 1500, 700, 2_000_000)
    assert (numbers(week).enabled, numbers(week).blind_review) == (False, False)
    assert numbers(tenant, now=NOON + timedelta(days=1)).budget == Budget(
        date(2026, 3, 21), 0, 40, 0, 0, 9000
    )


@pytest.mark.parametrize(
    ("until", "state"), [(None, "closed"), (timedelta(seconds=1), "open"), (timedelta(0), "trying")]
)
def test_the_circuit_is_closed_open_or_tried(tenant, other_tenant, until, state):
    ends = None if until is None else NOON + until
    CriticCircuit(
        tenant=tenant, failures=3, opened_at=None if ends is None else NOON, open_until=ends,
        last_cause="timeout", last_detail="No answer within 30 s.",
    ).save()  # fmt: skip
    found = numbers(tenant).circuit
    assert (found.state, found.failures, found.open_until) == (state, 3, ends)
    assert (found.last_cause, found.last_detail) == ("timeout", "No answer within 30 s.")
    assert numbers(other_tenant).circuit == Circuit("closed")


def test_waiting_calls_are_counted_up_to_a_limit(tenant, other_tenant, monkeypatch):
    turns = store_judged(tenant, *[Judged()] * 4)
    store_judged(other_tenant, Judged())
    waiting = CriticVerdict.objects.across_tenants().exclude(turn=turns[0])
    waiting.update(state="waiting", verdict="", said="")
    assert numbers(tenant).waiting == Count(3, capped=False)
    monkeypatch.setattr(critic_numbers, "COUNT_LIMIT", 3)
    assert numbers(tenant).waiting == Count(3, capped=False)
    monkeypatch.setattr(critic_numbers, "COUNT_LIMIT", 2)
    assert numbers(tenant).waiting == Count(2, capped=True)


# -- Agreement


def test_what_was_judged_is_counted_by_both_words(tenant, other_tenant):
    store_judged(
        tenant,
        *[Judged(said="approve", human="approve")] * 30,
        *[Judged(said="approve", human="refuse", blind=True)] * 2,
        *[Judged(said="revise", human="approve")] * 5,
        *[Judged(said="revise", human="revise", blind=True)] * 15,
        *[Judged(said="revise", human="refuse")] * 3,
        *[Judged(said="refuse", human="refuse", blind=True)] * 4,
        Judged(said="approve"),  # nobody judged it
        Judged(cause="timeout", human="revise"),  # nobody had read it
    )
    store_judged(other_tenant, *[Judged(said="approve", human="approve")] * 50)
    found = numbers(tenant).agreement.ours
    words = found.verdicts.table
    assert words.labels == ("approve", "revise", "refuse")
    assert words.counts == ((30, 0, 2), (5, 15, 3), (0, 0, 4))
    assert found.blind.table.counts == ((0, 0, 2), (0, 15, 0), (0, 0, 4))
    # 49 of 59 agree; chance brings (32 x 35 + 23 x 15 + 4 x 9) / 59 squared.
    chance = (32 * 35 + 23 * 15 + 4 * 9) / 59**2
    assert found.verdicts.kappa.value == pytest.approx((49 / 59 - chance) / (1 - chance))
    # 27 times it asked for caution, 22 of them rightly; reviewers wanted it 24 times.
    precision, recall = found.verdicts.precision, found.verdicts.recall
    assert (precision.value, precision.low, precision.high) == (22 / 27, *wilson_interval(22, 27))
    assert (recall.value, recall.low, recall.high) == (22 / 24, *wilson_interval(22, 24))
    assert found.blind.precision == TooFew(19, 20, "said")
    assert found.blind.recall.value == 19 / 21
    assert found.turns.kappa == TooFew(0, 20, "rated")


def test_what_was_decided_is_counted_by_caution(tenant):
    store_judged(
        tenant,
        *[Judged(said="approve", verdict="false_alarm")] * 40,
        *[Judged(said="approve", verdict="fabricated")] * 4,
        *[Judged(said="revise", verdict="fabricated")] * 20,
        *[Judged(said="refuse", verdict="fabricated")] * 6,
        *[Judged(said="refuse", verdict="false_alarm")] * 10,
        *[Judged(said="revise", verdict="unsure")] * 3,
        *[Judged(cause="malformed", verdict="fabricated")] * 5,
    )
    found = numbers(tenant).agreement.ours
    assert found.turns.table.labels == ("approve", "caution")
    assert found.turns.table.counts == ((40, 4), (10, 26))
    assert found.unsure == 3
    # 66 of 80 agree; chance brings (44 x 50 + 36 x 30) / 80 squared.
    chance = (44 * 50 + 36 * 30) / 80**2
    assert found.turns.kappa.value == pytest.approx((66 / 80 - chance) / (1 - chance))
    assert found.turns.precision.value == 26 / 36
    assert found.turns.recall.value == 26 / 30
    assert found.verdicts.kappa == TooFew(0, 20, "rated")


def test_the_critics_own_word_counts_and_not_a_forced_one(tenant):
    store_judged(
        tenant,
        Judged(said="approve", forced=True, verdict="fabricated", human="revise"),
        Judged(cause="timeout", forced=True, verdict="fabricated", human="revise"),
    )
    found = numbers(tenant).agreement.ours
    assert found.turns.table.of("approve", "caution") == 1
    assert found.verdicts.table.of("approve", "revise") == 1
    assert (found.turns.table.rated, found.verdicts.table.rated) == (1, 1)


def test_the_runtimes_critic_is_another_one(tenant):
    store_judged(
        tenant,
        Judged(said="revise", verdict="fabricated", human="refuse", origin="runtime"),
        Judged(said="refuse", verdict="unsure", origin="runtime"),
        Judged(said="approve", verdict="false_alarm", human="approve"),
    )
    found = numbers(tenant).agreement
    assert found.runtime.verdicts.table.of("revise", "refuse") == 1
    assert found.runtime.turns.table.of("caution", "caution") == 1
    assert found.runtime.unsure == 1
    assert found.ours.verdicts.table.of("approve", "approve") == 1
    assert found.ours.turns.table.of("approve", "approve") == 1
    for one in (found.ours, found.runtime):
        assert (one.turns.table.rated, one.verdicts.table.rated) == (1, 1)


@pytest.mark.parametrize(
    ("hours", "within"),
    [(-11.99, True), (-12, False), (6 * 24 + 12, True), (6 * 24 + 12.01, False)],
)
def test_a_decision_counts_on_its_own_day(tenant, hours, within):
    """The week ends with the 20th at midnight and begins with the 14th."""
    store_judged(
        tenant, Judged(said="revise", verdict="fabricated", human="revise", decided=hours, judged=hours)
    )
    found = numbers(tenant).agreement.ours
    assert found.turns.table.rated == found.verdicts.table.rated == int(within)


def test_only_the_newest_decisions_are_read(tenant, monkeypatch):
    store_judged(
        tenant,
        Judged(said="approve", verdict="false_alarm", human="refuse", decided=3, judged=1),
        Judged(said="revise", verdict="fabricated", human="revise", decided=2, judged=2),
        Judged(said="revise", verdict="unsure", human="approve", decided=1, judged=3),
    )
    monkeypatch.setattr(critic_numbers, "AGREEMENT_LIMIT", 3)
    found = agreements(tenant=tenant, first=TODAY, last=TODAY)
    assert (found.verdicts_capped, found.turns_capped) == (False, False)
    monkeypatch.setattr(critic_numbers, "AGREEMENT_LIMIT", 2)
    found = agreements(tenant=tenant, first=TODAY, last=TODAY)
    assert (found.verdicts_capped, found.turns_capped) == (True, True)
    assert found.ours.verdicts.table.counts == ((0, 0, 1), (0, 1, 0), (0, 0, 0))
    assert found.ours.turns.table.counts == ((0, 0), (0, 1))
    assert found.ours.unsure == 1


# -- Through the services that write what is read here


def test_calls_and_decisions_of_today_are_there(settings):
    tenant = make_tenant(critic_enabled=True, critic_blind_review=True)
    rita = make_member(tenant, Role.REVIEWER)
    settings.MODEL_PRICES = (1.0, 10.0)
    settings.MODEL_NAME, settings.MODEL_API_KEY, settings.MODEL_TIMEOUT_SECONDS = "judge", "sk-secret", 30.0
    with serving(judging("revise", revised_draft="Not yet."), fails(400)) as server:
        settings.MODEL_BASE_URL = server.url
        turn = make_turn(tenant)
        critic_asking.ask_due()
        make_turn(tenant, "The shop opens at nine.")
        critic_asking.ask_due()
    turn.refresh_from_db()
    critic_review.judge_critic(
        tenant=tenant, actor=rita, turn_id=turn.pk, verdict="refuse", seen_version=turn.version
    )
    turn.refresh_from_db()
    review.decide_turn(
        tenant=tenant, actor=rita, turn_id=turn.pk, label="fabricated", seen_version=turn.version
    )
    found = critic_numbers.critic_numbers(tenant=tenant, days=7)
    total = found.total
    assert (total.turns, total.gated, total.fired) == (2, 2, 2)
    assert total.gates["low_confidence"] == 2
    assert total.standings == {"waiting": 0, "approve": 0, "revise": 1, "refuse": 0, "degraded": 1}
    assert total.causes == {"rejected": 1}
    # One answer of 1,200 tokens in at 1.0 a million and 300 out at 10.0.
    assert (total.use.calls, total.use.answered, total.use.tokens) == (2, 1, 1500)
    assert total.use.cost == pytest.approx(0.0042)
    assert found.budget.calls == 2
    assert found.latency.p50 is not None
    assert sum(amount for _, amount in found.latency.buckets) == 1
    assert found.agreement.ours.blind.table.of("revise", "refuse") == 1
    assert found.agreement.ours.turns.table.of("caution", "caution") == 1


# -- Cost


def test_the_number_of_queries_does_not_grow(tenant, django_assert_num_queries):
    store_judged(tenant, Judged(verdict="fabricated", human="revise"))
    with django_assert_num_queries(7):
        numbers(tenant, days=90)
    store_judged(tenant, *[Judged(verdict="fabricated", human="revise")] * 50)
    with django_assert_num_queries(7):
        numbers(tenant, days=90)


TABLES = ('"reviews_criticverdict"', '"reviews_turn"')


@pytest.mark.sqlite  # reads its query plans
def test_every_row_is_found_through_an_index(tenant):
    waiting, judged, decided = plans("EXPLAIN QUERY PLAN", lambda: numbers(tenant), tables=TABLES)
    assert waiting.startswith(
        "SEARCH reviews_criticverdict USING COVERING INDEX critic_waiting (tenant_id=?)"
    )
    assert judged.startswith(
        "SEARCH reviews_criticverdict USING INDEX critic_human (tenant_id=? AND human_at"
    )
    steps = decided.split("\n")
    assert steps[0].startswith(
        "SEARCH reviews_turn USING INDEX turn_critic_decided (tenant_id=? AND decided_"
    )
    assert steps[1].startswith("SEARCH reviews_criticverdict USING INDEX sqlite_autoindex")
    assert len(steps) == 2
    assert "TEMP B-TREE" not in waiting + judged + decided


@pytest.mark.postgresql  # reads its query plans
def test_every_row_is_found_through_an_index_on_postgresql_too(tenant):
    """With enough turns for the planner to care: two thousand with a verdict, of which twenty were judged."""
    turns = store_judged(tenant, *[Judged(verdict="fabricated", human="revise")] * 20, *[Judged()] * 2000)
    assert Turn.objects.for_tenant(tenant).exclude(critic="").count() == len(turns)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE reviews_turn")
        cursor.execute("ANALYZE reviews_criticverdict")
    waiting, judged, decided = plans("EXPLAIN", lambda: numbers(tenant), tables=TABLES)
    assert "critic_waiting" in waiting
    assert "critic_human" in judged
    assert "turn_critic_decided" in decided
    assert "Seq Scan" not in waiting + judged + decided
