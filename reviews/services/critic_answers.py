"""Writing down how calls to the critic ended: the verdict, the turn's place in the queue, the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from django.db import transaction

from reviews.models import CriticVerdict, Turn
from reviews.models.bulk import to_db_time, update_rows
from reviews.models.critic import CallState, Verdict
from reviews.models.fields import encode_json
from reviews.models.turns import CriticStanding, ReviewState
from reviews.services import critic_circuit, model_budget
from reviews.services.counting import Counts, add_counts, day_of
from reviews.services.critic_rows import CAUTION, raised
from reviews.services.model_budget import CRITIC, Spent

#: Upper bounds, in milliseconds, of the buckets in which latencies are counted.
LATENCY_BUCKETS: Final = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How one claimed call ended. ``cause`` is "" for an answer.

    ``called`` says whether the model was asked; then ``reserved`` tokens of ``reserved_on`` are set aside for
    it. ``retry_after``: seconds that the model asks us to wait.
    """

    tenant_id: int
    turn_id: int
    claim: str
    attempts: int = 0
    called: bool = False
    reserved: int = 0
    reserved_on: date | None = None
    verdict: str = Verdict.APPROVE
    said: str = ""
    forced: bool = False
    cause: str = ""
    detail: str = ""
    revised_draft: str = ""
    refusal_message: str = ""
    matched_preferences: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency_ms: float | None = None
    retry_after: float | None = None

    @property
    def standing(self) -> str:
        """How the turn stands with the critic then. A revision that fabrication mode forces stands also when
        nobody read the draft."""
        if self.cause and not self.forced:
            return CriticStanding.DEGRADED
        return self.verdict


def store_answers(*, ended: Sequence[Ended], at: datetime) -> int:
    """Write final verdicts down, where the claim still holds. One transaction a tenant. Returns how many."""
    by_tenant: dict[int, list[Ended]] = {}
    for end in ended:
        by_tenant.setdefault(end.tenant_id, []).append(end)
    return sum(_store(tenant_id, ends, at) for tenant_id, ends in sorted(by_tenant.items()))


def _store(tenant_id: int, ended: Sequence[Ended], at: datetime) -> int:
    by_turn = {end.turn_id: end for end in ended}
    counts: Counts = Counter()
    with transaction.atomic():
        turns = list(
            Turn.objects.for_tenant(tenant_id)
            .filter(id__in=by_turn)
            .order_by("id")
            .select_for_update(no_key=True, of=("self",))
            .only("id", "occurred_at", "priority", "review_state", "critic")
        )
        ours = set(claimed_ids(tenant_id=tenant_id, ended=ended))
        turns = [turn for turn in turns if turn.pk in ours]
        for turn in turns:
            end = by_turn[turn.pk]
            day = day_of(turn.occurred_at)
            counts[day, f"critic:{turn.critic}"] -= 1
            counts[day, f"critic:{end.standing}"] += 1
            if end.cause:
                counts[day, f"cause:{end.cause}"] += 1
            elif end.latency_ms is not None:
                counts[day, f"latency:{bucket_of(end.latency_ms)}"] += 1
            turn.critic = end.standing
            turn.priority = raised(turn.priority, end.standing)
            if end.standing in CAUTION and turn.review_state == ReviewState.NONE:
                turn.review_state = ReviewState.OPEN
        if turns:
            # One prepared statement: a CASE for twenty columns would take longer than the call itself.
            filled = [(*_filled(by_turn[turn.pk], at), turn.pk) for turn in turns]
            update_rows(CriticVerdict, _FILLED, filled, key="turn_id")
            update_rows(
                Turn,
                ("critic", "priority", "review_state"),
                [(str(turn.critic), turn.priority, str(turn.review_state), turn.pk) for turn in turns],
            )
        add_counts(tenant_id=tenant_id, counts=counts)
        book(tenant_id=tenant_id, ended=[by_turn[turn.pk] for turn in turns], at=at)
    return len(turns)


def claimed_ids(*, tenant_id: int, ended: Sequence[Ended]) -> list[int]:
    """The turns of calls whose claim still holds, their rows locked; not those that somebody took over."""
    claims = {end.turn_id: end.claim for end in ended}
    rows = (
        CriticVerdict.objects.for_tenant(tenant_id)
        .filter(turn_id__in=claims, state=CallState.WAITING)
        .order_by("turn_id")
        .select_for_update(of=("self",))
    )
    found = rows.values_list("turn_id", "claim")
    return [turn_id for turn_id, claim in found if claim and claim == claims[turn_id]]


def book(*, tenant_id: int, ended: Sequence[Ended], at: datetime) -> None:
    """Settle what calls used, and note what they tell of the model.

    Call last in a transaction: the rows stay locked.
    """
    called = [end for end in ended if end.called]
    by_day: dict[date, list[Ended]] = {}
    for end in called:
        if end.reserved_on is not None:
            by_day.setdefault(end.reserved_on, []).append(end)
    for day, ends in sorted(by_day.items()):
        model_budget.settle(
            tenant_id=tenant_id, day=day, purpose=CRITIC, calls=[(end.reserved, _spent(end)) for end in ends]
        )
    if called:
        critic_circuit.note(
            tenant_id=tenant_id,
            causes=[end.cause for end in called],
            details=[end.detail for end in called],
            now=at,
        )


def bucket_of(latency_ms: float) -> str:
    """The name of the bucket that counts this latency."""
    return next((str(bound) for bound in LATENCY_BUCKETS if latency_ms <= bound), "more")


#: A request that the model's server turned down, or that never arrived, used no tokens.
_FREE: Final = ("rate_limited", "rejected", "unavailable")


def _spent(end: Ended) -> Spent:
    if end.cause in _FREE:
        return Spent(0, 0)
    return Spent(end.tokens_in, end.tokens_out, end.cost, None if end.cause else end.latency_ms)


_FILLED: Final = (
    "state", "claim", "lease_until", "reserved", "reserved_on", "answered_at", "verdict", "said", "forced",
    "cause", "detail", "revised_draft", "refusal_message", "matched_preferences", "rules", "model",
    "tokens_in", "tokens_out", "cost", "latency_ms",
)  # fmt: skip


def _filled(end: Ended, at: datetime) -> tuple[Any, ...]:
    """Values of ``_FILLED`` for a call that is over."""
    return (
        CallState.DONE.value, "", None, 0, None, to_db_time(at), str(end.verdict), str(end.said), end.forced,
        str(end.cause), end.detail[:500], end.revised_draft, end.refusal_message,
        encode_json(list(end.matched_preferences)), encode_json(list(end.rules)), end.model[:200],
        end.tokens_in, end.tokens_out, end.cost, end.latency_ms,
    )  # fmt: skip
