"""What a policy would have done with a tenant's own turns, from counts that are kept as turns come and go.

Turns are counted by day, profile and verdict (``ProfileCount``), so the work grows with the number of
different turns, not with their number. The policy's thresholds, mode and calibration are tried; its keys and
rules are not, since they change which findings there are.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import NamedTuple

from django.db.models import Q, Sum
from django.utils import timezone

from reviews.core.curve import Point, curve
from reviews.core.histogram import Bin, histogram
from reviews.core.labelled import Evidence, Row
from reviews.core.profiles import UNIT, Profile
from reviews.core.recall import Stratum
from reviews.core.simulation import Effect, Flip, Totals, flips, simulate
from reviews.core.thresholds import Thresholds
from reviews.models import ConfidenceProfile, DailyCount, GateCount, ProfileCount, Tenant, Turn
from reviews.services.judge import Policy

logger = logging.getLogger(__name__)

#: Days back that a simulation may look; the first is the default.
WINDOWS = (30, 7, 90, 365)
FLIPPED_SHOWN = 30

#: Profiles by digest, which says all that is in them.
_known: dict[bytes, Profile] = {}
MAX_KNOWN = 100_000


class Window(NamedTuple):
    """Whole days (UTC), both included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def start(self) -> datetime:
        return datetime.combine(self.first, time.min, UTC)

    @property
    def end(self) -> datetime:
        """The moment just behind the window."""
        return datetime.combine(self.last + timedelta(days=1), time.min, UTC)


def last_days(days: int, *, now: datetime | None = None) -> Window:
    """A window of so many days that ends today."""
    today = (now or timezone.now()).astimezone(UTC).date()
    return Window(today - timedelta(days=days - 1), today)


class FlippedTurn(NamedTuple):
    """A turn that the candidate would treat otherwise. ``distance`` in thousandths from its threshold."""

    turn: Turn
    refused_now: bool
    distance: int


@dataclass(frozen=True)
class Simulation:
    """Two policies over one window of a tenant's turns.

    ``calls_now`` and ``calls_then`` are turns that the critic's gate fires for, of ``gated`` turns whose
    confidence is known. ``not_counted`` flagged turns were stored by an earlier version and are still waiting
    to be counted by profile; until they are, the numbers leave them out.
    """

    tenant: Tenant
    window: Window
    evidence: Evidence
    totals: Totals
    strata: tuple[Stratum, ...]
    current: Policy
    candidate: Policy
    calls_now: int
    calls_then: int
    gated: int
    not_counted: int = 0

    @cached_property
    def now(self) -> Effect:
        return simulate(self.evidence, thresholds_of(self.current), self.totals, self.strata)

    @cached_property
    def then(self) -> Effect:
        return simulate(self.evidence, thresholds_of(self.candidate), self.totals, self.strata)

    @cached_property
    def flips(self) -> list[Flip]:
        return flips(self.evidence, thresholds_of(self.current), thresholds_of(self.candidate))

    @cached_property
    def curve(self) -> list[Point]:
        return curve(self.evidence, thresholds_of(self.candidate))

    @cached_property
    def histogram(self) -> list[Bin]:
        return histogram(self.evidence, thresholds_of(self.candidate))

    @cached_property
    def labelled(self) -> dict[str, int]:
        """Turns of the window by the reviewers' verdict, the audit sample included."""
        counts, audited = self.evidence.counts, self.strata
        return {
            "fabricated": sum(c.fabricated for c in counts) + sum(s.fabricated for s in audited),
            "false_alarm": sum(c.false_alarms for c in counts) + sum(s.false_alarms for s in audited),
            "unsure": sum(c.unsure for c in counts),
            "audited": sum(s.labelled for s in audited),
        }

    def flipped_turns(self, limit: int = FLIPPED_SHOWN) -> list[FlippedTurn]:
        """The turns that change fate, up to ``limit`` each way, closest to the threshold first, newest first
        among equals. Two queries each way: one for the profiles whose turns are all shown, one for the
        profile of which some are.
        """
        found = self._flipped(False, limit) + self._flipped(True, limit)
        # Stable: within a distance the newest stay first.
        return sorted(found, key=lambda flipped: flipped.distance)

    def _flipped(self, refused_now: bool, limit: int) -> list[FlippedTurn]:
        flips = [flip for flip in self.flips if flip.refused_now == refused_now]
        whole: list[Flip] = []
        room = limit
        for flip in flips:
            if flip.turns > room:
                break
            whole.append(flip)
            room -= flip.turns
        turns = self._turns([flip.profile_id for flip in whole], limit) if whole else []
        if room and len(whole) < len(flips):
            turns += self._turns([flips[len(whole)].profile_id], room)
        distances: dict[int | None, int] = {
            flip.profile_id: flip.distance for flip in flips[: len(whole) + 1]
        }
        return [FlippedTurn(turn, refused_now, distances[turn.profile_id]) for turn in turns]

    def _turns(self, profile_ids: list[int], limit: int) -> list[Turn]:
        return list(
            Turn.objects.for_tenant(self.tenant)
            .filter(
                profile__in=profile_ids,
                occurred_at__gte=self.window.start,
                occurred_at__lt=self.window.end,
            )
            .order_by("-occurred_at", "-id")
            .only(
                "external_id", "agent", "occurred_at", "snippet", "snippet_start", "snippet_end",
                "verdict", "max_confidence", "kinds", "tools_note", "profile_id",
            )[:limit]
        )  # fmt: skip


def thresholds_of(policy: Policy) -> Thresholds:
    """A policy's thresholds as the simulation takes them."""
    settings = policy.settings
    calibrated = settings.fabrication_confidence_source == "calibrated"
    return Thresholds.from_floats(
        mode=settings.fabrication_check_mode,
        overall=settings.fabrication_refuse_min_confidence,
        by_kind=settings.fabrication_refuse_min_confidence_by_kind,
        calibration=policy.calibration if calibrated else None,
    )


def simulate_policies(*, tenant: Tenant, current: Policy, candidate: Policy, window: Window) -> Simulation:
    """Count what both policies would do. Four queries, and a fifth for profiles not met before."""
    counted = list(
        ProfileCount.objects.for_tenant(tenant)
        .filter(day__gte=window.first, day__lte=window.last)
        .values("profile_id", "verdict")
        .annotate(turns=Sum("count"))
        .values_list("profile_id", "verdict", "turns")
    )
    if wrong := [row for row in counted if row[2] < 0]:
        logger.error("counts below zero", extra={"tenant": tenant.pk, "rows": wrong[:10]})
    rows = [Row(*row) for row in counted if row[2] > 0]
    evidence = Evidence(rows, _profiles(tenant, {row.profile_id for row in rows}))
    flagged = sum(evidence.turns)
    turns, all_flagged, strata = _day_counts(tenant, window)
    calls_now, calls_then, gated = _gate_counts(tenant, window, current, candidate)
    return Simulation(
        tenant=tenant,
        window=window,
        evidence=evidence,
        # Turns known from a runtime's event alone may be flagged before anything else is known of them.
        totals=Totals(max(turns, flagged), flagged, window.days),
        strata=strata,
        current=current,
        candidate=candidate,
        calls_now=calls_now,
        calls_then=calls_then,
        gated=gated,
        not_counted=max(0, all_flagged - flagged),
    )


def _profiles(tenant: Tenant, wanted: set[int]) -> dict[int, Profile]:
    if not wanted:
        return {}
    digests = {
        profile_id: bytes(digest)
        for profile_id, digest in ConfidenceProfile.objects.for_tenant(tenant).values_list("id", "digest")
        if profile_id in wanted
    }
    # Other threads may empty the cache meanwhile, so what is needed is held here.
    found = {profile_id: _known.get(digest) for profile_id, digest in digests.items()}
    new = [profile_id for profile_id, profile in found.items() if profile is None]
    if len(_known) + len(new) > MAX_KNOWN:
        _known.clear()
    for start in range(0, len(new), 1000):
        rows = ConfidenceProfile.objects.for_tenant(tenant).filter(id__in=new[start : start + 1000])
        for profile_id, content in rows.values_list("id", "content"):
            found[profile_id] = _known[digests[profile_id]] = Profile.from_json(content)
    return {profile_id: profile for profile_id, profile in found.items() if profile is not None}


def _day_counts(tenant: Tenant, window: Window) -> tuple[int, int, tuple[Stratum, ...]]:
    """All turns of the window, the flagged ones, and what the audit sample says, by its rates."""
    sums = dict(
        DailyCount.objects.for_tenant(tenant)
        .filter(day__gte=window.first, day__lte=window.last)
        .filter(Q(name__in=["turns", "flagged"]) | Q(name__startswith="audit:"))
        .values("name")
        .annotate(sum=Sum("count"))
        .values_list("name", "sum")
    )
    rates = sorted({int(name.split(":")[1]) for name in sums if ":" in name})
    strata = (
        Stratum(
            rate=rate / UNIT,
            sampled=sums.get(f"audit:{rate}:sampled", 0),
            fabricated=sums.get(f"audit:{rate}:fabricated", 0),
            false_alarms=sums.get(f"audit:{rate}:false_alarm", 0),
        )
        for rate in rates
    )
    sampled = tuple(stratum for stratum in strata if stratum.sampled)
    return sums.get("turns", 0), sums.get("flagged", 0), sampled


def _gate_counts(tenant: Tenant, window: Window, current: Policy, candidate: Policy) -> tuple[int, int, int]:
    def fires(policy: Policy) -> Q:
        settings = policy.settings
        if settings.metacognition_selective_gate:
            return Q(trivial=False)
        low = Q(confidence__lt=round(settings.metacognition_confidence_threshold * UNIT))
        found = Q(sensitive=True) | low
        return found | Q(flagged=True) if settings.fabrication_check_mode == "revise" else found

    sums = (
        GateCount.objects.for_tenant(tenant)
        .filter(day__gte=window.first, day__lte=window.last)
        .aggregate(
            now=Sum("count", filter=fires(current)),
            then=Sum("count", filter=fires(candidate)),
            all=Sum("count"),
        )
    )
    return sums["now"] or 0, sums["then"] or 0, sums["all"] or 0
