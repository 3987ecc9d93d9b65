"""Procedural drafts: what an agent seems to have learned, written down for a person to approve.

The fields, their order and their defaults are those of symfonic's ``ProceduralDraft``, so that a runtime and
this product can exchange drafts as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast, get_args

if TYPE_CHECKING:
    from reviews.core.episodes import Episode

__all__ = [
    "MODEL_SOURCE",
    "PATTERN_SOURCE",
    "VALID_PROCEDURAL_KINDS",
    "MemoryEntry",
    "ProceduralDraft",
    "ProceduralExtractor",
    "ProceduralKind",
    "TenantScope",
    "draft_from_json",
    "draft_label",
    "draft_to_json",
    "draft_to_memory_entry",
]

ProceduralKind = Literal["action", "preflight", "recovery", "guardrail"]
"""A habit; before X do Y; after an error do R; never X."""

VALID_PROCEDURAL_KINDS: Final[frozenset[str]] = frozenset(get_args(ProceduralKind))

#: Where a draft came from, in the words of symfonic's memory: a model, or counted repetitions.
MODEL_SOURCE: Final = "phase_12_llm_extractor"
PATTERN_SOURCE: Final = "phase_12_promotion"

# Of a new skill; symfonic's scale runs from 1 to 10.
_IMPORTANCE: Final = 5.0
_LABEL_CHARACTERS: Final = 100
_LABEL_TRIGGER_CHARACTERS: Final = 80


class TenantScope(Protocol):
    """Whose memory is meant; symfonic's ``TenantScope`` is one."""

    @property
    def tenant_id(self) -> str: ...


@dataclass(frozen=True)
class ProceduralDraft:
    """One rule that an extractor proposes.

    ``confidence`` is the extractor's own, 0..1. ``precondition`` is what must have been done before: nothing,
    one step, or several steps in order.
    """

    kind: ProceduralKind
    trigger: str
    action: str
    rationale: str
    confidence: float = 0.0
    precondition: str | list[str] | None = None
    source_episode_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MemoryEntry:
    """A procedural skill in the shape that symfonic's memory stores it."""

    layer: str
    tenant_id: str
    content: str
    importance: float = _IMPORTANCE
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "layer": self.layer,
            "tenant_id": self.tenant_id,
            "content": self.content,
            "importance": self.importance,
            "metadata": dict(self.metadata),
        }


class ProceduralExtractor(Protocol):
    """Finds drafts in episodes. Best effort: whatever goes wrong yields ``[]``, never an exception."""

    async def extract(
        self, episodes: Sequence[Episode], existing_skills: Sequence[MemoryEntry], scope: TenantScope
    ) -> list[ProceduralDraft]: ...


def draft_label(draft: ProceduralDraft) -> str:
    """The label of a model's draft, at most 100 characters."""
    return f"Auto-learned ({draft.kind}): {draft.trigger[:_LABEL_TRIGGER_CHARACTERS]}"[:_LABEL_CHARACTERS]


def draft_to_memory_entry(draft: ProceduralDraft, scope: TenantScope) -> MemoryEntry:
    """A model's draft as symfonic's memory stores it; the metadata have a ``precondition`` only when set."""
    metadata: dict[str, Any] = {
        "label": draft_label(draft),
        "steps": [draft.action],
        "context": draft.rationale,
        "source": MODEL_SOURCE,
        "kind": draft.kind,
        "trigger": draft.trigger,
        "rationale": draft.rationale,
        "confidence": draft.confidence,
        "source_episode_ids": list(draft.source_episode_ids),
    }
    if draft.precondition:
        metadata["precondition"] = _copied(draft.precondition)
    content = f"{draft.trigger}\nAction: {draft.action}\nRationale: {draft.rationale}"
    return MemoryEntry("procedural", scope.tenant_id, content, _IMPORTANCE, metadata)


def draft_to_json(draft: ProceduralDraft) -> dict[str, Any]:
    """All fields, in their order, as JSON values that share nothing with the draft."""
    return {
        "kind": draft.kind,
        "trigger": draft.trigger,
        "action": draft.action,
        "rationale": draft.rationale,
        "confidence": draft.confidence,
        "precondition": _copied(draft.precondition),
        "source_episode_ids": list(draft.source_episode_ids),
    }


def draft_from_json(value: object) -> ProceduralDraft:
    """The draft that ``draft_to_json`` wrote. Raises ``ValueError`` naming the field that does not fit.

    For what we stored ourselves; a model's reply is read more leniently (``reviews.core.draft_reply``).
    """
    if not isinstance(value, Mapping):
        raise ValueError("a draft is an object")
    unknown = sorted(str(name) for name in set(value) - set(ProceduralDraft.__dataclass_fields__))
    if unknown:
        raise ValueError(f"a draft has no {', '.join(unknown)}")
    if value.get("kind") not in get_args(ProceduralKind):
        raise ValueError(f"kind is one of {', '.join(get_args(ProceduralKind))}")
    texts = {name: value.get(name) for name in ("trigger", "action", "rationale")}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ValueError(f"{name} is a text")
    confidence = value.get("confidence", 0.0)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ValueError("confidence is a number from 0 to 1")
    precondition = value.get("precondition")
    if not (precondition is None or isinstance(precondition, str) or _texts(precondition)):
        raise ValueError("precondition is null, a text or a list of texts")
    sources = value.get("source_episode_ids", [])
    if not _texts(sources):
        raise ValueError("source_episode_ids is a list of texts")
    return ProceduralDraft(
        kind=cast(ProceduralKind, value["kind"]),
        trigger=value["trigger"],
        action=value["action"],
        rationale=value["rationale"],
        confidence=float(confidence),
        precondition=_copied(precondition),
        source_episode_ids=list(sources),
    )


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _copied(precondition: str | list[str] | None) -> str | list[str] | None:
    return list(precondition) if isinstance(precondition, list) else precondition
