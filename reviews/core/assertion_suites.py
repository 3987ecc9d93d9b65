"""Suites: which memory assertions are made of which turns.

A suite is part of a tenant's settings, so it is versioned with the policy. Its JSON form:

    {"name": "privacy", "agents": ["support"], "tags": [], "sampling": 1.0, "queue": true,
     "assertions": [{"type": "prompt_recall_excludes", "label": "no card numbers", "fragments": ["4111"]}]}

``type`` is the name of an assertion in ``reviews.core.memory_assertions``; beside it stand the arguments of
its constructor. What an assertion looks for may be secret, so representations leave it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from reviews.core import setting_checks as check
from reviews.core.memory_assertions import (
    AssertionVerdict,
    MemoryAssertion,
    MemoryCategorySeparated,
    PromptRecallContains,
    PromptRecallExcludes,
    ResponseDoesNotContradictRecall,
)

__all__ = [
    "ASSERTION_TYPES",
    "MAX_ASSERTIONS",
    "MAX_SUITES",
    "AssertionSpec",
    "AssertionSuite",
    "SuiteVerdict",
    "read_suite",
    "read_suites",
    "tags_of",
]

MAX_SUITES: Final = 20
MAX_ASSERTIONS: Final = 20
MAX_FRAGMENTS: Final = 50
MAX_FRAGMENT_LENGTH: Final = 500
MAX_NAME_LENGTH: Final = 60

#: The attribute that lists a turn's tags.
TAGS_ATTRIBUTE: Final = "tags"


@dataclass(frozen=True, repr=False)
class AssertionSpec:
    """One assertion of a suite. ``options`` are its constructor's arguments, ``label`` is for people."""

    type: str
    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"AssertionSpec({self.type!r}, {self.label!r})"

    @cached_property
    def assertion(self) -> MemoryAssertion:
        """Raises ``ValueError`` as the constructor does."""
        return _MAKERS[self.type](self.options)

    def to_json(self) -> dict[str, Any]:
        label = {"label": self.label} if self.label else {}
        return {"type": self.type, **label, **self.options}


@dataclass(frozen=True)
class SuiteVerdict:
    """What one assertion of a suite found of a turn. ``position`` counts from 0 within the suite."""

    suite: str
    position: int
    label: str
    verdict: AssertionVerdict
    queue: bool


@dataclass(frozen=True)
class AssertionSuite:
    """Assertions, and the turns they are made of.

    Attributes:
        name: Unique within a tenant.
        agents: Agents whose turns are looked at; all when empty.
        tags: Of these, a turn needs one (``tags_of``); none are needed when empty.
        sampling: 0 to 1, the share of those turns that is looked at.
        queue: Whether a turn that fails is put before reviewers.
    """

    name: str
    agents: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sampling: float = 1.0
    queue: bool = False
    assertions: tuple[AssertionSpec, ...] = ()

    def applies(self, *, agent: str, attributes: Mapping[str, Any]) -> bool:
        """Whether the suite is about such a turn. Sampling is the caller's."""
        if self.agents and agent not in self.agents:
            return False
        return not self.tags or not tags_of(attributes).isdisjoint(self.tags)

    def labels(self) -> list[str]:
        """What the assertions are called, in order: each differs from the others."""
        found: list[str] = []
        for spec in self.assertions:
            label = spec.label or spec.assertion.name
            tries = (label if n == 1 else f"{label} {n}" for n in range(1, MAX_ASSERTIONS + 2))
            found.append(next(each for each in tries if each not in found))
        return found

    def evaluate(self, attributes: Mapping[str, Any]) -> list[SuiteVerdict]:
        """One verdict an assertion, in order; what ``attributes`` holds is in none of them."""
        return [
            SuiteVerdict(self.name, n, label, spec.assertion.evaluate(attributes), self.queue)
            for n, (spec, label) in enumerate(zip(self.assertions, self.labels(), strict=True))
        ]

    def to_json(self) -> dict[str, Any]:
        """A JSON object that ``read_suite`` reads back to an equal suite."""
        return {
            "name": self.name,
            "agents": list(self.agents),
            "tags": list(self.tags),
            "sampling": self.sampling,
            "queue": self.queue,
            "assertions": [spec.to_json() for spec in self.assertions],
        }


def tags_of(attributes: Mapping[str, Any]) -> frozenset[str]:
    """The texts in the attribute ``tags``, a list or a single text."""
    tags = attributes.get(TAGS_ATTRIBUTE)
    listed = [tags] if isinstance(tags, str) else tags if isinstance(tags, list | tuple) else []
    return frozenset(tag for tag in listed if isinstance(tag, str))


# -- Reading


def read_suite(value: Any, path: str, problems: check.Problems) -> AssertionSuite:
    """A suite from its JSON form; what is wrong is noted in ``problems`` under its path."""
    nothing = AssertionSuite("")
    if not isinstance(value, Mapping):
        problems[path] = "Must be an object with a name and assertions."
        return nothing
    before = len(problems)
    _refuse_unknown(value, _SUITE_CHECKS, path, problems, "A suite")
    for name in ("name", "assertions"):
        if name not in value:
            problems[f"{path}/{name}"] = f"A suite needs {name}."
    found = {
        name: read(value[name], f"{path}/{name}", problems)
        for name, read in _SUITE_CHECKS.items()
        if name in value
    }
    return AssertionSuite(**found) if len(problems) == before else nothing


def read_suites(value: Any, path: str, problems: check.Problems) -> tuple[AssertionSuite, ...]:
    """The check of the setting: suites with different names."""
    if not isinstance(value, list | tuple):
        problems[path] = "Must be a list of suites."
        return ()
    if len(value) > MAX_SUITES:
        problems[path] = f"At most {MAX_SUITES} suites, not {len(value)}."
        return ()
    before = len(problems)
    suites = [read_suite(each, f"{path}/{n}", problems) for n, each in enumerate(value)]
    if len(problems) == before:
        seen: set[str] = set()
        for n, suite in enumerate(suites):
            if suite.name in seen:
                problems[f"{path}/{n}/name"] = f"There are two suites called {check.shown(suite.name)}."
            seen.add(suite.name)
    return tuple(suites) if len(problems) == before else ()


def _specs(value: Any, path: str, problems: check.Problems) -> tuple[AssertionSpec, ...]:
    if not isinstance(value, list | tuple):
        problems[path] = "Must be a list of assertions."
        return ()
    if not 0 < len(value) <= MAX_ASSERTIONS:
        problems[path] = f"A suite has 1 to {MAX_ASSERTIONS} assertions, not {len(value)}."
        return ()
    return tuple(_spec(each, f"{path}/{n}", problems) for n, each in enumerate(value))


def _spec(value: Any, path: str, problems: check.Problems) -> AssertionSpec:
    nothing = AssertionSpec("")
    if not isinstance(value, Mapping):
        problems[path] = "Must be an object with a type and what it looks for."
        return nothing
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in ASSERTION_TYPES:
        problems[f"{path}/type"] = f"Must be one of {', '.join(ASSERTION_TYPES)}, not {check.shown(kind)}."
        return nothing
    before = len(problems)
    options = ASSERTION_TYPES[kind]
    _refuse_unknown(value, {"type": None, "label": None, **options}, path, problems, f"An assertion {kind}")
    given = value.get("label")
    label = "" if given is None or given == "" else _name(given, f"{path}/label", problems)
    found = {
        name: read(value[name], f"{path}/{name}", problems) for name, read in options.items() if name in value
    }
    if len(problems) > before:
        return nothing
    spec = AssertionSpec(kind, label, found)
    try:
        spec.assertion  # noqa: B018  # constructed to hear what it refuses
    except ValueError as error:
        problems[path] = f"{error}."
    return spec


def _refuse_unknown(
    value: Mapping[Any, Any], known: Mapping[str, Any], path: str, problems: check.Problems, what: str
) -> None:
    for name in value.keys() - known.keys():
        problems[f"{path}/{name}"] = f"{what} has no such field."


def _fragment(value: Any, path: str, problems: check.Problems) -> str:
    # Not quoted in messages: what must not leak is not repeated. One line, since forms have one a line.
    if not isinstance(value, str) or not 0 < len(value.strip()) <= MAX_FRAGMENT_LENGTH:
        problems[path] = f"Must be a text of 1 to {MAX_FRAGMENT_LENGTH} characters."
        return ""
    if any("\ud800" <= char <= "\udfff" or char in "\0\r\n" for char in value.strip()):
        problems[path] = "Holds a line break, or a character that cannot be stored."
        return ""
    return value.strip()


def _category(value: Any, path: str, problems: check.Problems) -> str:
    if isinstance(value, str) and ": " in value.strip():
        # Where forms end a category.
        problems[path] = f"{check.shown(value)} holds a colon with a space behind it."
        return ""
    found: str = _category_text(value, path, problems)
    return found


_name = check.text(MAX_NAME_LENGTH, what="a name")
_attribute = check.text(check.MAX_WORD_LENGTH, what="an attribute's name")
_subject = check.text(check.MAX_WORD_LENGTH, what="a subject")
_category_text = check.text(check.MAX_WORD_LENGTH, what="a category")

_FRAGMENTS: Final[dict[str, check.Check]] = {
    "fragments": check.list_of(_fragment, what="fragments", most=MAX_FRAGMENTS),
    "attribute": _attribute,
    "case_sensitive": check.flag,
}
#: The types of assertion, each with the arguments of its constructor and their checks.
ASSERTION_TYPES: Final[dict[str, dict[str, check.Check]]] = {
    "memory_category_separated": {
        "expected": check.map_of(_category, _subject, what="a category to its subject"),
        "attribute": _attribute,
        "minimum_per_category": check.whole(1, 1_000),
        "allow_extra": check.flag,
    },
    "prompt_recall_contains": _FRAGMENTS,
    "prompt_recall_excludes": _FRAGMENTS,
    "response_does_not_contradict_recall": {
        "recall_attribute": _attribute,
        "response_attribute": _attribute,
        "minimum": check.whole(1, 1_000),
    },
}


def _with_fragments(made: Callable[..., MemoryAssertion]) -> Callable[[Mapping[str, Any]], MemoryAssertion]:
    def make(options: Mapping[str, Any]) -> MemoryAssertion:
        others = {name: value for name, value in options.items() if name != "fragments"}
        return made(*options.get("fragments", ()), **others)

    return make


_MAKERS: Final[dict[str, Callable[[Mapping[str, Any]], MemoryAssertion]]] = {
    "memory_category_separated": lambda options: MemoryCategorySeparated(**{"expected": {}, **options}),
    "prompt_recall_contains": _with_fragments(PromptRecallContains),
    "prompt_recall_excludes": _with_fragments(PromptRecallExcludes),
    "response_does_not_contradict_recall": lambda options: ResponseDoesNotContradictRecall(**options),
}
_SUITE_CHECKS: Final[dict[str, check.Check]] = {
    "name": _name,
    "agents": check.list_of(check.text(200, what="an agent's name"), what="agents"),
    "tags": check.list_of(check.text(check.MAX_WORD_LENGTH, what="a tag"), what="tags"),
    "sampling": check.unit,
    "queue": check.flag,
    "assertions": _specs,
}
