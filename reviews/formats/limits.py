"""Every limit of the intake in one place; the checks and the JSON Schema read from here."""

from __future__ import annotations

MAX_DEPTH = 64
"""Containers nested in each other, the document itself being the first."""

TURN_BYTES = 4 * 1024 * 1024
"""One turn as sent; it also bounds every text inside (draft, user message, context)."""

BODY_BYTES = 16 * 1024 * 1024
"""One HTTP body, whatever number of turns it holds."""

BODY_ROWS = 1000
"""Turns in one HTTP body."""

EXTERNAL_ID_CHARS = 200
CONVERSATION_ID_CHARS = 200
AGENT_CHARS = 200
MODEL_CHARS = 200
TOOL_NAME_CHARS = 200
CALL_ID_CHARS = 200

TOOL_CALLS = 1000
EARLIER_CALLS = 1000
EARLIER_USER_MESSAGES = 1000
TOOLS = 1000
MATCHED_ITEMS = 1000
"""Entries of ``matched_tool_keywords`` and ``matched_preferences``."""

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1

INTENT_LABELS = ("action", "knowledge", "ambiguous")
CRITIC_VERDICTS = ("approve", "revise", "refuse")

EVENT_FINDINGS = 1000
"""Findings in one symfonic fabrication event."""
