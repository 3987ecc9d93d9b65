"""What a tenant's overview shows. Counts come from DailyCount, the rest from the ends of indexes.

Nothing here costs more the more turns there are: every query reads a bounded stretch of one index.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from reviews.core.critic_gate import SPARED
from reviews.core.statistics import Interval, wilson_interval
from reviews.models import (
    DailyCount,
    Delivery,
    Membership,
    ModelUse,
    ReviewDecision,
    Skill,
    Tenant,
    Turn,
    User,
)
from reviews.models.decisions import DecisionAction
from reviews.models.runtimes import DeliveryState
from reviews.models.skills import SkillState
from reviews.models.turns import AnalysisState, Kind, Label, ReviewState
from reviews.services.critic_circuit import circuit_of
from reviews.services.model_budget import CRITIC
from reviews.services.policies import current_policy
from reviews.services.queue import COUNT_LIMIT

RATE_DAYS = 30
LABEL_DAYS = 90
SPEED_DAYS = 7
#: Below this an interval is so wide that showing it would only mislead.
FEWEST_LABELS = 5
#: Decisions read for a median; more would not move it.
SPEED_LIMIT = 1_000
#: Turns in the workers' line that are looked at, from its head.
LINE_LIMIT = 2_000


class Count(NamedTuple):
    """How many there are; ``capped`` when there may be more than were counted."""

    value: int
    capped: bool


@dataclass(frozen=True)
class Figures:
    """What needs somebody now. ``waiting`` is for the workers, everything else for people."""

    open: Count
    oldest_open: datetime | None
    mine: Count
    failed: Count
    waiting: Count
    oldest_waiting: datetime | None


def figures(*, tenant: Tenant, user: User) -> Figures:
    """The figures of one person in one tenant. Four queries."""
    turns = Turn.objects.for_tenant(tenant)
    # Open turns by time: one read of the index gives both how many there are and the oldest.
    opened = list(
        turns.filter(review_state=ReviewState.OPEN)
        .order_by("occurred_at", "id")
        .values_list("occurred_at", flat=True)[: COUNT_LIMIT + 1]
    )
    mine = turns.filter(review_state=ReviewState.OPEN, assignee=user)
    waiting, oldest_waiting = _waiting(tenant)
    return Figures(
        open=_count(len(opened)),
        oldest_open=opened[0] if opened else None,
        mine=_counted(mine),
        failed=_counted(turns.filter(analysis_state=AnalysisState.FAILED)),
        waiting=waiting,
        oldest_waiting=oldest_waiting,
    )


class SkillFigures(NamedTuple):
    """Drafts of skills that wait for a decision, and messages about skills that were given up."""

    drafts: Count
    given_up: Count


def skill_figures(*, tenant: Tenant) -> SkillFigures:
    """What of the skills needs somebody; drafts of low confidence wait apart. Three queries."""
    enough = current_policy(tenant=tenant).settings.skill_confidence_threshold
    skills = Skill.objects.for_tenant(tenant)
    deliveries = Delivery.objects.for_tenant(tenant)
    return SkillFigures(
        drafts=_counted(skills.filter(state=SkillState.DRAFT, confidence__gte=enough)),
        given_up=_counted(deliveries.filter(state=DeliveryState.DEAD)),
    )


@dataclass(frozen=True)
class CriticFigures:
    """The critic today (UTC): turns its gate decided on and fired for, calls, cost (0 without a price), and
    whether its model is out of reach."""

    gated: int
    fired: int
    calls: int
    cost: float
    out_of_reach: bool


def critic_figures(*, tenant: Tenant, now: datetime) -> CriticFigures | None:
    """None where the policy in force does not ask the critic. One query, or four."""
    if not current_policy(tenant=tenant).settings.critic_enabled:
        return None
    today = now.astimezone(UTC).date()
    gates = dict(
        DailyCount.objects.for_tenant(tenant)
        .filter(day=today, name__startswith="gate:")
        .values_list("name", "count")
    )
    use = ModelUse.objects.for_tenant(tenant).filter(day=today, purpose=CRITIC).first()
    circuit = circuit_of(tenant_id=tenant.pk)
    return CriticFigures(
        gated=sum(gates.values()),
        fired=sum(count for name, count in gates.items() if name.removeprefix("gate:") not in SPARED),
        calls=use.calls if use else 0,
        cost=use.cost if use else 0.0,
        out_of_reach=circuit is not None and circuit.open_until is not None,
    )


def _counted(rows: QuerySet[Any]) -> Count:
    return _count(len(rows.values_list("id", flat=True)[: COUNT_LIMIT + 1]))


def _count(found: int) -> Count:
    return Count(min(found, COUNT_LIMIT), found > COUNT_LIMIT)


def _waiting(tenant: Tenant) -> tuple[Count, datetime | None]:
    """The tenant's turns in the workers' line.

    All tenants stand in one line, whose index knows no tenants; so its head is read and ours are picked out.
    (A connection that PostgreSQL confines to this tenant gets nothing but ours.)
    """
    line = list(
        Turn.objects.across_tenants()
        .filter(analysis_state=AnalysisState.PENDING)
        .order_by("id")
        .values_list("tenant_id", "received_at")[:LINE_LIMIT]
    )
    ours = [received for tenant_id, received in line if tenant_id == tenant.pk]
    return Count(len(ours), len(line) == LINE_LIMIT), min(ours, default=None)


# -- From the daily counts


class Day(NamedTuple):
    """What occurred on one day (UTC)."""

    day: date
    turns: int
    flagged: int

    @property
    def rate(self) -> float | None:
        """Share of turns that were flagged, 0 to 1; None on a day without turns."""
        return self.flagged / self.turns if self.turns else None


@dataclass(frozen=True)
class Precision:
    """How often reviewers agreed with findings of one kind. Share and interval are None below five labels."""

    kind: str
    fabricated: int
    false_alarms: int
    unsure: int

    @property
    def decided(self) -> int:
        return self.fabricated + self.false_alarms

    @property
    def share(self) -> float | None:
        return self.fabricated / self.decided if self.decided >= FEWEST_LABELS else None

    @property
    def interval(self) -> Interval | None:
        return wilson_interval(self.fabricated, self.decided) if self.decided >= FEWEST_LABELS else None


@dataclass(frozen=True)
class History:
    """``days`` are the last 30, oldest first; ``precision`` has every kind that has a label."""

    days: list[Day]
    precision: list[Precision]

    @property
    def is_empty(self) -> bool:
        return not self.precision and not any(day.turns for day in self.days)


_LABEL_NAMES = {(kind, label): f"label:{kind}:{label}" for kind in Kind.values for label in Label.values}
_COUNTED = ("turns", "flagged", *_LABEL_NAMES.values())


def history(*, tenant: Tenant, today: date | None = None) -> History:
    """Flagged turns of 30 days and labels of 90, from at most 90 days of counts. One query."""
    today = today or timezone.now().astimezone(UTC).date()
    rows = (
        DailyCount.objects.for_tenant(tenant)
        .filter(day__gt=today - timedelta(days=LABEL_DAYS), day__lte=today, name__in=_COUNTED)
        .values_list("day", "name", "count")
    )
    by_day: dict[tuple[date, str], int] = {}
    labels: Counter[str] = Counter()
    for day, name, count in rows:
        by_day[day, name] = count
        labels[name] += count
    dates = [today - timedelta(days=back) for back in range(RATE_DAYS - 1, -1, -1)]
    days = [Day(d, by_day.get((d, "turns"), 0), by_day.get((d, "flagged"), 0)) for d in dates]
    precision = [
        Precision(kind, *(labels[_LABEL_NAMES[kind, label]] for label in Label.values))
        for kind in Kind.values
        if any(labels[_LABEL_NAMES[kind, label]] for label in Label.values)
    ]
    return History(days, precision)


def has_turns(*, tenant: Tenant) -> bool:
    """Whether the tenant has ever received a turn. One query."""
    return Turn.objects.for_tenant(tenant).exists()


# -- How long decisions take


class Speed(NamedTuple):
    """Decisions and the median seconds of those whose time is known (None when none is)."""

    decisions: Count
    seconds: float | None


def my_speed(*, tenant: Tenant, user: User, since: datetime) -> Speed:
    """One person's decisions since a moment. One query."""
    return _speed(_decisions(tenant, since).filter(actor=user))


def team_speed(*, tenant: Tenant, now: datetime | None = None) -> Speed:
    """The last decisions of all members, within seven days. One query."""
    since = (now or timezone.now()) - timedelta(days=SPEED_DAYS)
    members = Membership.objects.for_tenant(tenant).values("user_id")
    # Naming the actors lets the index (tenant, actor, time) find the days.
    return _speed(_decisions(tenant, since).filter(actor__in=members))


def _decisions(tenant: Tenant, since: datetime) -> QuerySet[ReviewDecision]:
    return ReviewDecision.objects.for_tenant(tenant).filter(
        created_at__gte=since, action__in=[DecisionAction.LABEL, DecisionAction.DECIDE]
    )


def _speed(decisions: QuerySet[ReviewDecision]) -> Speed:
    spent = list(decisions.order_by("-created_at").values_list("spent_seconds", flat=True)[: SPEED_LIMIT + 1])
    known = [seconds for seconds in spent if seconds is not None]
    count = Count(min(len(spent), SPEED_LIMIT), len(spent) > SPEED_LIMIT)
    return Speed(count, median(known) if known else None)
