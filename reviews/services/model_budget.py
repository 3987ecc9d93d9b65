"""What a tenant may spend on a model in a day, and what it has spent.

A call is paid for before it is made, with as many tokens as it may use at most; what it really used replaces
the reservation afterwards. So the budget holds however many workers ask at once, also when some of them die.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Final

from django.db.models import F, Sum
from django.db.models.functions import Greatest

from reviews.models import ModelUse, Tenant

CRITIC: Final = "critic"
TRIAL: Final = "trial"
EXTRACT: Final = "extract"
#: A model's tokens are pieces of UTF-8 of at least a byte, so a text has at most as many as it has bytes.
#: Each message takes a few more around it; 64 is more than any known chat format needs for two.
FRAME_TOKENS: Final = 64


class Answer(Enum):
    """Whether a call may be made: yes, not before another one has ended, or not today."""

    YES = "yes"
    WAIT = "wait"
    NO = "no"


@dataclass(frozen=True)
class Limits:
    """The most a day (UTC): calls, and tokens in and out together. None is no limit."""

    calls: int | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Spent:
    """What an ended call used. Tokens are None when nobody counted them, cost without a price."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency_ms: float | None = None


def most_tokens(*texts: str, max_tokens: int) -> int:
    """The most tokens that a question of these texts and its answer can have."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts) + FRAME_TOKENS + max_tokens


def reserve(*, use: ModelUse, limits: Limits, tokens: int) -> Answer:
    """Pay for a call, with ``tokens`` set aside. ``use`` is the locked row (``lock_use``); it is saved."""
    used = use.tokens_in + use.tokens_out
    if limits.calls is not None and use.calls >= limits.calls:
        return Answer.NO
    if limits.tokens is not None and used + tokens > limits.tokens:
        return Answer.NO
    if limits.tokens is not None and used + use.reserved + tokens > limits.tokens:
        return Answer.WAIT
    use.calls += 1
    use.reserved += tokens
    use.save(update_fields=["calls", "reserved"])
    return Answer.YES


def lock_use(*, tenant_id: int, day: date, purpose: str) -> ModelUse:
    """The row of a day, locked until the transaction ends; made when there is none."""
    rows = ModelUse.objects.for_tenant(tenant_id).filter(day=day, purpose=purpose)
    found = rows.select_for_update().first()
    if found is None:
        ModelUse.objects.across_tenants().bulk_create(
            [ModelUse(tenant_id=tenant_id, day=day, purpose=purpose)], ignore_conflicts=True
        )
        found = rows.select_for_update().get()
    return found


def settle(*, tenant_id: int, day: date, purpose: str, calls: Sequence[tuple[int, Spent | None]]) -> None:
    """Put what calls used in the place of their reservations: pairs of the tokens set aside and the spent.

    None for the spent: nobody knows what became of the call (its worker died), so all of the reservation
    counts as used, as it does for tokens that nobody counted.
    """
    tokens_in, tokens_out, cost, latency, answered = 0, 0, 0.0, 0.0, 0
    for reserved, spent in calls:
        if spent is None or spent.tokens_in is None or spent.tokens_out is None:
            tokens_in += reserved
        else:
            tokens_in += spent.tokens_in
            tokens_out += spent.tokens_out
        if spent is not None:
            cost += spent.cost or 0.0
            latency += spent.latency_ms or 0.0
            answered += spent.latency_ms is not None
    ModelUse.objects.for_tenant(tenant_id).filter(day=day, purpose=purpose).update(
        reserved=Greatest(F("reserved") - sum(reserved for reserved, _ in calls), 0),
        tokens_in=F("tokens_in") + tokens_in,
        tokens_out=F("tokens_out") + tokens_out,
        cost=F("cost") + cost,
        latency_ms=F("latency_ms") + latency,
        answered=F("answered") + answered,
    )


def cancel(*, tenant_id: int, day: date, purpose: str, reserved: int) -> None:
    """Take back a reservation whose call was never made."""
    ModelUse.objects.for_tenant(tenant_id).filter(day=day, purpose=purpose).update(
        reserved=Greatest(F("reserved") - reserved, 0), calls=Greatest(F("calls") - 1, 0)
    )


def used_since(*, tenant: Tenant, day: date, days: int, purpose: str = CRITIC) -> dict[str, float]:
    """Calls, answered, tokens_in, tokens_out, cost and latency_ms of the ``days`` days up to ``day``."""
    rows = ModelUse.objects.for_tenant(tenant).filter(
        purpose=purpose, day__gt=day - timedelta(days=days), day__lte=day
    )
    names = ("calls", "answered", "tokens_in", "tokens_out", "cost", "latency_ms")
    sums = rows.aggregate(**{f"sum_{name}": Sum(name) for name in names})
    return {name: sums[f"sum_{name}"] or 0 for name in names}
