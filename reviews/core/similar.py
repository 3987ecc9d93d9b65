"""Which skill a draft nearly repeats.

Two skills of one kind are similar when both what sets them off and what they do read alike: the same words in
any order and spelling, few of them missing on one side. Similar skills are near-duplicates unless they differ
in a number, in a negation, in the tools they name, or each has a word that the other has no form of: "refund
over 50" and "refund over 500" read alike and are two rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Final, Literal, NamedTuple

from rapidfuzz import fuzz, process

from reviews.core.skill_rules import skill_rules
from reviews.core.skill_text import SkillText, content_words, fold

__all__ = [
    "SIMILAR_SCORE",
    "Difference",
    "Reading",
    "Similar",
    "SimilarIndex",
    "difference",
    "reading",
    "text_score",
]

#: From here on two texts read alike. Of the pairs in the tests the 28 reworded ones score 85 and more, the 31
#: different ones that no ``Difference`` tells apart 81 and less; this lies between.
SIMILAR_SCORE: Final = 83.0

Difference = Literal["numbers", "negation", "tools", "words"]

_NEGATIONS: Final = frozenset({"not", "no", "never", "without", "cannot", "avoid", "unless", "t"})
# Where a text is cut before it is compared: a trigger is one line, and a hostile one must not take long.
_COMPARED_CHARACTERS: Final = 500
# A page shows five; so many skills that read alike are seldom all different rules.
_LOOKED_AT: Final = 50
# Shorter words are seldom what a rule is about.
_TELLING_CHARACTERS: Final = 4
# Two words are forms of one when they share this part of the shorter one: issue and issuing 0.8, deliver and
# delivery 1; transfer and transport 0.63, refund and return 0.33.
_ROOT_PART: Final = 0.7


class Reading(NamedTuple):
    """A text as it is compared. ``words`` are its words that carry meaning, sorted and joined by spaces."""

    words: str
    numbers: frozenset[str]
    negations: frozenset[str]


class Similar(NamedTuple):
    """A skill that reads like the one asked about, ``score`` 0..100. ``differs``: why it is another rule."""

    skill_id: str
    score: float
    differs: Difference | None

    @property
    def duplicate(self) -> bool:
        return self.differs is None


def reading(text: str) -> Reading:
    """Of the text's first ``_COMPARED_CHARACTERS`` characters."""
    text = text[:_COMPARED_CHARACTERS]
    words = fold(text).split()
    return Reading(
        " ".join(sorted(content_words(text))),
        frozenset(word for word in words if any(map(str.isdigit, word))),
        _NEGATIONS.intersection(words),
    )


def text_score(one: str, other: str) -> float:
    """0..100, of two ``Reading.words``: the mean of how alike they are as they stand, and without the words
    that only one of them has. The first alone punishes every added word, the second none."""
    return float(fuzz.ratio(one, other) + fuzz.token_set_ratio(one, other)) / 2


def difference(one: Reading, other: Reading) -> Difference | None:
    """Why two texts that read alike are not the same."""
    if one.numbers != other.numbers:
        return "numbers"
    if one.negations != other.negations:
        return "negation"
    if _unmatched(one.words, other.words) and _unmatched(other.words, one.words):
        return "words"
    return None


def _unmatched(one: str, other: str) -> bool:
    """Whether a telling word of ``one`` has no form in ``other``."""
    others = other.split()
    known = set(others)
    return any(
        len(word) >= _TELLING_CHARACTERS
        and word not in known
        and not any(_same_root(word, candidate) for candidate in others)
        for word in set(one.split())
    )


def _same_root(one: str, other: str) -> bool:
    needed = ceil(_ROOT_PART * min(len(one), len(other)))
    return one[:needed] == other[:needed]


class _Entry(NamedTuple):
    skill: SkillText
    trigger: Reading
    steps: Reading


class SimilarIndex:
    """All skills of a tenant, ready to be compared with a draft; ``known_tools``: see ``canonical_names``."""

    def __init__(self, skills: Iterable[SkillText], *, known_tools: frozenset[str] = frozenset()) -> None:
        self._known = known_tools
        self._entries: dict[str, list[_Entry]] = {}
        for skill in skills:
            self._entries.setdefault(skill.kind, []).append(_entry(skill))
        self._triggers = {
            kind: [entry.trigger.words for entry in entries] for kind, entries in self._entries.items()
        }

    def nearest(self, skill: SkillText, *, limit: int = 5, at_least: float = SIMILAR_SCORE) -> list[Similar]:
        """Skills of the same kind that score ``at_least``: near-duplicates first, then by score.

        A skill with the same id is left out. Equals come in the order in which the index got them. Only the
        ``_LOOKED_AT`` highest scores are looked at for differences.
        """
        asked = _entry(skill)
        scored = [
            (score, entry)
            for entry in self._candidates(asked, at_least)
            if entry.skill.id != skill.id and (score := _score(asked, entry)) >= at_least
        ]
        scored.sort(key=lambda pair: -pair[0])
        looked_at = scored[: max(limit, _LOOKED_AT)]
        tools = _tools(skill, self._known) if looked_at else frozenset()
        found = [
            Similar(entry.skill.id, round(score, 1), self._differs(asked, tools, entry))
            for score, entry in looked_at
        ]
        found.sort(key=lambda similar: not similar.duplicate)
        return found[:limit]

    def _candidates(self, asked: _Entry, at_least: float) -> list[_Entry]:
        """The skills that may score ``at_least``, in order.

        One half of a score is at most 100, so the other half must make up the rest; it is looked up first,
        because rapidfuzz does that for all skills without returning to Python.
        """
        cutoff = max(0.0, 2 * at_least - 100)
        entries = self._entries.get(asked.skill.kind, [])
        rows = process.extract(
            asked.trigger.words,
            self._triggers.get(asked.skill.kind, []),
            scorer=fuzz.ratio,
            processor=None,
            score_cutoff=cutoff,
            limit=None,
        )
        steps = {at: entries[at].steps.words for _, _, at in rows}
        rows = process.extract(
            asked.steps.words, steps, scorer=fuzz.ratio, processor=None, score_cutoff=cutoff, limit=None
        )
        return [entries[at] for at in sorted(at for _, _, at in rows)]

    def _differs(self, asked: _Entry, tools: frozenset[str], entry: _Entry) -> Difference | None:
        others = _tools(entry.skill, self._known)
        if tools and others and tools != others:
            return "tools"
        return difference(asked.trigger, entry.trigger) or difference(asked.steps, entry.steps)


def _entry(skill: SkillText) -> _Entry:
    return _Entry(skill, reading(skill.trigger), reading(" ".join([*skill.precondition, skill.action])))


def _tools(skill: SkillText, known: frozenset[str]) -> frozenset[str]:
    rules = skill_rules(skill, known)
    return rules.names | {mention.name for mention in rules.does}


def _score(one: _Entry, other: _Entry) -> float:
    """The lower of the two: a skill is as similar as what it shares least."""
    return min(
        text_score(one.trigger.words, other.trigger.words), text_score(one.steps.words, other.steps.words)
    )
