"""The inside of a decision about a skill: locks and checks before it, the rows that tell of it after.

Every decision holds its tenant's lock, for which changes of members, of the policy and of what skills rest on
wait. So nobody loses their role, and the rule of two people stays what it is, in the middle of a decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import F
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from reviews.models import Skill, SkillDecision, Tenant, User
from reviews.models.skills import RejectReason, SkillAction, SkillState
from reviews.models.tenants import Role
from reviews.services import audit
from reviews.services.approvals import members_who_may
from reviews.services.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from reviews.services.locking import lock_tenant

#: Columns whose values stand as text in ``SkillDecision.before``.
_TIMES: Final = frozenset({"first_approved_at", "decided_at"})
_NOT_SAVED: Final = "Your decision was not saved."


@dataclass(frozen=True)
class Done:
    """What a decision led to: the skill as it now stands, and the decision itself."""

    skill: Skill
    decision: SkillDecision


def begin(tenant: Tenant, actor: User, *, role: Role = Role.REVIEWER, at: datetime | None = None) -> datetime:
    """Lock the tenant's row and make sure that the actor has ``role`` now. Returns the decision's time.

    Raises:
        ForbiddenError: the actor may not do that here, or not any more.
    """
    lock_tenant(tenant.pk)
    if not members_who_may(tenant=tenant, role=role, user_ids=[actor.pk]):
        raise ForbiddenError(f"Only a {role.label.lower()} of this tenant may do that. {_NOT_SAVED}")
    return at or timezone.now()


def locked(tenant: Tenant, skill_ids: Iterable[int]) -> dict[int, Skill]:
    """These skills by id, with their rows locked. Raises NotFoundError when one is missing."""
    wanted = set(skill_ids)
    rows = Skill.objects.for_tenant(tenant).filter(pk__in=wanted).order_by("id")
    found = {skill.pk: skill for skill in rows.select_for_update(no_key=True)}
    if found.keys() != wanted:
        raise NotFoundError("There is no such skill.")
    for skill in found.values():
        skill.tenant = tenant
    return found


def expect(skill: Skill, *, seen_version: int, state: SkillState, to_do: str) -> None:
    """Make sure that the skill is as the actor saw it, and in the state that the decision is about.

    Raises ConflictError, with ``skill_id`` and, when it is known, who was quicker.
    """
    if skill.version != seen_version:
        raise stale(skill)
    if skill.state != state:
        now = SkillState(skill.state).label.lower()
        raise ConflictError(
            f"Only {_plural(state)} can be {to_do}; this one is {now}. {_NOT_SAVED}", skill_id=skill.pk
        )


def stale(skill: Skill) -> ConflictError:
    """Somebody was quicker: who, and what they did."""
    last = skill.decisions.select_related("actor", "undoes").order_by("-version").first()
    if last is None or last.version != skill.version:
        return ConflictError(f"This skill has changed since you opened it. {_NOT_SAVED}", skill_id=skill.pk)
    return ConflictError(
        f"{last.actor.display_name} {last.summary} while you were looking. {_NOT_SAVED}",
        skill_id=skill.pk,
        actor=last.actor.username,
    )


def advance(skill: Skill, at: datetime, **values: Any) -> dict[str, Any]:
    """Write ``values`` and the next version into a locked skill. Returns what they replaced (``before``)."""
    before = as_json({name: getattr(skill, name) for name in values})
    Skill.objects.across_tenants().filter(pk=skill.pk).update(
        version=F("version") + 1, changed_at=at, **values
    )
    skill.version += 1
    skill.changed_at = at
    for name, value in values.items():
        setattr(skill, name, value)
    return before


def record(
    skill: Skill,
    actor: User,
    action: SkillAction,
    *,
    at: datetime,
    before: Mapping[str, Any],
    reason: str = "",
    text: str = "",
    undoes: SkillDecision | None = None,
    data: Mapping[str, Any] | None = None,
) -> Done:
    """The decision's row and its audit event; ``data`` is what else the event says."""
    decision = SkillDecision(
        tenant_id=skill.tenant_id,
        skill=skill,
        actor=actor,
        action=action,
        reason=reason,
        text=text,
        before=before,
        version=skill.version,
        created_at=at,
        undoes=undoes,
    )
    decision.save(force_insert=True)
    told = {"kind": skill.kind, "state": skill.state, "version": skill.version, **(data or {})}
    if reason:
        told["reason"] = reason
    if text:
        told["text"] = text[:2000]
    audit.record_event(
        tenant=skill.tenant,
        actor=actor,
        action=f"skill.{action.value}",
        object_type="skill",
        object_id=skill.pk,
        data=told,
        at=at,
    )
    return Done(skill, decision)


def known_reason(reason: str) -> str:
    """One of ``RejectReason``. Raises InvalidError."""
    if reason not in RejectReason.values:
        raise InvalidError("Say why.", fields={"reason": f"Must be one of {', '.join(RejectReason.values)}."})
    return reason


def as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Column values in the form in which ``before`` keeps them."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()
    }


def from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """The column values that ``as_json`` wrote."""
    return {
        name: parse_datetime(value) if name in _TIMES and value else value for name, value in values.items()
    }


def _plural(state: SkillState) -> str:
    return "drafts" if state == SkillState.DRAFT else f"{state.label.lower()} skills"
