"""Whether a skill would have touched a turn of the past, and whether its order was kept there.

A skill touches a turn when

- a tool was called that its trigger or action names (of a guardrail, one that it forbids), or
- all words that its trigger is about stand in what the trigger speaks of: the user's message, and for a
  recovery the errors of the turn, for a guardrail the draft answer. Of a guardrail that forbids a phrase
  without a tool, it is the phrase's words. A word counts when one in the text begins with its stem. A single
  word is too common to count.

Its precondition held when, for each order it states, no call of the later tool came without a call of the
earlier one before it that did not fail. Turns in which no later tool was called say nothing about it, nor do
preconditions that name no tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from reviews.core.episodes import ToolUse
from reviews.core.skill_rules import skill_rules
from reviews.core.skill_text import SkillText, canonical_name, content_words, fold, stem

__all__ = ["PastTurn", "ReplayRule", "Touch", "replay_rule", "touches"]

# "refund" alone stands in half of a shop's messages.
_FEWEST_WORDS: Final = 2
# Longer names are not remembered: no tool has one, and they would fill the memory.
_NAME_CHARACTERS: Final = 100


class PastTurn(NamedTuple):
    """A turn's facts; the calls in the order they were made."""

    user_message: str
    draft: str
    calls: Sequence[ToolUse] = ()


class Touch(NamedTuple):
    """``tools`` are the canonical names of the skill's tools that were called, in order of the first call;
    ``words`` the trigger's words when they matched. ``precondition_held`` is None when it did not matter."""

    touched: bool
    why: tuple[Literal["tool", "words"], ...] = ()
    tools: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    precondition_held: bool | None = None


@dataclass(frozen=True)
class ReplayRule:
    """A skill, read once for many turns: tools, stems of the trigger's words, and (earlier, later) pairs."""

    kind: str
    tools: frozenset[str]
    words: tuple[str, ...]
    orders: tuple[tuple[str, str], ...]


def replay_rule(skill: SkillText, known_tools: frozenset[str] = frozenset()) -> ReplayRule:
    """``known_tools``: see ``canonical_names``."""
    rules = skill_rules(skill, known_tools)
    forbidden = frozenset(prohibition.what.name for prohibition in rules.forbids if not prohibition.words)
    phrases = [prohibition.words for prohibition in rules.forbids if prohibition.words]
    about = map(stem, content_words(rules.about))
    words = tuple(sorted(phrases[0])) if phrases else tuple(dict.fromkeys(about))
    return ReplayRule(
        kind=skill.kind,
        tools=forbidden if skill.kind == "guardrail" else rules.names,
        words=words if len(words) >= _FEWEST_WORDS else (),
        orders=tuple((order.first.name, order.then.name) for order in rules.orders),
    )


def touches(rule: ReplayRule, turn: PastTurn) -> Touch:
    """What the skill has to do with the turn. Linear in the turn's text and calls."""
    called = [_name(call.name) for call in turn.calls]
    tools = tuple(dict.fromkeys(name for name in called if name in rule.tools))
    words = rule.words if rule.words and _all_stand_in(rule.words, _spoken_of(rule.kind, turn)) else ()
    why: list[Literal["tool", "words"]] = []
    if tools:
        why.append("tool")
    if words:
        why.append("words")
    return Touch(bool(why), tuple(why), tools, words, _held(rule, called, turn.calls))


_remembered = lru_cache(maxsize=4096)(canonical_name)


def _name(name: str) -> str:
    return _remembered(name) if len(name) <= _NAME_CHARACTERS else canonical_name(name)


def _spoken_of(kind: str, turn: PastTurn) -> str:
    if kind == "recovery":
        return "\n".join([turn.user_message, *(call.error for call in turn.calls if call.error)])
    if kind == "guardrail":
        return f"{turn.user_message}\n{turn.draft}"
    return turn.user_message


def _all_stand_in(words: Sequence[str], text: str) -> bool:
    # A look without regard to where words begin sorts out nearly all turns, and costs a tenth.
    lowered = text.casefold()
    if lowered.isascii() and not all(word in lowered for word in words):
        return False
    folded = f" {fold(text)}"
    return all(f" {word}" in folded for word in words)


def _held(rule: ReplayRule, called: Sequence[str], calls: Sequence[ToolUse]) -> bool | None:
    laters = {later for _, later in rule.orders}
    succeeded: set[str] = set()
    mattered = False
    for name, call in zip(called, calls, strict=True):
        if name in laters:
            mattered = True
            if any(later == name and earlier not in succeeded for earlier, later in rule.orders):
                return False
        if call.error is None:
            succeeded.add(name)
    return True if mattered else None
