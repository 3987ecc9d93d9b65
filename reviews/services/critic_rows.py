"""How a newly analysed turn stands with the critic, and the row that says so.

Reads no database: a standing follows from the judgement, the policy, the door the turn came through, and
whether the operator has set up a model.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple

from django.conf import settings as django_settings

from reviews.core.profiles import thousandths
from reviews.models.bulk import on_postgresql, to_db_time
from reviews.models.critic import CallState, Cause, Origin, Verdict
from reviews.models.fields import encode_json
from reviews.models.turns import CriticStanding, Severity, Source
from reviews.services.judge import Judgement, Policy, priority_of
from reviews.services.model_providers import is_set_up

CRITIC_COLUMNS: Final = (
    "turn_id",
    "tenant_id",
    "origin",
    "policy_version_id",
    "gate_reason",
    "confidence",
    "threshold",
    "sensitive_tag",
    "state",
    "attempts",
    "next_at",
    "claim",
    "reserved",
    "created_at",
    "answered_at",
    "verdict",
    "said",
    "forced",
    "cause",
    "detail",
    "revised_draft",
    "refusal_message",
    "matched_preferences",
    "model",
    "latency_ms",
    "human",
    "human_reason",
    "human_blind",
)

#: The least priority of a turn whose critic asks for caution: that of a severe finding of this confidence,
#: below a surely invented identifier (0.95). Revise and refuse count the same, so that a turn's place tells
#: nobody which of the two it was who is to judge first.
_CAUTIOUS: Final = priority_of(0.8, Severity.HIGH)
CAUTION: Final[dict[str, int]] = {CriticStanding.REVISE: _CAUTIOUS, CriticStanding.REFUSE: _CAUTIOUS}
#: Turns of which nothing is asked: history is not worth a call each, and an event holds only part of a draft.
_NOT_ASKED: Final = (Source.IMPORT, Source.EVENT)


class NewVerdict(NamedTuple):
    """How the turn stands, the values of ``CRITIC_COLUMNS`` after its id, and why nobody read the draft."""

    standing: str
    row: tuple[Any, ...]
    cause: str = ""

    @property
    def counters(self) -> list[str]:
        """The counters that a turn with this verdict adds one to, beside those of its standing."""
        return [f"cause:{self.cause}"] if self.cause else []


def verdict_for(
    judgement: Judgement, policy: Policy, *, tenant_id: int, source: str, at: datetime
) -> NewVerdict | None:
    """The verdict that came with the turn, or the call that is to be made; None when none is."""
    if judgement.recorded is not None:
        return _recorded(judgement, tenant_id, at)
    decision = judgement.gate_decision
    if decision is None or not decision.fires or source in _NOT_ASKED or not policy.settings.critic_enabled:
        return None
    values: dict[str, Any] = {"origin": Origin.OURS, "policy_version_id": policy.id}
    if is_set_up(django_settings):
        values |= {"state": CallState.WAITING, "verdict": ""}
        return NewVerdict(CriticStanding.WAITING.value, _row(judgement, policy, tenant_id, at, values))
    forced = decision.forces_revise
    values |= {
        "state": CallState.DONE,
        "verdict": Verdict.REVISE if forced else Verdict.APPROVE,
        "forced": forced if on_postgresql() else int(forced),
        "cause": Cause.NO_MODEL,
        "detail": "No model is set up.",
    }
    standing = CriticStanding.REVISE if forced else CriticStanding.DEGRADED
    row = _row(judgement, policy, tenant_id, at, values)
    return NewVerdict(standing.value, row, Cause.NO_MODEL.value)


def raised(priority: int, standing: str) -> int:
    """A turn's priority, with the critic's caution in it. Caution is added, never taken away."""
    return max(priority, CAUTION.get(standing, 0))


def _recorded(judgement: Judgement, tenant_id: int, at: datetime) -> NewVerdict:
    recorded = judgement.recorded
    assert recorded is not None
    confidence = recorded.confidence_before
    values = {
        "origin": Origin.RUNTIME,
        "state": CallState.DONE,
        "verdict": recorded.verdict,
        "said": recorded.verdict,
        "confidence": None if confidence is None else thousandths(confidence),
        "threshold": None,
        "gate_reason": "",
        "sensitive_tag": (recorded.sensitive_tag_hit or "")[:200],
        "revised_draft": recorded.revised_draft or "",
        "refusal_message": recorded.refusal_message or "",
        "matched_preferences": encode_json(recorded.matched_preferences),
        "latency_ms": recorded.reflection_latency_ms,
    }
    return NewVerdict(recorded.verdict, _row(judgement, None, tenant_id, at, values))


def _row(
    judgement: Judgement, policy: Policy | None, tenant_id: int, at: datetime, values: dict[str, Any]
) -> tuple[Any, ...]:
    gate, decision = judgement.gate, judgement.gate_decision
    moment = to_db_time(at)
    done = values["state"] == CallState.DONE
    defaults = {
        "tenant_id": tenant_id,
        "policy_version_id": None,
        "gate_reason": decision.reason if decision else "",
        "confidence": gate.confidence if gate else None,
        "threshold": thousandths(policy.settings.metacognition_confidence_threshold) if policy else None,
        "sensitive_tag": (decision.sensitive_tag or "")[:200] if decision else "",
        "attempts": 0,
        "next_at": moment,
        "claim": "",
        "reserved": 0,
        "created_at": moment,
        "answered_at": moment if done else None,
        "said": "",
        "forced": False if on_postgresql() else 0,
        "cause": "",
        "detail": "",
        "revised_draft": "",
        "refusal_message": "",
        "matched_preferences": None,
        "model": "",
        "latency_ms": None,
        "human": "",
        "human_reason": "",
        "human_blind": False if on_postgresql() else 0,
    }
    found = {**defaults, **values}
    return tuple(str(v) if isinstance(v, str) else v for v in (found[name] for name in CRITIC_COLUMNS[1:]))
