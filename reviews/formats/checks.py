"""What a typed ``TurnRecord`` must satisfy beyond its types: lengths, ranges and the words of a choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from reviews.formats import limits
from reviews.formats.errors import RecordError
from reviews.formats.record import CriticRecord, IntentRecord, ToolCall, ToolInfo, TurnRecord
from reviews.formats.typed import describe

__all__ = ["check_choice", "check_length", "check_share", "check_turn"]


def check_turn(record: TurnRecord) -> None:
    """Raise ``RecordError`` for the first field of ``record`` that is out of bounds.

    Cheap: it looks at lengths and numbers, never through the text.
    """
    if not record.external_id.strip():
        raise RecordError(
            "/external_id", f"found {describe(record.external_id)}, expected a non-blank string"
        )
    check_length("/external_id", record.external_id, limits.EXTERNAL_ID_CHARS)
    check_length("/conversation_id", record.conversation_id, limits.CONVERSATION_ID_CHARS)
    check_length("/agent", record.agent, limits.AGENT_CHARS)
    check_length("/model", record.model, limits.MODEL_CHARS)
    if record.tool_calls:
        _check_calls("/tool_calls", record.tool_calls, limits.TOOL_CALLS)
    if record.earlier_calls:
        _check_calls("/earlier_calls", record.earlier_calls, limits.EARLIER_CALLS)
    if record.earlier_user_messages:
        _check_count("/earlier_user_messages", record.earlier_user_messages, limits.EARLIER_USER_MESSAGES)
    if record.tools:
        _check_tools(record.tools)
    if record.occurred_at is not None:
        _check_time(record.occurred_at)
    if record.intent is not None:
        _check_intent(record.intent)
    if record.critic is not None:
        _check_critic(record.critic)


def check_length(spot: str, text: str, most: int) -> None:
    if len(text) > most:
        raise RecordError(spot, f"found {len(text)} characters, expected at most {most}")


def check_share(spot: str, value: float) -> None:
    # Written so that NaN, which a caller may hand us outside JSON, does not pass.
    if not 0 <= value <= 1:
        raise RecordError(spot, f"found {describe(value)}, expected a number from 0 to 1")


def check_choice(spot: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise RecordError(spot, f"found {describe(value)}, expected one of {', '.join(choices)}")


def _check_count(spot: str, items: Sequence[object], most: int) -> None:
    if len(items) > most:
        raise RecordError(spot, f"found a list of {len(items)}, expected at most {most}")


def _check_milliseconds(spot: str, value: float | None) -> None:
    if value is not None and not 0 <= value < math.inf:
        raise RecordError(spot, f"found {describe(value)}, expected a number of 0 or more")


def _check_name(spot: str, name: str) -> None:
    if not name.strip():
        raise RecordError(spot, f"found {describe(name)}, expected the name of a tool")
    check_length(spot, name, limits.TOOL_NAME_CHARS)


def _check_calls(spot: str, calls: list[ToolCall], most: int) -> None:
    _check_count(spot, calls, most)
    for index, call in enumerate(calls):
        name, call_id, took = call.name, call.id, call.duration_ms
        # One test for the usual case; the pointers are only built when something is off.
        if name and not name.isspace() and len(name) <= limits.TOOL_NAME_CHARS:
            if call_id is None and took is None:
                continue
        else:
            _check_name(f"{spot}/{index}/name", name)
        if call_id is not None:
            check_length(f"{spot}/{index}/id", call_id, limits.CALL_ID_CHARS)
        _check_milliseconds(f"{spot}/{index}/duration_ms", took)


def _check_tools(tools: list[ToolInfo]) -> None:
    _check_count("/tools", tools, limits.TOOLS)
    for index, tool in enumerate(tools):
        _check_name(f"/tools/{index}/name", tool.name)


def _check_time(when: datetime) -> None:
    if when.tzinfo is None:
        raise RecordError("/occurred_at", "found a time without a zone, expected one ending in Z or +hh:mm")
    # The first and the last year may leave the calendar when moved to UTC.
    if not 1 < when.year < 9999:
        raise RecordError("/occurred_at", f"found the year {when.year}, expected one from 2 to 9998")


def _check_intent(intent: IntentRecord) -> None:
    check_choice("/intent/label", intent.label, limits.INTENT_LABELS)
    check_share("/intent/confidence", intent.confidence)
    _check_count("/intent/matched_tool_keywords", intent.matched_tool_keywords, limits.MATCHED_ITEMS)


def _check_critic(critic: CriticRecord) -> None:
    check_choice("/critic/verdict", critic.verdict, limits.CRITIC_VERDICTS)
    if critic.confidence_before is not None:
        check_share("/critic/confidence_before", critic.confidence_before)
    _check_count("/critic/matched_preferences", critic.matched_preferences, limits.MATCHED_ITEMS)
    _check_milliseconds("/critic/reflection_latency_ms", critic.reflection_latency_ms)
