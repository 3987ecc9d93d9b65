"""Taking drafts in: a new one becomes a skill to review, a near-duplicate becomes evidence of the one there.

That holds whatever became of the skill that is there: what a person rejected does not come back as a new
draft. Only when its evidence has doubled since is it a draft again, and says so (``Skill.came_back``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from reviews.core.drafts import ProceduralDraft, draft_to_json
from reviews.core.extraction import Extracted
from reviews.core.skill_text import SkillText
from reviews.formats.errors import RecordError
from reviews.formats.skill_draft import (
    EPISODE_CHARS,
    EPISODES,
    LABEL_CHARS,
    SOURCE_CHARS,
    TEXT_CHARS,
    read_draft,
)
from reviews.models import Skill, SkillEvidence, SkillRevision, Tenant, Turn
from reviews.models.skills import SkillOrigin, SkillState
from reviews.services import audit
from reviews.services.errors import InvalidError
from reviews.services.locking import lock_tenant
from reviews.services.skill_contents import content_of
from reviews.services.skill_index import KnownSkills, keep_known_skills, known_skills, skill_text, text_of

#: Drafts a transaction: whoever waits for the tenant's lock never waits long.
DRAFTS_AT_ONCE: Final = 50
#: A rejected skill is a draft again when its evidence has grown by this factor since.
COMES_BACK_FACTOR: Final = 2

Status = Literal["new", "folded", "came_back", "unchanged"]

# What a text column cannot hold: NUL, and halves of surrogate pairs.
_UNSTORABLE: Final = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


@dataclass(frozen=True)
class NewDraft:
    """A draft on its way in.

    ``details`` is what its sender says beside it. ``runtime_id`` is its id in the tenant's agent runtime.
    ``episodes`` are episodes that it rests on beside those that it names.
    """

    extracted: Extracted
    details: Mapping[str, Any] = field(default_factory=dict)
    runtime_id: str = ""
    episodes: Sequence[str] = ()


class Taken(NamedTuple):
    """What became of a draft: the skill that it is now, or whose evidence it is.

    ``similarity`` is 0 to 100, None for a new skill. ``added`` counts the episodes that were new.
    """

    skill: Skill
    status: Status
    similarity: float | None = None
    added: int = 0


def take_draft(
    *,
    tenant: Tenant,
    extracted: Extracted | Mapping[str, Any],
    origin: SkillOrigin,
    runtime_id: str = "",
    episodes: Sequence[str] = (),
    at: datetime | None = None,
) -> Taken:
    """Take one draft in; a mapping is a ``ProceduralDraft`` or a ``MemoryEntry`` as JSON values.

    Raises:
        InvalidError: the mapping is neither; ``details['fields']`` names the spot.
    """
    if isinstance(extracted, Extracted):
        draft = NewDraft(extracted, {}, runtime_id, episodes)
    else:
        try:
            received = read_draft(_clean(dict(extracted)))
        except RecordError as error:
            raise InvalidError(
                "This is no draft of a skill.", fields={error.pointer: error.message}
            ) from error
        draft = NewDraft(received.extracted, received.details, runtime_id, episodes)
    return take_drafts(tenant=tenant, drafts=[draft], origin=origin, at=at)[0]


def take_drafts(
    *, tenant: Tenant, drafts: Sequence[NewDraft], origin: SkillOrigin, at: datetime | None = None
) -> list[Taken]:
    """Take drafts in, in order; one answer each. A few are one transaction, which is safe to repeat.

    The same draft with the same episodes again changes nothing. Of the same drafts taken at the same moment
    by several processes, one becomes a skill.
    """
    at = at or timezone.now()
    taken: list[Taken] = []
    for first in range(0, len(drafts), DRAFTS_AT_ONCE):
        with transaction.atomic():
            lock_tenant(tenant.pk)
            taken += _take_some(tenant, drafts[first : first + DRAFTS_AT_ONCE], origin, at)
    return taken


# -- Inside a transaction that holds the tenant's lock


def _take_some(tenant: Tenant, drafts: Sequence[NewDraft], origin: SkillOrigin, at: datetime) -> list[Taken]:
    known = known_skills(tenant)
    episodes = [_episodes(draft) for draft in drafts]
    turns = dict(
        Turn.objects.for_tenant(tenant)
        .filter(external_id__in={episode for some in episodes for episode in some})
        .values_list("external_id", "id")
    )
    taken = []
    for draft, named in zip(drafts, episodes, strict=True):
        found = _target(tenant, draft, known)
        if found is None:
            skill = _created(tenant, draft, origin, at)
            rows = _evidence(skill, named, turns, at)
            known = known.with_skill(skill_text(skill))
            taken.append(Taken(skill, "new", None, len(rows)))
        else:
            taken.append(_folded(found, draft, named, turns, at))
    if any(each.status in ("new", "came_back") for each in taken):
        keep_known_skills(tenant, known)
    return taken


def _target(tenant: Tenant, draft: NewDraft, known: KnownSkills) -> tuple[Skill, float] | None:
    """The skill that the draft is, or nearly repeats, with how similar it is."""
    skills = Skill.objects.for_tenant(tenant)
    same = skills.filter(runtime_id=draft.runtime_id).first() if draft.runtime_id else None
    if same is not None:
        return _end_of_merges(same), 100.0
    similar = known.duplicate_of(_text(draft))
    if similar is None:
        return None
    return _end_of_merges(skills.get(pk=int(similar.skill_id))), similar.score


def _end_of_merges(skill: Skill) -> Skill:
    seen = {skill.pk}
    while skill.merged_into is not None and skill.merged_into_id not in seen:
        skill = skill.merged_into
        seen.add(skill.pk)
    return skill


def _created(tenant: Tenant, draft: NewDraft, origin: SkillOrigin, at: datetime) -> Skill:
    extracted, rule = draft.extracted, draft.extracted.draft
    skill = Skill(
        tenant=tenant,
        kind=rule.kind,
        trigger=_short(rule.trigger),
        action=_short(rule.action),
        rationale=_short(rule.rationale),
        precondition=_precondition(rule),
        steps=[_short(step) for step in extracted.steps] or None,
        confidence=min(1.0, max(0.0, rule.confidence)),
        label=_short(extracted.label, LABEL_CHARS),
        source=_short(extracted.source, SOURCE_CHARS),
        origin=origin,
        details=_details(draft),
        created_at=at,
        changed_at=at,
        runtime_id=draft.runtime_id,
    )
    skill.save(force_insert=True)
    SkillRevision(tenant=tenant, skill=skill, number=0, content=content_of(skill), created_at=at).save(
        force_insert=True
    )
    return skill


def _folded(
    target: tuple[Skill, float],
    draft: NewDraft,
    episodes: Sequence[str],
    turns: Mapping[str, int],
    at: datetime,
) -> Taken:
    skill, similarity = target
    _link(skill, draft)
    there = skill.episodes.filter(episode__in=episodes).values_list("episode", flat=True)
    added = sorted(set(episodes).difference(there), key=episodes.index)
    if not added:
        return Taken(skill, "unchanged", similarity)
    _evidence(skill, added, turns, at, draft=draft, similarity=similarity)
    if skill.state == SkillState.REJECTED and skill.evidence >= COMES_BACK_FACTOR * max(
        1, skill.evidence_then
    ):
        _come_back(skill, at)
        return Taken(skill, "came_back", similarity, len(added))
    return Taken(skill, "folded", similarity, len(added))


def _link(skill: Skill, draft: NewDraft) -> None:
    """A runtime's own copy of a draft that is here gets the decision, too, if it says the very same.

    A reworded one does not: nobody has looked at its text. Nor does one that was merged into this skill: the
    copy belongs to what was merged, and has been told so.
    """
    if not draft.runtime_id or skill.runtime_id or skill.state != SkillState.DRAFT:
        return
    if skill_text(skill)[1:] != _text(draft)[1:]:
        return
    skills = Skill.objects.for_tenant(skill.tenant_id)
    if not skills.filter(runtime_id=draft.runtime_id).exists():
        skill.runtime_id = draft.runtime_id
        skill.save(update_fields=["runtime_id"])


def _come_back(skill: Skill, at: datetime) -> None:
    """From rejected to draft, as a decision would: whoever has the page open sees an older version."""
    skill.state, skill.came_back = SkillState.DRAFT, True
    skill.decided_by = skill.decided_at = skill.first_approver = skill.first_approved_at = None
    skill.version += 1
    skill.changed_at = at
    skill.save(
        update_fields=[
            *("state", "came_back", "decided_by", "decided_at", "first_approver", "first_approved_at"),
            *("version", "changed_at"),
        ]
    )
    audit.record_event(
        tenant=skill.tenant,
        actor=None,
        action="skill.came_back",
        object_type="skill",
        object_id=skill.pk,
        data={"evidence": skill.evidence, "evidence_then": skill.evidence_then},
        at=at,
    )


def _evidence(
    skill: Skill,
    episodes: Sequence[str],
    turns: Mapping[str, int],
    at: datetime,
    *,
    draft: NewDraft | None = None,
    similarity: float | None = None,
) -> list[SkillEvidence]:
    """Add episodes that the skill does not have yet; the first one carries the draft that brought them."""
    rows = [
        SkillEvidence(
            tenant_id=skill.tenant_id,
            skill=skill,
            episode=episode,
            turn_id=turns.get(episode),
            draft=_brought(draft) if draft is not None and number == 0 else None,
            similarity=similarity,
            created_at=at,
        )
        for number, episode in enumerate(episodes)
    ]
    SkillEvidence.objects.across_tenants().bulk_create(rows)
    Skill.objects.for_tenant(skill.tenant_id).filter(pk=skill.pk).update(evidence=F("evidence") + len(rows))
    skill.evidence += len(rows)
    return rows


# -- From a draft to columns


def _episodes(draft: NewDraft) -> list[str]:
    """The distinct episodes that a draft rests on; one that names none is a report by itself."""
    named = [_episode(name) for name in [*draft.extracted.draft.source_episode_ids, *draft.episodes] if name]
    if not named:
        name = draft.runtime_id or sha256(repr(_text(draft)).encode(errors="replace")).hexdigest()[:32]
        named = [_episode(f"draft:{name}")]
    return list(dict.fromkeys(named))[:EPISODES]


def _episode(name: str) -> str:
    name = _clean(name)
    if len(name) <= EPISODE_CHARS:
        return name
    # Never one of our own turns, whose ids are shorter; told apart by a digest.
    digest = sha256(name.encode()).hexdigest()[:16]
    return f"{name[: EPISODE_CHARS - 17]}…{digest}"


def _text(draft: NewDraft) -> SkillText:
    rule = draft.extracted.draft
    return text_of("", rule.kind, _short(rule.trigger), _short(rule.action), _precondition(rule))


def _precondition(rule: ProceduralDraft) -> str | list[str] | None:
    if isinstance(rule.precondition, list):
        return [_short(step) for step in rule.precondition] or None
    return _short(rule.precondition) if rule.precondition else None


def _details(draft: NewDraft) -> dict[str, Any] | None:
    extracted = draft.extracted
    own = {
        "pattern_count": extracted.pattern_count,
        "pattern_name": extracted.pattern_name,
        "unknown_episode_ids": list(extracted.unknown_episode_ids)[:EPISODES],
        "context": extracted.context if extracted.context != extracted.draft.rationale else None,
    }
    return _clean({**draft.details, **{name: value for name, value in own.items() if value}}) or None


def _brought(draft: NewDraft) -> dict[str, Any]:
    extracted = draft.extracted
    named = {"label": extracted.label, "source": extracted.source, "runtime_id": draft.runtime_id}
    shown = {**draft_to_json(extracted.draft), **named}
    # The episodes are the rows themselves.
    del shown["source_episode_ids"]
    return {name: _short(value) if isinstance(value, str) else _clean(value) for name, value in shown.items()}


def _short(text: str, most: int = TEXT_CHARS) -> str:
    text = _clean(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _clean(value: Any) -> Any:
    """The same JSON value in text that both databases can hold."""
    if isinstance(value, str):
        return value.translate(_UNSTORABLE)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
