"""The JSON Schema (2020-12) of the native format, generated from the record types and the limits.

``python -m reviews.formats.schema`` prints it; ``docs/schema/turn.schema.json`` is that output. A schema
cannot say everything: duplicate keys, nesting, NUL and sizes in bytes are described in docs/native-format.md.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from reviews.formats import limits
from reviews.formats.record import TurnRecord

__all__ = ["SCHEMA_ID", "render_schema", "turn_schema"]

SCHEMA_ID = "https://symfonic-review.invalid/schema/turn.schema.json"

_NOT_BLANK = r"\S"
_SHARE = {"minimum": 0, "maximum": 1}
# By definition and field: what the checks demand beyond the types.
_BOUNDS: dict[str, dict[str, dict[str, Any]]] = {
    "TurnRecord": {
        "external_id": {"maxLength": limits.EXTERNAL_ID_CHARS, "pattern": _NOT_BLANK},
        "conversation_id": {"maxLength": limits.CONVERSATION_ID_CHARS},
        "occurred_at": {"format": "date-time"},
        "agent": {"maxLength": limits.AGENT_CHARS},
        "model": {"maxLength": limits.MODEL_CHARS},
        "tool_calls": {"maxItems": limits.TOOL_CALLS},
        "earlier_calls": {"maxItems": limits.EARLIER_CALLS},
        "earlier_user_messages": {"maxItems": limits.EARLIER_USER_MESSAGES},
        "tools": {"maxItems": limits.TOOLS},
    },
    "ToolCall": {
        "name": {"maxLength": limits.TOOL_NAME_CHARS, "pattern": _NOT_BLANK},
        "id": {"maxLength": limits.CALL_ID_CHARS},
        "duration_ms": {"minimum": 0},
    },
    "ToolInfo": {"name": {"maxLength": limits.TOOL_NAME_CHARS, "pattern": _NOT_BLANK}},
    "IntentRecord": {
        "label": {"enum": list(limits.INTENT_LABELS)},
        "confidence": _SHARE,
        "matched_tool_keywords": {"maxItems": limits.MATCHED_ITEMS},
    },
    "CriticRecord": {
        "verdict": {"enum": list(limits.CRITIC_VERDICTS)},
        "confidence_before": _SHARE,
        "matched_preferences": {"maxItems": limits.MATCHED_ITEMS},
        "reflection_latency_ms": {"minimum": 0},
    },
}


def turn_schema() -> dict[str, Any]:
    """The schema of one turn object as plain JSON values."""
    (reference,), definitions = msgspec.json.schema_components([TurnRecord], ref_template="#/$defs/{name}")
    for name, fields in _BOUNDS.items():
        for field, bounds in fields.items():
            _bind(definitions[name]["properties"][field], bounds)
    for definition in definitions.values():
        # Docstrings are written for readers of the code; the documentation page explains the fields.
        definition["description"] = definition["description"].partition("\n")[0]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Symfonic Review turn",
        **reference,
        "$defs": definitions,
    }


def render_schema() -> str:
    return json.dumps(turn_schema(), indent=2, ensure_ascii=False) + "\n"


def _bind(field: dict[str, Any], bounds: dict[str, Any]) -> None:
    # Bounds of a "value or null" belong to the value: they are ignored for null, so they may sit beside it.
    options = field.get("anyOf")
    target = field if options is None else next(option for option in options if option.get("type") != "null")
    target.update(bounds)


if __name__ == "__main__":
    sys.stdout.write(render_schema())
