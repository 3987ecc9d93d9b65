"""Loading the demo's tenants: people, policies, turns, decisions, all through the usual services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from django.contrib.auth.hashers import make_password
from django.db import transaction

from reviews.demo import Demo, DemoReview, DemoTenant, DemoTurn, build_demo
from reviews.models import Finding, Skill, Tenant, Turn, User
from reviews.models.jobs import JobKind
from reviews.models.skills import SkillState
from reviews.models.tenants import Role
from reviews.models.turns import Label, Source
from reviews.services import intake, jobs, policies, publishing, review, tenants
from reviews.services.demo_assertions import SUITES
from reviews.services.demo_critic import PREFERENCES, judge_verdicts, load_verdicts
from reviews.services.demo_skills import load_skills
from reviews.services.judge import Policy, judge
from reviews.services.rows import PreparedTurn, prepare

#: The tenant whose presence says that the demo has been loaded.
DEMO_SLUG = "demo"
#: How long a turn took from the agent to us.
TRANSPORT = timedelta(milliseconds=400)
#: How long before its first turn a tenant was set up, and the part of its turns that the first policy judged.
HEAD_START = timedelta(hours=3)
FIRST_POLICY_SHARE = 0.3
#: A small tenant audits many of its unflagged turns; of its sample these, the oldest, have been looked at.
AUDIT_RATE = 0.12
AUDITED_SHARE = 0.75
#: When and how fast somebody looks at a turn of the sample.
AUDIT_AFTER = timedelta(hours=5)
AUDIT_SECONDS = 6.5


#: When skills were extracted, before now; people decided on them two hours later.
SKILLS_BEFORE = timedelta(hours=26)
#: When reviewers went over the critic's verdicts, before now.
VERDICTS_BEFORE = timedelta(hours=20)
#: Drafts that somebody has replayed already, of those that wait.
REPLAYED = 3


@dataclass(frozen=True)
class Loaded:
    """What was loaded."""

    tenants: int
    turns: int
    decisions: int
    skills: int = 0
    skill_decisions: int = 0


class _Visit(NamedTuple):
    """Somebody looks at a turn; ``verdict`` is what they say of one without findings."""

    at: datetime
    external_id: str
    said: DemoReview
    verdict: str = ""


def is_loaded() -> bool:
    """Whether the demo is there. One query."""
    return Tenant.objects.filter(slug=DEMO_SLUG).exists()


def load_demo(*, now: datetime, password: str, seed: int = 7) -> Loaded | None:
    """Load all of the demo with turns up to ``now``, or nothing; None when it is there already.

    Every person of the demo can log in with ``password``.
    """
    with transaction.atomic():
        if is_loaded():
            return None
        demo = build_demo(now, seed)
        people = _people(demo, password)
        return _sum([_load_tenant(tenant, people, now) for tenant in demo.tenants])


def _sum(parts: Sequence[Loaded]) -> Loaded:
    return Loaded(
        len(parts),
        sum(p.turns for p in parts),
        sum(p.decisions for p in parts),
        sum(p.skills for p in parts),
        sum(p.skill_decisions for p in parts),
    )


def _people(demo: Demo, password: str) -> dict[str, User]:
    """An account for everybody; whoever exists already keeps password and name."""
    # Hashing is slow on purpose, and the password is no secret: once for all of them is enough.
    hashed = make_password(password)
    people = {}
    for person in (user for tenant in demo.tenants for user in tenant.users):
        first, _, last = person.full_name.partition(" ")
        people[person.username], _created = User.objects.get_or_create(
            username=person.username,
            defaults={"first_name": first, "last_name": last, "password": hashed},
        )
    return people


def _load_tenant(source: DemoTenant, people: dict[str, User], now: datetime) -> Loaded:
    began = _time(source.turns[0]) - HEAD_START
    owner = next(user.username for user in source.users if user.role == Role.OWNER.value)
    detector = {"detection_profile": source.detector}
    tenant = tenants.create_tenant(
        name=source.name, slug=source.slug, owner=people[owner], values=detector, at=began
    )
    for user in source.users:
        if user.username != owner:
            tenants.add_member(
                tenant=tenant, author=people[owner], user=people[user.username], role=user.role, at=began
            )
    split = round(len(source.turns) * FIRST_POLICY_SHARE)
    first, rest = source.turns[:split], source.turns[split:]
    tuned_at = _time(rest[0])
    visits = _visits(source.turns)
    early = [visit for visit in visits if visit.at < tuned_at]
    # In the order in which it would have happened, so that the audit log reads like a log.
    ids = _store(tenant, first)
    decisions = _decide(tenant, early, ids, people)
    tuned = {
        **detector,
        "fabrication_check_mode": source.mode,
        "fabrication_refuse_min_confidence": source.refuse_min_confidence,
        "identifier_keys": source.identifier_keys,
        "tool_trigger_keywords": source.tool_trigger_keywords,
        "audit_sample_rate": AUDIT_RATE,
        "critic_enabled": True,
        "core_preferences": PREFERENCES,
        "metacognition_sensitive_tags": ["payment"],
        "assertion_suites": SUITES,
    }
    publishing.publish_settings(
        tenant=tenant,
        author=people[owner],
        values=tuned,
        note="Our own identifier keys and tool words, after the first days of review.",
        at=tuned_at,
    )
    ids |= _store(tenant, rest)
    load_verdicts(tenant=tenant, turns=rest, seed=len(source.turns))
    reviewers = [user.username for user in source.users if user.role == Role.REVIEWER.value]
    late = sorted(
        visits[len(early) :] + _audits(tenant, source.turns, reviewers),
        key=lambda visit: (visit.at, visit.external_id),
    )
    night = now - SKILLS_BEFORE
    decisions += _decide(tenant, [visit for visit in late if visit.at < night], ids, people)
    decided = load_skills(tenant=tenant, wanted=source.skills, turns=source.turns, people=people, at=night)
    decisions += _decide(tenant, [visit for visit in late if visit.at >= night], ids, people)
    decisions += judge_verdicts(
        tenant=tenant, reviewers=[people[name] for name in reviewers], at=now - VERDICTS_BEFORE
    )
    _learn(tenant)
    _replay(tenant)
    # What a manager might be trying just now.
    manager = next((user.username for user in source.users if user.role == Role.MANAGER.value), owner)
    publishing.save_draft(
        tenant=tenant,
        author=people[manager],
        values=tuned | {"fabrication_check_mode": "refuse", "fabrication_confidence_source": "calibrated"},
        based_on=policies.current_policy(tenant=tenant).number,
        note="Refuse, on confidences calibrated by our labels.",
        at=now,
    )
    return Loaded(1, len(ids), decisions, len(source.skills), decided)


def _audits(tenant: Tenant, turns: Sequence[DemoTurn], reviewers: Sequence[str]) -> list[_Visit]:
    """Visits to the older part of the audit sample, which holds what the first policy did not look for."""
    drawn = set(
        Turn.objects.for_tenant(tenant).filter(audit_rate__isnull=False).values_list("external_id", flat=True)
    )
    sample = [turn for turn in turns if turn.record.external_id in drawn]
    visits = []
    for n, turn in enumerate(sample[: round(len(sample) * AUDITED_SHARE)]):
        missed = Label.FABRICATED.value in turn.truth.values()
        said = DemoReview(
            username=reviewers[n % len(reviewers)],
            seconds_after=AUDIT_AFTER.total_seconds(),
            spent_seconds=AUDIT_SECONDS,
            labels={},
        )
        verdict = Label.FABRICATED if missed else Label.FALSE_ALARM
        visits.append(_Visit(_time(turn) + AUDIT_AFTER, turn.record.external_id, said, verdict.value))
    return visits


def _learn(tenant: Tenant) -> None:
    """Let the labels say what they have to say, as the nightly job does."""
    jobs.start_job(tenant=tenant, kind=JobKind.LEARN, parameters={}, actor=None)
    jobs.run_jobs()


def _replay(tenant: Tenant) -> None:
    """Replay the surest of the drafts that wait, as people do before they decide."""
    drafts = Skill.objects.for_tenant(tenant).filter(state=SkillState.DRAFT).order_by("-confidence", "-id")
    for skill in drafts[:REPLAYED]:
        jobs.start_job(tenant=tenant, kind=JobKind.REPLAY, parameters={"skill": skill.pk}, actor=None)
    jobs.run_jobs()


def _store(tenant: Tenant, turns: Sequence[DemoTurn]) -> dict[str, int]:
    """Store turns as if each had been judged on arrival; ids by external id."""
    # The demo asks no model: what a critic would have said is loaded afterwards (``demo_critic``).
    current = policies.current_policy(tenant=tenant)
    policy = replace(current, settings=replace(current.settings, critic_enabled=False))
    accepted = intake.store_prepared(
        tenant=tenant, prepared=[_prepared(tenant, policy, turn) for turn in turns]
    )
    return {answer.external_id: answer.turn_id for answer in accepted}


def _prepared(tenant: Tenant, policy: Policy, turn: DemoTurn) -> PreparedTurn:
    return prepare(
        turn.record,
        tenant_id=tenant.pk,
        source=Source.TURN.value,
        received_at=_time(turn) + TRANSPORT,
        judgement=judge(turn.record, policy),
        policy=policy,
    )


def _time(turn: DemoTurn) -> datetime:
    assert turn.record.occurred_at is not None
    return turn.record.occurred_at


def _visits(turns: Sequence[DemoTurn]) -> list[_Visit]:
    """Who looked at which turn, in the order of time."""
    visits = [
        _Visit(_time(turn) + timedelta(seconds=said.seconds_after), turn.record.external_id, said)
        for turn in turns
        for said in turn.reviews
    ]
    return sorted(visits, key=lambda visit: (visit.at, visit.external_id))


def _decide(tenant: Tenant, visits: Sequence[_Visit], ids: dict[str, int], people: dict[str, User]) -> int:
    """Make the decisions of these visits; returns how many."""
    findings: dict[int, list[tuple[int, str, bool]]] = {}
    for turn_id, position, identifier, evidence in (
        Finding.objects.for_tenant(tenant)
        .filter(turn_id__in={ids[visit.external_id] for visit in visits})
        .order_by("turn_id", "position")
        .values_list("turn_id", "position", "identifier", "evidence")
    ):
        findings.setdefault(turn_id, []).append((position, identifier, evidence is None))
    made = 0
    for visit in visits:
        turn_id = ids[visit.external_id]
        actor = people[visit.said.username]
        if visit.verdict:
            made += _audit(tenant, actor, turn_id, visit)
        else:
            made += _review(tenant, actor, turn_id, findings.get(turn_id, []), visit.said, at=visit.at)
    return made


def _audit(tenant: Tenant, actor: User, turn_id: int, visit: _Visit) -> int:
    """Decide a turn of the audit sample, on which somebody may have left a note; returns the decisions."""
    version = Turn.objects.for_tenant(tenant).values_list("version", flat=True).get(pk=turn_id)
    review.decide_turn(
        tenant=tenant,
        actor=actor,
        turn_id=turn_id,
        label=visit.verdict,
        seen_version=version,
        spent_seconds=visit.said.spent_seconds,
        at=visit.at,
    )
    return 1


def _review(
    tenant: Tenant,
    actor: User,
    turn_id: int,
    findings: list[tuple[int, str, bool]],
    said: DemoReview,
    *,
    at: datetime,
) -> int:
    """One person's visit to a turn, a second from step to step; returns the decisions it left."""
    version = first = Turn.objects.for_tenant(tenant).values_list("version", flat=True).get(pk=turn_id)
    # The evidence profile calls its findings otherwise: they are judged by what is known of the turn.
    overall = Label.FABRICATED if Label.FABRICATED in said.labels.values() else Label.FALSE_ALARM
    labelled = [
        (position, said.labels.get(name, overall.value))
        for position, name, is_reference in findings
        if said.labels and (name in said.labels or not is_reference)
    ]
    for position, label in labelled:
        version = review.label_finding(
            tenant=tenant,
            actor=actor,
            turn_id=turn_id,
            position=position,
            label=label,
            seen_version=version,
            spent_seconds=said.spent_seconds / len(labelled),
            at=at + timedelta(seconds=version - first),
        ).version
    for write, text in ((review.add_note, said.note), (review.correct_answer, said.corrected_answer)):
        if text:
            version = write(
                tenant=tenant,
                actor=actor,
                turn_id=turn_id,
                text=text,
                seen_version=version,
                at=at + timedelta(seconds=version - first),
            ).version
    return version - first
