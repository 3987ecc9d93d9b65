"""A simulation from kept counts equals a count over the rows, for any policy."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from reviews.core.calibration import CalibrationTable, LabelledClaim, fit
from reviews.core.confidence import activation_confidence
from reviews.core.estimates import FEWEST_FOR_PRECISION, Estimate, NotEnough
from reviews.core.profiles import Group, subject_of, tools_of
from reviews.core.settings import TenantSettings
from reviews.core.statistics import wilson_interval
from reviews.models import Turn
from reviews.models.turns import Kind
from reviews.services.analysis import analyse_pending
from reviews.services.events import accept_events
from reviews.services.intake import accept_turns
from reviews.services.judge import Policy
from reviews.services.review import decide_turn
from reviews.services.simulation import last_days, simulate_policies
from tests.factories import CLAIM, call, make_event, make_member, make_record, make_tenant, make_turn

NOW = datetime(2026, 6, 30, 15, tzinfo=UTC)
DRAFTS = [
    "Good morning.",
    "I sent it.",
    "I checked it, pid=77.",
    CLAIM,
    "I ran a1b2c3d4 just now.",
    "order_id: zz9",
    "order_id: abc123ef",
]
TOOLS = ["get_order", "send_mail", "lookup"]


def label_of(rng):
    return rng.choice(["", "fabricated", "fabricated", "false_alarm", "unsure"])


def fill(tenant, size=160, seed=5):
    """Turns of forty days by both doors, some of them decided, a third of the unflagged ones sampled."""
    rng = random.Random(seed)
    actor = make_member(tenant)
    records = [
        make_record(
            rng.choice(DRAFTS),
            external_id=f"{tenant.slug}-{n}",
            occurred_at=NOW - timedelta(hours=rng.randrange(40 * 24)),
            tool_calls=[call(name) for name in rng.sample(TOOLS, rng.randrange(3))],
            activation={"activated_nodes": [{"score": rng.random()}]} if rng.random() < 0.5 else None,
        )
        for n in range(size)
    ]
    accept_turns(tenant=tenant, records=records)
    analyse_pending()
    # What runtimes report has any confidence at all.
    accept_events(
        tenant=tenant,
        events=[
            make_event(
                f"{tenant.slug}-event-{n}",
                [
                    {"identifier": "x", "kind": rng.choice(Kind.values), "confidence": rng.random()}
                    for _ in range(2)
                ],
            )
            for n in range(size // 4)
        ],
    )
    for turn in Turn.objects.for_tenant(tenant).filter(review_state="open").order_by("id"):
        if label := label_of(rng):
            decide_turn(tenant=tenant, actor=actor, turn_id=turn.pk, label=label, seen_version=0)


class Facts:
    """The turns of a tenant as plain values, to count over."""

    def __init__(self, tenant):
        self.turns = []
        rows = Turn.objects.for_tenant(tenant).select_related("payload").prefetch_related("findings")
        for turn in rows:
            names = None if turn.source == "event" else [c["name"] for c in turn.payload.tool_calls or []]
            tools = tools_of(names)
            findings = [
                (f.kind, f.confidence, Group(f.kind, subject_of(f), tools)) for f in turn.findings.all()
            ]
            gate = None if names is None else activation_confidence(turn.payload.activation)
            self.turns.append((turn.pk, turn.occurred_at, findings, turn.verdict, gate))

    def action(self, findings, policy):
        """As the outcome's rules say, on the confidences themselves, not on thousandths."""
        settings, table = policy.settings, policy.calibration
        if settings.fabrication_check_mode == "off" or not findings:
            return "none"
        if settings.fabrication_check_mode == "revise":
            return "revise_forced"
        calibrated = settings.fabrication_confidence_source == "calibrated" and table is not None
        refused = settings.fabrication_check_mode == "refuse" and any(
            (table.confidence(group, raw) if calibrated else raw)
            >= settings.fabrication_refuse_min_confidence_by_kind.get(
                kind, settings.fabrication_refuse_min_confidence
            )
            for kind, raw, group in findings
        )
        return "refuse_replaced" if refused else "observed"

    def within(self, window):
        return [t for t in self.turns if window.first <= t[1].astimezone(UTC).date() <= window.last]


UNITS = st.integers(0, 1000).map(lambda n: n / 1000)
SETTINGS = st.builds(
    TenantSettings,
    fabrication_check_mode=st.sampled_from(["refuse", "refuse", "refuse", "observe", "revise", "off"]),
    fabrication_refuse_min_confidence=UNITS,
    fabrication_refuse_min_confidence_by_kind=st.dictionaries(
        st.sampled_from(Kind.values), UNITS, max_size=3
    ),
    fabrication_confidence_source=st.sampled_from(["raw", "calibrated"]),
    metacognition_confidence_threshold=UNITS,
)


def learned(facts):
    """A calibration on these turns' verdicts."""
    return fit(
        LabelledClaim(group, raw, verdict == "fabricated", at.timestamp())
        for _, at, findings, verdict, _ in facts.turns
        if verdict in ("fabricated", "false_alarm")
        for _, raw, group in findings
    )


@pytest.fixture
def filled(db):
    tenant = make_tenant(audit_sample_rate=0.333)
    fill(tenant)
    fill(make_tenant("another"), size=20)
    return tenant


def test_any_policy_is_simulated_as_a_count_over_the_rows_would_have_it(filled):
    facts = Facts(filled)
    table = learned(facts)
    assert len(facts.turns) == 200

    @hypothesis_settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
    @given(now=SETTINGS, then=SETTINGS, days=st.sampled_from([1, 7, 30, 60]))
    def check(now, then, days):
        compare(filled, facts, Policy(1, 1, now, table), Policy(2, 2, then, table), last_days(days, now=NOW))

    check()


def compare(tenant, facts, current, candidate, window):
    found = simulate_policies(tenant=tenant, current=current, candidate=candidate, window=window)
    turns = facts.within(window)
    assert found.totals.turns == len(turns)
    assert found.totals.flagged == sum(bool(findings) for _, _, findings, _, _ in turns)
    for effect, policy in ((found.now, current), (found.then, candidate)):
        actions = Counter(facts.action(findings, policy) for _, _, findings, _, _ in turns)
        assert effect.actions == (
            actions["refuse_replaced"], actions["revise_forced"], actions["observed"],
        )  # fmt: skip
        for kind in Kind.values:
            of_kind = Counter(
                facts.action(findings, policy)
                for _, _, findings, _, _ in turns
                if kind in {k for k, _, _ in findings}
            )
            assert effect.by_kind.get(kind, (0, 0, 0)) == (
                of_kind["refuse_replaced"], of_kind["revise_forced"], of_kind["observed"],
            )  # fmt: skip
        verdicts = Counter(v for _, _, f, v, _ in turns if facts.action(f, policy) == "refuse_replaced")
        assert (effect.fabricated, effect.false_alarms) == (verdicts["fabricated"], verdicts["false_alarm"])
        labelled = verdicts["fabricated"] + verdicts["false_alarm"]
        if labelled < FEWEST_FOR_PRECISION:
            assert effect.precision == NotEnough(labelled, FEWEST_FOR_PRECISION, "refused")
        else:
            share = verdicts["fabricated"] / labelled
            assert effect.precision == Estimate(share, *wilson_interval(verdicts["fabricated"], labelled))
    refused = {
        policy.number: {t for t, _, f, _, _ in turns if facts.action(f, policy) == "refuse_replaced"}
        for policy in (current, candidate)
    }
    flipped = {flip.turn.pk: flip.refused_now for flip in found.flipped_turns(limit=1000)}
    assert {t for t, now in flipped.items() if now} == refused[1] - refused[2]
    assert {t for t, now in flipped.items() if not now} == refused[2] - refused[1]
    for calls, policy in ((found.calls_now, current), (found.calls_then, candidate)):
        threshold = policy.settings.metacognition_confidence_threshold
        revises = policy.settings.fabrication_check_mode == "revise"
        assert calls == sum(
            gate is not None and (gate < threshold or (revises and bool(findings)))
            for _, _, findings, _, gate in turns
        )


def test_the_audit_sample_is_told_by_the_rate_it_was_drawn_at(filled):
    found = simulate_policies(
        tenant=filled, current=Policy(None, 0, TenantSettings()), candidate=Policy(None, 0, TenantSettings()),
        window=last_days(60, now=NOW),
    )  # fmt: skip
    sampled = Turn.objects.for_tenant(filled).filter(audit_rate__isnull=False)
    (stratum,) = found.strata
    assert (stratum.rate, stratum.sampled) == (0.333, sampled.count())
    # Which turns are drawn depends on the installation's secret, so a rare verdict may be on none of them.
    assert stratum.fabricated == sampled.filter(verdict="fabricated").count() > 0
    assert stratum.false_alarms == sampled.filter(verdict="false_alarm").count()


def test_the_nearest_turns_come_first_and_no_more_than_asked_for(filled):
    current = Policy(1, 1, TenantSettings("refuse", 1.0))
    candidate = Policy(2, 2, TenantSettings("refuse", 0.3))
    found = simulate_policies(
        tenant=filled, current=current, candidate=candidate, window=last_days(60, now=NOW)
    )
    turns = found.flipped_turns(limit=12)
    assert len(turns) == 12
    assert [turn.distance for turn in turns] == sorted(turn.distance for turn in turns)
    assert len(found.flipped_turns(limit=1000)) == sum(flip.turns for flip in found.flips) > 12


def test_a_tenant_without_turns_is_simulated_too(tenant):
    policy = Policy(None, 0, TenantSettings())
    found = simulate_policies(tenant=tenant, current=policy, candidate=policy, window=last_days(30))
    assert found.then.actions == (0, 0, 0)
    assert found.flips == found.flipped_turns() == []
    assert (found.calls_now, found.gated) == (0, 0)
    assert found.labelled == {"fabricated": 0, "false_alarm": 0, "unsure": 0, "audited": 0}


def test_the_queries_do_not_grow_with_the_turns(tenant, django_assert_max_num_queries):
    policy = Policy(None, 0, TenantSettings("refuse"))
    for _ in range(2):
        fill_here = [make_turn(tenant, draft) for draft in DRAFTS for _ in range(3)]
        assert fill_here
        with django_assert_max_num_queries(5):
            simulate_policies(tenant=tenant, current=policy, candidate=policy, window=last_days(30))


def test_the_window_is_of_whole_days(tenant):
    midnight = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for at in (midnight, midnight - timedelta(seconds=1), midnight - timedelta(days=6, seconds=1)):
        make_turn(tenant, "I sent it.", occurred_at=at)
    policy = Policy(None, 0, TenantSettings("refuse"))

    def refused(days):
        found = simulate_policies(tenant=tenant, current=policy, candidate=policy, window=last_days(days))
        assert len(found.flipped_turns()) == 0
        return found.then.actions.refused

    assert [refused(days) for days in (1, 2, 7, 8)] == [1, 2, 2, 3]


def test_an_empty_calibration_reads_as_the_detector_does(filled):
    raw = Policy(1, 1, TenantSettings("refuse", 0.8))
    same = Policy(
        2,
        2,
        TenantSettings("refuse", 0.8, fabrication_confidence_source="calibrated"),
        CalibrationTable({}, {}),
    )
    found = simulate_policies(tenant=filled, current=raw, candidate=same, window=last_days(60, now=NOW))
    assert found.now == found.then
    assert found.flips == []
