"""What the agent runtime is told of a decision about a skill that it knows.

The runtime has drafts, approved and rejected skills and no others: a merged or retired one is rejected there.
"""

from __future__ import annotations

from typing import Any, Final

from reviews.models import Skill
from reviews.models.runtimes import DeliveryAction
from reviews.models.skills import SkillAction
from reviews.services import deliveries
from reviews.services.skill_contents import patch_of

_WITHDRAWN: Final[dict[str, Any]] = {"active": False, "properties": {"status": "rejected"}}
_DRAFT_AGAIN: Final[dict[str, Any]] = {"active": False, "properties": {"status": "draft"}}


def tell(skill: Skill, action: str) -> None:
    """Put the messages about a decision that has taken effect into the outbox."""
    if action == SkillAction.APPROVE:
        # Also when the edit was undone: what was sent of it with an earlier approval is still there.
        if skill.decisions.filter(action=SkillAction.EDIT).exists():
            deliveries.enqueue(skill=skill, action=DeliveryAction.PATCH, body=patch_of(skill))
        deliveries.enqueue(skill=skill, action=DeliveryAction.APPROVE)
    elif action in (SkillAction.REJECT, SkillAction.MERGE):
        deliveries.enqueue(skill=skill, action=DeliveryAction.REJECT)
    elif action == SkillAction.RETIRE:
        deliveries.enqueue(skill=skill, action=DeliveryAction.PATCH, body=_WITHDRAWN)


def tell_undone(skill: Skill, action: str) -> None:
    """Put the message that takes such a decision back into the outbox."""
    if action in (SkillAction.APPROVE, SkillAction.REJECT, SkillAction.MERGE):
        deliveries.enqueue(skill=skill, action=DeliveryAction.PATCH, body=_DRAFT_AGAIN)
    elif action == SkillAction.RETIRE:
        deliveries.enqueue(skill=skill, action=DeliveryAction.APPROVE)
