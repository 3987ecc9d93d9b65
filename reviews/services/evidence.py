"""What stands beside a claim: what ran, what would have grounded it, and what almost does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reviews.core.evidence import NearMiss, ToolHint, near_misses, nearest_tool
from reviews.models import Finding, TurnPayload
from reviews.models.turns import Kind

#: Characters of one value shown before "show all": a page, not a data dump.
SHOWN_CHARACTERS = 20_000

#: Kinds whose identifier is a token that could be looked for; a claim of an action is about tools instead.
_TOKEN_KINDS = (
    Kind.UUID,
    Kind.SHORT_HEX_NEAR_KEY,
    Kind.SHORT_HEX_NEAR_VERB,
    Kind.KV,
    Kind.CLAIMED_IDENTIFIER,
)


@dataclass(frozen=True)
class Block:
    """A value of a call, ready to read. ``cut`` counts the characters left out."""

    title: str
    text: str
    cut: int


@dataclass(frozen=True)
class CallView:
    """One tool call as the page shows it; ``ok`` is None when nobody said."""

    number: int
    name: str
    ok: bool | None
    duration_ms: float | None
    blocks: list[Block]


@dataclass(frozen=True)
class ClaimEvidence:
    """What is known about one finding. ``is_token``: it is about a text that could be looked for."""

    is_token: bool
    near_misses: list[NearMiss]
    tool_hint: ToolHint | None
    ran: list[str]
    in_earlier_calls: str


def call_views(calls: Sequence[dict[str, Any]] | None, *, whole: bool = False) -> list[CallView]:
    """The calls in the order they were made, their values pretty-printed."""
    views = []
    for number, call in enumerate(calls or (), 1):
        blocks = [
            block(title, call[field], whole=whole)
            for field, title in (("args", "Arguments"), ("result", "Result"), ("error", "Error"))
            if call.get(field) not in (None, "")
        ]
        ok = call.get("ok")
        if ok is None and call.get("error"):
            ok = False
        views.append(CallView(number, call["name"], ok, call.get("duration_ms"), blocks))
    return views


def block(title: str, value: Any, *, whole: bool = False) -> Block:
    """A value as text: JSON indented, also when it is JSON inside a string; other text as it is."""
    text = pretty(value)
    if whole or len(text) <= SHOWN_CHARACTERS:
        return Block(title, text, 0)
    return Block(title, text[:SHOWN_CHARACTERS], len(text) - SHOWN_CHARACTERS)


def pretty(value: Any) -> str:
    """A value as its reader wants to see it."""
    if isinstance(value, str):
        stripped = value.lstrip()
        if not stripped.startswith(("{", "[")):
            return str(value)
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    return json.dumps(value, indent=2, ensure_ascii=False)


def claim_evidence(finding: Finding, payload: TurnPayload) -> ClaimEvidence:
    """Look for what grounds or would have grounded one finding. Reads only the payload given."""
    calls = payload.tool_calls or []
    ran = [call["name"] for call in calls]
    if finding.kind == Kind.VERB_CLAIM:
        offered = [tool["name"] for tool in payload.tools or []]
        return ClaimEvidence(False, [], nearest_tool(finding.identifier, ran, offered), ran, "")
    if finding.kind not in _TOKEN_KINDS:
        return ClaimEvidence(False, [], None, ran, "")
    sources = [("user message", payload.user_message), ("context", payload.hydrated_context)]
    for number, call in enumerate(calls, 1):
        sources += [(f"call {number} {call['name']}, {what}", text) for what, text in _texts_of(call)]
    earlier = ""
    for call in payload.earlier_calls or []:
        texts = _texts_of(call)
        if not earlier and any(finding.identifier in text for _, text in texts):
            earlier = call["name"]
        sources += [(f"earlier call {call['name']}, {what}", text) for what, text in texts]
    misses = near_misses(finding.identifier, [(label, text) for label, text in sources if text])
    return ClaimEvidence(True, misses, None, ran, earlier)


def _texts_of(call: dict[str, Any]) -> list[tuple[str, str]]:
    """The texts of a call in the spelling the page shows, so that an offset leads to what is seen."""
    return [
        (what, pretty(call[field]))
        for field, what in (("args", "arguments"), ("result", "result"), ("error", "error"))
        if call.get(field) not in (None, "")
    ]
