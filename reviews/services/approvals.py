"""Who may approve a skill, and whether it takes another person.

Guardrails and preflights always take two people, the other kinds where the tenant's policy says so. The
second is neither the first approver nor a writer of the current text. An approval by a writer is never more
than a first one, whatever the kind: nobody approves alone what they wrote. Whoever was the last to change one
of its texts is a writer, also when somebody else has changed another one since. A first approval counts for
as long as who gave it is a member who may review.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from reviews.core.settings import TenantSettings
from reviews.models import Membership, Skill, SkillDecision, Tenant, User
from reviews.models.skills import SkillAction, SkillKind
from reviews.models.tenants import Role

TWO_PERSON_KINDS: Final = frozenset({SkillKind.GUARDRAIL.value, SkillKind.PREFLIGHT.value})

#: What a person writes of a skill. The label and steps that repeat the action follow by themselves.
_WRITTEN: Final = frozenset({"trigger", "action", "rationale", "precondition", "steps"})


class Approval(NamedTuple):
    """What an approval would do: ``completes`` it, or stands as the first of two. With a ``refusal``, in
    words, it may not be given."""

    completes: bool
    refusal: str = ""


def needs_two(skill: Skill, settings: TenantSettings) -> bool:
    """Whether two people have to approve the skill, whoever wrote it."""
    return skill.kind in TWO_PERSON_KINDS or settings.skills_need_second_person


def may_approve(skill: Skill, actor: User, settings: TenantSettings, approver_is_member: bool) -> str:
    """Why ``actor``, who may review, may not approve a draft; "" when they may."""
    return approval_by(skill, actor, settings, approver_is_member).refusal


def approval_by(skill: Skill, actor: User, settings: TenantSettings, approver_is_member: bool) -> Approval:
    """What an approval of a draft by ``actor`` does; ``approver_is_member``: see ``approver_counts``.

    One query when somebody else wrote last, else none.
    """
    first = skill.first_approver_id if approver_is_member else None
    wrote = skill.writer_id == actor.pk or actor.pk in writers_of(skill)
    alone = not wrote and not needs_two(skill, settings)
    if first is None or alone:
        return Approval(completes=alone)
    if first == actor.pk:
        return Approval(False, "You gave the first approval; somebody else has to give the second.")
    if wrote:
        return Approval(
            False, "You wrote this text or a part of it; the second approval has to be somebody else's."
        )
    return Approval(completes=True)


def writers_of(skill: Skill) -> set[int]:
    """Who wrote any of the current text. One query; none for a text that is as it came."""
    if skill.writer_id is None:
        return set()
    edits = (
        SkillDecision.objects.for_tenant(skill.tenant_id)
        .filter(skill=skill.pk, action=SkillAction.EDIT, undone_by__isnull=True)
        .order_by("version")
        .values_list("actor_id", "before")
    )
    writers = {name: actor for actor, before in edits for name in before or () if name in _WRITTEN}
    return {skill.writer_id, *writers.values()}


def approver_counts(*, tenant: Tenant, skill: Skill) -> bool:
    """Whether the skill has a first approval by somebody who may still review here. One query, or none."""
    first = skill.first_approver_id
    return first is not None and first in members_who_may(tenant=tenant, role=Role.REVIEWER, user_ids=[first])


def members_who_may(*, tenant: Tenant, role: Role, user_ids: Iterable[int]) -> set[int]:
    """Which of these people have ``role`` or more here. A closed account has none."""
    members = Membership.objects.for_tenant(tenant).filter(user_id__in=list(user_ids), user__is_active=True)
    return {member.user_id for member in members if member.may(role)}
