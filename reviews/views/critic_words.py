"""What the critic did and whether it deserves trust, in words, tables and the geometry of two charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Final, NamedTuple

from django.conf import settings as django_settings
from django.urls import reverse
from django.utils import timezone

from reviews.core.agreement import Confusion, Kappa, TooFew
from reviews.core.estimates import Estimate
from reviews.models.critic import Cause, Origin, Verdict
from reviews.models.turns import CriticStanding, Label
from reviews.services.critic_numbers import (
    Activity,
    Agreement,
    Bound,
    Circuit,
    Comparison,
    CriticNumbers,
    Day,
    Use,
)
from reviews.services.critic_worklist import MISSED, NEEDLESS, OVERRULED, Disagreement
from reviews.services.model_providers import is_set_up
from reviews.views.ages import ago
from reviews.views.charts import DAY_WIDTH, RATE_HEIGHT, percent
from reviews.views.estimates import estimate_words
from reviews.views.skill_words import Tag, counted
from reviews.views.texts import visible

#: Why the gate fired, and why it did not, in the order of the chart from the ground up.
REASONS: Final = {
    "low_confidence": ("Low confidence", "mix-1"),
    "sensitive_tag": ("Sensitive tag", "mix-2"),
    "fabrication_revise": ("Findings, in mode revise", "mix-3"),
    "not_trivial": ("No plain acknowledgment", "mix-4"),
    "gate_failed": ("Gate could not read it", "mix-5"),
}
NOT_FIRED: Final = {
    "confident": "confident enough",
    "trivial_acknowledgment": "plain acknowledgments",
}
STANDINGS: Final = {
    CriticStanding.APPROVE: ("Approved", "mix-good"),
    CriticStanding.REVISE: ("To be revised", "mix-warn"),
    CriticStanding.REFUSE: ("To be refused", "mix-bad"),
    CriticStanding.DEGRADED: ("Not read", "mix-none"),
}
SIDE_NAMES: Final = {
    "": "All",
    MISSED: "Let pass, but fabricated",
    NEEDLESS: "Objected, but nothing wrong",
    OVERRULED: "Overruled",
}
VERDICT_WORDS: Final = {
    Verdict.APPROVE: Tag("approve", "good"),
    Verdict.REVISE: Tag("revise", "warn"),
    Verdict.REFUSE: Tag("refuse", "bad"),
}
HEAD_WORDS: Final = {"approve": "approve", "revise": "revise", "refuse": "refuse", "caution": "caution"}
KAPPA_NEEDS: Final = "one and the same word throughout, so nothing can be told"


class Part(NamedTuple):
    """One piece of a day's bar."""

    css: str
    y: float
    height: float


class Bar(NamedTuple):
    x: int
    parts: list[Part]
    title: str
    day: date
    cells: list[str]


class Chart(NamedTuple):
    """Shares of each day, stacked. ``summary`` says the chart in a sentence."""

    bars: list[Bar]
    width: int
    height: int
    legend: list[tuple[str, str]]
    columns: list[str]
    summary: str


class Figure(NamedTuple):
    value: str
    label: str
    hint: str = ""
    css: str = ""


class Cell(NamedTuple):
    words: str
    agrees: bool


class Row(NamedTuple):
    name: str
    cells: list[Cell]


class Table(NamedTuple):
    """A confusion matrix and what follows from it."""

    title: str
    about: str
    columns: list[str]
    rows: list[Row]
    kappa: str
    precision: str
    recall: str
    note: str = ""


class Words(NamedTuple):
    """All that the page shows of the numbers. ``state`` says in a sentence how the critic stands now."""

    state: Tag
    state_words: str
    may_close: bool
    figures: list[Figure]
    fire: Chart
    mix: Chart
    causes: list[str]
    budget: str
    tables: list[Table]
    runtime_tables: list[Table]
    capped: bool
    is_empty: bool


class Differing(NamedTuple):
    """A disagreement as the list shows it."""

    url: str
    external_id: str
    agent: str
    before: str
    claim: str
    after: str
    said: Tag
    wanted: str
    who: str
    when: str
    moment: str
    reason: str
    origin: str


def words_of(found: CriticNumbers) -> Words:
    total = found.total
    ours, runtime = found.agreement.ours, found.agreement.runtime
    state, words, may_close = _state(found)
    return Words(
        state=state,
        state_words=words,
        may_close=may_close,
        figures=_figures(found),
        fire=_chart(found.days, list(REASONS.items()), _gates, _fire_summary(total, len(found.days))),
        mix=_chart(found.days, list(STANDINGS.items()), _standings, _mix_summary(total, len(found.days))),
        causes=[f"{Cause(cause).label}: {count:,}" for cause, count in _most_first(total.causes)],
        budget=_budget(found),
        tables=_tables(ours, found.blind_review),
        runtime_tables=_tables(runtime, False) if runtime.turns.table.rated else [],
        capped=found.agreement.turns_capped or found.agreement.verdicts_capped,
        is_empty=not total.gated and not total.settled,
    )


def row_of(row: Disagreement, slug: str) -> Differing:
    overruled = OVERRULED in row.sides and row.human
    wanted = f"reviewer: {row.human}" if overruled else f"reviewer: {_label(row.turn_verdict)}"
    start, end = row.snippet_start, row.snippet_end
    return Differing(
        url=reverse("reviews:turn", args=[slug, row.turn_id]),
        external_id=visible(row.external_id),
        agent=visible(row.agent),
        before=visible(row.snippet[:start]),
        claim=visible(row.snippet[start:end]),
        after=visible(row.snippet[end:]),
        said=VERDICT_WORDS[Verdict(row.said)],
        wanted=wanted,
        who=row.who,
        when=ago(row.when, timezone.now()),
        moment=f"{row.when:%Y-%m-%d %H:%M}",
        reason=visible(row.reason),
        origin="agent’s own critic" if row.origin == Origin.RUNTIME else "",
    )


# -- How it stands now


def _state(found: CriticNumbers) -> tuple[Tag, str, bool]:
    if not found.enabled:
        return Tag("off"), "No draft is sent anywhere. The gate’s decisions are counted all the same.", False
    if not is_set_up(django_settings):
        words = "No model is set up (MODEL_BASE_URL and MODEL_NAME), so no draft is read."
        return Tag("no model", "bad"), words, False
    if found.circuit.state == "closed":
        waiting = found.waiting.value
        many = f"{waiting:,}{'+' if found.waiting.capped else ''}"
        words = f"{many} {'turn waits' if waiting == 1 else 'turns wait'} for it." if waiting else ""
        return Tag("on", "good"), words or "No turn waits for it.", False
    return _circuit(found.circuit), _circuit_words(found.circuit), True


def _circuit(circuit: Circuit) -> Tag:
    return Tag("out of reach", "bad") if circuit.state == "open" else Tag("trying again", "warn")


def _circuit_words(circuit: Circuit) -> str:
    since = f" {ago(circuit.opened_at, timezone.now())}" if circuit.opened_at else ""
    words = f"{counted(circuit.failures, 'call')} in a row failed, so no more were made from{since} on."
    if circuit.last_detail:
        words += f" The last one: {circuit.last_detail}"
    if circuit.state == "open" and circuit.open_until is not None:
        words += f" The next is tried at {timezone.localtime(circuit.open_until):%H:%M:%S}."
    return words + " Nothing is lost; turns wait up to an hour."


def _figures(found: CriticNumbers) -> list[Figure]:
    total, use = found.total, found.total.use
    spared = [
        f"{count:,} {NOT_FIRED[name]}" for name, count in total.gates.items() if name in NOT_FIRED and count
    ]
    rate = total.fire_rate
    degraded = total.degraded_share
    return [
        Figure(
            "–" if rate is None else percent(rate),
            "of turns are for the critic",
            ", ".join(spared) and f"Not: {', '.join(spared)}",
        ),
        Figure(f"{use.calls:,}", "calls", _tokens(use)),
        Figure(
            "–" if degraded is None else percent(degraded),
            "of drafts were not read",
            f"{total.standings[CriticStanding.DEGRADED]:,} of {total.settled:,}" if total.settled else "",
            "warn" if degraded and degraded > 0.1 else "",
        ),
        Figure(_bound(found.latency.p50), "half of the answers", _latency(found)),
        Figure(_cost(use), "cost", _cost_hint(found)),
    ]


def _tokens(use: Use) -> str:
    return f"{use.tokens_in:,} tokens in, {use.tokens_out:,} out" if use.tokens else ""


def _latency(found: CriticNumbers) -> str:
    p95, mean = found.latency.p95, found.latency.mean_ms
    if p95 is None or mean is None:
        return ""
    return f"95 of 100 {_bound(p95)}; mean {mean / 1000:.1f} s"


def _bound(bound: Bound | None) -> str:
    if bound is None:
        return "–"
    seconds = f"{bound.ms / 1000:g} s"
    return f"over {seconds}" if bound.over else f"≤ {seconds}"


def _cost(use: Use) -> str:
    if not use.cost:
        return "–"
    return f"{use.cost:,.2f}" if use.cost >= 1 else f"{use.cost:.4f}"


def _cost_hint(found: CriticNumbers) -> str:
    if not found.total.use.cost:
        return "No prices are set up (MODEL_PRICES)." if found.total.use.calls else ""
    words = "in the currency of MODEL_PRICES"
    return f"{words}; trials {_cost(found.trials)} more" if found.trials.cost else words


def _budget(found: CriticNumbers) -> str:
    budget = found.budget
    words = (
        f"Today (UTC): {budget.calls:,} of {budget.most_calls:,} calls and "
        f"{budget.tokens:,} of {budget.most_tokens:,} tokens are used"
    )
    return f"{words}, {budget.reserved:,} are set aside." if budget.reserved else f"{words}."


# -- Charts

Counts = Callable[[Activity], "dict[str, int]"]


def _gates(activity: Activity) -> dict[str, int]:
    return {**activity.gates, "": activity.gated}


def _standings(activity: Activity) -> dict[str, int]:
    return {**activity.standings, "": activity.settled}


def _chart(
    days: Sequence[Day], names: Sequence[tuple[str, tuple[str, str]]], counts: Counts, summary: str
) -> Chart:
    """A bar of shares for each day; the whole of a day stands under ""."""
    bars = []
    for n, (day, activity) in enumerate(days):
        found = counts(activity)
        whole, ground = found[""], float(RATE_HEIGHT)
        parts, said = [], []
        for name, (words, css) in names:
            count = found.get(name, 0)
            if whole and count:
                height = round(count / whole * RATE_HEIGHT, 1)
                ground -= height
                parts.append(Part(css, round(ground, 1), height))
                said.append(f"{words.lower()} {count:,}")
        title = f"{day:%d %b}: {', '.join(said) or 'none'} of {whole:,}" if whole else f"{day:%d %b}: none"
        cells = [f"{found.get(name, 0):,}" for name, _ in names] + [f"{whole:,}"]
        bars.append(Bar(n * DAY_WIDTH + 1, parts, title, day, cells))
    seen = {part.css for bar in bars for part in bar.parts}
    legend = [words for _, words in names if words[1] in seen]
    return Chart(
        bars, len(days) * DAY_WIDTH, RATE_HEIGHT, legend, [words for _, (words, _) in names], summary
    )


def _fire_summary(total: Activity, days: int) -> str:
    if not total.gated:
        return f"No turns in the last {days} days."
    return f"The gate fired for {total.fired:,} of {total.gated:,} turns in the last {days} days."


def _mix_summary(total: Activity, days: int) -> str:
    if not total.settled:
        return f"No verdicts in the last {days} days."
    parts = [f"{total.standings[name]:,} {words.lower()}" for name, (words, _) in STANDINGS.items()]
    return f"{counted(total.settled, 'draft')} in the last {days} days: {', '.join(parts)}."


def _most_first(counts: Activity | object) -> list[tuple[str, int]]:
    assert isinstance(counts, dict)
    return sorted(counts.items(), key=lambda item: -item[1])


# -- Agreement


def _tables(found: Agreement, blind_review: bool) -> list[Table]:
    about_turns = (
        "What the critic said of turns that reviewers decided: a fabricated one called for caution (revise "
        "or refuse), a false alarm did not."
    )
    bias = "What nobody flagged is seen only in the audit sample, so what both missed is underrepresented."
    unsure = f" {found.unsure:,} unsure left out." if found.unsure else ""
    tables = [_table("By the turn", about_turns, found.turns, bias + unsure)]
    if found.verdicts.table.rated:
        note = (
            "Most people judge a verdict when they disagree with it; only what was said before it was in "
            "sight measures the critic."
        )
        tables.append(_table("By the verdict", "Verdicts that reviewers judged.", found.verdicts, note))
    if found.blind.table.rated or blind_review:
        about = "The same, of reviewers who had not seen the verdict yet."
        tables.append(_table("By the verdict, blind", about, found.blind, ""))
    return tables


def _table(title: str, about: str, found: Comparison, note: str) -> Table:
    table: Confusion = found.table
    rows = [
        Row(HEAD_WORDS[name], [Cell(f"{count:,}", n == m) for m, count in enumerate(line)])
        for n, (name, line) in enumerate(zip(table.labels, table.counts, strict=True))
    ]
    return Table(
        title=title,
        about=about,
        columns=[HEAD_WORDS[name] for name in table.labels],
        rows=rows,
        kappa=kappa_words(found.kappa),
        precision=share_words(found.precision),
        recall=share_words(found.recall),
        note=note,
    )


def kappa_words(found: Kappa | TooFew) -> str:
    if isinstance(found, Kappa):
        return f"{_signed(found.value)} [{_signed(found.low)} to {_signed(found.high)}]"
    return KAPPA_NEEDS if found.among == "categories" else _too_few(found)


def _signed(value: float) -> str:
    """Two decimals, with a real minus sign."""
    return f"{value:.2f}".replace("-", "−")


def share_words(found: Estimate | TooFew) -> str:
    return estimate_words(found) if isinstance(found, Estimate) else _too_few(found)


def _too_few(found: TooFew) -> str:
    return f"not enough: {found.found:,} of {found.needed:,}"


def _label(label: str) -> str:
    return Label(label).label.lower() if label else ""
