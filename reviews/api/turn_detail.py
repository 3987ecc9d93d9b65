"""One turn with everything that is known of it."""

from __future__ import annotations

from typing import Any

from reviews.api.errors import NOT_FOUND
from reviews.core.profiles import UNIT
from reviews.models import AssertionResult, CriticVerdict, Finding, ReviewDecision, Tenant, Turn
from reviews.models.turns import Severity
from reviews.services.assertion_worklist import results_of
from reviews.services.errors import NotFoundError
from reviews.services.rows import PAYLOAD_COLUMNS

_PAYLOAD = PAYLOAD_COLUMNS[2:]  # without the ids
_LISTS = frozenset({"tool_calls", "earlier_calls", "earlier_user_messages", "tools", "claims"})


def read_turn(*, tenant: Tenant, **wanted: Any) -> dict[str, Any]:
    """The tenant's turn with this ``pk`` or ``external_id`` as a JSON object. Three queries, and one more
    where an assertion was made.

    Raises:
        NotFoundError: the tenant has no such turn.
    """
    turn = (
        Turn.objects.for_tenant(tenant)
        .select_related("payload", "policy_version", "assignee", "decided_by", "critic_verdict__human_by")
        .defer("policy_version__settings", "policy_version__evidence")
        .filter(**wanted)
        .first()
    )
    if turn is None:
        raise NotFoundError(NOT_FOUND)
    findings = Finding.objects.for_tenant(tenant).filter(turn=turn).order_by("position")
    decisions = ReviewDecision.objects.for_tenant(tenant).filter(turn=turn).order_by("version")
    return {
        **_turn(turn),
        "critic": _critic(turn),
        "payload": {name: _value(turn, name) for name in _PAYLOAD},
        "assertions": _assertions(tenant, turn),
        "findings": [_finding(finding) for finding in findings.select_related("labelled_by")],
        "decisions": [_decision(decision) for decision in decisions.select_related("actor")],
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.pk,
        "external_id": turn.external_id,
        "source": turn.source,
        "conversation_id": turn.conversation_id,
        "agent": turn.agent,
        "model": turn.model,
        "occurred_at": turn.occurred_at,
        "received_at": turn.received_at,
        "analysis_state": turn.analysis_state,
        "analysed_at": turn.analysed_at,
        "policy_version": turn.policy_version.number if turn.policy_version else None,
        "gate_reason": turn.gate_reason,
        "outcome": turn.outcome,
        "intent": turn.intent,
        "finding_count": turn.finding_count,
        "kinds": turn.kind_list,
        "max_severity": Severity(turn.max_severity).name.lower(),
        "max_confidence": turn.max_confidence,
        "draft_offset": turn.draft_offset,
        "snippet": turn.snippet,
        "tools_note": turn.tools_note,
        "review_state": turn.review_state,
        "verdict": turn.verdict,
        "assignee": turn.assignee.username if turn.assignee else None,
        "decided_by": turn.decided_by.username if turn.decided_by else None,
        "decided_at": turn.decided_at,
        "version": turn.version,
    }


def _critic(turn: Turn) -> dict[str, Any] | None:
    """The critic's verdict; None when nobody's critic was asked. What the gate compared is 0 to 1 here."""
    verdict: CriticVerdict | None = getattr(turn, "critic_verdict", None)
    if verdict is None:
        return None
    return {
        "state": verdict.state,
        "origin": verdict.origin,
        "verdict": verdict.verdict,
        "degraded": verdict.degraded,
        "cause": verdict.cause if verdict.degraded else "",
        "forced": verdict.forced,
        "gate_reason": verdict.gate_reason,
        "confidence": _share(verdict.confidence),
        "threshold": _share(verdict.threshold),
        "sensitive_tag": verdict.sensitive_tag,
        "revised_draft": verdict.revised_draft,
        "refusal_message": verdict.refusal_message,
        "matched_preferences": verdict.matched_preferences or [],
        "model": verdict.model,
        "tokens_in": verdict.tokens_in,
        "tokens_out": verdict.tokens_out,
        "latency_ms": verdict.latency_ms,
        "cost": verdict.cost,
        "answered_at": verdict.answered_at,
        "human": _human(verdict),
    }


def _human(verdict: CriticVerdict) -> dict[str, Any] | None:
    """A reviewer's word on the same question."""
    if not verdict.human:
        return None
    return {
        "verdict": verdict.human,
        "reason": verdict.human_reason,
        "blind": verdict.human_blind,
        "by": verdict.human_by.username if verdict.human_by else None,
        "at": verdict.human_at,
    }


def _share(thousandths: int | None) -> float | None:
    return None if thousandths is None else thousandths / UNIT


def _value(turn: Turn, name: str) -> Any:
    value = getattr(turn.payload, name)
    return [] if value is None and name in _LISTS else value


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.pk,
        "position": finding.position,
        "identifier": finding.identifier,
        "kind": finding.kind,
        "severity": Severity(finding.severity).name.lower(),
        "reason": finding.reason,
        "key": finding.key,
        "pattern_kind": finding.pattern_kind,
        "confidence": finding.confidence,
        "calibrated_confidence": finding.calibrated_confidence,
        "span": [finding.span_start, finding.span_end],
        "grounded_sources": finding.grounded_sources or [],
        "evidence": finding.evidence,
        "label": finding.label,
        "labelled_by": finding.labelled_by.username if finding.labelled_by else None,
        "labelled_at": finding.labelled_at,
    }


def _assertions(tenant: Tenant, turn: Turn) -> list[dict[str, Any]]:
    if not turn.assertions:
        return []
    return [_assertion(result) for result in results_of(tenant=tenant, turn_id=turn.pk)]


def _assertion(result: AssertionResult) -> dict[str, Any]:
    return {
        "suite": result.suite,
        "assertion": result.assertion,
        "passed": result.passed,
        "reason": result.reason,
        "evidence": result.evidence or {},
        "digests": result.digests or [],
    }


def _decision(decision: ReviewDecision) -> dict[str, Any]:
    return {
        "id": decision.pk,
        "finding": decision.finding_id,
        "actor": decision.actor.username,
        "action": decision.action,
        "value": decision.value,
        "text": decision.text,
        "version": decision.version,
        "created_at": decision.created_at,
        "undoes": decision.undoes_id,
    }
