"""Memory assertions in words, tables and the geometry of a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from reviews.core.assertion_suites import AssertionSuite
from reviews.models import AssertionResult
from reviews.models.turns import ReviewState
from reviews.services.assertion_numbers import AssertionNumbers, Day, Tried
from reviews.services.assertion_worklist import FailingTurn
from reviews.suite_forms import TYPE_NAMES
from reviews.views.ages import ago
from reviews.views.charts import DAY_WIDTH, RATE_HEIGHT, percent

#: What the counts of a verdict's evidence are called: one, several.
COUNT_NAMES: dict[str, tuple[str, str]] = {
    "records": ("record", "records"),
    "unreadable": ("unreadable", "unreadable"),
    "categories": ("category", "categories"),
    "fragments": ("text looked for", "texts looked for"),
    "found": ("found", "found"),
    "leaked": ("leaked", "leaked"),
    "claims": ("claim", "claims"),
    "compared": ("compared", "compared"),
    "contradicted": ("contradicted", "contradicted"),
}


class Result(NamedTuple):
    """One assertion's verdict on a turn. ``counts`` are words such as "3 records"; ``digests`` name leaks."""

    name: str
    passed: bool
    reason: str
    counts: str
    digests: list[str]


class SuiteResults(NamedTuple):
    """A suite's verdicts on a turn."""

    name: str
    failed: int
    results: list[Result]


class Bar(NamedTuple):
    """One day: the failed share stands on the passed one."""

    x: int
    y: float
    failed_height: float
    title: str
    day: date
    tried: Tried
    rate: str


class Chart(NamedTuple):
    """The share that failed, by day. ``top`` is the share at the upper edge, in per cent."""

    bars: list[Bar]
    width: int
    height: int
    top: int
    summary: str


class Row(NamedTuple):
    """One line of a table of pass rates; ``url`` narrows the page to it."""

    name: str
    detail: str
    tried: Tried
    rate: str
    width: float
    url: str
    current: bool


class TurnRow(NamedTuple):
    """A failing turn in the worklist."""

    url: str
    external_id: str
    agent: str
    snippet: str
    failed: list[tuple[str, str]]
    when: str
    moment: str
    state: str
    css: str


class SuiteRow(NamedTuple):
    """A suite as the page lists it."""

    name: str
    about: str
    assertions: list[str]
    sampling: str
    queue: bool
    url: str


def suite_results(rows: Sequence[AssertionResult]) -> list[SuiteResults]:
    """Results, which come sorted by suite, grouped by it."""
    found: dict[str, list[Result]] = {}
    for row in rows:
        counts = ", ".join(_counted(name, count) for name, count in (row.evidence or {}).items())
        found.setdefault(row.suite, []).append(
            Result(row.assertion, row.passed, row.reason, counts, list(row.digests or ()))
        )
    return [
        SuiteResults(name, sum(not result.passed for result in results), results)
        for name, results in found.items()
    ]


def _counted(name: str, count: int) -> str:
    one, several = COUNT_NAMES.get(name, (name, name))
    return f"{count:,} {one if count == 1 else several}"


def failure_chart(days: Sequence[Day]) -> Chart:
    shares = [day.tried.failed / day.tried.total for day in days if day.tried.total]
    top = _top(max(shares, default=0.0) * 100)
    bars = []
    for n, (day, tried) in enumerate(days):
        share = tried.failed / tried.total if tried.total else 0.0
        height = round(share * 100 / top * RATE_HEIGHT, 1)
        said = f"{tried.failed:,} of {tried.total:,} failed" if tried.total else "nothing tried"
        rate = rate_words(tried)
        title = f"{day:%d %b}: {said}"
        bars.append(Bar(n * DAY_WIDTH + 1, round(RATE_HEIGHT - height, 1), height, title, day, tried, rate))
    return Chart(bars, len(days) * DAY_WIDTH, RATE_HEIGHT, top, _summary(days))


def _top(percents: float) -> int:
    """The upper edge of the axis: the next of a few round numbers."""
    return next(edge for edge in (1, 2, 5, 10, 20, 50, 100) if percents <= edge)


def _summary(days: Sequence[Day]) -> str:
    total = Tried(sum(d.tried.passed for d in days), sum(d.tried.failed for d in days))
    if not total.total:
        return f"No assertion was made in the last {len(days)} days."
    failed = f"{total.failed:,} of {total.total:,} failed in the last {len(days)} days"
    return f"{failed}: {rate_words(total)} passed."


def rate_words(tried: Tried) -> str:
    """The share that passed, never 100 % while something failed."""
    if tried.rate is None:
        return "–"
    if tried.failed and tried.rate >= 0.995:
        return "> 99.9 %" if tried.rate > 0.999 else f"{tried.rate * 100:.1f} %"
    return percent(tried.rate)


def assertion_rows(found: AssertionNumbers, query: Mapping[str, str]) -> list[Row]:
    """The table by assertion, each narrowing the page to itself."""
    wanted = (query.get("suite", ""), query.get("assertion", ""))
    return [
        _row(name, suite, tried, {**query, "suite": suite, "assertion": name}, wanted == (suite, name))
        for (suite, name), tried in found.by_assertion
    ]


def agent_rows(found: AssertionNumbers, query: Mapping[str, str]) -> list[Row]:
    """The table by agent. Turns without one cannot be narrowed to."""
    wanted = query.get("agent", "")
    return [
        _row(
            name or "(no agent)",
            "",
            tried,
            {**query, "agent": name} if name else {},
            bool(name) and name == wanted,
        )
        for name, tried in found.by_agent
    ]


def _row(name: str, detail: str, tried: Tried, query: Mapping[str, str], current: bool) -> Row:
    url = f"?{urlencode({key: value for key, value in query.items() if value})}" if query else ""
    return Row(name, detail, tried, rate_words(tried), round((tried.rate or 0.0) * 100, 1), url, current)


def turn_rows(rows: Sequence[FailingTurn], slug: str) -> list[TurnRow]:
    now = timezone.now()
    return [_turn_row(row, slug, now) for row in rows]


def _turn_row(row: FailingTurn, slug: str, now: datetime) -> TurnRow:
    turn = row.turn
    state, css = "", ""
    if turn.review_state == ReviewState.OPEN:
        state, css = "open", "accent"
    elif turn.review_state == ReviewState.DECIDED:
        state = turn.get_verdict_display().lower()
    return TurnRow(
        url=f"{reverse('reviews:turn', args=[slug, turn.pk])}#assertions",
        external_id=turn.external_id,
        agent=turn.agent,
        snippet=turn.snippet,
        failed=[(result.assertion, result.reason) for result in row.failed],
        when=ago(turn.occurred_at, now),
        moment=f"{turn.occurred_at:%Y-%m-%d %H:%M} UTC",
        state=state,
        css=css,
    )


def suite_rows(suites: Sequence[AssertionSuite], slug: str, *, may_edit: bool) -> list[SuiteRow]:
    return [
        SuiteRow(
            name=suite.name,
            about=_about(suite),
            assertions=[
                label if spec.label else TYPE_NAMES[spec.type]
                for spec, label in zip(suite.assertions, suite.labels(), strict=True)
            ],
            sampling=f"{suite.sampling:.1%}".replace(".0%", "%").replace("%", " %"),
            queue=suite.queue,
            url=reverse("reviews:suite", args=[slug, n]) if may_edit else "",
        )
        for n, suite in enumerate(suites)
    ]


def _about(suite: AssertionSuite) -> str:
    parts = []
    if suite.agents:
        parts.append("agents " + ", ".join(suite.agents))
    if suite.tags:
        parts.append("turns tagged " + " or ".join(suite.tags))
    return "; ".join(parts) or "all turns"
