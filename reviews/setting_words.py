"""What the pages call a tenant's settings: sections, labels, one line about each, and values in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from reviews.core.memory_assertions import digest_of
from reviews.core.settings import ConfidenceSource, DetectionProfile, Mode, TenantSettings
from reviews.models.turns import Kind

#: How a setting is shown and typed.
Shape = Literal["choice", "number", "whole", "flag", "by_kind", "lines", "pairs", "preferences"]

BY_KIND = "fabrication_refuse_min_confidence_by_kind"
KIND_NAMES: dict[str, str] = dict(Kind.choices)

MODE_NAMES: dict[Mode, str] = {
    "off": "Off: look for nothing",
    "observe": "Observe: record findings, change nothing",
    "revise": "Revise: a finding sends the draft to the critic for revision",
    "refuse": "Refuse: a finding at or above its threshold replaces the draft",
}
SOURCE_NAMES: dict[ConfidenceSource, str] = {
    "raw": "Raw: the detector’s fixed number for each kind",
    "calibrated": "Calibrated: how often findings like it were right, by this tenant’s labels",
}


PROFILE_NAMES: dict[DetectionProfile, str] = {
    "evidence": "Evidence: claims by sentence, held against what ran, was said and was known",
    "reference": "Reference: the findings of symfonic-core 9.12.0",
}


class Setting(NamedTuple):
    """One setting as the pages show it."""

    name: str
    label: str
    hint: str
    shape: Shape


class Section(NamedTuple):
    """Settings under one heading. ``key`` is the heading's anchor."""

    key: str
    title: str
    about: str
    settings: tuple[Setting, ...]


SECTIONS = (
    Section(
        "detection",
        "Detection",
        "What the detector looks for, and what becomes of a draft with findings.",
        (
            Setting("fabrication_check_mode", "Mode", "", "choice"),
            Setting("detection_profile", "Detector", "", "choice"),
            Setting(
                "identifier_keys",
                "Identifier keys",
                "One a line, such as booking_ref. In “booking_ref=AB12”, the value must then come from a "
                "tool, the user or the context. The built-in keys (task_id, order_id, …) always count.",
                "lines",
            ),
            Setting(
                "tool_trigger_keywords",
                "Tool trigger keywords",
                "One tool a line: “send_invoice: invoice, bill”. A user who says one of the words asks for "
                "that tool; so an answer without any tool call is suspicious.",
                "pairs",
            ),
        ),
    ),
    Section(
        "thresholds",
        "Thresholds",
        "How sure a finding has to be before mode “refuse” replaces the draft. Weaker ones are recorded.",
        (
            Setting(
                "fabrication_refuse_min_confidence",
                "Refuse at or above",
                "A confidence from 0 to 1, with at most three decimals.",
                "number",
            ),
            Setting(
                BY_KIND, "For one kind of finding", "Empty: the number above counts for this kind.", "by_kind"
            ),
            Setting("fabrication_confidence_source", "Confidence that counts", "", "choice"),
        ),
    ),
    Section(
        "rules",
        "Learned grounding",
        "What reviewers’ false alarms have taught: reasons not to flag something. They hold for new turns.",
        (
            Setting(
                "grounding_tool_fragments",
                "Tools that ground a verb",
                "One verb a line: “checked: get_, lookup”. “I checked …” is then believed when a tool with "
                "one of these parts in its name ran, beside the built-in ones.",
                "pairs",
            ),
            Setting(
                "ignored_keys",
                "Keys to ignore",
                "One a line. What stands behind such a key is no identifier here. Built-in keys may be "
                "listed, too.",
                "lines",
            ),
            Setting(
                "ignored_value_patterns",
                "Values to ignore",
                "One regular expression (RE2) a line, such as v[0-9]+\\.[0-9]+. An identifier that one "
                "matches as a whole is never flagged.",
                "lines",
            ),
        ),
    ),
    Section(
        "critic",
        "Critic",
        "When a model looks at a draft once more before it is shown, and what it holds the draft against.",
        (
            Setting(
                "critic_enabled",
                "Ask the critic",
                "Sends the drafts its gate picks to the model that the operator has set up. Verdicts that an "
                "agent’s own critic recorded are shown in any case.",
                "flag",
            ),
            Setting(
                "metacognition_confidence_threshold",
                "Ask below",
                "From 0 to 1: with less confidence in the memories behind an answer, the critic is asked.",
                "number",
            ),
            Setting(
                "metacognition_sensitive_tags",
                "Sensitive tags",
                "One a line. A memory with one of these tags always calls the critic.",
                "lines",
            ),
            Setting(
                "core_preferences",
                "Preferences",
                "Priority 1 to 10, the highest first; tags between commas are sensitive tags, too.",
                "preferences",
            ),
            Setting(
                "metacognition_selective_gate",
                "Spare plain acknowledgments",
                "“Thanks, noted.” and the like are shown without asking the critic; every other draft is "
                "read, however sure the memory behind it was.",
                "flag",
            ),
            Setting(
                "metacognition_trivial_ack_patterns",
                "More acknowledgments",
                "One regular expression (RE2) a line, beside the built-in ones.",
                "lines",
            ),
            Setting(
                "read_only_tools",
                "Read-only tools",
                "One a line. A turn that ran any other tool is never a plain acknowledgment.",
                "lines",
            ),
            Setting(
                "critic_blind_review",
                "Reviewers judge first",
                "The critic’s verdict is shown on a turn only after the reviewer has decided, so that it "
                "does not lead them.",
                "flag",
            ),
            Setting(
                "critic_daily_calls",
                "Calls a day",
                "At most so many a day (UTC). A draft beyond them counts as not read.",
                "whole",
            ),
            Setting("critic_daily_tokens", "Tokens a day", "In and out together; the same applies.", "whole"),
            Setting("critic_concurrency", "Calls at once", "1 to 64.", "whole"),
        ),
    ),
    Section(
        "skills",
        "Skills",
        "How repeated work becomes a draft skill. A person decides about each draft.",
        (
            Setting(
                "promotion_min_pattern_count", "Repetitions", "So often before it is a pattern.", "whole"
            ),
            Setting("promotion_recency_days", "Within days", "All of them in so many days.", "whole"),
            Setting(
                "promotion_max_drafts_per_run", "Drafts a run", "At most so many from patterns.", "whole"
            ),
            Setting(
                "phase_12_use_llm_extractor",
                "A model writes the drafts",
                "Instead of the pattern counter; needs a configured model.",
                "flag",
            ),
            Setting(
                "phase_12_llm_max_episodes_per_run",
                "Episodes for the model",
                "The newest so many are shown to it.",
                "whole",
            ),
            Setting(
                "phase_12_llm_max_drafts_per_run", "Drafts from the model", "At most so many a run.", "whole"
            ),
            Setting(
                "phase_12_promote_assistant_content",
                "Count what the assistant told",
                "Otherwise only what users and tools say counts as an episode.",
                "flag",
            ),
            Setting(
                "phase_12_action_type_from_tool_calls",
                "Name episodes by their first tool",
                "Where nothing else names them.",
                "flag",
            ),
            Setting(
                "skill_confidence_threshold",
                "Low confidence below",
                "From 0 to 1. Drafts below it wait apart, until somebody looks.",
                "number",
            ),
            Setting(
                "skills_need_second_person",
                "Two people approve every skill",
                "Guardrails and preflights always take two.",
                "flag",
            ),
        ),
    ),
    Section(
        "review",
        "Review",
        "What people look at, and who publishes.",
        (
            Setting(
                "audit_sample_rate",
                "Audit sample",
                "The share of unflagged turns put before reviewers at random: 0.02 is 2 of 100.",
                "number",
            ),
            Setting(
                "publish_needs_second_manager",
                "A second manager publishes",
                "Who wrote a version may then not publish it.",
                "flag",
            ),
        ),
    ),
)
SETTINGS: dict[str, Setting] = {setting.name: setting for section in SECTIONS for setting in section.settings}
#: Listed although there is nothing to choose.
ALWAYS_OFF = Setting(
    "skill_auto_approve", "Approve skills by themselves", "Always off: a person decides.", "flag"
)


#: Edited on a page of its own.
SUITES = Setting(
    "assertion_suites",
    "Memory assertions",
    "Suites of assertions about the memory behind an answer; edited under Assertions.",
    "lines",
)


class SectionValues(NamedTuple):
    """The values of a section in words: label and lines (none for an empty list)."""

    title: str
    values: list[tuple[str, list[str]]]


def values_in_words(settings: TenantSettings) -> list[SectionValues]:
    """All settings, for a page that only shows them."""
    found = [
        SectionValues(
            section.title,
            [(each.label, lines_of(each.name, getattr(settings, each.name))) for each in section.settings],
        )
        for section in SECTIONS
    ]
    always_off = (ALWAYS_OFF.label, ["always off"])
    suites = (SUITES.label, lines_of(SUITES.name, settings.assertion_suites))
    return [*found[:-1], found[-1]._replace(values=[*found[-1].values, always_off, suites])]


def lines_of(name: str, value: Any) -> list[str]:
    """A setting's value as lines of text; an empty list or map has none."""
    if isinstance(value, Mapping):
        return [f"{entry_name(name, key)}: {in_words(name, item)}" for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [in_words(name, item) for item in value]
    return [in_words(name, value)]


def in_words(name: str, value: Any) -> str:
    """One value, or one item of a list, of the setting called ``name``."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return confidence_text(value)
    if isinstance(value, list | tuple):
        return ", ".join(in_words(name, item) for item in value)
    if name == "core_preferences":
        return _preference(value)
    if name == SUITES.name:
        return _suite(value)
    names: Mapping[str, str] = {
        "fabrication_check_mode": MODE_NAMES,
        "fabrication_confidence_source": SOURCE_NAMES,
        "detection_profile": PROFILE_NAMES,
    }.get(name, {})  # type: ignore[assignment]
    return names.get(value, str(value))


def entry_name(name: str, key: str) -> str:
    """What the pages call an entry of a map: a tool or verb as it is, a kind of finding by its name."""
    return KIND_NAMES.get(key, key) if name == BY_KIND else key


def confidence_text(value: float) -> str:
    """Two decimals, or the third where there is one: settings have no more."""
    text = f"{value:.3f}"
    return text[:-1] if text.endswith("0") else text


def _suite(value: Any) -> str:
    """``value`` is an ``AssertionSuite``, or the JSON object of one. What it looks for may be secret."""
    suite = value if isinstance(value, Mapping) else value.to_json()
    about = ", ".join([*suite["agents"], *suite["tags"]]) or "all turns"
    count = len(suite["assertions"])
    parts = [
        f"{suite['name']}: {count} assertion{'' if count == 1 else 's'}",
        about,
        f"{suite['sampling']:.1%} of them".replace(".0%", "%").replace("%", " %"),
        *(["failures go to the queue"] if suite["queue"] else []),
        # So that a change of what it looks for shows, and what that is does not.
        f"fingerprint {digest_of(json.dumps(suite['assertions'], sort_keys=True))}",
    ]
    return " · ".join(parts)


def _preference(value: Any) -> str:
    """``value`` is a ``Preference``, or the JSON object of one."""
    get = value.get if isinstance(value, Mapping) else lambda field: getattr(value, field)
    tags = ", ".join(get("sensitive_tags") or ())
    return f"{get('priority')} · {get('statement')}" + (f" ({tags})" if tags else "")
