"""Loading a demo tenant's skills: drafts and decisions, all through the usual services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from reviews.core.drafts import MODEL_SOURCE, ProceduralDraft, draft_label
from reviews.core.extraction import Extracted
from reviews.core.pattern_extractor import PatternExtractor
from reviews.demo import DemoDecision, DemoSkill, DemoTurn
from reviews.models import Skill, Tenant, User
from reviews.models.skills import SkillOrigin
from reviews.services import skills
from reviews.services.drafts import NewDraft, take_drafts
from reviews.services.extraction import MAX_TURNS, episodes_of

#: Turns that a draft rests on, and those that a later draft, which says the same, brings.
EPISODES: Final = 6
LATER_EPISODES: Final = 4
#: From the first run to the second, to the first decision, and from one decision to the next.
SECOND_RUN: Final = timedelta(hours=1)
FIRST_DECISION: Final = timedelta(hours=2)
BETWEEN: Final = timedelta(seconds=70)


def load_skills(
    *,
    tenant: Tenant,
    wanted: Sequence[DemoSkill],
    turns: Sequence[DemoTurn],
    people: Mapping[str, User],
    at: datetime,
) -> int:
    """What two runs at ``at`` and an hour later find, and what people decide then; returns the decisions."""
    episodes = _episodes(turns, before=at)
    shown = [[name for key in skill.scenarios for name in episodes.get(key, ())] for skill in wanted]
    drafts = [
        _draft(skill, skill.trigger, skill.action, names[:EPISODES])
        for skill, names in zip(wanted, shown, strict=True)
    ]
    taken = take_drafts(tenant=tenant, drafts=drafts, origin=SkillOrigin.RUN, at=at)
    again = [
        _draft(skill, *skill.reworded, names[EPISODES : EPISODES + LATER_EPISODES])
        for skill, names in zip(wanted, shown, strict=True)
        if skill.reworded
    ]
    later = [*again, *_patterns(tenant, at)]
    take_drafts(tenant=tenant, drafts=later, origin=SkillOrigin.RUN, at=at + SECOND_RUN)
    ids = {skill.trigger: each.skill.pk for skill, each in zip(wanted, taken, strict=True)}
    made = [(ids[skill.trigger], decision) for skill in wanted for decision in skill.decisions]
    for number, (skill_id, decision) in enumerate(made):
        actor = people[decision.username]
        moment = at + FIRST_DECISION + number * BETWEEN
        _decide(tenant, actor, skill_id, decision, at=moment, into_id=ids.get(decision.into, 0))
    return len(made)


def _episodes(turns: Sequence[DemoTurn], *, before: datetime) -> dict[str, list[str]]:
    """The turns of each scenario that had occurred by then."""
    found: dict[str, list[str]] = {}
    for turn in turns:
        at = turn.record.occurred_at
        if at is not None and at < before:
            found.setdefault(turn.record.attributes["scenario"], []).append(turn.record.external_id)
    return found


def _draft(skill: DemoSkill, trigger: str, action: str, episodes: Sequence[str]) -> NewDraft:
    draft = ProceduralDraft(
        kind=skill.kind,
        trigger=trigger,
        action=action,
        rationale=skill.rationale,
        confidence=skill.confidence,
        precondition=skill.precondition,
        source_episode_ids=list(episodes),
    )
    return NewDraft(Extracted(draft, MODEL_SOURCE, draft_label(draft), (action,), skill.rationale))


def _patterns(tenant: Tenant, at: datetime) -> list[NewDraft]:
    """What repetition alone finds: drafts without confidence, which wait apart."""
    extractor = PatternExtractor(clock=lambda: at)
    episodes = episodes_of(tenant=tenant, limit=MAX_TURNS, with_values=False)
    found = extractor.run([each for each in episodes if each.occurred_at and each.occurred_at < at])
    return [NewDraft(extracted) for extracted in found.drafts]


def _decide(
    tenant: Tenant, actor: User, skill_id: int, decision: DemoDecision, *, at: datetime, into_id: int
) -> None:
    version = Skill.objects.for_tenant(tenant).values_list("version", flat=True).get(pk=skill_id)
    common: dict[str, Any] = {
        "tenant": tenant,
        "actor": actor,
        "skill_id": skill_id,
        "seen_version": version,
        "at": at,
    }
    match decision.action:
        case "approve":
            skills.approve_skill(**common)
        case "edit":
            skills.edit_skill(**common, content=decision.content)
        case "reject":
            skills.reject_skill(**common, reason=decision.reason, text=decision.text)
        case "merge":
            skills.merge_skill(**common, into_id=into_id)
        case "retire":
            skills.retire_skill(**common, text=decision.text)
