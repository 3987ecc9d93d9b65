"""Rejecting many drafts at once: what the preview showed, all of it or nothing, undone as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from uuid import uuid4

from django.db import transaction
from django.db.models import F, Max, QuerySet

from reviews.models import Skill, SkillDecision, Tenant, User
from reviews.models.bulk import to_db_time, update_rows
from reviews.models.skills import SkillAction, SkillState
from reviews.models.tenants import Role
from reviews.services import audit, skill_messages
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.skill_contents import reason_text
from reviews.services.skill_queue import SkillFilter, in_order, matching
from reviews.services.skill_records import as_json, begin, from_json, known_reason, locked
from reviews.services.skill_undo import changed_again, may_undo, state_after

SHOWN = 50
#: More than anybody looks through. Takes about a second, three or four where a runtime knows them all.
MAX_AT_ONCE = 2_000
#: What a rejection changes, and its undo puts back, beside version and ``changed_at``.
_COLUMNS = (
    "state",
    "evidence_then",
    "came_back",
    "first_approver_id",
    "first_approved_at",
    "decided_by_id",
    "decided_at",
)


@dataclass(frozen=True)
class Preview:
    """What a bulk rejection would reject: how many, and the first of them.

    ``ids_digest`` stands for exactly these skills in these versions.
    """

    ids_digest: str
    count: int
    skills: list[Skill]


def preview_reject(*, tenant: Tenant, wanted: SkillFilter) -> Preview:
    """The drafts that match now. Raises InvalidError when the filter is about another state."""
    rows = _drafts(tenant, wanted)
    seen = list(rows.values_list("id", "version"))
    return Preview(_digest(seen), len(seen), list(in_order(rows)[:SHOWN]))


def reject_many(
    *,
    tenant: Tenant,
    actor: User,
    wanted: SkillFilter,
    ids_digest: str,
    reason: str,
    text: str = "",
    at: datetime | None = None,
) -> str:
    """Reject the drafts that the preview showed. Returns the batch, which ``undo_batch`` takes.

    Raises:
        ForbiddenError: the actor is no manager here (any more).
        ConflictError: what matches, or one of them, has changed since the preview; nothing was rejected.
        InvalidError: an unknown reason, a text that cannot be kept, no draft or too many.
    """
    reason, text = known_reason(reason), reason_text(text)
    with transaction.atomic():
        at = begin(tenant, actor, role=Role.MANAGER, at=at)
        drafts = list(_drafts(tenant, wanted).order_by("id").select_for_update(no_key=True))
        if _digest((skill.pk, skill.version) for skill in drafts) != ids_digest:
            raise ConflictError("These drafts have changed since you looked at them. Nothing was rejected.")
        if not drafts:
            raise InvalidError("There is nothing to reject.", fields={})
        if len(drafts) > MAX_AT_ONCE:
            raise InvalidError(f"At most {MAX_AT_ONCE:,} at once; narrow the filter.", fields={})
        batch = uuid4().hex
        decisions = [
            SkillDecision(
                tenant=tenant,
                skill=skill,
                actor=actor,
                action=SkillAction.REJECT,
                reason=reason,
                text=text,
                before=as_json({name: getattr(skill, name) for name in _COLUMNS}),
                version=skill.version + 1,
                batch=batch,
                created_at=at,
            )
            for skill in drafts
        ]
        Skill.objects.for_tenant(tenant).filter(pk__in=[skill.pk for skill in drafts]).update(
            state=SkillState.REJECTED,
            evidence_then=F("evidence"),
            came_back=False,
            first_approver=None,
            first_approved_at=None,
            decided_by=actor,
            decided_at=at,
            version=F("version") + 1,
            changed_at=at,
        )
        SkillDecision.objects.across_tenants().bulk_create(decisions)
        _log(tenant, actor, "skill.reject_many", decisions, reason=reason, text=text[:2000])
        for skill in drafts:
            skill.tenant = tenant
            skill_messages.tell(skill, SkillAction.REJECT)
    return batch


def undo_batch(*, tenant: Tenant, actor: User, batch: str, at: datetime | None = None) -> int:
    """Put back what a bulk rejection changed, but for skills whose rejection was undone before by itself.

    Returns how many. Whose batch it is may undo it as a reviewer, others as managers.

    Raises:
        NotFoundError: no such batch here.
        ConflictError: it was undone already, or one of its skills has been changed again since; nothing
            was put back.
        ForbiddenError: it is another person's, or the actor may not review here (any more).
    """
    with transaction.atomic():
        at = begin(tenant, actor, at=at)
        of_batch = (
            SkillDecision.objects.for_tenant(tenant)
            .filter(batch=batch, action=SkillAction.REJECT)
            .exclude(batch="")
        )
        decided_by = of_batch.values_list("actor_id", flat=True).first()
        if decided_by is None:
            raise NotFoundError("There is no such batch.")
        may_undo(tenant, actor, decided_by)
        standing = list(of_batch.filter(undone_by__isnull=True).order_by("skill_id"))
        if not standing:
            raise ConflictError("This batch has been undone already.")
        skills = locked(tenant, [decision.skill_id for decision in standing])
        latest = _latest_standing(tenant, of_batch)
        for decision in standing:
            skill = skills[decision.skill_id]
            if latest[skill.pk] != decision.version or skill.state != state_after(decision):
                raise changed_again(skill.pk)
        undos = [_put_back(skills[decision.skill_id], decision, actor, at) for decision in standing]
        update_rows(
            Skill,
            [*_COLUMNS, "version", "changed_at"],
            [_row(skill) for skill in skills.values()],
        )
        SkillDecision.objects.across_tenants().bulk_create(undos)
        _log(tenant, actor, "skill.undo_many", undos)
        for skill in skills.values():
            skill_messages.tell_undone(skill, SkillAction.REJECT)
    return len(undos)


def _drafts(tenant: Tenant, wanted: SkillFilter) -> QuerySet[Skill]:
    if wanted.state != SkillState.DRAFT:
        raise InvalidError("Only drafts can be rejected.", fields={"state": "Must be draft."})
    return matching(tenant=tenant, wanted=wanted)


def _digest(seen: Iterable[tuple[int, int]]) -> str:
    """32 hexadecimal digits that stand for pairs of id and version, in whatever order they come."""
    return blake2b(json.dumps(sorted(seen)).encode(), digest_size=16).hexdigest()


def _latest_standing(tenant: Tenant, of_batch: QuerySet[SkillDecision]) -> dict[int, int]:
    """By skill of a batch, the version of the latest decision about it that was not undone."""
    decisions = SkillDecision.objects.for_tenant(tenant).filter(skill__in=of_batch.values("skill"))
    standing = decisions.filter(undone_by__isnull=True).exclude(action=SkillAction.UNDO).order_by()
    return dict(standing.values_list("skill").annotate(Max("version")))


def _put_back(skill: Skill, decision: SkillDecision, actor: User, at: datetime) -> SkillDecision:
    """The skill as it stood before, in memory, and the row that tells of it."""
    replaced = as_json({name: getattr(skill, name) for name in _COLUMNS})
    for name, value in from_json(decision.before).items():
        setattr(skill, name, value)
    skill.version += 1
    skill.changed_at = at
    return SkillDecision(
        tenant_id=skill.tenant_id,
        skill=skill,
        actor=actor,
        action=SkillAction.UNDO,
        before=replaced,
        version=skill.version,
        batch=decision.batch,
        created_at=at,
        undoes=decision,
    )


def _row(skill: Skill) -> tuple[object, ...]:
    """Stored values of the columns that an undo writes, and the key."""
    return (
        skill.state,
        skill.evidence_then,
        skill.came_back,
        skill.first_approver_id,
        to_db_time(skill.first_approved_at),
        skill.decided_by_id,
        to_db_time(skill.decided_at),
        skill.version,
        to_db_time(skill.changed_at),
        skill.pk,
    )


def _log(tenant: Tenant, actor: User, action: str, decisions: Sequence[SkillDecision], **data: str) -> None:
    """One event for the whole batch, which names every skill with its version."""
    audit.record_event(
        tenant=tenant,
        actor=actor,
        action=action,
        object_type="skill",
        data={
            "batch": decisions[0].batch,
            "skills": [[decision.skill_id, decision.version] for decision in decisions],
            **data,
        },
        at=decisions[0].created_at,
    )
