"""Counts a day, changed in the same transaction as what they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import NamedTuple

from reviews.models import DailyCount
from reviews.models.bulk import upsert_counts
from reviews.models.turns import KIND_BITS

#: (day, name) to amount; amounts may be negative.
Counts = Counter[tuple[date, str]]


def turn_names(*, outcome: str, kinds: int, failed: bool = False) -> list[str]:
    """The counters that an analysed turn adds one to."""
    names = ["turns"]
    if failed:
        names.append("failed")
    if kinds:
        names.append("flagged")
        names.append(f"outcome:{outcome}")
        names.extend(f"kind:{kind}" for kind, bit in KIND_BITS.items() if kinds & bit)
    return names


def add_counts(*, tenant_id: int, counts: Mapping[tuple[date, str], int]) -> None:
    """Add to a tenant's counters, in one statement a counter, in an order all writers share."""
    rows = [(tenant_id, day, name, amount) for (day, name), amount in counts.items() if amount]
    if rows:
        upsert_counts(DailyCount, rows)


class LabelChange(NamedTuple):
    """A finding of this kind had one label and has another; "" and no time for none."""

    kind: str
    before: str
    before_at: datetime | None
    after: str
    after_at: datetime | None


def label_counts(changes: Iterable[LabelChange]) -> Counts:
    """Counters for changed labels. Each label counts on the day it was given, so none falls below zero."""
    counts: Counts = Counter()
    for change in changes:
        if change.before_at is not None:
            counts[change.before_at.astimezone(UTC).date(), f"label:{change.kind}:{change.before}"] -= 1
        if change.after_at is not None:
            counts[change.after_at.astimezone(UTC).date(), f"label:{change.kind}:{change.after}"] += 1
    return counts
