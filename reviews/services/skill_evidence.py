"""What a draft's page shows beside its text: where it comes from, what is like it, what it would have done.

Every list is bounded, and so is the number of queries, whatever the skill rests on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from reviews.core.conflicts import Conflict, ConflictRule
from reviews.core.similar import Difference, Similar
from reviews.core.skill_rules import Mention
from reviews.models import (
    Delivery,
    Job,
    Skill,
    SkillDecision,
    SkillEvidence,
    SkillReplay,
    SkillRevision,
    Tenant,
    Turn,
    TurnPayload,
)
from reviews.services.errors import NotFoundError
from reviews.services.evidence import CallView, call_views
from reviews.services.replaying import latest_replay
from reviews.services.skill_index import conflict_index, known_skills, skill_text

#: Source episodes shown at first, the first ones; a person reads a few and believes the rest or does not.
SOURCES_SHOWN: Final = 10
#: And when all are asked for.
SOURCES_MOST: Final = 100
SIMILAR_SHOWN: Final = 5
CONFLICTS_SHOWN: Final = 10
ROWS_SHOWN: Final = 50

CONFLICT_WORDS: Final[dict[ConflictRule, str]] = {
    "forbidden": "One forbids what the other has the agent do.",
    "opposite_order": "Both apply to the same, and call the same tools in the opposite order.",
    "different_recovery": "Both recover from the same error, in different ways. Both may be right.",
}
DIFFERENCE_WORDS: Final[dict[Difference, str]] = {
    "numbers": "reads alike, but names other numbers",
    "negation": "reads alike, but says the opposite",
    "tools": "reads alike, but names other tools",
    "words": "reads alike, but each has a word that the other lacks",
}


@dataclass(frozen=True)
class Source:
    """An episode that the skill rests on; ``turn`` is None when it is none of ours, or is gone.

    ``folded`` is the draft that brought it as JSON values, on the first episode of one that was folded in.
    """

    episode: str
    turn: Turn | None
    user_message: str
    draft: str
    calls: list[CallView]
    failed: bool
    folded: dict[str, Any] | None
    similarity: float | None
    at: datetime


class SimilarSkill(NamedTuple):
    """``score`` 0 to 100; ``differs``: in words why it is another rule, "" for a near-duplicate."""

    skill: Skill
    score: float
    differs: str


class ConflictingSkill(NamedTuple):
    """``words`` tell the rule; ``mine`` and ``theirs`` are where the two skills say it."""

    skill: Skill
    rule: ConflictRule
    words: str
    is_conflict: bool
    mine: Mention
    theirs: Mention
    tools: tuple[str, ...]


class Replay(NamedTuple):
    """The latest replay: its job, whether it was about an earlier text, and the newest turns it touched."""

    job: Job
    is_stale: bool
    rows: list[SkillReplay]


@dataclass(frozen=True)
class SkillPage:
    """``episodes`` counts all sources, of which ``sources`` are the first. Histories come newest first."""

    skill: Skill
    revisions: list[SkillRevision]
    sources: list[Source]
    episodes: int
    similar: list[SimilarSkill]
    conflicts: list[ConflictingSkill]
    replay: Replay | None
    decisions: list[SkillDecision]
    deliveries: list[Delivery]


def page_of(*, tenant: Tenant, skill_id: int, all_sources: bool = False) -> SkillPage:
    """Everything about one skill, in some fifteen queries. Raises NotFoundError."""
    skill = skill_of(tenant=tenant, skill_id=skill_id)
    similar = known_skills(tenant).nearest(skill_text(skill), limit=SIMILAR_SHOWN)
    conflicts = conflict_index(tenant).find(skill_text(skill), limit=CONFLICTS_SHOWN)
    named = {int(each.skill_id) for each in similar} | {int(each.skill_id) for each in conflicts}
    others = {str(pk): other for pk, other in Skill.objects.for_tenant(tenant).in_bulk(named).items()}
    return SkillPage(
        skill=skill,
        revisions=list(skill.revisions.select_related("author").order_by("-number")[:ROWS_SHOWN]),
        sources=sources_of(tenant=tenant, skill=skill, limit=SOURCES_MOST if all_sources else SOURCES_SHOWN),
        episodes=skill.evidence,
        similar=_similar(similar, others),
        conflicts=_conflicting(conflicts, others),
        replay=replay_of(tenant=tenant, skill=skill),
        decisions=list(skill.decisions.select_related("actor", "undone_by").order_by("-id")[:ROWS_SHOWN]),
        deliveries=list(skill.deliveries.order_by("-id")[:ROWS_SHOWN]),
    )


def skill_of(*, tenant: Tenant, skill_id: int) -> Skill:
    """One skill with the people it names. Raises NotFoundError."""
    people = ("writer", "first_approver", "decided_by", "merged_into")
    found = Skill.objects.for_tenant(tenant).select_related(*people).filter(pk=skill_id).first()
    if found is None:
        raise NotFoundError(f"There is no skill {skill_id} here.")
    return found


def sources_of(*, tenant: Tenant, skill: Skill, limit: int) -> list[Source]:
    """The first episodes of a skill with their turns, in the order in which they came.

    A turn that was stored after the draft had come is found, too.
    """
    rows = list(skill.episodes.order_by("id")[:limit])
    late = [row.episode for row in rows if row.turn_id is None]
    turns = {
        turn.pk: turn
        for turn in Turn.objects.for_tenant(tenant).filter(
            id__in=[row.turn_id for row in rows if row.turn_id is not None]
        )
    }
    by_name = {
        turn.external_id: turn for turn in Turn.objects.for_tenant(tenant).filter(external_id__in=late)
    }
    found = [turns.get(row.turn_id or 0) or by_name.get(row.episode) for row in rows]
    payloads = (
        TurnPayload.objects.for_tenant(tenant)
        .only("turn_id", "user_message", "draft", "tool_calls")
        .in_bulk([turn.pk for turn in found if turn is not None])
    )
    return [
        _source(row, turn, payloads.get(turn.pk) if turn else None)
        for row, turn in zip(rows, found, strict=True)
    ]


def replay_of(*, tenant: Tenant, skill: Skill, rows: int = ROWS_SHOWN) -> Replay | None:
    """The latest replay of a skill, with the newest turns it touched."""
    job = latest_replay(tenant=tenant, skill_id=skill.pk)
    if job is None:
        return None
    version = (job.result or {}).get("version", skill.version)
    return Replay(job, version != skill.version, replayed_turns(tenant=tenant, skill_id=skill.pk, limit=rows))


def replayed_turns(
    *, tenant: Tenant, skill_id: int, limit: int, failed: bool = False, fabricated: bool = False
) -> list[SkillReplay]:
    """The newest turns that the latest replay touched; only the failed or the fabricated ones on request."""
    rows = SkillReplay.objects.for_tenant(tenant).filter(skill=skill_id).select_related("turn")
    if failed:
        rows = rows.filter(failed=True)
    if fabricated:
        rows = rows.filter(fabricated=True)
    return list(rows.order_by("-turn__occurred_at", "-turn_id")[:limit])


def _source(row: SkillEvidence, turn: Turn | None, payload: TurnPayload | None) -> Source:
    calls = call_views(payload.tool_calls) if payload else []
    return Source(
        episode=row.episode,
        turn=turn,
        user_message=payload.user_message if payload else "",
        draft=payload.draft if payload else "",
        calls=calls,
        failed=any(call.ok is False for call in calls),
        folded=row.draft,
        similarity=row.similarity,
        at=row.created_at,
    )


def _similar(found: Iterable[Similar], others: dict[str, Skill]) -> list[SimilarSkill]:
    return [
        SimilarSkill(
            others[each.skill_id], each.score, DIFFERENCE_WORDS[each.differs] if each.differs else ""
        )
        for each in found
        if each.skill_id in others
    ]


def _conflicting(found: Sequence[Conflict], others: dict[str, Skill]) -> list[ConflictingSkill]:
    return [
        ConflictingSkill(
            skill=others[each.skill_id],
            rule=each.rule,
            words=CONFLICT_WORDS[each.rule],
            is_conflict=each.strength == "conflict",
            mine=each.mine,
            theirs=each.theirs,
            tools=each.tools,
        )
        for each in found
        if each.skill_id in others
    ]
