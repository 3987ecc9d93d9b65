"""A tenant's approved skills as the rules that its critic is told of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz, process, utils

from reviews.models import Skill
from reviews.models.skills import SkillState

#: The newest approved skills that are searched: comparing so many takes about five milliseconds.
SKILLS_SEARCHED: Final = 5_000
#: A rule less like the question than this (rapidfuzz's token_set_ratio, 0 to 100) says nothing about it.
LEAST_SCORE: Final = 50.0


@dataclass(frozen=True)
class ApprovedRules:
    """The rules of one tenant, as they stood when they were read; see ``rules_of``."""

    texts: tuple[str, ...]

    def find(self, query: str, limit: int) -> tuple[str, ...]:
        """The rules most like ``query``, the most alike first; none when there is nothing to ask for."""
        if not query.strip():
            return ()
        found = process.extract(
            query,
            self.texts,
            scorer=fuzz.token_set_ratio,
            processor=utils.default_process,
            limit=limit,
            score_cutoff=LEAST_SCORE,
        )
        return tuple(text for text, _, _ in found)


def rules_of(*, tenant_id: int) -> ApprovedRules:
    """The tenant's approved skills, the newest first. One query."""
    skills = (
        Skill.objects.for_tenant(tenant_id)
        .filter(state=SkillState.APPROVED)
        .order_by("-changed_at", "-id")
        .only("kind", "trigger", "action", "precondition")
    )
    return ApprovedRules(tuple(rule_text(skill) for skill in skills[:SKILLS_SEARCHED]))


def rule_text(skill: Skill) -> str:
    """A skill as one sentence."""
    before = skill.precondition if isinstance(skill.precondition, list) else [skill.precondition]
    first = ", then ".join(step for step in before if step)
    return f"{skill.kind}: when {skill.trigger}, {f'first {first}, then ' if first else ''}{skill.action}"
