"""Where a draft and the skills that are already there contradict each other.

The rules, each symmetric:

- ``forbidden``: a guardrail forbids a tool that the other skill calls or requires, or the other skill says to
  do something with all the words of a forbidden phrase. Conditions lift a prohibition where the other skill
  calls all the tools they name before. Words such as "directly" lift nothing: a person has to judge them.
- ``opposite_order``: two preflights for the same trigger call the same two tools in opposite order. Triggers
  are the same when they read alike, or when one says nothing beyond the tools.
- ``different_recovery``: two recoveries from the same error do different things. Both may be right, so this
  is a difference, not a conflict.

Tools are recognised as ``split_words`` says, and negations and orders as ``roles`` says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from rapidfuzz import fuzz, process

from reviews.core.similar import SIMILAR_SCORE, Reading, difference, reading, text_score
from reviews.core.skill_rules import Mention, Order, Prohibition, SkillRules, skill_rules
from reviews.core.skill_text import SkillText

__all__ = ["Conflict", "ConflictIndex", "ConflictRule"]

ConflictRule = Literal["forbidden", "opposite_order", "different_recovery"]

# As SimilarIndex does: half of a score is at most 100, the other half must make up the rest.
_HALF_SCORE: Final = 2 * SIMILAR_SCORE - 100


class Conflict(NamedTuple):
    """``mine`` is where the skill asked about says it, ``theirs`` where the skill ``skill_id`` does.

    ``tools`` are the canonical names of those it is about, none when only words tell.
    """

    rule: ConflictRule
    skill_id: str
    mine: Mention
    theirs: Mention
    tools: tuple[str, ...] = ()

    @property
    def strength(self) -> Literal["conflict", "differs"]:
        return "differs" if self.rule == "different_recovery" else "conflict"


class _Recovery(NamedTuple):
    rules: SkillRules
    error: Reading
    steps: Reading
    tools: frozenset[str]


class ConflictIndex:
    """All skills of a tenant, ready to be held against a draft; ``known_tools``: see ``canonical_names``.

    ``earlier`` is an index of mostly the same skills: what it has read is not read again, the slow part.
    """

    def __init__(
        self,
        skills: Iterable[SkillText],
        *,
        known_tools: frozenset[str] = frozenset(),
        earlier: ConflictIndex | None = None,
    ) -> None:
        self._known = known_tools
        read: dict[SkillText, SkillRules] = {}
        if earlier is not None and earlier._known == known_tools:
            read = {rules.skill: rules for rules in earlier._rules}
        self._rules: list[SkillRules] = [
            read.get(skill) or skill_rules(skill, known_tools) for skill in skills
        ]
        self._doing: dict[str, list[tuple[SkillRules, Mention]]] = defaultdict(list)
        self._forbidding: dict[str, list[tuple[SkillRules, Prohibition]]] = defaultdict(list)
        self._phrases: list[tuple[SkillRules, Prohibition]] = []
        self._orders: dict[tuple[str, str], list[tuple[SkillRules, Order]]] = defaultdict(list)
        self._recoveries: list[_Recovery] = []
        for rules in self._rules:
            self._add(rules)
        self._errors = [recovery.error.words for recovery in self._recoveries]

    def _add(self, rules: SkillRules) -> None:
        for mention in rules.does:
            self._doing[mention.name].append((rules, mention))
        for prohibition in rules.forbids:
            if prohibition.words:
                self._phrases.append((rules, prohibition))
            else:
                self._forbidding[prohibition.what.name].append((rules, prohibition))
        if rules.skill.kind == "preflight":
            for order in rules.orders:
                self._orders[order.first.name, order.then.name].append((rules, order))
        if rules.skill.kind == "recovery":
            self._recoveries.append(_recovery(rules))

    def find(self, skill: SkillText, *, limit: int = 50) -> list[Conflict]:
        """One conflict for each rule and skill, in the order of the rules above and of the index.

        A skill with the same id is left out.
        """
        mine = skill_rules(skill, self._known)
        found: dict[tuple[ConflictRule, str], Conflict] = {}
        for conflict in self._all(mine):
            if len(found) >= limit:
                break
            if conflict.skill_id != skill.id:
                found.setdefault((conflict.rule, conflict.skill_id), conflict)
        return list(found.values())

    def _all(self, mine: SkillRules) -> Iterator[Conflict]:
        yield from self._forbidden_by_me(mine)
        yield from self._forbidden_by_them(mine)
        if mine.skill.kind == "preflight":
            yield from self._opposite(mine)
        if mine.skill.kind == "recovery":
            yield from self._other_recoveries(mine)

    def _forbidden_by_me(self, mine: SkillRules) -> Iterator[Conflict]:
        for prohibition in mine.forbids:
            what = prohibition.what
            if prohibition.words:
                for theirs in self._rules:
                    if prohibition.words <= theirs.words:
                        yield Conflict("forbidden", theirs.skill.id, what, _whole_action(theirs))
            for theirs, mention in self._doing.get(what.name, ()):
                if not _lifted(prohibition, theirs):
                    yield Conflict("forbidden", theirs.skill.id, what, mention, (what.name,))

    def _forbidden_by_them(self, mine: SkillRules) -> Iterator[Conflict]:
        for mention in mine.does:
            for theirs, prohibition in self._forbidding.get(mention.name, ()):
                if not _lifted(prohibition, mine):
                    yield Conflict("forbidden", theirs.skill.id, mention, prohibition.what, (mention.name,))
        for theirs, prohibition in self._phrases:
            if prohibition.words <= mine.words:
                yield Conflict("forbidden", theirs.skill.id, _whole_action(mine), prohibition.what)

    def _opposite(self, mine: SkillRules) -> Iterator[Conflict]:
        for order in mine.orders:
            tools = (order.first.name, order.then.name)
            for theirs, other in self._orders.get((order.then.name, order.first.name), ()):
                if _same_about(mine.about, theirs.about):
                    yield Conflict("opposite_order", theirs.skill.id, order.first, other.first, tools)

    def _other_recoveries(self, skill: SkillRules) -> Iterator[Conflict]:
        mine = _recovery(skill)
        rows = process.extract(
            mine.error.words,
            self._errors,
            scorer=fuzz.ratio,
            processor=None,
            score_cutoff=_HALF_SCORE,
            limit=None,
        )
        for at in sorted(at for _, _, at in rows):
            theirs = self._recoveries[at]
            if _alike(mine.error, theirs.error) and _do_differently(mine, theirs):
                yield Conflict(
                    "different_recovery",
                    theirs.rules.skill.id,
                    _whole_action(skill),
                    _whole_action(theirs.rules),
                    tuple(sorted(mine.tools | theirs.tools)),
                )


def _whole_action(rules: SkillRules) -> Mention:
    return Mention("action", 0, len(rules.skill.action), "")


def _lifted(prohibition: Prohibition, doing: SkillRules) -> bool:
    """Whether ``doing`` first calls all tools that lift the prohibition; if none do, nothing lifts it."""
    before = {order.first.name for order in doing.orders if order.then.name == prohibition.what.name}
    return bool(prohibition.lifted_by) and prohibition.lifted_by <= before


def _alike(one: Reading, other: Reading) -> bool:
    # The cheap tests first: there may be thousands to compare.
    if one.numbers != other.numbers or one.negations != other.negations:
        return False
    return text_score(one.words, other.words) >= SIMILAR_SCORE and difference(one, other) is None


def _same_about(one: str, other: str) -> bool:
    return not one or not other or _alike(reading(one), reading(other))


def _recovery(rules: SkillRules) -> _Recovery:
    skill = rules.skill
    return _Recovery(
        rules,
        reading(skill.trigger),
        reading(" ".join([*skill.precondition, skill.action])),
        frozenset(mention.name for mention in rules.does),
    )


def _do_differently(one: _Recovery, other: _Recovery) -> bool:
    if one.tools and other.tools and one.tools != other.tools:
        return True
    return not _alike(one.steps, other.steps)
