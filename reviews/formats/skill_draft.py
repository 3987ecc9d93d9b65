"""Drafts of skills as others send them: a ``ProceduralDraft`` or a procedural ``MemoryEntry`` of symfonic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from reviews.core.drafts import (
    MODEL_SOURCE,
    PATTERN_SOURCE,
    VALID_PROCEDURAL_KINDS,
    ProceduralDraft,
    ProceduralKind,
    draft_label,
)
from reviews.core.extraction import Extracted
from reviews.formats.checks import check_choice, check_length, check_share
from reviews.formats.errors import RecordError, pointer
from reviews.formats.strict import parse_strict
from reviews.formats.typed import convert, describe

__all__ = [
    "DRAFT_BYTES",
    "EPISODES",
    "TEXT_CHARS",
    "ReceivedDraft",
    "decode_draft",
    "read_draft",
]

DRAFT_BYTES: Final = 1024 * 1024
TEXT_CHARS: Final = 10_000
"""Of a trigger, an action, a rationale, and each step and precondition."""
STEPS: Final = 50
EPISODES: Final = 1000
"""Source episodes of one draft."""
EPISODE_CHARS: Final = 200
LABEL_CHARS: Final = 100
SOURCE_CHARS: Final = 40
PATTERN_CHARS: Final = 200
LEAST_IMPORTANCE: Final = 1
MOST_IMPORTANCE: Final = 10
"""symfonic's own bounds: an agent could not read an entry beyond them."""

#: What a memory entry's metadata say in fields of ours, and the names of the entry's own fields that are kept
#: beside the metadata; the rest is kept as it came.
_KNOWN: Final = frozenset(
    {
        *("content", "importance"),
        *("label", "steps", "context", "source", "kind", "trigger", "rationale", "confidence"),
        *("precondition", "source_episode_ids", "source_episodic_ids", "pattern_count", "pattern_name"),
    }
)


@dataclass(frozen=True)
class ReceivedDraft:
    """``details`` are what the sender says beside the fields of ``extracted``."""

    extracted: Extracted
    details: dict[str, Any] = field(default_factory=dict)


class _Draft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: str
    trigger: str
    action: str
    rationale: str
    confidence: float = 0.0
    precondition: Any = None
    source_episode_ids: list[str] = []


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    layer: str
    metadata: dict[str, Any]
    content: str = ""
    tenant_id: str = ""
    importance: float = 5.0
    id: str | None = None
    node_id: str | None = None
    score: float | None = None
    created_at: str | None = None


def decode_draft(raw: bytes) -> ReceivedDraft:
    """One draft; raises ``RecordError`` with a pointer, and nothing else, for anything not accepted."""
    return read_draft(parse_strict(raw, max_bytes=DRAFT_BYTES))


def read_draft(value: Any) -> ReceivedDraft:
    """The same for a JSON value. An object with ``layer`` or ``metadata`` is a memory entry."""
    if isinstance(value, dict) and ("layer" in value or "metadata" in value):
        return _from_entry(convert(value, _Entry))
    return _from_draft(convert(value, _Draft))


def _from_draft(sent: _Draft) -> ReceivedDraft:
    check_choice("/kind", sent.kind, sorted(VALID_PROCEDURAL_KINDS))
    for name in ("trigger", "action", "rationale"):
        _check_text(f"/{name}", getattr(sent, name))
    check_share("/confidence", sent.confidence)
    draft = ProceduralDraft(
        kind=cast(ProceduralKind, sent.kind),
        trigger=sent.trigger,
        action=sent.action,
        rationale=sent.rationale,
        confidence=float(sent.confidence),
        precondition=_precondition("/precondition", sent.precondition),
        source_episode_ids=_episodes("/source_episode_ids", sent.source_episode_ids),
    )
    return ReceivedDraft(Extracted(draft, MODEL_SOURCE, draft_label(draft), (draft.action,), draft.rationale))


def _from_entry(sent: _Entry) -> ReceivedDraft:
    """A pattern's entry has neither trigger nor kind: it is an action, set off by what is repeated."""
    check_choice("/layer", sent.layer, ["procedural"])
    if not LEAST_IMPORTANCE <= sent.importance <= MOST_IMPORTANCE:
        found, bounds = describe(sent.importance), f"{LEAST_IMPORTANCE} to {MOST_IMPORTANCE}"
        raise RecordError("/importance", f"found {found}, expected a number from {bounds}")
    known = sent.metadata
    label = _optional(known, "label", LABEL_CHARS)
    steps = _texts("/metadata/steps", known.get("steps"), STEPS, TEXT_CHARS)
    context = _optional(known, "context", TEXT_CHARS)
    pattern = _optional(known, "pattern_name", PATTERN_CHARS)
    trigger = _optional(known, "trigger", TEXT_CHARS) or pattern or label
    if not trigger:
        raise RecordError("/metadata/trigger", "missing, expected a string, or pattern_name or label")
    if not steps:
        raise RecordError("/metadata/steps", "missing, expected a list with what to do")
    rationale = _optional(known, "rationale", TEXT_CHARS) or context
    if not rationale:
        raise RecordError("/metadata/rationale", "missing, expected a string, or context")
    kind = known.get("kind", "action")
    check_choice("/metadata/kind", kind, sorted(VALID_PROCEDURAL_KINDS))
    named = "source_episode_ids" if "source_episode_ids" in known else "source_episodic_ids"
    draft = ProceduralDraft(
        kind=kind,
        trigger=trigger,
        action=steps[0],
        rationale=rationale,
        confidence=_confidence(known.get("confidence", 0.0)),
        precondition=_precondition("/metadata/precondition", known.get("precondition")),
        source_episode_ids=_episodes(f"/metadata/{named}", known.get(named)),
    )
    details = {name: value for name, value in known.items() if name not in _KNOWN}
    if sent.content:
        check_length("/content", sent.content, 4 * TEXT_CHARS)
        details["content"] = sent.content
    if sent.importance != 5.0:
        details["importance"] = sent.importance
    return ReceivedDraft(
        Extracted(
            draft=draft,
            source=_optional(known, "source", SOURCE_CHARS) or (PATTERN_SOURCE if pattern else MODEL_SOURCE),
            label=label or draft_label(draft),
            steps=tuple(steps),
            context=context or rationale,
            pattern_count=_count(known.get("pattern_count")),
            pattern_name=pattern or None,
        ),
        details,
    )


def _check_text(spot: str, text: str, most: int = TEXT_CHARS) -> None:
    if not text.strip():
        raise RecordError(spot, f"found {describe(text)}, expected a non-blank string")
    check_length(spot, text, most)


def _optional(metadata: dict[str, Any], name: str, most: int) -> str:
    """A text of the metadata; "" when it is missing or null."""
    value = metadata.get(name)
    if value is None:
        return ""
    spot = pointer(("metadata", name))
    if not isinstance(value, str):
        raise RecordError(spot, f"found {describe(value)}, expected a string")
    _check_text(spot, value, most)
    return value


def _texts(spot: str, value: Any, most: int, longest: int) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise RecordError(spot, f"found {describe(value)}, expected a list")
    if len(value) > most:
        raise RecordError(spot, f"found a list of {len(value)}, expected at most {most}")
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise RecordError(f"{spot}/{index}", f"found {describe(item)}, expected a string")
        _check_text(f"{spot}/{index}", item, longest)
    return list(value)


def _episodes(spot: str, value: Any) -> list[str]:
    return _texts(spot, value, EPISODES, EPISODE_CHARS)


def _precondition(spot: str, value: Any) -> str | list[str] | None:
    if value is None:
        return None
    if isinstance(value, str):
        _check_text(spot, value)
        return value
    if not isinstance(value, list):
        raise RecordError(spot, f"found {describe(value)}, expected a string, a list of strings or null")
    return _texts(spot, value, STEPS, TEXT_CHARS) or None


def _confidence(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError("/metadata/confidence", f"found {describe(value)}, expected a number from 0 to 1")
    check_share("/metadata/confidence", value)
    return float(value)


def _count(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RecordError("/metadata/pattern_count", f"found {describe(value)}, expected a whole number")
    return value
