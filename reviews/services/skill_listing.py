"""Approved skills for whoever runs agents by them: in the order of change, as symfonic's memory entries.

A skill that was approved and is so no longer (retired, or its approval was undone) is listed, too, for a
reader that asks for what has changed since a moment: without its text, so that it is put away there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from reviews.core.drafts import PATTERN_SOURCE, ProceduralDraft, ProceduralKind
from reviews.core.extraction import Extracted
from reviews.models import Skill, SkillDecision, SkillEvidence, Tenant
from reviews.models.skills import SkillAction, SkillState

#: Source episodes told of a skill: those of the draft as it came, the first ones.
EPISODES_TOLD: Final = 100
#: Skills read at once for a whole export.
SKILLS_AT_ONCE: Final = 500


class Place(NamedTuple):
    """Where a page ends, in the order of (changed_at, id)."""

    changed_at: datetime
    id: int


class SkillPage(NamedTuple):
    """``skills`` as JSON values, and where the next page starts; None when this was the last."""

    skills: list[dict[str, Any]]
    end: Place | None


class _Scope(NamedTuple):
    tenant_id: str


def skill_page(*, tenant: Tenant, since: datetime | None, after: Place | None, limit: int) -> SkillPage:
    """Up to ``limit`` skills that changed at ``since`` or later, oldest change first; two queries."""
    rows = _wanted(tenant, since)
    if after is not None:
        rows = rows.filter(
            Q(changed_at__gt=after.changed_at) | Q(changed_at=after.changed_at, id__gt=after.id)
        )
    found = list(rows[: limit + 1])
    shown = found[:limit]
    end = Place(shown[-1].changed_at, shown[-1].pk) if len(found) > limit else None
    return SkillPage(_listed(tenant, shown), end)


def approved_entries(*, tenant: Tenant) -> Iterator[dict[str, Any]]:
    """All approved skills as memory entries, oldest change first, a few at a time."""
    after = None
    while True:
        page = skill_page(tenant=tenant, since=None, after=after, limit=SKILLS_AT_ONCE)
        yield from (row["entry"] for row in page.skills)
        if page.end is None:
            return
        after = page.end


def memory_entry(skill: Skill, *, tenant_slug: str, episodes: Collection[str]) -> dict[str, Any]:
    """A skill as symfonic's ``MemoryEntry``: what its source wrote, and the fields as people have left them.

    A pattern's entry has what symfonic's own has, and the fields of a model's besides.
    """
    details: Mapping[str, Any] = skill.details or {}
    draft = ProceduralDraft(
        kind=cast(ProceduralKind, skill.kind),
        trigger=skill.trigger,
        action=skill.action,
        rationale=skill.rationale,
        confidence=skill.confidence,
        precondition=skill.precondition,
        source_episode_ids=list(episodes),
    )
    steps = tuple(skill.steps or [skill.action])
    written = Extracted(
        draft=draft,
        source=skill.source,
        label=skill.label,
        steps=steps,
        context=details.get("context", skill.rationale),
        pattern_count=details.get("pattern_count"),
        pattern_name=details.get("pattern_name"),
    )
    entry = written.to_memory_entry(_Scope(tenant_slug)).to_json()
    own = {
        "label": skill.label,
        "steps": list(steps),
        "context": written.context,
        "source": skill.source,
        "kind": skill.kind,
        "trigger": skill.trigger,
        "rationale": skill.rationale,
        "confidence": skill.confidence,
        **({"precondition": skill.precondition} if skill.precondition else {}),
        **({"source_episode_ids": list(episodes)} if skill.source != PATTERN_SOURCE else {}),
    }
    other = {name: value for name, value in details.items() if name not in ("content", "importance")}
    entry["metadata"] = {**other, **entry["metadata"], **own}
    entry["importance"] = details.get("importance", entry["importance"])
    return entry


def _wanted(tenant: Tenant, since: datetime | None) -> QuerySet[Skill]:
    skills = Skill.objects.for_tenant(tenant).order_by("changed_at", "id")
    if since is None:
        return skills.filter(state=SkillState.APPROVED)
    # A first approval of two changes no state: nobody was told of the skill.
    approvals = (
        SkillDecision.objects.across_tenants()
        .filter(skill=OuterRef("pk"), action=SkillAction.APPROVE)
        .annotate(changed=Cast("before", TextField()))
        .filter(changed__contains='"state"')
    )
    known_there = Q(state=SkillState.APPROVED) | Exists(approvals)
    return skills.filter(known_there, changed_at__gte=since)


def _listed(tenant: Tenant, skills: list[Skill]) -> list[dict[str, Any]]:
    episodes = _episodes(tenant, [skill.pk for skill in skills if skill.state == SkillState.APPROVED])
    return [
        {
            "id": skill.pk,
            "state": skill.state,
            "version": skill.version,
            "changed_at": skill.changed_at,
            "runtime_id": skill.runtime_id or None,
            "entry": memory_entry(skill, tenant_slug=tenant.slug, episodes=episodes.get(skill.pk, ()))
            if skill.state == SkillState.APPROVED
            else None,
        }
        for skill in skills
    ]


def _episodes(tenant: Tenant, skill_ids: list[int]) -> dict[int, list[str]]:
    """The episodes that came with each skill itself, not with later drafts that were folded in."""
    found: dict[int, list[str]] = {}
    rows = SkillEvidence.objects.for_tenant(tenant).filter(skill__in=skill_ids, similarity__isnull=True)
    for skill_id, episode in rows.order_by("skill_id", "id").values_list("skill_id", "episode"):
        mine = found.setdefault(skill_id, [])
        # What a draft that names no episodes is counted by is none.
        if len(mine) < EPISODES_TOLD and not episode.startswith("draft:"):
            mine.append(episode)
    return found
