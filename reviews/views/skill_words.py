"""Skills, what was decided about them and what a run of learning brought, in words ready to print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from reviews.core.drafts import MODEL_SOURCE, PATTERN_SOURCE
from reviews.core.settings import TenantSettings
from reviews.models import Delivery, Membership, Skill, SkillDecision, SkillRevision
from reviews.models.runtimes import DeliveryAction, DeliveryState
from reviews.models.skills import RejectReason, SkillAction, SkillKind, SkillOrigin, SkillState
from reviews.models.tenants import Role
from reviews.services.approvals import needs_two
from reviews.skill_forms import lines_of
from reviews.views.texts import visible
from reviews.views.word_diff import Run, word_diff

#: In the order in which they are listed: what may stop an agent comes first.
KIND_NAMES = {
    kind.value: str(kind.label)
    for kind in (SkillKind.GUARDRAIL, SkillKind.PREFLIGHT, SkillKind.RECOVERY, SkillKind.ACTION)
}
#: What the parts of a skill's text are called on the page, in their order there.
PART_NAMES = {
    "trigger": "When",
    "precondition": "Before",
    "action": "Do",
    "rationale": "Why",
    "steps": "Steps",
}
#: A trigger and an action in a row are cut here; the row ends sooner on any screen.
ROW_LENGTH = 300

#: What extractors say beside a draft.
DETAIL_NAMES = {
    "pattern_count": "Seen",
    "pattern_name": "Pattern",
    "unknown_episode_ids": "Sources it made up",
    "context": "Context",
}
DETAIL_LENGTH = 500
SOURCES = {MODEL_SOURCE: "written by a model", PATTERN_SOURCE: "a counted pattern"}


class Tag(NamedTuple):
    """A word, and the colour beside it."""

    word: str
    css: str = ""


class SkillRow(NamedTuple):
    """A skill as the list shows it."""

    pk: int
    url: str
    confidence: str
    low: bool
    kind: str
    trigger: str
    action: str
    evidence: str
    waits: Tag
    came_back: bool


def skill_row(
    skill: Skill, *, base: str, query: str, names: Mapping[int, str], settings: TenantSettings
) -> SkillRow:
    """``base`` is the address before the skill's id; ``names`` maps a person's id to their name."""
    return SkillRow(
        pk=skill.pk,
        url=f"{base}{skill.pk}/" + (f"?{query}" if query else ""),
        confidence=confidence_of(skill),
        low=is_low(skill, settings),
        kind=KIND_NAMES[skill.kind],
        trigger=one_line(skill.trigger),
        action=one_line(skill.action),
        evidence=counted(skill.evidence, "turn"),
        waits=waits_for(skill, names, settings),
        came_back=skill.came_back,
    )


def confidence_of(skill: Skill) -> str:
    """ ".86"; "1.00" keeps its digit."""
    return f"{skill.confidence:.2f}".removeprefix("0")


def is_low(skill: Skill, settings: TenantSettings) -> bool:
    return skill.confidence < settings.skill_confidence_threshold


def one_line(text: str) -> str:
    """The start of a text for a row: white space folded, what cannot be seen spelled out."""
    cut = " ".join(text[: 2 * ROW_LENGTH].split())
    return visible(
        cut[: ROW_LENGTH - 1] + "…" if len(cut) > ROW_LENGTH or len(text) > 2 * ROW_LENGTH else cut
    )


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def waits_for(skill: Skill, names: Mapping[int, str], settings: TenantSettings) -> Tag:
    """What has to happen next, or how it ended."""
    if skill.state == SkillState.DRAFT:
        if skill.first_approver_id:
            first_name, *_ = names.get(skill.first_approver_id, "").split() or ["somebody"]
            return Tag(f"{one_line(first_name)[:16]} approved, needs another", "warn")
        return Tag("needs two people") if needs_two(skill, settings) else Tag("")
    return state_tag(skill)


def state_tag(skill: Skill) -> Tag:
    css = {SkillState.APPROVED: "good", SkillState.REJECTED: "bad", SkillState.DRAFT: "accent"}
    return Tag(str(SkillState(skill.state).label), css.get(SkillState(skill.state), ""))


def details_of(skill: Skill) -> list[tuple[str, str]]:
    """What else its source said of it, by name: counts, names and ids, each as one text."""
    found = []
    for name, value in (skill.details or {}).items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        if text:
            found.append((DETAIL_NAMES.get(name, name.replace("_", " ").capitalize()), text[:DETAIL_LENGTH]))
    return found


def origin_of(skill: Skill) -> str:
    return str(SkillOrigin(skill.origin).label)


def source_of(skill: Skill) -> str:
    """What wrote the draft: one of symfonic's two extractors in words, anything else by its name."""
    return SOURCES.get(skill.source, visible(skill.source))


# -- The parts of a skill


class Part(NamedTuple):
    """One part of a skill's text: a single text, or several in order."""

    name: str
    texts: list[str]
    ordered: bool = False


def parts_of(skill: Skill) -> list[Part]:
    """When, Before, Do, Why; without a precondition there is no Before."""
    required = lines_of(skill.precondition)
    parts = [Part("When", [skill.trigger])]
    if required:
        parts.append(Part("Before", required, ordered=len(required) > 1))
    return [*parts, Part("Do", [skill.action]), Part("Why", [skill.rationale])]


# -- History


class Change(NamedTuple):
    """What became of one part of a text by an edit."""

    part: str
    runs: list[Run]


class Edit(NamedTuple):
    """A revision against the one before it."""

    number: int
    name: str
    at: datetime
    changes: list[Change]


def edits_of(revisions: Sequence[SkillRevision]) -> list[Edit]:
    """What each edit changed; ``revisions`` newest first, with their authors, without gaps."""
    return [
        Edit(
            revision.number,
            revision.author.display_name if revision.author else "a machine",
            revision.created_at,
            changes_of(before.content, revision.content),
        )
        for revision, before in pairwise(revisions)
    ]


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The parts that differ between two contents of a skill, each with its diff.

    Steps that only repeat the action say nothing of their own.
    """
    changes = []
    for field, name in PART_NAMES.items():
        if field == "steps" and _repeats(before) and _repeats(after):
            continue
        old, new = (_as_text(content.get(field)) for content in (before, after))
        if old != new:
            changes.append(Change(name, word_diff(old, new)))
    return changes


def _repeats(content: Mapping[str, Any]) -> bool:
    return content.get("steps") in (None, [content.get("action")])


def _as_text(value: Any) -> str:
    return "\n".join(lines_of(value)) if isinstance(value, list) else str(value or "")


class HistoryEntry(NamedTuple):
    """Something that was done about a skill. ``undo`` is its id where the reader may undo it, else 0."""

    name: str
    what: str
    at: datetime
    reason: str
    text: str
    undone: bool
    undo: int


def history_of(decisions: Sequence[SkillDecision], membership: Membership) -> list[HistoryEntry]:
    """Entries in the order of ``decisions``, which come with their actors; what they undo is among them."""
    by_id = {decision.pk: decision for decision in decisions}
    undone = {decision.undoes_id for decision in decisions}
    entries = []
    for decision in decisions:
        if decision.undoes_id in by_id:
            decision.undoes = by_id[decision.undoes_id]
        mine = decision.actor_id == membership.user_id and membership.may(Role.REVIEWER)
        may_undo = decision.action != SkillAction.UNDO and (mine or membership.may(Role.MANAGER))
        entries.append(
            HistoryEntry(
                name=decision.actor.display_name,
                what=decision.summary,
                at=decision.created_at,
                reason=str(RejectReason(decision.reason).label) if decision.reason else "",
                text=decision.text,
                undone=decision.pk in undone,
                undo=decision.pk if may_undo and decision.pk not in undone else 0,
            )
        )
    return entries


# -- Deliveries


def delivery_tag(delivery: Delivery) -> Tag:
    css = {DeliveryState.DELIVERED: "good", DeliveryState.DEAD: "bad", DeliveryState.WAITING: "warn"}
    return Tag(str(DeliveryState(delivery.state).label), css.get(DeliveryState(delivery.state), ""))


def delivery_name(delivery: Delivery) -> str:
    return str(DeliveryAction(delivery.action).label)


def people_of(*groups: Iterable[int | None]) -> set[int]:
    return {pk for group in groups for pk in group if pk is not None}
