"""Taking a decision about a skill back: exactly what it changed, and only while nothing was built on it.

A decision can be undone for as long as it is the skill's latest that stands, and the skill is in the state in
which it left it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from reviews.models import Skill, SkillDecision, Tenant, User
from reviews.models.skills import SkillAction, SkillState
from reviews.models.tenants import Role
from reviews.services import skill_messages
from reviews.services.approvals import members_who_may
from reviews.services.errors import ConflictError, ForbiddenError, NotFoundError
from reviews.services.skill_records import Done, advance, begin, from_json, locked, record

#: How long one key undoes the last decision, as for turns. Older ones are undone from the skill's history.
UNDO_BY_KEY = timedelta(hours=12)
_STATE_AFTER = {
    SkillAction.REJECT.value: SkillState.REJECTED,
    SkillAction.MERGE.value: SkillState.MERGED,
    SkillAction.RETIRE.value: SkillState.RETIRED,
    SkillAction.EDIT.value: SkillState.DRAFT,
}
#: Beside columns of the skill, ``before`` of a merge has the ids of the evidence that it copied.
_COPIES = "copies"
_IDS_PER_STATEMENT = 500


def undo_skill_decision(*, tenant: Tenant, actor: User, decision_id: int, at: datetime | None = None) -> Done:
    """Put back what one decision changed. A reviewer undoes their own, a manager those of others too.

    Raises:
        NotFoundError: no such decision here.
        ConflictError: it was undone already, or what it changed has been changed again since.
        ForbiddenError: it is another person's, or the actor may not review here (any more).
    """
    with transaction.atomic():
        at = begin(tenant, actor, at=at)
        decision = SkillDecision.objects.for_tenant(tenant).filter(pk=decision_id).first()
        if decision is None or decision.action == SkillAction.UNDO:
            raise NotFoundError("There is no such decision.")
        may_undo(tenant, actor, decision.actor_id)
        before = dict(decision.before or {})
        copies = before.pop(_COPIES, None)
        into_id = _into(tenant, decision)
        rows = locked(tenant, [decision.skill_id, *([into_id] if into_id else [])])
        skill = rows[decision.skill_id]
        if SkillDecision.objects.for_tenant(tenant).filter(undoes=decision).exists():
            raise ConflictError("This decision has been undone already.", skill_id=skill.pk)
        later = skill.decisions.filter(version__gt=decision.version, undone_by__isnull=True)
        if later.exclude(action=SkillAction.UNDO).exists() or skill.state != state_after(decision):
            raise changed_again(skill.pk)
        if copies is not None and into_id is not None:
            _take_away(rows[into_id], skill, copies, at)
        replaced = advance(skill, at, **from_json(before))
        done = record(
            skill,
            actor,
            SkillAction.UNDO,
            at=at,
            before=replaced,
            undoes=decision,
            data={"undid": decision.action, "decision": decision.pk},
        )
        if "state" in before:
            skill_messages.tell_undone(skill, decision.action)
        return done


def last_undoable(*, tenant: Tenant, actor: User) -> SkillDecision | None:
    """The actor's latest decision that stands, if fresh enough to be what a key should undo. One query."""
    return (
        SkillDecision.objects.for_tenant(tenant)
        .filter(actor=actor, created_at__gte=timezone.now() - UNDO_BY_KEY, undone_by__isnull=True)
        .exclude(action=SkillAction.UNDO)
        .select_related("skill")
        .order_by("-created_at", "-id")
        .first()
    )


def may_undo(tenant: Tenant, actor: User, decided_by: int) -> None:
    """Raises ForbiddenError unless the decision is the actor's own or the actor is a manager."""
    if decided_by != actor.pk and not members_who_may(tenant=tenant, role=Role.MANAGER, user_ids=[actor.pk]):
        raise ForbiddenError("Only a manager may undo another person's decision.")


def state_after(decision: SkillDecision) -> SkillState:
    """The state in which a decision left its skill; a first approval leaves a draft."""
    if decision.action == SkillAction.APPROVE:
        return SkillState.APPROVED if "state" in (decision.before or {}) else SkillState.DRAFT
    return _STATE_AFTER[decision.action]


def changed_again(skill_id: int) -> ConflictError:
    return ConflictError("What this decision changed has been changed again since.", skill_id=skill_id)


# -- Inside a transaction


def _into(tenant: Tenant, decision: SkillDecision) -> int | None:
    """The skill that a merge went into; it is locked together with the one that was merged."""
    if decision.action != SkillAction.MERGE:
        return None
    skills = Skill.objects.for_tenant(tenant)
    return skills.values_list("merged_into_id", flat=True).get(pk=decision.skill_id)


def _take_away(into: Skill, skill: Skill, copies: Sequence[int], at: datetime) -> None:
    """Take the evidence that a merge copied back out of the skill it went into.

    Not when that was itself merged on, or when another skill that was merged into it rests on some of the
    same: which of the two it came from could not be told any more.
    """
    if into.state == SkillState.MERGED:
        raise ConflictError("The skill it was merged into has itself been merged since.", skill_id=skill.pk)
    taken = 0
    for start in range(0, len(copies), _IDS_PER_STATEMENT):
        rows = into.episodes.filter(pk__in=copies[start : start + _IDS_PER_STATEMENT])
        other = (
            Skill.objects.for_tenant(into.tenant)
            .filter(state=SkillState.MERGED, merged_into=into, episodes__episode__in=rows.values("episode"))
            .exclude(pk=skill.pk)
            .first()
        )
        if other is not None:
            raise ConflictError(
                "Another skill was merged into the same one with some of the same evidence. Undo that first.",
                skill_id=skill.pk,
                other_id=other.pk,
            )
        taken += rows.delete()[0]
    Skill.objects.across_tenants().filter(pk=into.pk).update(evidence=F("evidence") - taken, changed_at=at)
