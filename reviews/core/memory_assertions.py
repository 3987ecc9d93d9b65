"""Deterministic assertions about the memory behind an answer, over evidence that a turn brings with it.

    assertion = PromptRecallExcludes("4111 1111 1111 1111")
    verdict = assertion.evaluate(turn_attributes)

The contract is section 3 of the behaviour document. Evidence may hold what nobody should read, so neither
verdicts nor representations repeat any of it, nor the fragments that are looked for: they count, and name a
leak by its digest. What is not there proves nothing, so missing evidence fails.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

__all__ = [
    "DIGEST_LENGTH",
    "AssertionVerdict",
    "MemoryAssertion",
    "MemoryCategorySeparated",
    "PromptRecallContains",
    "PromptRecallExcludes",
    "ResponseDoesNotContradictRecall",
    "digest_of",
]

#: Hexadecimal digits of a SHA-256 digest that a verdict shows: enough to tell leaks apart.
DIGEST_LENGTH: Final = 12


@dataclass(frozen=True)
class AssertionVerdict:
    """What an assertion found. ``evidence`` counts what it looked at; ``digests`` name what leaked."""

    name: str
    passed: bool
    reason: str
    evidence: Mapping[str, int] = field(default_factory=dict)
    digests: tuple[str, ...] = ()


class MemoryAssertion(Protocol):
    """Anything that looks at a turn's attributes and says whether they are as they should be."""

    @property
    def name(self) -> str: ...

    def evaluate(self, attributes: Mapping[str, Any]) -> AssertionVerdict: ...


def digest_of(text: str) -> str:
    """The first ``DIGEST_LENGTH`` digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]


@dataclass(frozen=True, init=False, repr=False)
class MemoryCategorySeparated:
    """Memory records keep the category and subject that are declared for them.

    ``expected`` maps categories to subjects. Evidence is a sequence of records with ``record_id``,
    ``category`` and ``subject``. A record in two categories fails always; so do too few records of a declared
    category, a subject other than the declared one, and, unless ``allow_extra``, a category that is not
    declared.

    Raises ``ValueError`` for declarations, names or numbers that are none.
    """

    expected: tuple[tuple[str, str], ...]
    attribute: str
    minimum_per_category: int
    allow_extra: bool
    name: str

    def __init__(
        self,
        expected: Mapping[str, str],
        *,
        attribute: str = "memory_classifications",
        minimum_per_category: int = 1,
        allow_extra: bool = False,
    ) -> None:
        if not expected or any(not key or not value for key, value in expected.items()):
            raise ValueError("MemoryCategorySeparated requires category/subject pairs")
        if not attribute:
            raise ValueError("MemoryCategorySeparated requires an attribute name")
        if minimum_per_category < 1:
            raise ValueError("minimum_per_category must be positive")
        object.__setattr__(self, "expected", tuple(sorted(expected.items())))
        object.__setattr__(self, "attribute", attribute)
        object.__setattr__(self, "minimum_per_category", minimum_per_category)
        object.__setattr__(self, "allow_extra", allow_extra)
        object.__setattr__(self, "name", "memory_category_separated")

    def __repr__(self) -> str:
        return f"MemoryCategorySeparated({len(self.expected)} categories, attribute={self.attribute!r})"

    def evaluate(self, attributes: Mapping[str, Any]) -> AssertionVerdict:
        records = _sequence(attributes, self.attribute)
        if records is None:
            return _missing(self.name, {"records": 0})
        read = [found for record in records if (found := _record(record)) is not None]
        counts = {"records": len(records), "unreadable": len(records) - len(read)}
        return AssertionVerdict(
            self.name,
            *_passed_unless(self._faults(read, counts["unreadable"]), "Every record is in its category."),
            evidence=counts | {"categories": len({category for _, category, _ in read})},
        )

    def _faults(self, records: Sequence[tuple[str, str, str]], unreadable: int) -> list[str]:
        declared = dict(self.expected)
        categories: defaultdict[str, set[str]] = defaultdict(set)
        for record_id, category, _ in records:
            categories[record_id].add(category)
        torn = sum(len(found) > 1 for found in categories.values())
        extra = sum(category not in declared for _, category, _ in records)
        wrong = sum(declared.get(category, subject) != subject for _, category, subject in records)
        per_category = Counter(category for _, category in {(i, c) for i, c, _ in records})
        few = sum(per_category[category] < self.minimum_per_category for category in declared)
        faults = [
            (unreadable, "that cannot be read"),
            (torn, "in more than one category"),
            (0 if self.allow_extra else extra, "in a category that is not declared"),
            (wrong, "with another subject than the category's"),
        ]
        said = [f"{_counted(count, 'record')} {words}" for count, words in faults if count]
        if few:
            lacking = "1 declared category" if few == 1 else f"{few} declared categories"
            said.append(f"{lacking} with fewer than {_counted(self.minimum_per_category, 'record')}")
        return said


@dataclass(frozen=True, init=False, repr=False)
class _RecallFragments:
    """What the two assertions about the recall text share. ``name`` is that of the assertion."""

    fragments: tuple[str, ...]
    attribute: str
    case_sensitive: bool
    name: str

    def __init__(
        self, *fragments: str, attribute: str = "prompt_recall", case_sensitive: bool = False
    ) -> None:
        if not fragments or any(not fragment for fragment in fragments):
            raise ValueError(f"{type(self).__name__} requires non-empty fragments")
        object.__setattr__(self, "fragments", tuple(fragments))
        object.__setattr__(self, "attribute", attribute)
        object.__setattr__(self, "case_sensitive", case_sensitive)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_counted(len(self.fragments), 'fragment')}, {self.attribute!r})"

    def _found(self, attributes: Mapping[str, Any]) -> list[str] | None:
        """The fragments that are in the text; None without a text."""
        text = attributes.get(self.attribute)
        if not isinstance(text, str):
            return None
        if self.case_sensitive:
            return [fragment for fragment in self.fragments if fragment in text]
        folded = text.casefold()
        return [fragment for fragment in self.fragments if fragment.casefold() in folded]


@dataclass(frozen=True, init=False, repr=False)
class PromptRecallContains(_RecallFragments):
    """The recall text that the model was given holds every fragment.

    Raises ``ValueError`` without fragments, for an empty one, or without an attribute's name.
    """

    def __init__(
        self, *fragments: str, attribute: str = "prompt_recall", case_sensitive: bool = False
    ) -> None:
        super().__init__(*fragments, attribute=attribute, case_sensitive=case_sensitive)
        if not attribute:
            raise ValueError("PromptRecallContains requires an attribute name")
        object.__setattr__(self, "name", "prompt_recall_contains")

    def evaluate(self, attributes: Mapping[str, Any]) -> AssertionVerdict:
        found = self._found(attributes)
        if found is None:
            return _missing(self.name, {"fragments": len(self.fragments), "found": 0})
        lacking = len(self.fragments) - len(found)
        faults = [f"{_counted(lacking, 'fragment')} not in the recall"] if lacking else []
        return AssertionVerdict(
            self.name,
            *_passed_unless(faults, "Every fragment is in the recall."),
            evidence={"fragments": len(self.fragments), "found": len(found)},
        )


@dataclass(frozen=True, init=False, repr=False)
class PromptRecallExcludes(_RecallFragments):
    """The recall text that the model was given holds no fragment; what leaked is named by its digest.

    Raises ``ValueError`` without fragments, or for an empty one.
    """

    def __init__(
        self, *fragments: str, attribute: str = "prompt_recall", case_sensitive: bool = False
    ) -> None:
        super().__init__(*fragments, attribute=attribute, case_sensitive=case_sensitive)
        object.__setattr__(self, "name", "prompt_recall_excludes")

    def evaluate(self, attributes: Mapping[str, Any]) -> AssertionVerdict:
        leaked = self._found(attributes)
        if leaked is None:
            return _missing(self.name, {"fragments": len(self.fragments), "leaked": 0})
        faults = [f"{_counted(len(leaked), 'fragment')} reached the model"] if leaked else []
        return AssertionVerdict(
            self.name,
            *_passed_unless(faults, "No fragment is in the recall."),
            evidence={"fragments": len(self.fragments), "leaked": len(leaked)},
            digests=tuple(digest_of(fragment) for fragment in leaked),
        )


@dataclass(frozen=True)
class ResponseDoesNotContradictRecall:
    """What the response claims is what was recalled, where both say something.

    Both attributes map stable ids of claims to normalised values; only ids in both are compared. With fewer
    than ``minimum`` claims in the response there is nothing that could have been contradicted, which fails.
    Raises ``ValueError`` for an empty name or a minimum below 1.
    """

    recall_attribute: str = "recall_claims"
    response_attribute: str = "response_claims"
    minimum: int = 1
    name: str = "response_does_not_contradict_recall"

    def __post_init__(self) -> None:
        if not self.recall_attribute or not self.response_attribute:
            raise ValueError("ResponseDoesNotContradictRecall requires attribute names")
        if self.minimum < 1:
            raise ValueError("minimum must be positive")
        if not self.name:
            raise ValueError("ResponseDoesNotContradictRecall requires a name")

    def evaluate(self, attributes: Mapping[str, Any]) -> AssertionVerdict:
        recalled = attributes.get(self.recall_attribute)
        claimed = attributes.get(self.response_attribute)
        if not isinstance(recalled, Mapping) or not isinstance(claimed, Mapping):
            return _missing(self.name, {"claims": 0, "compared": 0, "contradicted": 0})
        both = claimed.keys() & recalled.keys()
        wrong = sum(_differ(claimed[key], recalled[key]) for key in both)
        faults = []
        if len(claimed) < self.minimum:
            faults.append(f"{_counted(len(claimed), 'claim')} in the response instead of {self.minimum}")
        if wrong:
            faults.append(f"{_counted(wrong, 'claim')} of the response in contradiction to the recall")
        return AssertionVerdict(
            self.name,
            *_passed_unless(faults, "No claim contradicts the recall."),
            evidence={"claims": len(claimed), "compared": len(both), "contradicted": wrong},
        )


def _differ(claimed: Any, recalled: Any) -> bool:
    """Whether two values say different things; true is not 1, as it would be for Python."""
    return bool(claimed != recalled) or isinstance(claimed, bool) != isinstance(recalled, bool)


def _sequence(attributes: Mapping[str, Any], name: str) -> Sequence[Any] | None:
    value = attributes.get(name)
    return value if isinstance(value, list | tuple) else None


def _record(record: object) -> tuple[str, str, str] | None:
    if not isinstance(record, Mapping):
        return None
    found = [record.get(name) for name in ("record_id", "category", "subject")]
    texts = [value for value in found if isinstance(value, str) and value]
    return (texts[0], texts[1], texts[2]) if len(texts) == len(found) else None


def _missing(name: str, evidence: Mapping[str, int]) -> AssertionVerdict:
    return AssertionVerdict(name, False, "The turn brings no such evidence.", evidence)


def _passed_unless(faults: Sequence[str], passed: str) -> tuple[bool, str]:
    if not faults:
        return True, passed
    words = "; ".join(faults)
    return False, f"{words[:1].upper()}{words[1:]}."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
