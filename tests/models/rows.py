"""At least one row in every table of a tenant."""

from __future__ import annotations

from reviews.models import (
    ApiKey,
    AssertionCount,
    AssertionResult,
    Calibration,
    CriticCircuit,
    CriticVerdict,
    Delivery,
    GroundingSuggestion,
    Job,
    ModelUse,
    RejudgedTurn,
    Runtime,
    SkillReplay,
    Tenant,
    TrialVerdict,
    Turn,
    User,
)
from reviews.models.tenants import Role
from reviews.services import publishing, review, skills
from tests.factories import make_member, make_skill, make_turn


def fill_every_table(tenant: Tenant) -> None:
    """A labelled finding, a decision and its undo, a note, three policy versions (in force, in shadow, gone),
    a calibration, a suggestion, a job with its results, a key, skills (approved, merged, rejected and a draft
    again) with their evidence, replay and messages, and what follows from them."""
    rita = make_member(tenant, Role.REVIEWER)
    turn = make_turn(tenant)
    for position in (0, 1):
        decided = review.label_finding(
            tenant=tenant,
            actor=rita,
            turn_id=turn.pk,
            position=position,
            label="fabricated",
            seen_version=position,
        )
    review.undo_decision(tenant=tenant, actor=rita, decision_id=decided.decision_id)
    review.add_note(tenant=tenant, actor=rita, turn_id=turn.pk, text="Look again.", seen_version=3)
    calibration = Calibration.objects.across_tenants().create(
        tenant=tenant, number=1, labels=2, content={"kinds": {}, "groups": []}
    )
    publishing.publish_settings(tenant=tenant, author=rita, values={"fabrication_check_mode": "refuse"})
    shadow = publishing.save_draft(tenant=tenant, author=rita, values={}, based_on=2)
    publishing.start_shadow(tenant=tenant, actor=rita, number=shadow.number)
    make_turn(tenant)
    GroundingSuggestion.objects.across_tenants().create(
        tenant=tenant, rule="ignored_key", value="service", agree=3, against=0, turns=[turn.pk]
    )
    job = Job.objects.across_tenants().create(tenant=tenant, kind="rejudge", parameters={"version": 2})
    RejudgedTurn.objects.across_tenants().create(
        tenant=tenant,
        job=job,
        turn=turn,
        before={"outcome": "observed"},
        after={"outcome": "none"},
        applied=True,
    )
    assert shadow.calibration_id == calibration.pk
    ApiKey.objects.across_tenants().create(
        tenant=tenant, name="bot", prefix=f"k-{tenant.slug}", digest=b"\0" * 32, scopes="ingest"
    )
    _fill_skills(tenant, rita, turn)
    _fill_critic(tenant, turn)
    _fill_assertions(tenant, turn)


def _fill_assertions(tenant: Tenant, turn: Turn) -> None:
    about = {"tenant": tenant, "suite": "privacy", "assertion": "no card numbers", "passed": False}
    AssertionResult.objects.across_tenants().create(
        turn=turn, position=0, reason="1 fragment reached the model.", occurred_at=turn.occurred_at, **about
    )
    AssertionCount.objects.across_tenants().create(day=turn.occurred_at.date(), count=1, **about)


def _fill_critic(tenant: Tenant, turn: Turn) -> None:
    """A verdict, one that waits, what they cost, and a trial."""
    values = {"state": "done", "verdict": "approve", "said": "approve", "confidence": 500}
    CriticVerdict.objects.across_tenants().create(tenant=tenant, turn=turn, **values)
    CriticVerdict.objects.across_tenants().create(tenant=tenant, turn=make_turn(tenant))
    CriticCircuit.objects.across_tenants().create(tenant=tenant)
    ModelUse.objects.across_tenants().create(tenant=tenant, day=turn.occurred_at.date(), purpose="critic")
    job = Job.objects.across_tenants().create(tenant=tenant, kind="trial", parameters={})
    TrialVerdict.objects.across_tenants().create(
        tenant=tenant, job=job, turn=turn, variant=0, verdict="approve"
    )


def _fill_skills(tenant: Tenant, rita: User, turn: Turn) -> None:
    """The first skill is approved; the first decision is its approval."""
    Runtime.objects.across_tenants().create(
        tenant=tenant, base_url="https://runtime.example", runtime_tenant=tenant.slug
    )
    approved = make_skill(tenant, episodes=["run-1", "run-2"], runtime_id="node-1")
    by = {"tenant": tenant, "actor": rita}
    skills.approve_skill(skill_id=approved.pk, seen_version=0, **by)
    merged = make_skill(tenant, episodes=["run-3"])
    skills.merge_skill(skill_id=merged.pk, into_id=approved.pk, seen_version=0, **by)
    rejected = make_skill(tenant, runtime_id="node-2")
    done = skills.reject_skill(skill_id=rejected.pk, reason="wrong", seen_version=0, **by)
    skills.undo_skill_decision(decision_id=done.decision.pk, **by)
    SkillReplay.objects.across_tenants().create(
        tenant=tenant, skill=approved, turn=turn, reason="get_order was called", failed=False, fabricated=True
    )
    assert Delivery.objects.for_tenant(tenant).count() == 3
