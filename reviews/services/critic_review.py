"""A reviewer's word on the critic's verdict: agree, overrule with a reason, take its revision, or better it.

A decision like any other: it names the version it saw, is written down, and can be undone.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from reviews.models import CriticVerdict, Tenant, Turn, TurnPayload, User
from reviews.models.critic import CallState, Verdict
from reviews.models.decisions import DecisionAction
from reviews.services.errors import InvalidError, NotFoundError
from reviews.services.policies import current_policy
from reviews.services.review import (
    MAX_ANSWER_LENGTH,
    MAX_NOTE_LENGTH,
    Decided,
    advance_turn,
    load_turn,
    record_decision,
    storable,
)

#: Decisions after which the critic's verdict is in sight.
_REVEALING = (DecisionAction.LABEL, DecisionAction.DECIDE, DecisionAction.CRITIC)


def is_hidden(turn: Turn, verdict: CriticVerdict | None, *, blind: bool) -> bool:
    """Whether the critic's verdict is to be kept from reviewers of this turn for now.

    ``blind`` is the tenant's setting. The verdict comes in sight with the reviewer's own, on the turn or on
    the same question.
    """
    return blind and verdict is not None and not turn.verdict and not verdict.human


def judge_critic(
    *,
    tenant: Tenant,
    actor: User,
    turn_id: int,
    verdict: str,
    seen_version: int,
    reason: str = "",
    answer: str | None = None,
    spent_seconds: float | None = None,
    at: datetime | None = None,
) -> Decided:
    """Say what the verdict on a draft should be. Equal to the critic's it agrees, else it overrules it.

    ``answer`` also becomes the turn's corrected answer: the critic's revision, or a better one.

    Raises:
        NotFoundError: no such turn here, or the critic was never asked about it.
        InvalidError: no such verdict; the critic has not answered, or could not; it is overruled in sight of
            its verdict and without a reason.
        ConflictError: the turn has changed since ``seen_version``.
    """
    if verdict not in Verdict.values:
        raise InvalidError(
            "There is no such verdict.", fields={"verdict": f"Must be one of {', '.join(Verdict.values)}."}
        )
    reason = storable(reason.strip(), "reason", MAX_NOTE_LENGTH)
    if answer is not None:
        answer = storable(answer.strip(), "answer", MAX_ANSWER_LENGTH)
    with transaction.atomic():
        turn, _ = load_turn(tenant, turn_id, with_findings=False)
        found = CriticVerdict.objects.for_tenant(tenant).filter(turn_id=turn.pk).first()
        if found is None:
            raise NotFoundError("The critic was not asked about this turn.")
        if found.state != CallState.DONE:
            raise InvalidError("The critic has not answered yet.", fields={})
        if found.degraded:
            raise InvalidError("The critic could not read this draft: there is no verdict.", fields={})
        blind = current_policy(tenant=tenant).settings.critic_blind_review
        hidden = is_hidden(turn, found, blind=blind)
        # Who decided before has seen the verdict, also when they took their decision back.
        seen = hidden and turn.decisions.filter(actor=actor, action__in=_REVEALING).exists()
        if verdict != found.verdict and not reason and not hidden:
            raise InvalidError("Say why.", fields={"reason": "Whoever tunes the critic needs a reason."})
        at = at or timezone.now()
        before = {
            "critic": found.verdict,
            "human": found.human,
            "human_reason": found.human_reason,
            "human_blind": found.human_blind,
            "human_by": found.human_by_id,
            "human_at": found.human_at.isoformat() if found.human_at else None,
        }
        advance_turn(turn, seen_version, {})
        if answer is not None:
            payload = TurnPayload.objects.for_tenant(tenant).only("corrected_answer").get(turn_id=turn.pk)
            before["corrected_answer"] = payload.corrected_answer
            payload.corrected_answer = answer
            payload.save(update_fields=["corrected_answer"])
        found.human, found.human_reason, found.human_blind = verdict, reason, hidden and not seen
        found.human_by, found.human_at = actor, at
        found.save(update_fields=["human", "human_reason", "human_blind", "human_by", "human_at"])
        return record_decision(
            turn,
            actor,
            DecisionAction.CRITIC,
            value=verdict,
            text=reason,
            before=before,
            after={"answer": answer} if answer is not None else None,
            spent_seconds=spent_seconds,
            at=at,
        )
