"""The circuit breaker between a tenant's critic and its model.

After ``FAILURES`` calls in a row that the model did not answer, no more are made for a while, twice as long
each time; then one is tried, and its success closes the circuit. The waiting turns lose nothing but time. The
pattern is Nygard's ("Release It!", 2nd ed., ch. 5).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction

from reviews.models import CriticCircuit, Tenant
from reviews.models.critic import Cause

#: So many failures in a row open it.
FAILURES: Final = 8
FIRST_PAUSE_SECONDS: Final = 15.0
LONGEST_PAUSE_SECONDS: Final = 600.0
#: What says that the model is out of reach. A reply that cannot be read is the model's answer all the same,
#: and one call that takes too long may be one long draft: so many in a row are not.
OUT_OF_REACH: Final = (Cause.TIMEOUT, Cause.UNAVAILABLE, Cause.REJECTED, Cause.RATE_LIMITED, Cause.FAILED)


def circuit_of(*, tenant_id: int) -> CriticCircuit | None:
    """How calls of a tenant fare; None when none has failed yet."""
    return CriticCircuit.objects.for_tenant(tenant_id).first()


def may_call(circuit: CriticCircuit | None, *, in_flight: int, most: int, now: datetime) -> int:
    """How many more calls may be begun, of at most ``most`` at once."""
    if circuit is None or circuit.open_until is None:
        return max(0, most - in_flight)
    if circuit.open_until > now:
        return 0
    return max(0, 1 - in_flight)


def note(*, tenant_id: int, causes: list[str], details: list[str], now: datetime) -> bool:
    """Write down how calls ended, in order; "" for an answer. True when that opened the circuit.

    Call at the end of a transaction: the row stays locked.
    """
    failed = [cause in OUT_OF_REACH for cause in causes]
    circuit = CriticCircuit.objects.for_tenant(tenant_id).select_for_update().first()
    if circuit is None:
        if not any(failed):
            return False
        circuit = _made(tenant_id)
    before = (circuit.failures, circuit.open_until)
    opened = False
    for bad, cause, detail in zip(failed, causes, details, strict=True):
        if not bad:
            circuit.failures, circuit.times_open = 0, 0
            circuit.opened_at = circuit.open_until = None
            continue
        circuit.failures += 1
        circuit.last_cause, circuit.last_detail = cause, detail[:500]
        if circuit.open_until is not None and circuit.open_until > now:
            continue  # a call that was begun before it opened
        if circuit.failures >= FAILURES or circuit.open_until is not None:
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(circuit.times_open, 20))
            circuit.opened_at = circuit.opened_at or now
            circuit.open_until = now + timedelta(seconds=pause)
            circuit.times_open = min(circuit.times_open + 1, 1000)
            opened = True
    if (circuit.failures, circuit.open_until) != before:
        circuit.save()
    return opened


def close(*, tenant: Tenant) -> None:
    """Close it by hand, after the model has been mended: the next calls are made at once."""
    CriticCircuit.objects.for_tenant(tenant).update(failures=0, times_open=0, opened_at=None, open_until=None)


def _made(tenant_id: int) -> CriticCircuit:
    try:
        with transaction.atomic():
            CriticCircuit(tenant_id=tenant_id).save(force_insert=True)
    except IntegrityError:
        pass  # another worker was quicker
    return CriticCircuit.objects.for_tenant(tenant_id).select_for_update().get()
