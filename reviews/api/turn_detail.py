"""One turn with everything that is known of it."""

from __future__ import annotations

from typing import Any

from reviews.api.errors import NOT_FOUND
from reviews.models import Finding, ReviewDecision, Tenant, Turn
from reviews.models.turns import Severity
from reviews.services.errors import NotFoundError
from reviews.services.rows import PAYLOAD_COLUMNS

_PAYLOAD = PAYLOAD_COLUMNS[2:]  # without the ids
_LISTS = frozenset({"tool_calls", "earlier_calls", "tools"})


def read_turn(*, tenant: Tenant, **wanted: Any) -> dict[str, Any]:
    """The tenant's turn with this ``pk`` or ``external_id`` as a JSON object. Three queries.

    Raises:
        NotFoundError: the tenant has no such turn.
    """
    turn = (
        Turn.objects.for_tenant(tenant)
        .select_related("payload", "policy_version", "assignee", "decided_by")
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
        "payload": {name: _value(turn, name) for name in _PAYLOAD},
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
        "label": finding.label,
        "labelled_by": finding.labelled_by.username if finding.labelled_by else None,
        "labelled_at": finding.labelled_at,
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
