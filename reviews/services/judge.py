"""Judging a turn: intent, findings and outcome by a tenant's settings. Reads and writes no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from reviews.core.acknowledgments import is_trivial_acknowledgment
from reviews.core.assertion_suites import SuiteVerdict
from reviews.core.calibration import CalibrationTable
from reviews.core.critic_gate import GateDecision, decide_gate
from reviews.core.fabrication import FabricationFinding, left_strip_length
from reviews.core.grounding_rules import GroundingRules
from reviews.core.intent import IntentClassifier, IntentVerdict
from reviews.core.outcome import FabricationAction, FabricationOutcome, apply_fabrication_policy
from reviews.core.patterns import Pattern, compile_pattern
from reviews.core.profiles import Group, Profile, profile_of, subject_of, thousandths, tools_of
from reviews.core.settings import TenantSettings
from reviews.formats.record import CriticRecord, ToolCall, TurnRecord
from reviews.services.assertion_rows import evaluate_suites
from reviews.services.detection import NOTHING, Detected, detect
from reviews.services.sampling import is_drawn

#: Confidence in thousandths times ten, plus severity: see ``Turn.priority``.
PRIORITY_PER_CONFIDENCE = 10_000
SEVERITY_RANK = {"low": 1, "medium": 2, "high": 3}

SNIPPET_LENGTH = 160
#: Characters of the draft shown before the claim in a snippet: enough to see who is speaking of what.
SNIPPET_LEAD = 40
TOOLS_NOTE_LENGTH = 120

#: Actions of a runtime that changed what the user saw: facts, where our own outcome is an opinion.
STRONG_ACTIONS = ("revise_forced", "refuse_replaced")

_classifier = IntentClassifier()


class Snippet(NamedTuple):
    """One line of a draft; the claim in it are the characters from ``start`` to ``end`` (equal for none)."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Policy:
    """A version of a tenant's policy: its row's id (None for the defaults), its number, and what it says.

    ``calibration`` is the fit that came with it, ``shadow`` the version that runs in its shadow.
    """

    id: int | None
    number: int
    settings: TenantSettings
    calibration: CalibrationTable | None = None
    shadow: Policy | None = None

    @cached_property
    def rules(self) -> GroundingRules | None:
        rules = self.settings.grounding_rules()
        return None if rules.is_empty else rules

    @cached_property
    def acknowledgments(self) -> tuple[Pattern, ...]:
        return tuple(compile_pattern(text) for text in self.settings.metacognition_trivial_ack_patterns)

    @cached_property
    def sensitive_tags(self) -> frozenset[str]:
        preferences = self.settings.core_preferences
        return frozenset(self.settings.metacognition_sensitive_tags).union(
            *(preference.sensitive_tags for preference in preferences)
        )


class Gate(NamedTuple):
    """What the critic's gate reads: a confidence in thousandths, whether a sensitive tag was hit, whether the
    draft is a plain acknowledgment (``reviews.core.acknowledgments``), and whether there are findings."""

    confidence: int
    sensitive: bool
    trivial: bool = False
    flagged: bool = False


class Shadowed(NamedTuple):
    """What two policies do with the same turn: the one in force, and the version in its shadow."""

    version_id: int
    number: int
    ours: FabricationAction
    theirs: FabricationAction


@dataclass(frozen=True)
class Judgement:
    """What analysis found out about one turn, ready to be stored.

    ``audit_rate`` is set when the turn is in the audit sample, to the rate it was drawn at. ``recorded`` is
    the verdict of the runtime's own critic, when it came with the turn. ``assertions`` are the verdicts of
    the policy's suites on the turn's attributes. ``evidence`` has for each finding what its claim was held
    against (None where the detector does not say), ``grounded`` the claims that something bears out.
    """

    intent: IntentVerdict | None
    outcome: FabricationOutcome
    draft_offset: int
    snippet: Snippet
    tools_note: str
    profile: Profile | None
    gate: Gate | None = None
    gate_decision: GateDecision | None = None
    recorded: CriticRecord | None = None
    audit_rate: float | None = None
    shadowed: Shadowed | None = None
    assertions: tuple[SuiteVerdict, ...] = ()
    evidence: Sequence[dict[str, Any] | None] = ()
    grounded: Sequence[dict[str, Any]] = ()

    @property
    def findings(self) -> Sequence[FabricationFinding]:
        return self.outcome.findings

    @cached_property
    def max_severity(self) -> int:
        return max((SEVERITY_RANK[f.severity] for f in self.findings), default=0)

    @property
    def priority(self) -> int:
        return priority_of(self.outcome.max_finding_confidence, self.max_severity)


def priority_of(confidence: float, severity: int) -> int:
    """Where a turn stands in the queue: the most confident first, then the most severe."""
    return round(confidence * PRIORITY_PER_CONFIDENCE / 10) * 10 + severity


def judge(record: TurnRecord, policy: Policy) -> Judgement:
    """Judge one turn by a policy; mode ``off`` runs no detection at all.

    The intent verdict that came with the turn is used; without one, the user's message is classified.
    """
    applied = _apply(record, policy)
    intent, outcome, profile = applied.intent, applied.outcome, applied.profile
    offset = left_strip_length(record.draft)
    settings, shadow = policy.settings, policy.shadow
    gate, decision = gate_of(record, policy, outcome.findings, intent)
    drawn = (
        profile is None
        and settings.fabrication_check_mode != "off"
        and is_drawn(record.external_id, settings.audit_sample_rate)
    )
    shadowed = None
    if shadow is not None and shadow.id is not None:
        theirs = _apply(record, shadow).outcome.action_taken
        shadowed = Shadowed(shadow.id, shadow.number, outcome.action_taken, theirs)
    return Judgement(
        intent=intent,
        outcome=outcome,
        draft_offset=offset,
        snippet=snippet_of(record.draft, outcome.findings, offset),
        tools_note=tools_note(record.tool_calls),
        profile=profile,
        gate=gate,
        gate_decision=decision,
        recorded=record.critic,
        audit_rate=settings.audit_sample_rate if drawn else None,
        shadowed=shadowed,
        assertions=evaluate_suites(record, settings),
        evidence=applied.detected.evidence,
        grounded=applied.detected.grounded,
    )


class _Applied(NamedTuple):
    intent: IntentVerdict | None
    detected: Detected
    outcome: FabricationOutcome
    profile: Profile | None


def _apply(record: TurnRecord, policy: Policy) -> _Applied:
    settings = policy.settings
    intent: IntentVerdict | None = None
    detected = NOTHING
    if settings.fabrication_check_mode != "off":
        intent = intent_of(record, settings)
        detected = detect(record, settings, policy.rules, intent)
    names = [call.name for call in record.tool_calls]
    findings = detected.findings
    outcome = apply_fabrication_policy(
        findings=findings,
        mode=settings.fabrication_check_mode,
        refuse_min_confidence=settings.fabrication_refuse_min_confidence,
        refuse_min_confidence_by_kind=settings.fabrication_refuse_min_confidence_by_kind,
        calibrated=calibrated_confidences(findings, names, policy.calibration),
        read_calibrated=policy.calibration is not None
        and settings.fabrication_confidence_source == "calibrated",
        draft=record.draft,
    )
    return _Applied(intent, detected, outcome, profile_of(outcome.findings, names))


def calibrated_confidences(
    findings: Sequence[FabricationFinding], tool_names: Sequence[str], table: CalibrationTable | None
) -> list[float]:
    """The findings' confidences as the labels of findings like them suggest; none without a calibration."""
    if table is None or not findings:
        return []
    tools = tools_of(tool_names)
    return [table.confidence(Group(f.kind, subject_of(f), tools), f.confidence) for f in findings]


def gate_of(
    record: TurnRecord,
    policy: Policy,
    findings: Sequence[FabricationFinding],
    intent: IntentVerdict | None,
) -> tuple[Gate, GateDecision]:
    """What the critic's gate reads of a turn, and what it decides by the policy."""
    settings = policy.settings
    acknowledging: dict[str, Any] = {
        "tool_calls": [{"name": call.name} for call in record.tool_calls],
        "read_only_tools": settings.read_only_tools,
        "intent": intent,
        "patterns": policy.acknowledgments,
    }
    decision = decide_gate(
        record.draft,
        record.activation,
        threshold=settings.metacognition_confidence_threshold,
        tags=policy.sensitive_tags,
        fabrication_mode=settings.fabrication_check_mode,
        findings=findings,
        selective=settings.metacognition_selective_gate,
        **acknowledging,
    )
    trivial = decision.sensitive_tag is None and is_trivial_acknowledgment(
        record.draft, findings=findings, **acknowledging
    )
    sensitive = decision.sensitive_tag is not None
    return Gate(thousandths(decision.confidence), sensitive, trivial, bool(findings)), decision


def with_runtime(judgement: Judgement, runtime_event: dict[str, Any] | None) -> Judgement:
    """The judgement, with what the runtime says it has done to the draft in place of what we would do."""
    done = (runtime_event or {}).get("action_taken")
    if done not in STRONG_ACTIONS:
        return judgement
    return replace(judgement, outcome=replace(judgement.outcome, action_taken=done))


def intent_of(record: TurnRecord, settings: TenantSettings) -> IntentVerdict | None:
    """The verdict that came with the turn, else our own; None without a user message to classify."""
    if record.intent is not None:
        given = record.intent
        return IntentVerdict(
            label=given.label,  # type: ignore[arg-type]  # intake has checked it
            confidence=given.confidence,
            matched_tool_keywords=list(given.matched_tool_keywords),
            reasoning=given.reasoning,
            action_score=given.action_score,
            knowledge_score=given.knowledge_score,
        )
    if not record.user_message:
        return None
    return _classifier.classify(record.user_message, settings.tool_trigger_keywords)


def snippet_of(draft: str, findings: Sequence[FabricationFinding], offset: int) -> Snippet:
    """One line of the draft around its most confident claim, or its beginning when nothing is claimed."""
    lead = max(findings, key=lambda f: f.confidence, default=None)
    if lead is None:
        text = _folded(draft[offset : offset + 2 * SNIPPET_LENGTH])
        return Snippet(_cut(text), 0, 0)
    first, last = lead.span[0] + offset, lead.span[1] + offset
    begin = max(offset, first - SNIPPET_LEAD)
    if begin > offset:
        # Not in the middle of a word, where there is a gap to start after.
        begin = draft.find(" ", begin, first) + 1 or begin
    before = "…" if begin > offset else ""
    before += _folded(draft[begin:first])
    # A claim may hold any amount of white space, so cut before folding it.
    claim = _folded(draft[first : min(last, first + 2 * SNIPPET_LENGTH)])
    text = _cut(before + claim + _folded(draft[last : last + 2 * SNIPPET_LENGTH]))
    return Snippet(text, len(before), min(len(before) + len(claim), len(text)))


def _folded(text: str) -> str:
    """White space as single spaces, kept at the ends, so that pieces can be put together again."""
    folded = " ".join(text.split())
    if not folded:
        return " " if text else ""
    return f"{' ' if text[0].isspace() else ''}{folded}{' ' if text[-1].isspace() else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= SNIPPET_LENGTH else text[: SNIPPET_LENGTH - 1] + "…"


def tools_note(calls: Sequence[ToolCall]) -> str:
    """What ran, in a few words, for the queue's row."""
    if not calls:
        return "no tool ran"
    note = "ran " + calls[0].name
    if len(note) > TOOLS_NOTE_LENGTH - 10:
        note = note[: TOOLS_NOTE_LENGTH - 11] + "…"
    return f"{note} +{len(calls) - 1}" if len(calls) > 1 else note
