"""``TurnRecord``: the one shape in which a turn travels between formats, services and engines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

__all__ = ["CriticRecord", "IntentRecord", "ToolCall", "ToolInfo", "TurnRecord"]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One tool call, in the order it was made.

    ``ok`` is None when the source does not say whether the call succeeded; ``error`` is the text of a
    failure. ``args`` and ``result`` are any JSON value; ``result`` is None when no result was seen.
    """

    name: str
    args: Any = None
    result: Any = None
    ok: bool | None = None
    error: str | None = None
    id: str | None = None
    duration_ms: float | None = None


class ToolInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool the agent could have called this turn."""

    name: str
    description: str = ""


class IntentRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The intent verdict the runtime reached; when absent, analysis computes its own."""

    label: str
    confidence: float
    matched_tool_keywords: list[str] = []
    reasoning: str = ""
    action_score: float = 0.0
    knowledge_score: float = 0.0


class CriticRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The critic verdict the runtime recorded (provenance ``critic-reflection-v1``)."""

    verdict: str
    confidence_before: float | None = None
    sensitive_tag_hit: str | None = None
    revised_draft: str | None = None
    refusal_message: str | None = None
    matched_preferences: list[str] = []
    reflection_latency_ms: float | None = None


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One agent turn: a user message, the calls that followed it, and the draft answer.

    ``external_id`` is the sender's own id and makes intake idempotent per tenant. ``occurred_at`` is
    timezone-aware; None means "when it was received". ``earlier_calls`` are the tool calls of earlier
    turns of the same conversation, ``earlier_user_messages`` what its user said in them, both oldest first;
    ``hydrated_context`` is the memory text the model was shown.
    """

    external_id: str
    draft: str
    user_message: str = ""
    hydrated_context: str = ""
    tool_calls: list[ToolCall] = []
    earlier_calls: list[ToolCall] = []
    earlier_user_messages: list[str] = []
    tools: list[ToolInfo] = []
    conversation_id: str = ""
    agent: str = ""
    model: str = ""
    occurred_at: datetime | None = None
    intent: IntentRecord | None = None
    critic: CriticRecord | None = None
    activation: dict[str, Any] | None = None
    attributes: dict[str, Any] = {}
