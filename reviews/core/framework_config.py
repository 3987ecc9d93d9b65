"""A tenant's settings in the terms of a symfonic runtime, for its configuration to be made of."""

from __future__ import annotations

from typing import Any, Final

from reviews.core.settings import TenantSettings

__all__ = ["FRAMEWORK_FIELDS", "framework_config"]

#: Settings that symfonic-core 9.12.0's ``FrameworkConfig`` has under the same name and with the same meaning.
FRAMEWORK_FIELDS: Final = (
    "fabrication_check_mode",
    "fabrication_refuse_min_confidence",
    "metacognition_confidence_threshold",
    "metacognition_sensitive_tags",
    "metacognition_selective_gate",
    "metacognition_trivial_ack_patterns",
    "read_only_tools",
    "promotion_min_pattern_count",
    "promotion_recency_days",
    "promotion_max_drafts_per_run",
    "phase_12_use_llm_extractor",
    "phase_12_llm_max_episodes_per_run",
    "phase_12_llm_max_drafts_per_run",
    "phase_12_promote_assistant_content",
    "phase_12_action_type_from_tool_calls",
    "skill_auto_approve",
)


def framework_config(settings: TenantSettings) -> dict[str, Any]:
    """Keyword arguments of ``FrameworkConfig``, as JSON values (lists for tuples)."""
    values = settings.to_json()
    return {
        name: list(values[name]) if isinstance(values[name], tuple) else values[name]
        for name in FRAMEWORK_FIELDS
    }
