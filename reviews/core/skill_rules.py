"""What a skill has an agent do, in which order, and what it forbids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice, pairwise, product
from typing import Final, NamedTuple

from reviews.core.skill_clauses import Role, roles
from reviews.core.skill_text import SkillText, Word, stem

__all__ = ["Mention", "Order", "Prohibition", "SkillRules", "skill_rules"]

_ORDERED: Final[tuple[Role, Role]] = ("before", "after")
# Of each field; a skill is a few lines, and what stands behind so many is there to hold us up.
_READ_CHARACTERS: Final = 10_000
# Tools of one skill that are compared; a text with more is a list, and its pairs would be too many.
_MOST_TOOLS: Final = 20
# "never share it" forbids nothing that could be found again: a verb and its object are needed.
_PHRASE_WORDS: Final = 2


class Mention(NamedTuple):
    """Where a skill says something: ``start`` up to ``end`` of its ``field``.

    ``field`` is trigger, action, or precondition.0 and so on. ``name`` is a tool's canonical name, or the
    words of a phrase that names no tool.
    """

    field: str
    start: int
    end: int
    name: str


class Order(NamedTuple):
    """``first`` is to be called before ``then``."""

    first: Mention
    then: Mention


class Prohibition(NamedTuple):
    """``what`` is forbidden: a tool, or all of ``words`` (stems) when it names none.

    Tools in ``lifted_by`` (canonical names) lift it when all of them are called before.
    """

    what: Mention
    words: frozenset[str]
    lifted_by: frozenset[str]


class SkillRules(NamedTuple):
    """What is known of a skill's text.

    ``does``: the tools it has the agent call, its preconditions' among them. ``names``: all tools of its
    trigger and action. ``words``: the stems of what it says to do. ``about``: the words of its trigger that
    neither name a tool nor an order; empty when it applies whenever the tool is about to be called.
    """

    skill: SkillText
    does: tuple[Mention, ...]
    names: frozenset[str]
    words: frozenset[str]
    forbids: tuple[Prohibition, ...]
    orders: tuple[Order, ...]
    about: str


class _Said(NamedTuple):
    role: Role
    word: Word
    field: str

    @property
    def mention(self) -> Mention:
        return Mention(self.field, self.word.start, self.word.end, self.word.name)


def skill_rules(skill: SkillText, known: frozenset[str] = frozenset()) -> SkillRules:
    """``known`` are the tenant's tools, from ``canonical_names``.

    Orders: what is required comes before the action's tools, and required steps in their order; what is to be
    done comes before what stands behind "before", and after what stands behind "after" unless that is the
    error a recovery follows. Only a guardrail forbids.
    """
    trigger, action = _said("trigger", skill.trigger, known), _said("action", skill.action, known)
    required = _tools(
        said
        for number, text in enumerate(skill.precondition)
        for said in _said(f"precondition.{number}", text, known)
    )
    # A trigger tells what to do only when it holds the whole rule: "before refund, call get_order".
    whole = any(said.role in {"before", "after", "forbidden"} for said in trigger)
    told = [*trigger, *action] if whole else action
    done = _tools(told)
    befores, afters = (_operations(role, trigger) + _operations(role, action) for role in _ORDERED)
    operations = {*befores, *afters}
    orders = [
        *product(done, _mentions(befores)),
        *(product(_mentions(afters), done) if skill.kind != "recovery" else ()),
        *product(required, _tools(action)),
        *pairwise(required),
    ]
    return SkillRules(
        skill=skill,
        does=tuple({mention.name: mention for mention in [*done, *required]}.values()),
        names=frozenset(said.word.name for said in [*trigger, *action] if said.word.is_tool),
        words=frozenset(
            stem(part) for said in told if said.role == "do" for part in said.word.name.split("_")
        ),
        forbids=(*_prohibitions(trigger), *_prohibitions(action)) if skill.kind == "guardrail" else (),
        orders=tuple(dict.fromkeys(Order(*pair) for pair in orders if pair[0].name != pair[1].name)),
        about=" ".join(
            said.word.name for said in trigger if not said.word.is_tool and said not in operations
        ),
    )


def _said(field: str, text: str, known: frozenset[str]) -> list[_Said]:
    return [_Said(role, word, field) for role, word in roles(text[:_READ_CHARACTERS], known)]


def _stems(saids: Iterable[_Said]) -> frozenset[str]:
    """A tool's name counts as its words."""
    return frozenset(stem(part) for said in saids for part in said.word.name.split("_"))


def _mentions(saids: Iterable[_Said]) -> list[Mention]:
    """One mention for each name, the first; at most ``_MOST_TOOLS``."""
    found: dict[str, Mention] = {}
    for said in saids:
        found.setdefault(said.word.name, said.mention)
    return list(islice(found.values(), _MOST_TOOLS))


def _tools(saids: Iterable[_Said]) -> list[Mention]:
    return _mentions(said for said in saids if said.word.is_tool and said.role == "do")


def _operations(role: Role, saids: Iterable[_Said]) -> list[_Said]:
    """The tools said in ``role``; in a phrase without any, its word if it has just one."""
    found: list[_Said] = []
    for spoken, group in groupby(saids, key=lambda said: said.role):
        phrase = list(group)
        if spoken == role:
            tools = [said for said in phrase if said.word.is_tool]
            found += tools or (phrase if len(phrase) == 1 else [])
    return found


def _prohibitions(saids: Sequence[_Said]) -> list[Prohibition]:
    lifted_by = frozenset(said.word.name for said in saids if said.role == "lifting" and said.word.is_tool)
    found: list[Prohibition] = []
    for role, group in groupby(saids, key=lambda said: said.role):
        phrase = list(group)
        if role != "forbidden":
            continue
        tools = [said for said in phrase if said.word.is_tool]
        if tools:
            found += [Prohibition(mention, frozenset(), lifted_by) for mention in _mentions(tools)]
        elif len(phrase) >= _PHRASE_WORDS:
            name = " ".join(said.word.name for said in phrase)
            what = Mention(phrase[0].field, phrase[0].word.start, phrase[-1].word.end, name)
            found.append(Prohibition(what, _stems(phrase), lifted_by))
    return found
