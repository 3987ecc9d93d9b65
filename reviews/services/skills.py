"""What people decide about skills: approve, edit, reject, merge, retire.

    draft -> approved -> retired
    draft -> rejected | merged

Only drafts are edited. Who may approve is said in ``approvals``, what an undo puts back in ``skill_undo``;
``skill_bulk`` rejects many drafts at once.

Every decision names the version of the skill it saw, so of two people who decide at the same moment one wins
and the other is told who did what.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from reviews.models import Skill, SkillEvidence, Tenant, User
from reviews.models.skills import SkillAction, SkillState
from reviews.services import skill_messages
from reviews.services.approvals import approval_by, approver_counts, may_approve, needs_two
from reviews.services.errors import ConflictError, ForbiddenError, InvalidError
from reviews.services.policies import current_policy
from reviews.services.skill_bulk import preview_reject, reject_many, undo_batch
from reviews.services.skill_contents import add_revision, edited, reason_text
from reviews.services.skill_records import Done, advance, begin, expect, known_reason, locked, record
from reviews.services.skill_undo import undo_skill_decision

__all__ = [
    "Done",
    "approve_skill",
    "edit_skill",
    "may_approve",
    "merge_skill",
    "needs_two",
    "preview_reject",
    "reject_many",
    "reject_skill",
    "retire_skill",
    "undo_batch",
    "undo_skill_decision",
]

#: States of a skill that another may be merged into.
MERGE_TARGETS = (SkillState.DRAFT, SkillState.APPROVED)


def approve_skill(
    *, tenant: Tenant, actor: User, skill_id: int, seen_version: int, at: datetime | None = None
) -> Done:
    """Approve a draft, or give the first of the two approvals that it takes; the skill's state says which.

    Raises:
        NotFoundError: no such skill here.
        ConflictError: the skill has changed since ``seen_version``, or is no draft.
        ForbiddenError: the actor may not review here (any more), or the approval has to be somebody else's.
    """
    with transaction.atomic():
        at = begin(tenant, actor, at=at)
        skill = locked(tenant, [skill_id])[skill_id]
        expect(skill, seen_version=seen_version, state=SkillState.DRAFT, to_do="approved")
        return _approve(skill, actor, at)


def edit_skill(
    *,
    tenant: Tenant,
    actor: User,
    skill_id: int,
    content: Mapping[str, Any],
    seen_version: int,
    approve: bool = False,
    at: datetime | None = None,
) -> Done:
    """Write another text into a draft (see ``skill_contents.edited``). A first approval of the old one ends.

    With ``approve`` an approval follows as a decision of its own; being the writer's, it is a first one only.

    Raises as ``approve_skill``, and:
        InvalidError: ``details['fields']`` names each text that cannot be kept; none when nothing changes.
    """
    with transaction.atomic():
        at = begin(tenant, actor, at=at)
        skill = locked(tenant, [skill_id])[skill_id]
        expect(skill, seen_version=seen_version, state=SkillState.DRAFT, to_do="edited")
        values = edited(skill, content)
        before = advance(
            skill, at, **values, writer_id=actor.pk, first_approver_id=None, first_approved_at=None
        )
        revision = add_revision(skill=skill, author=actor, at=at)
        data = {"revision": revision.number, "fields": sorted(values)}
        done = record(skill, actor, SkillAction.EDIT, at=at, before=before, data=data)
        return _approve(skill, actor, at) if approve else done


def reject_skill(
    *,
    tenant: Tenant,
    actor: User,
    skill_id: int,
    reason: str,
    text: str = "",
    seen_version: int,
    at: datetime | None = None,
) -> Done:
    """Reject a draft. What its evidence counts now is kept: it comes back only with twice as much.

    Raises as ``approve_skill``, and InvalidError for an unknown reason or a text that cannot be kept.
    """
    reason, text = known_reason(reason), reason_text(text)
    with transaction.atomic():
        at = begin(tenant, actor, at=at)
        skill = locked(tenant, [skill_id])[skill_id]
        expect(skill, seen_version=seen_version, state=SkillState.DRAFT, to_do="rejected")
        before = advance(
            skill,
            at,
            state=SkillState.REJECTED,
            evidence_then=skill.evidence,
            came_back=False,
            first_approver_id=None,
            first_approved_at=None,
            decided_by_id=actor.pk,
            decided_at=at,
        )
        done = record(skill, actor, SkillAction.REJECT, at=at, before=before, reason=reason, text=text)
        skill_messages.tell(skill, SkillAction.REJECT)
        return done


def merge_skill(
    *,
    tenant: Tenant,
    actor: User,
    skill_id: int,
    into_id: int,
    seen_version: int,
    at: datetime | None = None,
) -> Done:
    """Give a draft up in favour of another skill, which gets the evidence that it lacks.

    Raises as ``approve_skill``, also for the other skill (NotFoundError; ConflictError when it is neither
    draft nor approved), and InvalidError when both are the same.
    """
    if skill_id == into_id:
        raise InvalidError("A skill cannot be merged into itself.", fields={"into": "Choose another skill."})
    with transaction.atomic():
        at = begin(tenant, actor, at=at)
        rows = locked(tenant, [skill_id, into_id])
        skill, into = rows[skill_id], rows[into_id]
        expect(skill, seen_version=seen_version, state=SkillState.DRAFT, to_do="merged")
        if into.state not in MERGE_TARGETS:
            state = SkillState(into.state).label.lower()
            raise ConflictError(f"Nothing can be merged into a skill that is {state}.", skill_id=into.pk)
        copies = _lacking(skill, into)
        SkillEvidence.objects.across_tenants().bulk_create(copies)
        # Not a decision about the other skill, so its version stays; but what it rests on has changed.
        Skill.objects.across_tenants().filter(pk=into.pk).update(
            evidence=F("evidence") + len(copies), changed_at=at
        )
        before = advance(
            skill,
            at,
            state=SkillState.MERGED,
            merged_into_id=into.pk,
            decided_by_id=actor.pk,
            decided_at=at,
        )
        before["copies"] = [copy.pk for copy in copies]
        data = {"into": into.pk, "evidence": len(copies)}
        done = record(skill, actor, SkillAction.MERGE, at=at, before=before, data=data)
        skill_messages.tell(skill, SkillAction.MERGE)
        return done


def retire_skill(
    *,
    tenant: Tenant,
    actor: User,
    skill_id: int,
    text: str = "",
    seen_version: int,
    at: datetime | None = None,
) -> Done:
    """Take an approved skill out of use. Raises as ``reject_skill``."""
    text = reason_text(text)
    with transaction.atomic():
        at = begin(tenant, actor, at=at)
        skill = locked(tenant, [skill_id])[skill_id]
        expect(skill, seen_version=seen_version, state=SkillState.APPROVED, to_do="retired")
        before = advance(skill, at, state=SkillState.RETIRED, decided_by_id=actor.pk, decided_at=at)
        done = record(skill, actor, SkillAction.RETIRE, at=at, before=before, text=text)
        skill_messages.tell(skill, SkillAction.RETIRE)
        return done


# -- Inside a transaction


def _approve(skill: Skill, actor: User, at: datetime) -> Done:
    settings = current_policy(tenant=skill.tenant).settings
    counts = approver_counts(tenant=skill.tenant, skill=skill)
    approval = approval_by(skill, actor, settings, counts)
    if approval.refusal:
        raise ForbiddenError(approval.refusal)
    values: dict[str, Any]
    if approval.completes:
        values = {"state": SkillState.APPROVED, "decided_by_id": actor.pk, "decided_at": at}
        if not counts:
            # One that does not count must not look as if it had.
            values.update(first_approver_id=None, first_approved_at=None)
    else:
        values = {"first_approver_id": actor.pk, "first_approved_at": at}
    before = advance(skill, at, **values)
    data = {"first_approver": skill.first_approver_id} if skill.first_approver_id else None
    done = record(skill, actor, SkillAction.APPROVE, at=at, before=before, data=data)
    if approval.completes:
        skill_messages.tell(skill, SkillAction.APPROVE)
    return done


def _lacking(skill: Skill, into: Skill) -> list[SkillEvidence]:
    """Copies, for ``into``, of the evidence that only ``skill`` has."""
    known = SkillEvidence.objects.for_tenant(skill.tenant).filter(skill=into)
    lacking = skill.episodes.exclude(episode__in=known.values("episode")).order_by("id")
    return [
        SkillEvidence(
            tenant_id=skill.tenant_id,
            skill=into,
            episode=row.episode,
            turn_id=row.turn_id,
            draft=row.draft,
            similarity=row.similarity,
            created_at=row.created_at,
        )
        for row in lacking
    ]
