"""What the critic of a tenant did within some days: when it was asked, what it said, what that cost, and how
often reviewers agreed.

Nothing here costs more the more turns there are: counts are kept by the day, and of judged turns at most
``AGREEMENT_LIMIT`` are read, the newest, from a partial index.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import fsum
from typing import Final, Literal, NamedTuple, get_args

from django.db.models import Q
from django.utils import timezone

from reviews.core.agreement import Confusion, Kappa, TooFew, kappa_of, precision_for, recall_for
from reviews.core.critic_gate import SPARED, GateReason
from reviews.core.estimates import Estimate
from reviews.models import CriticVerdict, DailyCount, ModelUse, Tenant, Turn
from reviews.models.critic import CallState, Cause, Origin, Verdict
from reviews.models.turns import CriticStanding, Label
from reviews.services.critic_answers import LATENCY_BUCKETS
from reviews.services.critic_circuit import circuit_of
from reviews.services.errors import InvalidError
from reviews.services.model_budget import CRITIC, TRIAL
from reviews.services.overview import Count
from reviews.services.policies import current_policy
from reviews.services.queue import COUNT_LIMIT

WINDOWS: Final = (7, 30, 90)
#: Judged turns read for each of the two comparisons; more would hardly narrow an interval.
AGREEMENT_LIMIT: Final = 20_000

GATE_REASONS: Final[tuple[str, ...]] = get_args(GateReason)
#: Labels of the coarse comparison: the draft may go out as it is, or it may not.
APPROVE: Final = Verdict.APPROVE.value
CAUTION: Final = "caution"
#: A verdict in the coarse labels.
CAUTION_OF: Final[dict[str, str]] = {
    Verdict.APPROVE.value: APPROVE,
    Verdict.REVISE.value: CAUTION,
    Verdict.REFUSE.value: CAUTION,
}
#: A reviewer's word on a whole turn in the coarse labels. Unsure is neither.
WANTED_OF: Final[dict[str, str]] = {Label.FABRICATED.value: CAUTION, Label.FALSE_ALARM.value: APPROVE}


# -- What it did


@dataclass(frozen=True)
class Use:
    """Calls to the model and what they took. ``cost`` in the currency of MODEL_PRICES, 0 for a model without
    a price; ``latency_ms`` is that of all answered calls together."""

    calls: int = 0
    answered: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    latency_ms: float = 0.0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def mean_latency_ms(self) -> float | None:
        """Of an answered call; None when none was answered."""
        return self.latency_ms / self.answered if self.answered else None


@dataclass(frozen=True)
class Activity:
    """What happened on a day (UTC), or on several together.

    ``turns`` were analysed. ``gates`` counts them by the reason of the gate's decision (all of
    ``GATE_REASONS``), ``standings`` by how those with a verdict, or waiting for one, stand (all of
    ``CriticStanding``; verdicts that the agent's runtime recorded are among them), ``causes`` why our critic
    could not read a draft (only causes that occurred). All of these stand on the day the turn occurred;
    ``use`` on the day of the call.
    """

    turns: int
    gates: Mapping[str, int]
    standings: Mapping[str, int]
    causes: Mapping[str, int]
    use: Use

    @property
    def gated(self) -> int:
        """Turns for which the gate decided: not those of an earlier release, nor bare events."""
        return sum(self.gates.values())

    @property
    def fired(self) -> int:
        return sum(count for reason, count in self.gates.items() if reason not in SPARED)

    @property
    def fire_rate(self) -> float | None:
        """Share of the turns the gate decided on for which it fired, 0 to 1; None without such turns."""
        return self.fired / self.gated if self.gated else None

    @property
    def settled(self) -> int:
        """Turns whose verdict is there, the degraded ones among them."""
        return sum(self.standings.values()) - self.standings[CriticStanding.WAITING]

    @property
    def degraded_share(self) -> float | None:
        """Share of settled turns that nobody read, 0 to 1; None without settled turns. A revision that
        fabrication mode forces stands as one, also when nobody read the draft."""
        return self.standings[CriticStanding.DEGRADED] / self.settled if self.settled else None


class Day(NamedTuple):
    day: date
    activity: Activity


class Bound(NamedTuple):
    """A latency is at most this many milliseconds; with ``over`` it is more, and nobody knows how much."""

    ms: int
    over: bool


@dataclass(frozen=True)
class Latency:
    """How long answered calls of our critic took. ``buckets`` has the count of each upper bound, rising.

    The mean is exact and of the calls made on those days; the quantiles are bounds of the buckets, of turns
    that occurred on those days. None without calls.
    """

    mean_ms: float | None
    p50: Bound | None
    p95: Bound | None
    buckets: tuple[tuple[Bound, int], ...]


@dataclass(frozen=True)
class Budget:
    """Today's use (UTC) against the policy in force. ``reserved`` tokens are those of calls under way."""

    day: date
    calls: int
    most_calls: int
    tokens: int
    reserved: int
    most_tokens: int


@dataclass(frozen=True)
class Circuit:
    """Whether calls reach the model. ``open``: none is made until ``open_until``; ``trying``: one at a time
    is. ``failures`` are those in a row; the last cause is told also after calls succeed again."""

    state: Literal["closed", "open", "trying"]
    failures: int = 0
    opened_at: datetime | None = None
    open_until: datetime | None = None
    last_cause: str = ""
    last_detail: str = ""


# -- Whether reviewers agree


@dataclass(frozen=True)
class Comparison:
    """What the critic said (rows of ``table``) beside what reviewers say (columns).

    Precision: of the drafts it would not let go out as they are, the share that reviewers would not either.
    Recall: of those that reviewers would not, the share that it would not either.
    """

    table: Confusion
    kappa: Kappa | TooFew
    precision: Estimate | TooFew
    recall: Estimate | TooFew


@dataclass(frozen=True)
class Agreement:
    """One critic's own words against those of reviewers: what it answered, not what fabrication mode
    ``revise`` made of it. Verdicts that are degraded are nobody's word and not in here.

    ``verdicts`` (approve, revise, refuse on both sides) has the drafts whose verdict a reviewer judged. In
    sight of the verdict people mostly say something when they disagree, and otherwise tend to what they read,
    so only ``blind``, given before the verdict was shown, can be trusted as a measure.

    ``turns`` (approve, caution) has the turns that a reviewer decided: fabricated means that caution was
    right, false alarm that the draft was fine; ``unsure`` ones are left out. Caution itself brings a turn
    before reviewers, and what the critic approved is seen only when it was flagged or drawn for the audit
    sample, so misses are underrepresented and recall comes out too high. Reviewers look for fabrication; a
    revision for another reason can be right and count as a false alarm here.
    """

    verdicts: Comparison
    blind: Comparison
    turns: Comparison
    unsure: int


@dataclass(frozen=True)
class Agreements:
    """The agreement of either critic, decided within the days. ``verdicts_capped`` and ``turns_capped``: more
    was decided than ``AGREEMENT_LIMIT``, of both critics together, and only the newest so many were read."""

    ours: Agreement
    runtime: Agreement
    verdicts_capped: bool
    turns_capped: bool


@dataclass(frozen=True)
class CriticNumbers:
    """Everything about the critic of a tenant on the ``days`` last days, oldest first, today among them.

    ``trials`` is what trials of the critic used, beside ``total.use``. ``enabled`` and ``blind_review`` are
    settings of the policy in force.
    """

    days: list[Day]
    total: Activity
    trials: Use
    latency: Latency
    budget: Budget
    circuit: Circuit
    waiting: Count
    agreement: Agreements
    enabled: bool
    blind_review: bool


def critic_numbers(*, tenant: Tenant, days: int = 30, now: datetime | None = None) -> CriticNumbers:
    """The numbers of 7, 30 or 90 days. Seven queries.

    Raises:
        InvalidError: another number of days.
    """
    if days not in WINDOWS:
        raise InvalidError(
            "There is no such window.", fields={"days": f"Must be one of {', '.join(map(str, WINDOWS))}."}
        )
    now = now or timezone.now()
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=days - 1)
    counts = _counts(tenant, first, today)
    used = _used(tenant, first, today)
    settings = current_policy(tenant=tenant).settings
    dates = [first + timedelta(days=n) for n in range(days)]
    by_day = [Day(day, _activity(counts[day], _use(used[CRITIC].get(day)))) for day in dates]
    summed: Counter[str] = Counter()
    for day in dates:
        summed.update(counts[day])
    total = _activity(summed, _use(*used[CRITIC].values()))
    latest = used[CRITIC].get(today)
    return CriticNumbers(
        days=by_day,
        total=total,
        trials=_use(*used[TRIAL].values()),
        latency=_latency(summed, total.use),
        budget=Budget(
            day=today,
            calls=latest.calls if latest else 0,
            most_calls=settings.critic_daily_calls,
            tokens=latest.tokens_in + latest.tokens_out if latest else 0,
            reserved=latest.reserved if latest else 0,
            most_tokens=settings.critic_daily_tokens,
        ),
        circuit=_circuit(tenant, now),
        waiting=_waiting(tenant),
        agreement=agreements(tenant=tenant, first=first, last=today),
        enabled=settings.critic_enabled,
        blind_review=settings.critic_blind_review,
    )


# -- From the daily counts

_BUCKETS: Final = (*((str(ms), Bound(ms, over=False)) for ms in LATENCY_BUCKETS),
                   ("more", Bound(LATENCY_BUCKETS[-1], over=True)))  # fmt: skip
_COUNTED: Final = (
    "turns",
    *(f"gate:{reason}" for reason in GATE_REASONS),
    *(f"critic:{standing}" for standing in CriticStanding.values),
    *(f"cause:{cause}" for cause in Cause.values),
    *(f"latency:{name}" for name, _ in _BUCKETS),
)


def _counts(tenant: Tenant, first: date, last: date) -> defaultdict[date, Counter[str]]:
    rows = DailyCount.objects.for_tenant(tenant).filter(day__gte=first, day__lte=last, name__in=_COUNTED)
    found: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for day, name, count in rows.values_list("day", "name", "count"):
        found[day][name] = count
    return found


def _used(tenant: Tenant, first: date, last: date) -> dict[str, dict[date, ModelUse]]:
    found: dict[str, dict[date, ModelUse]] = {CRITIC: {}, TRIAL: {}}
    rows = ModelUse.objects.for_tenant(tenant).filter(day__gte=first, day__lte=last, purpose__in=found)
    for row in rows:
        found[row.purpose][row.day] = row
    return found


def _use(*rows: ModelUse | None) -> Use:
    there = [row for row in rows if row is not None]
    return Use(
        calls=sum(row.calls for row in there),
        answered=sum(row.answered for row in there),
        tokens_in=sum(row.tokens_in for row in there),
        tokens_out=sum(row.tokens_out for row in there),
        cost=fsum(row.cost for row in there),
        latency_ms=fsum(row.latency_ms for row in there),
    )


def _activity(counts: Counter[str], use: Use) -> Activity:
    return Activity(
        turns=counts["turns"],
        gates={reason: counts[f"gate:{reason}"] for reason in GATE_REASONS},
        standings={standing: counts[f"critic:{standing}"] for standing in CriticStanding.values},
        causes={cause: counts[f"cause:{cause}"] for cause in Cause.values if counts[f"cause:{cause}"]},
        use=use,
    )


def _latency(counts: Counter[str], use: Use) -> Latency:
    buckets = tuple((bound, counts[f"latency:{name}"]) for name, bound in _BUCKETS)
    return Latency(use.mean_latency_ms, _quantile(buckets, 50), _quantile(buckets, 95), buckets)


def _quantile(buckets: Iterable[tuple[Bound, int]], percent: int) -> Bound | None:
    """The bucket of the value that stands at this percentage of all, rounded up (nearest rank)."""
    there = [(bound, count) for bound, count in buckets if count > 0]
    left = -(-percent * sum(count for _, count in there) // 100)
    for bound, count in there:
        left -= count
        if left <= 0:
            return bound
    return None


# -- How it stands now


def _circuit(tenant: Tenant, now: datetime) -> Circuit:
    found = circuit_of(tenant_id=tenant.pk)
    if found is None:
        return Circuit("closed")
    state: Literal["closed", "open", "trying"] = "closed"
    if found.open_until is not None:
        state = "open" if found.open_until > now else "trying"
    return Circuit(
        state, found.failures, found.opened_at, found.open_until, found.last_cause, found.last_detail
    )


def _waiting(tenant: Tenant) -> Count:
    rows = CriticVerdict.objects.for_tenant(tenant).filter(state=CallState.WAITING).order_by("next_at")
    found = len(rows.values_list("next_at", flat=True)[: COUNT_LIMIT + 1])
    return Count(min(found, COUNT_LIMIT), found > COUNT_LIMIT)


# -- From what reviewers decided


def agreements(*, tenant: Tenant, first: date, last: date) -> Agreements:
    """The agreement of what was decided on the days from ``first`` to ``last`` (UTC). Two queries.

    A critic's words are told apart here and not by the database, which would read all of a tenant's turns
    with some verdict to find the ones that were also decided.
    """
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    until = datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1)
    judged = list(
        CriticVerdict.objects.for_tenant(tenant)
        .filter(~Q(human=""), human_at__gte=since, human_at__lt=until)
        .order_by("-human_at")
        .values_list("origin", "said", "human", "human_blind")[: AGREEMENT_LIMIT + 1]
    )
    decided = list(
        Turn.objects.for_tenant(tenant)
        .filter(~Q(critic=""), ~Q(verdict=""), decided_at__gte=since, decided_at__lt=until)
        .order_by("-decided_at", "-id")
        .values_list("critic_verdict__origin", "critic_verdict__said", "verdict")[: AGREEMENT_LIMIT + 1]
    )
    words: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    blind: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    turns: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    unsure: Counter[str] = Counter()
    for origin, said, human, unseen in judged[:AGREEMENT_LIMIT]:
        if said:
            words[origin].append((said, human))
            if unseen:
                blind[origin].append((said, human))
    for origin, said, verdict in decided[:AGREEMENT_LIMIT]:
        if said and verdict in WANTED_OF:
            turns[origin].append((CAUTION_OF[said], WANTED_OF[verdict]))
        elif said:
            unsure[origin] += 1

    def agreement(origin: str) -> Agreement:
        return Agreement(
            verdicts=_compared(Confusion.from_pairs(Verdict.values, words[origin])),
            blind=_compared(Confusion.from_pairs(Verdict.values, blind[origin])),
            turns=_compared(Confusion.from_pairs((APPROVE, CAUTION), turns[origin])),
            unsure=unsure[origin],
        )

    return Agreements(
        ours=agreement(Origin.OURS),
        runtime=agreement(Origin.RUNTIME),
        verdicts_capped=len(judged) > AGREEMENT_LIMIT,
        turns_capped=len(decided) > AGREEMENT_LIMIT,
    )


def _compared(table: Confusion) -> Comparison:
    coarse = table.merged({**CAUTION_OF, CAUTION: CAUTION})
    return Comparison(table, kappa_of(table), precision_for(coarse, CAUTION), recall_for(coarse, CAUTION))
