"""Skills that read like one or contradict it, side by side with it, and the rule that says so in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from reviews.core.skill_rules import Mention
from reviews.models import Skill
from reviews.services.skill_evidence import ConflictingSkill, SimilarSkill
from reviews.skill_forms import lines_of
from reviews.views.skill_words import KIND_NAMES, Tag, confidence_of, one_line, state_tag
from reviews.views.texts import visible

SAME = "Reads alike, with the same numbers and tools: nearly the same rule."


class Run(NamedTuple):
    """Some text; ``marked`` is what a rule speaks of."""

    text: str
    marked: bool = False


class Part(NamedTuple):
    """One part of a skill's text, of one or several lines."""

    name: str
    lines: list[list[Run]]


class Other(NamedTuple):
    """Another skill beside this one. ``score`` is empty for a conflict."""

    pk: int
    name: str
    url: str
    state: Tag
    words: str
    mine: list[Part]
    theirs: list[Part]
    score: str = ""
    is_conflict: bool = False


def similar_rows(skill: Skill, found: Iterable[SimilarSkill], base: str) -> list[Other]:
    """``base`` is the address before a skill's id."""
    return [
        _other(
            skill,
            each.skill,
            base,
            words=f"{each.differs[0].upper()}{each.differs[1:]}." if each.differs else SAME,
            score=f"{each.score:.0f} %",
        )
        for each in found
    ]


def conflict_rows(skill: Skill, found: Iterable[ConflictingSkill], base: str) -> list[Other]:
    """As ``similar_rows``; what each of the two says is marked."""
    return [
        _other(
            skill,
            each.skill,
            base,
            words=_rule(each),
            mine=each.mine,
            theirs=each.theirs,
            is_conflict=each.is_conflict,
        )
        for each in found
    ]


def _rule(conflict: ConflictingSkill) -> str:
    """The rule, with the tools that it is about."""
    tools = [visible(tool) for tool in conflict.tools]
    if conflict.rule == "opposite_order":
        first, then = tools
        return f"{conflict.words} This one: {first}, then {then}."
    if conflict.rule == "forbidden" and tools:
        return f"{conflict.words} It is about {', '.join(tools)}."
    return conflict.words


def _other(
    skill: Skill,
    other: Skill,
    base: str,
    *,
    words: str,
    mine: Mention | None = None,
    theirs: Mention | None = None,
    score: str = "",
    is_conflict: bool = False,
) -> Other:
    return Other(
        pk=other.pk,
        name=f"{confidence_of(other)} {KIND_NAMES[other.kind]}: {one_line(other.trigger)}",
        url=f"{base}{other.pk}/",
        state=state_tag(other),
        words=words,
        mine=_parts(skill, mine),
        theirs=_parts(other, theirs),
        score=score,
        is_conflict=is_conflict,
    )


def _parts(skill: Skill, mention: Mention | None) -> list[Part]:
    parts = [Part("When", [_runs("trigger", skill.trigger, mention)])]
    required = [
        _runs(f"precondition.{number}", text, mention)
        for number, text in enumerate(lines_of(skill.precondition))
    ]
    if required:
        parts.append(Part("Before", required))
    return [*parts, Part("Do", [_runs("action", skill.action, mention)])]


def _runs(field: str, text: str, mention: Mention | None) -> list[Run]:
    if mention is None or mention.field != field:
        return [Run(text)]
    start, end = mention.start, mention.end
    runs = [Run(text[:start]), Run(text[start:end], True), Run(text[end:])]
    return [run for run in runs if run.text]
