"""Counts a day, changed in the same transaction as what they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import NamedTuple

from reviews.core.profiles import thousandths
from reviews.models import AssertionCount, DailyCount, GateCount, ProfileCount, Turn
from reviews.models.bulk import upsert_counts
from reviews.models.turns import KIND_BITS
from reviews.services.assertion_rows import AssertionKey
from reviews.services.judge import Gate, Shadowed

#: (day, name) to amount; amounts may be negative.
Counts = Counter[tuple[date, str]]


def day_of(moment: datetime) -> date:
    """The day (UTC) that something counts on."""
    return moment.astimezone(UTC).date()


@dataclass
class Tally:
    """Everything counted of a number of turns, by day (UTC). Amounts may be negative.

    ``profiles`` has (day, profile's id, verdict), ``gates`` (day, *Gate), ``assertions`` (day, suite,
    assertion, agent, passed).
    """

    names: Counts = field(default_factory=Counter)
    profiles: Counter[tuple[date, int, str]] = field(default_factory=Counter)
    gates: Counter[tuple[date, int, bool, bool, bool]] = field(default_factory=Counter)
    assertions: Counter[AssertionKey] = field(default_factory=Counter)

    def add_turn(
        self,
        day: date,
        *,
        names: Iterable[str],
        profile_id: int | None,
        gate: Gate | None,
        verdict: str = "",
        times: int = 1,
    ) -> None:
        """Count an analysed turn; ``times`` -1 takes it out again."""
        for name in names:
            self.names[day, name] += times
        if profile_id is not None:
            self.profiles[day, profile_id, verdict] += times
        if gate is not None:
            self.gates[(day, *gate)] += times


def stored_gate(turn: Turn) -> Gate | None:
    """What an analysed turn was counted as among the gates. A turn of an earlier release, which gave no
    reason, was counted without its findings."""
    if turn.gate_confidence is None:
        return None
    flagged = bool(turn.gate_reason) and turn.kinds > 0
    return Gate(turn.gate_confidence, turn.gate_sensitive, turn.gate_trivial, flagged)


def turn_names(
    *,
    outcome: str,
    kinds: int,
    audit_rate: float | None = None,
    verdict: str = "",
    shadowed: Shadowed | None = None,
    gate_reason: str = "",
    critic: str = "",
) -> list[str]:
    """The counters that an analysed turn adds one to."""
    names = ["turns"]
    if gate_reason:
        names.append(f"gate:{gate_reason}")
    if critic:
        names.append(f"critic:{critic}")
    if kinds:
        names.append("flagged")
        names.append(f"outcome:{outcome}")
        names.extend(f"kind:{kind}" for kind, bit in KIND_BITS.items() if kinds & bit)
    elif audit_rate is not None:
        names.append(audit_name(audit_rate, "sampled"))
        if verdict:
            names.append(audit_name(audit_rate, verdict))
    if shadowed is not None:
        names.append(f"shadow:{shadowed.number}:{shadowed.ours}:{shadowed.theirs}")
    return names


def audit_name(rate: float, what: str) -> str:
    """The counter of turns drawn at a rate, all of them ("sampled") or those with a verdict."""
    return f"audit:{thousandths(rate)}:{what}"


def verdict_counts(
    *,
    day: date,
    profile_id: int | None,
    audit_rate: float | None,
    before: str,
    after: str,
) -> Tally:
    """What changes when a turn's verdict does ("" for undecided)."""
    tally = Tally()
    if before == after:
        return tally
    if profile_id is not None:
        tally.profiles[day, profile_id, before] -= 1
        tally.profiles[day, profile_id, after] += 1
    elif audit_rate is not None:
        for verdict, amount in ((before, -1), (after, 1)):
            if verdict:
                tally.names[day, audit_name(audit_rate, verdict)] += amount
    return tally


def add_counts(*, tenant_id: int, counts: Mapping[tuple[date, str], int]) -> None:
    """Add to a tenant's counters, in one statement a counter, in an order all writers share."""
    rows = [(tenant_id, *key, amount) for key, amount in counts.items() if amount]
    if rows:
        upsert_counts(DailyCount, ("day", "name"), rows)


def add_tally(*, tenant_id: int, tally: Tally) -> None:
    """Add all of a tally: names, profiles, gates, assertions, in this order."""
    add_counts(tenant_id=tenant_id, counts=tally.names)
    profiles = [(tenant_id, *key, amount) for key, amount in tally.profiles.items() if amount]
    if profiles:
        upsert_counts(ProfileCount, ("day", "profile_id", "verdict"), profiles)
    gates = [(tenant_id, *key, amount) for key, amount in tally.gates.items() if amount]
    if gates:
        upsert_counts(GateCount, ("day", *Gate._fields), gates)
    assertions = [(tenant_id, *key, amount) for key, amount in tally.assertions.items() if amount]
    if assertions:
        upsert_counts(AssertionCount, ("day", "suite", "assertion", "agent", "passed"), assertions)


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
            counts[day_of(change.before_at), f"label:{change.kind}:{change.before}"] -= 1
        if change.after_at is not None:
            counts[day_of(change.after_at), f"label:{change.kind}:{change.after}"] += 1
    return counts
