"""Judging a turn: intent, findings and outcome by a tenant's settings. Reads and writes no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from reviews.core.fabrication import FabricationFinding, detect_fabrication, left_strip_length
from reviews.core.intent import IntentClassifier, IntentVerdict
from reviews.core.outcome import FabricationOutcome, apply_fabrication_policy
from reviews.core.settings import TenantSettings
from reviews.formats.record import ToolCall, TurnRecord

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
class Judgement:
    """What analysis found out about one turn, ready to be stored."""

    intent: IntentVerdict | None
    outcome: FabricationOutcome
    draft_offset: int
    snippet: Snippet
    tools_note: str

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


def judge(record: TurnRecord, settings: TenantSettings) -> Judgement:
    """Judge one turn by the tenant's settings; mode ``off`` runs no detection at all.

    The intent verdict that came with the turn is used; without one, the user's message is classified.
    """
    calls = [detector_call(call) for call in record.tool_calls]
    intent: IntentVerdict | None = None
    findings: list[FabricationFinding] = []
    if settings.fabrication_check_mode != "off":
        intent = intent_of(record, settings)
        findings = detect_fabrication(
            record.draft,
            calls,
            hydrated_context=record.hydrated_context,
            user_message=record.user_message,
            identifier_keys=list(settings.identifier_keys),
            intent_verdict=intent,
        )
    outcome = apply_fabrication_policy(
        findings=findings,
        mode=settings.fabrication_check_mode,
        refuse_min_confidence=settings.fabrication_refuse_min_confidence,
        draft=record.draft,
    )
    offset = left_strip_length(record.draft)
    return Judgement(
        intent=intent,
        outcome=outcome,
        draft_offset=offset,
        snippet=snippet_of(record.draft, findings, offset),
        tools_note=tools_note(record.tool_calls),
    )


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


def detector_call(call: ToolCall) -> dict[str, Any]:
    """A call in the shape the detector reads; the text of a failure grounds what the draft quotes of it."""
    found = {"name": call.name, "args": call.args, "result": call.result}
    if call.error:
        found["output"] = call.error
    return found


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
