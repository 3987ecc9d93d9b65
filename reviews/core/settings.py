"""A tenant's settings: defaults, limits, and what is wrong with a value that breaks them.

Names and defaults are those at the end of the behaviour document, which are also symfonic's;
``fabrication_check_mode`` starts at ``observe`` because a product that silently replaced answers on its
first day would not be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, Literal, get_args

from reviews.core import setting_checks as check
from reviews.core.assertion_suites import AssertionSuite, read_suites
from reviews.core.fabrication import FabricationKind
from reviews.core.grounding_rules import GroundingRules
from reviews.core.lexicon import CLAIM_VERB_HINTS
from reviews.core.patterns import PatternError, compile_pattern

__all__ = [
    "MODES",
    "ConfidenceSource",
    "DetectionProfile",
    "Mode",
    "Preference",
    "SettingsError",
    "TenantSettings",
    "parse_settings",
    "read_settings",
]

Mode = Literal["off", "observe", "revise", "refuse"]
MODES: tuple[Mode, ...] = ("off", "observe", "revise", "refuse")
ConfidenceSource = Literal["raw", "calibrated"]
DetectionProfile = Literal["evidence", "reference"]

MAX_PREFERENCES = 50
MAX_STATEMENT_LENGTH = 500
MAX_CONCURRENCY = 64


class SettingsError(ValueError):
    """One or more values are wrong. ``problems`` maps a setting's path to a sentence about it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{path}: {text}" for path, text in problems.items()))
        self.problems = dict(problems)


@dataclass(frozen=True)
class Preference:
    """What the critic is to hold a draft against. ``priority`` 1 to 10, the highest first."""

    statement: str
    priority: int = 5
    sensitive_tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class TenantSettings:
    """What the engines read from a tenant's policy.

    Attributes:
        fabrication_check_mode: What to do with findings (see ``reviews.core.outcome``).
        fabrication_refuse_min_confidence: 0 to 1; in ``refuse`` mode a finding at or above it refuses.
        fabrication_refuse_min_confidence_by_kind: The same for one kind of finding, in its place.
        fabrication_confidence_source: Whether thresholds read the detector's ``raw`` confidence or the one
            ``calibrated`` on the tenant's labels.
        detection_profile: Which detector looks: ``evidence`` (claims by sentence, held against named
            sources) or ``reference`` (the findings of symfonic-core 9.12.0). Versions of the policy that say
            nothing of it were written for ``reference``.
        identifier_keys: Keys that name identifiers here, beside the built-in ones.
        tool_trigger_keywords: Tool name to the words in a query that ask for it.
        grounding_tool_fragments: Claim verb to fragments of tool names that ground it, beside the built-in.
        ignored_keys: Keys that name no identifier here, built-in ones among them.
        ignored_value_patterns: RE2 patterns; an identifier that matches one as a whole is never flagged.
        critic_enabled: Whether the dashboard asks its own critic. What a runtime's critic recorded is shown
            in any case.
        critic_daily_calls: Most calls a day (UTC); 0 for none.
        critic_daily_tokens: Most tokens a day, in and out together.
        critic_concurrency: Most calls at once.
        critic_blind_review: Whether reviewers see the critic's verdict only after their own.
        metacognition_confidence_threshold: 0 to 1; below it the critic is asked.
        metacognition_sensitive_tags: Tags of activated memories that always call the critic.
        metacognition_selective_gate: Whether plainly trivial acknowledgments are spared the critic.
        metacognition_trivial_ack_patterns: More RE2 patterns of such acknowledgments.
        read_only_tools: Tools that change nothing.
        core_preferences: What the critic holds a draft against.
        promotion_min_pattern_count: Repetitions before a pattern becomes a draft skill.
        promotion_recency_days: Days within which they must lie.
        promotion_max_drafts_per_run: Most drafts of one run of the pattern extractor.
        phase_12_use_llm_extractor: Whether a model extracts drafts instead of the patterns.
        phase_12_llm_max_episodes_per_run: Newest episodes it is shown.
        phase_12_llm_max_drafts_per_run: Most drafts it is asked for.
        phase_12_promote_assistant_content: Whether what the assistant told counts as an episode.
        phase_12_action_type_from_tool_calls: Whether a tool call names an episode that nothing else names.
        skill_auto_approve: Always false: a human decides.
        skill_confidence_threshold: 0 to 1; drafts below it wait apart, under "low confidence".
        skills_need_second_person: Whether every kind of skill takes two people to approve, as guardrails and
            preflights always do.
        assertion_suites: Which memory assertions are made of which turns.
        audit_sample_rate: 0 to 1; the share of unflagged turns that is put before reviewers at random.
        publish_needs_second_manager: Whether who wrote a version may publish it alone.
    """

    fabrication_check_mode: Mode = "observe"
    fabrication_refuse_min_confidence: float = 0.8
    fabrication_refuse_min_confidence_by_kind: Mapping[str, float] = field(default_factory=dict)
    fabrication_confidence_source: ConfidenceSource = "raw"
    detection_profile: DetectionProfile = "evidence"
    identifier_keys: tuple[str, ...] = ()
    tool_trigger_keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    grounding_tool_fragments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignored_keys: tuple[str, ...] = ()
    ignored_value_patterns: tuple[str, ...] = ()
    critic_enabled: bool = False
    critic_daily_calls: int = 1_000
    critic_daily_tokens: int = 2_000_000
    critic_concurrency: int = 4
    critic_blind_review: bool = False
    metacognition_confidence_threshold: float = 0.6
    metacognition_sensitive_tags: tuple[str, ...] = ()
    metacognition_selective_gate: bool = False
    metacognition_trivial_ack_patterns: tuple[str, ...] = ()
    read_only_tools: tuple[str, ...] = ()
    core_preferences: tuple[Preference, ...] = ()
    promotion_min_pattern_count: int = 3
    promotion_recency_days: int = 30
    promotion_max_drafts_per_run: int = 5
    phase_12_use_llm_extractor: bool = False
    phase_12_llm_max_episodes_per_run: int = 100
    phase_12_llm_max_drafts_per_run: int = 5
    phase_12_promote_assistant_content: bool = False
    phase_12_action_type_from_tool_calls: bool = True
    skill_auto_approve: bool = False
    skill_confidence_threshold: float = 0.5
    skills_need_second_person: bool = False
    assertion_suites: tuple[AssertionSuite, ...] = ()
    audit_sample_rate: float = 0.02
    publish_needs_second_manager: bool = False

    def to_json(self) -> dict[str, Any]:
        """A JSON object that ``parse_settings`` reads back to an equal value."""
        suites = [suite.to_json() for suite in self.assertion_suites]
        return asdict(replace(self, assertion_suites=())) | {"assertion_suites": suites}

    def grounding_rules(self) -> GroundingRules:
        """The rules learned here, in the form the detector takes."""
        return GroundingRules(
            tool_fragments=self.grounding_tool_fragments,
            ignored_keys=frozenset(self.ignored_keys),
            ignored_values=tuple(compile_pattern(text) for text in self.ignored_value_patterns),
        )


def parse_settings(values: Mapping[str, Any] | None) -> TenantSettings:
    """Read settings from a JSON object; a missing one takes its default.

    Raises:
        SettingsError: naming every value that is wrong, not only the first.
    """
    problems: dict[str, str] = {}
    found: dict[str, Any] = {}
    for name, value in (values or {}).items():
        if name in _CHECKS:
            found[name] = _CHECKS[name](value, name, problems)
        else:
            problems[str(name)] = "There is no such setting."
    if problems:
        raise SettingsError(problems)
    return TenantSettings(**found)


def read_settings(values: Mapping[str, Any] | None) -> tuple[TenantSettings, list[str]]:
    """Settings as they were stored, and the names in them that this release does not know.

    A newer release may have written more; a tenant must not stand still because of that.

    Raises:
        SettingsError: as ``parse_settings``, for values.
    """
    unknown = [name for name in values or {} if name not in _CHECKS]
    known = {name: value for name, value in (values or {}).items() if name in _CHECKS}
    return parse_settings({"detection_profile": "reference", **known}), unknown


def _pattern(value: Any, path: str, problems: check.Problems) -> str:
    try:
        return compile_pattern(value).text if isinstance(value, str) else _not_a_pattern(value)
    except PatternError as error:
        problems[path] = str(error)
        return ""


def _not_a_pattern(value: Any) -> str:
    raise PatternError(f"Must be a pattern, not {check.shown(value)}.")


def _preference(value: Any, path: str, problems: check.Problems) -> Preference:
    if not isinstance(value, Mapping):
        problems[path] = "Must be an object with a statement, and perhaps priority and sensitive_tags."
        return Preference("")
    for name in value.keys() - _PREFERENCE_CHECKS.keys():
        problems[f"{path}/{name}"] = "A preference has no such field."
    if "statement" not in value:
        problems[f"{path}/statement"] = "A preference needs a statement."
        return Preference("")
    return Preference(
        **{
            name: checked(value[name], f"{path}/{name}", problems)
            for name, checked in _PREFERENCE_CHECKS.items()
            if name in value
        }
    )


_word = check.text(check.MAX_WORD_LENGTH, what="a word")
_tool = check.text(check.MAX_WORD_LENGTH, what="a tool's name")
_fragment = check.text(check.MAX_WORD_LENGTH, what="a part of a tool's name", lower=True)
_tag = check.text(check.MAX_WORD_LENGTH, what="a tag")

_PREFERENCE_CHECKS: Final[dict[str, check.Check]] = {
    "statement": check.text(MAX_STATEMENT_LENGTH, what="a statement"),
    "priority": check.whole(1, 10),
    "sensitive_tags": check.list_of(_tag, what="tags"),
}
_CHECKS: Final[dict[str, check.Check]] = {
    "fabrication_check_mode": check.one_of(MODES),
    "fabrication_refuse_min_confidence": check.unit,
    "fabrication_refuse_min_confidence_by_kind": check.map_of(
        check.one_of(get_args(FabricationKind)), check.unit, what="a kind of finding to a confidence"
    ),
    "fabrication_confidence_source": check.one_of(get_args(ConfidenceSource)),
    "detection_profile": check.one_of(get_args(DetectionProfile)),
    "identifier_keys": check.list_of(check.key, what="keys"),
    "tool_trigger_keywords": check.map_of(
        _tool,
        check.list_of(_word, what="words", most=check.MAX_WORDS_PER_TOOL),
        what="a tool's name to a list of words",
    ),
    "grounding_tool_fragments": check.map_of(
        check.one_of(CLAIM_VERB_HINTS),
        check.list_of(_fragment, what="parts of tool names"),
        what="a claim verb to parts of tool names",
    ),
    "ignored_keys": check.list_of(check.key, what="keys"),
    "ignored_value_patterns": check.list_of(_pattern, what="patterns"),
    "critic_enabled": check.flag,
    "critic_daily_calls": check.whole(0, 10_000_000),
    "critic_daily_tokens": check.whole(0, 10_000_000_000),
    "critic_concurrency": check.whole(1, MAX_CONCURRENCY),
    "critic_blind_review": check.flag,
    "metacognition_confidence_threshold": check.unit,
    "metacognition_sensitive_tags": check.list_of(_tag, what="tags"),
    "metacognition_selective_gate": check.flag,
    "metacognition_trivial_ack_patterns": check.list_of(_pattern, what="patterns"),
    "read_only_tools": check.list_of(_tool, what="tools"),
    "core_preferences": check.list_of(_preference, what="preferences", most=MAX_PREFERENCES),
    "promotion_min_pattern_count": check.whole(1, 1000),
    "promotion_recency_days": check.whole(1, 3650),
    "promotion_max_drafts_per_run": check.whole(1, 100),
    "phase_12_use_llm_extractor": check.flag,
    "phase_12_llm_max_episodes_per_run": check.whole(1, 100),
    "phase_12_llm_max_drafts_per_run": check.whole(1, 100),
    "phase_12_promote_assistant_content": check.flag,
    "phase_12_action_type_from_tool_calls": check.flag,
    "skill_auto_approve": check.only(False, "Always false: skills go live by a human's decision."),
    "skill_confidence_threshold": check.unit,
    "skills_need_second_person": check.flag,
    "assertion_suites": read_suites,
    "audit_sample_rate": check.unit,
    "publish_needs_second_manager": check.flag,
}
assert _CHECKS.keys() == {f.name for f in fields(TenantSettings)}
