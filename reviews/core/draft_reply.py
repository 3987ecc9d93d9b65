"""A model's reply read as drafts: tolerant of chatter around the JSON and of odd values in it."""

from __future__ import annotations

import json
from contextlib import suppress
from math import isnan
from typing import Any, Literal, NamedTuple, cast

from reviews.core.drafts import VALID_PROCEDURAL_KINDS, ProceduralDraft, ProceduralKind
from reviews.core.reply_text import REPLY_CHARACTERS, is_unclosed, storable

__all__ = ["DraftReply", "read_draft_reply"]


class DraftReply(NamedTuple):
    """``emitted`` counts the items of the reply's list; ``drafts`` are those that are drafts.

    ``truncated`` means malformed in the way that a cut leaves behind: something opened and not closed.
    """

    status: Literal["read", "malformed", "truncated", "too_large"]
    drafts: tuple[ProceduralDraft, ...] = ()
    emitted: int = 0


def read_draft_reply(text: str, *, max_drafts: int) -> DraftReply:
    """The drafts among the first ``max_drafts`` items of the ``drafts`` list in ``text``'s outermost object.

    An item without a trigger, action and rationale that hold more than white space is left out; an unknown
    kind is an action, which does least harm when it is wrong; a confidence is clamped to 0..1 and 0.0 when it
    is no number; see ``_precondition`` for the rest.
    """
    if len(text) > REPLY_CHARACTERS:
        return DraftReply("too_large")
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return DraftReply("malformed")
    try:
        payload = json.loads(text[start : end + 1]) if end > start else None
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict):
        return DraftReply("truncated" if is_unclosed(text[start:]) else "malformed")
    items = payload.get("drafts")
    if not isinstance(items, list):
        return DraftReply("malformed")
    drafts = tuple(draft for item in items[:max_drafts] if (draft := _draft(item)) is not None)
    if items and not drafts:
        return DraftReply("malformed", emitted=len(items))
    return DraftReply("read", drafts, len(items))


def _draft(item: object) -> ProceduralDraft | None:
    if not isinstance(item, dict):
        return None
    trigger, action, rationale = (_text(item.get(name)) for name in ("trigger", "action", "rationale"))
    if not (trigger and action and rationale):
        return None
    kind = item.get("kind")
    known = isinstance(kind, str) and kind in VALID_PROCEDURAL_KINDS
    return ProceduralDraft(
        kind=cast(ProceduralKind, kind) if known else "action",
        trigger=trigger,
        action=action,
        rationale=rationale,
        confidence=_confidence(item.get("confidence")),
        precondition=_precondition(item.get("precondition")),
        source_episode_ids=_sources(item.get("source_episode_ids")),
    )


def _text(value: object) -> str:
    """The text without the white space around it; "" when it is none."""
    return storable(value.strip()) if isinstance(value, str) else ""


def _confidence(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    except OverflowError:
        # A whole number that no float can hold.
        number = float("inf") if value > 0 else float("-inf")
    # NaN compares with nothing; without this it would pass min() and max() as 1.0.
    return 0.0 if isnan(number) else min(1.0, max(0.0, number))


def _precondition(value: object) -> str | list[str] | None:
    """A text, or the texts of a list (a single one as a text); None for blanks and everything else."""
    if isinstance(value, list):
        steps = [step for item in value if (step := _text(item))]
        return steps if len(steps) > 1 else (steps[0] if steps else None)
    return _text(value) or None


def _sources(value: object) -> list[str]:
    """All that is not empty, as texts; what is nested too deeply to be written is left out."""
    texts = []
    for source in value if isinstance(value, list) else ():
        if source:
            with suppress(RecursionError):
                texts.append(storable(str(source)))
    return texts
