"""Counts a day, changed in the same transaction as what they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date

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


def label_counts(*, day: date, changes: Iterable[tuple[str, str, str]]) -> Counts:
    """Counters for findings whose label changed: (kind, label before, label after) each, "" for none."""
    counts: Counts = Counter()
    for kind, before, after in changes:
        if before:
            counts[day, f"label:{kind}:{before}"] -= 1
        if after:
            counts[day, f"label:{kind}:{after}"] += 1
    return counts
