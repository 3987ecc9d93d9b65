"""Turns on which both the critic and a reviewer have said something, stored as their services would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from reviews.models import CriticVerdict, Tenant, Turn, User
from reviews.services.analysis import analyse_pending
from reviews.services.intake import accept_turns
from tests.factories import make_record

NOON = datetime(2026, 3, 20, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Judged:
    """The critic said ``said``; reviewers decided the turn ``verdict``, and judged the critic ``human``.

    ``decided`` and ``judged`` are hours before ``NOON``. ``cause``: the verdict is degraded and ``said`` "".
    """

    said: str = "approve"
    verdict: str = ""
    human: str = ""
    decided: float = 1
    judged: float = 1
    blind: bool = False
    origin: str = "ours"
    forced: bool = False
    cause: str = ""
    reason: str = ""
    by: User | None = None


def store_judged(tenant: Tenant, *cases: Judged) -> list[Turn]:
    """One turn for each, in order."""
    records = [make_record(f"We open at nine, as note {n} says.") for n in range(len(cases))]
    ids = [accepted.turn_id for accepted in accept_turns(tenant=tenant, records=records)]
    analyse_pending()
    return _tell(tenant, ids, cases)


def _tell(tenant: Tenant, ids: Sequence[int], cases: Sequence[Judged]) -> list[Turn]:
    by_id = Turn.objects.for_tenant(tenant).in_bulk(ids)
    verdicts = []
    for turn_id, case in zip(ids, cases, strict=True):
        turn, forced = by_id[turn_id], "revise" if case.forced else ""
        verdict = forced or case.said or "approve"
        turn.critic = "degraded" if case.cause and not case.forced else verdict
        if case.verdict:
            turn.verdict, turn.review_state = case.verdict, "decided"
            turn.decided_at, turn.decided_by = NOON - timedelta(hours=case.decided), case.by
        verdicts.append(
            CriticVerdict(
                tenant=tenant,
                turn=turn,
                origin=case.origin,
                gate_reason="low_confidence",
                state="done",
                verdict=verdict,
                said="" if case.cause else case.said,
                forced=case.forced,
                cause=case.cause,
                model="judge-1",
                human=case.human,
                human_reason=case.reason,
                human_blind=case.blind,
                human_by=case.by if case.human else None,
                human_at=NOON - timedelta(hours=case.judged) if case.human else None,
            )
        )
    Turn.objects.across_tenants().bulk_update(
        by_id.values(), ["critic", "verdict", "review_state", "decided_at", "decided_by"]
    )
    CriticVerdict.objects.across_tenants().bulk_create(verdicts)
    return [by_id[turn_id] for turn_id in ids]
