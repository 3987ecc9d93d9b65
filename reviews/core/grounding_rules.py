"""A tenant's own rules of what needs no grounding, or is grounded by which tool, beside the built-in ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the detector also runs with the standard library alone, and patterns need re2
    from reviews.core.patterns import Pattern

__all__ = ["GroundingRules"]


@dataclass(frozen=True)
class GroundingRules:
    """What reviewers taught the detector; without any it finds what it always found.

    ``tool_fragments``: claim verb -> fragments of tool names that make the claim believable, beside the
    built-in hints. ``ignored_keys``: keys whose values are no identifiers, built-in keys too; neither a pair
    nor an anchor for short hex. ``ignored_values``: identifiers that need no grounding.
    Verbs, fragments and keys are kept in lower case; blank fragments, which any tool would contain, are left
    out.
    """

    tool_fragments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignored_keys: frozenset[str] = frozenset()
    ignored_values: tuple[Pattern, ...] = ()

    def __post_init__(self) -> None:
        fragments: dict[str, tuple[str, ...]] = {}
        for verb, given in self.tool_fragments.items():
            usable = tuple(fragment.strip().lower() for fragment in given if fragment.strip())
            if usable:
                fragments[verb.lower()] = fragments.get(verb.lower(), ()) + usable
        object.__setattr__(self, "tool_fragments", fragments)
        object.__setattr__(self, "ignored_keys", frozenset(key.lower() for key in self.ignored_keys))

    @property
    def is_empty(self) -> bool:
        return not (self.tool_fragments or self.ignored_keys or self.ignored_values)

    def ignored_among(self, identifiers: Iterable[str]) -> set[str]:
        """The identifiers that an ignored value matches in full."""
        if not self.ignored_values:
            return set()
        from reviews.core.patterns import combined  # see above

        patterns = combined(self.ignored_values)
        return {each for each in identifiers if any(pattern.matches(each) for pattern in patterns)}
