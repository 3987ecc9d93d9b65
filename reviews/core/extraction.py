"""What a run of an extractor yields: the drafts, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from reviews.core.drafts import (
    PATTERN_SOURCE,
    MemoryEntry,
    ProceduralDraft,
    TenantScope,
    draft_to_memory_entry,
)

__all__ = ["Extracted", "Extraction", "ExtractionOutcome", "ModelUse"]

ExtractionOutcome = Literal[
    "found", "nothing", "timeout", "malformed", "refused", "truncated", "too_large", "failed", "no_model"
]
"""``found``: there are drafts. ``nothing``: the run went well and there is nothing to propose. All others are
failures: the model took too long, answered something else than was asked for, refused, was cut short, wrote
too much, could not be called at all, or none is set up."""


class ModelUse(NamedTuple):
    """What a run took of a model. Tokens are None when the model does not count them."""

    model: str
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True)
class Extracted:
    """A draft and what a memory keeps beside it.

    ``steps`` show by examples what was done. ``pattern_count`` and ``pattern_name`` are set only by the
    pattern extractor; ``unknown_episode_ids`` are sources that the model names but was not shown.
    """

    draft: ProceduralDraft
    source: str
    label: str
    steps: tuple[str, ...]
    context: str
    pattern_count: int | None = None
    pattern_name: str | None = None
    unknown_episode_ids: tuple[str, ...] = ()

    def to_memory_entry(self, scope: TenantScope) -> MemoryEntry:
        """The skill as symfonic's memory stores it; the two extractors write different metadata there."""
        if self.source != PATTERN_SOURCE:
            return draft_to_memory_entry(self.draft, scope)
        metadata: dict[str, Any] = {
            "label": self.label,
            "steps": list(self.steps),
            "context": self.context,
            "source": self.source,
            # Spelled differently from the model's source_episode_ids; that is how symfonic reads it.
            "source_episodic_ids": list(self.draft.source_episode_ids),
            "pattern_count": self.pattern_count,
            "pattern_name": self.pattern_name,
        }
        content = f"{self.draft.trigger}\nFor example: {self.draft.action}\n{self.draft.rationale}"
        return MemoryEntry("procedural", scope.tenant_id, content, metadata=metadata)


@dataclass(frozen=True)
class Extraction:
    """One run. ``scanned`` counts the episodes read, ``emitted`` the proposals before invalid and surplus
    ones were dropped. ``detail`` says in words what happened and holds no text of an agent or a model.

    ``retry_after``: seconds after which another try may do better; None when it would not.
    """

    drafts: tuple[Extracted, ...]
    scanned: int
    emitted: int
    outcome: ExtractionOutcome
    detail: str = ""
    cost: ModelUse | None = None
    retry_after: float | None = None
