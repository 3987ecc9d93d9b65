"""The demo looks like an installation that has been in use for two weeks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from reviews.core.drafts import MODEL_SOURCE, PATTERN_SOURCE
from reviews.core.estimates import Estimate
from reviews.demo import build_demo
from reviews.models import (
    Calibration,
    DailyCount,
    Finding,
    Membership,
    PolicyVersion,
    ReviewDecision,
    Skill,
    SkillDecision,
    SkillEvidence,
    SkillReplay,
    Tenant,
    Turn,
    User,
)
from reviews.models.skills import SkillKind, SkillState
from reviews.models.turns import AnalysisState, ReviewState
from reviews.services.audit import verify_chain
from reviews.services.demo_loading import load_demo
from reviews.services.policies import current_policy, policy_of, policy_version
from reviews.services.simulation import last_days, simulate_policies
from reviews.services.skill_evidence import page_of
from tests.services.recount import assert_counts_hold

NOW = datetime(2026, 11, 30, 15, tzinfo=UTC)


@pytest.fixture
def loaded(db):
    return load_demo(now=NOW, password="demo-review")


@pytest.fixture
def demo(loaded) -> Tenant:
    return Tenant.objects.get(slug="demo")


def test_everything_of_the_demo_is_there(loaded):
    built = build_demo(NOW)
    assert loaded.tenants == len(built.tenants) == Tenant.objects.count()
    assert loaded.turns == sum(len(tenant.turns) for tenant in built.tenants)
    assert loaded.decisions == ReviewDecision.objects.across_tenants().count() > 0
    assert Membership.objects.across_tenants().count() == sum(len(tenant.users) for tenant in built.tenants)
    assert User.objects.get(username="ana").check_password("demo-review")


def test_a_second_load_does_nothing(loaded):
    assert load_demo(now=NOW, password="other") is None
    assert User.objects.get(username="ana").check_password("demo-review")


def test_turns_are_analysed_and_as_old_as_they_say(demo):
    for turn in Turn.objects.for_tenant(demo):
        assert turn.analysis_state == AnalysisState.DONE
        assert timedelta(0) <= turn.received_at - turn.occurred_at < timedelta(seconds=1)
        assert turn.received_at < NOW


def test_some_flagged_turns_are_decided_and_some_wait(demo):
    states = set(Turn.objects.for_tenant(demo).values_list("review_state", flat=True))
    assert states == set(ReviewState.values)


def test_two_policies_follow_each_other_and_each_judged_some_turns(demo):
    first, second, draft = PolicyVersion.objects.for_tenant(demo).order_by("number")
    assert (draft.state, draft.based_on, draft.author.username) == ("draft", second, "leo")
    assert (first.settings["identifier_keys"], second.state) == ([], "published")
    assert second.settings["identifier_keys"]
    assert first.published_at < second.published_at < NOW
    used = Turn.objects.for_tenant(demo).values_list("policy_version__number", flat=True)
    assert set(used) == {1, 2}


def test_daily_counts_are_those_of_the_turns_and_labels(demo):
    counts = DailyCount.objects.for_tenant(demo)
    turns = Turn.objects.for_tenant(demo)
    labels = Finding.objects.for_tenant(demo).exclude(label="")
    assert sum(c.count for c in counts.filter(name="turns")) == turns.count()
    assert sum(c.count for c in counts.filter(name="flagged")) == turns.filter(finding_count__gt=0).count()
    assert sum(c.count for c in counts.filter(name__startswith="label:")) == labels.count() > 0
    assert len({c.day for c in counts.filter(name="turns")}) > 7


def test_what_the_thresholds_screen_shows_has_something_to_show(demo):
    """Labels enough for a calibration, and audited turns enough for a recall."""
    assert Calibration.objects.for_tenant(demo).get().labels > 50
    draft = policy_of(policy_version(tenant=demo, number=3))
    found = simulate_policies(
        tenant=demo,
        current=current_policy(tenant=demo),
        candidate=draft,
        window=last_days(30, now=NOW),
    )
    assert isinstance(found.then.precision, Estimate)
    assert isinstance(found.then.recall, Estimate)
    assert found.flipped_turns()
    assert_counts_hold(demo)


def test_skills_of_all_kinds_wait_and_are_decided_by_the_rules(loaded, demo):
    skills = Skill.objects.across_tenants()
    assert skills.count() >= 40
    assert SkillDecision.objects.across_tenants().count() == loaded.skill_decisions > 20
    mine = Skill.objects.for_tenant(demo)
    assert set(mine.values_list("kind", flat=True)) == set(SkillKind.values)
    assert set(mine.values_list("state", flat=True)) == set(SkillState.values)
    # Guardrails and preflights were approved by two people, others by one.
    for skill in skills.filter(state=SkillState.APPROVED):
        approvals = set(skill.decisions.filter(action="approve").values_list("actor", flat=True))
        assert len(approvals) == (2 if skill.kind in ("guardrail", "preflight") else 1)
    waiting = mine.filter(state=SkillState.DRAFT, first_approver__isnull=False)
    assert waiting.exists()
    for skill in skills.filter(state=SkillState.DRAFT, source=MODEL_SOURCE):
        assert skill.episodes.exclude(turn=None).exists()


def test_skills_show_duplicates_conflicts_low_confidence_and_replays(demo):
    mine = Skill.objects.for_tenant(demo)
    folded = SkillEvidence.objects.for_tenant(demo).exclude(similarity=None)
    assert folded.exclude(draft=None).exists()
    assert mine.filter(source=PATTERN_SOURCE, confidence=0).exists()
    rules = set()
    for skill in mine.filter(state__in=[SkillState.DRAFT, SkillState.APPROVED]):
        rules |= {conflict.rule for conflict in page_of(tenant=demo, skill_id=skill.pk).conflicts}
    assert rules == {"forbidden", "opposite_order", "different_recovery"}
    assert SkillReplay.objects.for_tenant(demo).exists()


def test_the_audit_log_is_whole(demo):
    assert list(verify_chain(tenant=demo)) == []


def test_nobody_who_is_there_already_is_changed(db):
    User.objects.create_user("ana", password="her own password", first_name="Anabel")
    load_demo(now=NOW, password="demo-review")
    ana = User.objects.get(username="ana")
    assert ana.check_password("her own password")
    assert ana.first_name == "Anabel"
