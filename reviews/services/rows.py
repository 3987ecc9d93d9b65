"""Turns as rows: what the bulk writers put into which column.

``prepare`` touches no database, so an import runs it in other processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from reviews.core.fabrication import FabricationFinding
from reviews.core.profiles import Profile
from reviews.formats.native import content_hash
from reviews.formats.record import TurnRecord
from reviews.formats.symfonic_event import FabricationEvent
from reviews.models.bulk import on_postgresql, to_db_time
from reviews.models.fields import encode_json
from reviews.models.turns import (
    KIND_BITS,
    ActionTaken,
    AnalysisState,
    AssertionStanding,
    ReviewState,
    Severity,
)
from reviews.services.assertion_rows import (
    AssertionKey,
    assertion_keys,
    assertion_rows,
    standing_of,
)
from reviews.services.counting import day_of, turn_names
from reviews.services.critic_rows import CAUTION, NewVerdict, raised, verdict_for
from reviews.services.judge import SEVERITY_RANK, Gate, Judgement, Policy, Shadowed, priority_of

IDENTITY_COLUMNS = (
    "tenant_id",
    "external_id",
    "content_hash",
    "source",
    "conversation_id",
    "agent",
    "model",
    "occurred_at",
    "received_at",
)
JUDGED_COLUMNS = (
    "analysis_state",
    "analysed_at",
    "policy_version_id",
    "gate_confidence",
    "gate_sensitive",
    "gate_trivial",
    "gate_reason",
    "critic",
    "assertions",
    "outcome",
    "intent",
    "finding_count",
    "kinds",
    *(f"has_{kind}" for kind in KIND_BITS),
    "max_severity",
    "max_confidence",
    "draft_offset",
    "snippet",
    "snippet_start",
    "snippet_end",
    "tools_note",
    "audit_rate",
    "priority",
    "review_state",
)
#: Columns of a turn nobody has touched yet, and their values.
UNTOUCHED = {"attempts": 0, "claim": "", "group_key": "", "verdict": "", "version": 0}
#: The profile's id comes last: it is known only to the process that stores the turn.
TURN_COLUMNS = ("id", *IDENTITY_COLUMNS, *JUDGED_COLUMNS, *UNTOUCHED, "profile_id")
CONTENT_COLUMNS = (
    "draft",
    "user_message",
    "hydrated_context",
    "tool_calls",
    "earlier_calls",
    "earlier_user_messages",
    "tools",
    "intent",
    "critic",
    "activation",
    "attributes",
)
PAYLOAD_COLUMNS = (
    "turn_id",
    "tenant_id",
    *CONTENT_COLUMNS,
    "claims",
    "runtime_event",
    "analysis_error",
    "corrected_answer",
)
FINDING_COLUMNS = (
    "turn_id",
    "tenant_id",
    "position",
    "identifier",
    "kind",
    "severity",
    "reason",
    "key",
    "pattern_kind",
    "confidence",
    "calibrated_confidence",
    "span_start",
    "span_end",
    "grounded_sources",
    "evidence",
    "label",
)


#: The least priority of a turn that failed an assertion for review: below a likely fabrication, above a weak
#: finding, since what failed is a fact, and what follows from it is not.
FAILED_ASSERTION = priority_of(0.7, Severity.MEDIUM)


class PreparedTurn(NamedTuple):
    """A turn ready to insert; every tuple lacks only the ids that the database gives.

    ``counters`` is empty for a turn that waits for analysis. ``verdict`` is the critic's row, if any, and
    ``critic`` how the turn stands with it. ``assertions`` are the rows of its memory assertions, and
    ``assertion_keys`` what they count as.
    """

    external_id: str
    content_hash: bytes
    agent: str
    day: date
    turn: tuple[Any, ...]
    payload: tuple[Any, ...]
    findings: list[tuple[Any, ...]]
    counters: list[str]
    profile: Profile | None
    gate: Gate | None
    shadowed: Shadowed | None
    verdict: tuple[Any, ...] | None = None
    critic: str = ""
    assertions: Sequence[tuple[Any, ...]] = ()
    assertion_keys: Sequence[AssertionKey] = ()


def prepare(
    record: TurnRecord,
    *,
    tenant_id: int,
    source: str,
    received_at: datetime,
    judgement: Judgement | None = None,
    policy: Policy | None = None,
    runtime_event: FabricationEvent | None = None,
) -> PreparedTurn:
    """Turn a record into rows: with a judgement as an analysed turn, without one as a pending turn.

    ``policy`` is what it was judged by. With ``runtime_event`` the record stands for a turn of which no more
    than that event is known.
    """
    digest = content_hash(record) if runtime_event is None else event_hash(runtime_event)
    occurred_at = record.occurred_at or received_at
    identity = (
        tenant_id,
        record.external_id,
        digest,
        source,
        record.conversation_id,
        record.agent,
        record.model,
        to_db_time(occurred_at),
        to_db_time(received_at),
    )
    verdict: NewVerdict | None = None
    if judgement is None:
        judged, findings, counters, assertions = _pending_values(), [], [], []
    else:
        if policy is not None:
            verdict = verdict_for(judgement, policy, tenant_id=tenant_id, source=source, at=received_at)
        standing = verdict.standing if verdict else ""
        judged = judged_values(
            judgement,
            analysed_at=received_at,
            policy_version_id=policy.id if policy else None,
            critic=standing,
        )
        findings = finding_rows(tenant_id, judgement)
        assertions = assertion_rows(
            judgement.assertions, tenant_id=tenant_id, agent=record.agent, occurred_at=occurred_at
        )
        counters = counters_of(judgement, critic=standing) + (verdict.counters if verdict else [])
    claims = claims_value(judgement) if judgement else None
    return PreparedTurn(
        external_id=record.external_id,
        content_hash=digest,
        agent=record.agent,
        day=day_of(occurred_at),
        turn=(*identity, *judged, *UNTOUCHED.values()),
        payload=(tenant_id, *content_values(record), claims, encode_json(runtime_event), "", ""),
        findings=findings,
        counters=counters,
        profile=judgement.profile if judgement else None,
        gate=judgement.gate if judgement else None,
        shadowed=judgement.shadowed if judgement else None,
        verdict=verdict.row if verdict else None,
        critic=verdict.standing if verdict else "",
        assertions=assertions,
        assertion_keys=assertion_keys(
            judgement.assertions if judgement else (), day=day_of(occurred_at), agent=record.agent
        ),
    )


def event_hash(event: FabricationEvent) -> bytes:
    """16 bytes that are equal for equal events, and never those of a turn's own content."""
    return blake2b(
        msgspec.json.encode(event, order="deterministic"), digest_size=16, person=b"event"
    ).digest()


def content_values(record: TurnRecord) -> tuple[Any, ...]:
    """Values of ``CONTENT_COLUMNS``."""
    return (
        record.draft,
        record.user_message,
        record.hydrated_context,
        encode_json(record.tool_calls),
        encode_json(record.earlier_calls),
        encode_json(record.earlier_user_messages),
        encode_json(record.tools),
        encode_json(record.intent),
        encode_json(record.critic),
        encode_json(record.activation),
        encode_json(record.attributes),
    )


def kinds_of(judgement: Judgement) -> int:
    """The bits of the kinds that occur (``KIND_BITS``)."""
    bits = 0
    for finding in judgement.findings:
        bits |= KIND_BITS[finding.kind]
    return bits


def counters_of(judgement: Judgement, *, is_new: bool = True, critic: str = "") -> list[str]:
    """The counters that a turn with this judgement adds one to; only new ones count for a shadow.

    ``critic`` is how it stands with the critic.
    """
    return turn_names(
        outcome=judgement.outcome.action_taken,
        kinds=kinds_of(judgement),
        audit_rate=judgement.audit_rate,
        shadowed=judgement.shadowed if is_new else None,
        gate_reason=judgement.gate_decision.reason if judgement.gate_decision else "",
        critic=critic,
    )


def judged_values(
    judgement: Judgement, *, analysed_at: datetime, policy_version_id: int | None, critic: str = ""
) -> tuple[Any, ...]:
    """Values of ``JUDGED_COLUMNS`` for an analysed turn that stands with the critic as ``critic`` says."""
    kinds, gate = kinds_of(judgement), judgement.gate
    assertions = standing_of(judgement.assertions)
    is_urgent = assertions == AssertionStanding.FLAGGED
    for_review = kinds or judgement.audit_rate is not None or critic in CAUTION or is_urgent
    return (
        AnalysisState.DONE.value,
        to_db_time(analysed_at),
        policy_version_id,
        gate.confidence if gate else None,
        _bool(gate is not None and gate.sensitive),
        _bool(gate is not None and gate.trivial),
        judgement.gate_decision.reason if judgement.gate_decision else "",
        critic,
        assertions,
        judgement.outcome.action_taken,
        judgement.intent.label if judgement.intent else "",
        len(judgement.findings),
        kinds,
        *_flags(kinds),
        judgement.max_severity,
        judgement.outcome.max_finding_confidence,
        judgement.draft_offset,
        *judgement.snippet,
        judgement.tools_note,
        judgement.audit_rate,
        max(raised(judgement.priority, critic), FAILED_ASSERTION if is_urgent else 0),
        ReviewState.OPEN.value if for_review else ReviewState.NONE.value,
    )


@cache
def _flags(kinds: int) -> tuple[bool | int, ...]:
    """Values of the ``has_*`` columns."""
    return tuple(_bool(kinds & bit != 0) for bit in KIND_BITS.values())


@cache
def _bool(value: bool) -> bool | int:
    """SQLite keeps 0 and 1; its driver is slow to turn bools into them."""
    return value if on_postgresql() else int(value)


def _pending_values() -> tuple[Any, ...]:
    return (
        AnalysisState.PENDING.value, None, None, None, _bool(False), _bool(False), "", "", "",
        ActionTaken.NONE.value, "", 0, 0,
        *_flags(0), 0, 0.0, 0, "", 0, 0, "", None, 0, ReviewState.NONE.value,
    )  # fmt: skip


def finding_rows(tenant_id: int, judgement: Judgement) -> list[tuple[Any, ...]]:
    """Values of ``FINDING_COLUMNS`` after the turn's id, for each finding of a judgement."""
    calibrated = judgement.outcome.calibrated or [None] * len(judgement.findings)
    evidence = judgement.evidence or [None] * len(judgement.findings)
    found = zip(judgement.findings, calibrated, evidence, strict=True)
    return [_finding_row(tenant_id, n, *each) for n, each in enumerate(found)]


def claims_value(judgement: Judgement) -> Any:
    """The stored form of a judgement's grounded claims; None without any."""
    return encode_json(list(judgement.grounded))


def _finding_row(
    tenant_id: int,
    position: int,
    finding: FabricationFinding,
    calibrated: float | None,
    evidence: dict[str, Any] | None,
) -> tuple[Any, ...]:
    return (
        tenant_id,
        position,
        finding.identifier,
        finding.kind,
        SEVERITY_RANK[finding.severity],
        finding.reason,
        finding.key,
        finding.pattern_kind or finding.kind,
        finding.confidence,
        calibrated,
        finding.span[0],
        finding.span[1],
        encode_json(finding.grounded_sources),
        encode_json(evidence),
        "",
    )
