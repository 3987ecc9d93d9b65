"""How often the memory assertions of a tenant pass: by assertion, agent and day. Reads counts, no turns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from django.db.models import Sum
from django.utils import timezone

from reviews.models import AssertionCount, Tenant
from reviews.services.errors import InvalidError

T = TypeVar("T")

WINDOWS: Final = (7, 30, 90)
#: Agents listed, those with the most failures first; the rest are told as a number.
AGENTS_SHOWN: Final = 50


@dataclass(frozen=True)
class AssertionFilter:
    """Which results: of a suite, of one of its assertions, of an agent's turns; "" for all."""

    suite: str = ""
    assertion: str = ""
    agent: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """What is named, by field."""
        return {name: value for name, value in asdict(self).items() if value}


class Tried(NamedTuple):
    """How often something passed and failed."""

    passed: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed

    @property
    def rate(self) -> float | None:
        """The share that passed, 0 to 1; None when nothing was tried. A count of all, so without interval."""
        return self.passed / self.total if self.total else None


class Day(NamedTuple):
    """A day (UTC) of the window, also one on which nothing was tried."""

    day: date
    tried: Tried


@dataclass(frozen=True)
class AssertionNumbers:
    """What the assertions of a window came to.

    ``by_assertion`` has (suite, assertion), ``by_agent`` agents' names ("" for none), both the most failures
    first. ``other_agents`` are those beyond ``AGENTS_SHOWN``.
    """

    days: list[Day]
    total: Tried
    by_assertion: list[tuple[tuple[str, str], Tried]]
    by_agent: list[tuple[str, Tried]]
    other_agents: int


def assertion_numbers(
    *,
    tenant: Tenant,
    days: int,
    about: AssertionFilter = AssertionFilter(),
    now: datetime | None = None,
) -> AssertionNumbers:
    """Counts of the last ``days`` days (UTC, today among them).

    One query, over one row a day, assertion and agent.

    Raises:
        InvalidError: ``days`` is not one of WINDOWS.
    """
    if days not in WINDOWS:
        raise InvalidError("There is no such window.", fields={"days": f"Must be one of {WINDOWS}."})
    today = (now or timezone.now()).astimezone(UTC).date()
    first = today - timedelta(days=days - 1)
    rows = (
        AssertionCount.objects.for_tenant(tenant)
        .filter(day__gte=first, day__lte=today, **about.fields)
        .values_list("day", "suite", "assertion", "agent", "passed")
        .annotate(sum=Sum("count"))
    )
    by_day: defaultdict[date, Counter[bool]] = defaultdict(Counter)
    by_assertion: defaultdict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    by_agent: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for day, suite_name, name, agent_name, passed, count in rows:
        by_day[day][passed] += count
        by_assertion[suite_name, name][passed] += count
        by_agent[agent_name][passed] += count
    moments = [first + timedelta(days=n) for n in range(days)]
    listed = [Day(day, _tried([by_day[day]])) for day in moments]
    agents = _worst_first(by_agent)
    return AssertionNumbers(
        days=listed,
        total=_tried(by_day.values()),
        by_assertion=_worst_first(by_assertion),
        by_agent=agents[:AGENTS_SHOWN],
        other_agents=max(0, len(agents) - AGENTS_SHOWN),
    )


def _tried(counts: Iterable[Counter[bool]]) -> Tried:
    listed = list(counts)
    return Tried(sum(count[True] for count in listed), sum(count[False] for count in listed))


def _worst_first(counts: dict[T, Counter[bool]]) -> list[tuple[T, Tried]]:
    found = [(key, _tried([count])) for key, count in counts.items()]
    found = [(key, tried) for key, tried in found if tried.total]
    return sorted(found, key=lambda row: (-row[1].failed, -row[1].total, str(row[0])))
