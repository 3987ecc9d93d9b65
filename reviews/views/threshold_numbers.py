"""A simulation in words and numbers: what is done now, what is tried would do, and the difference."""

from __future__ import annotations

from typing import NamedTuple

from reviews.core.curve import NotReached, Suggested, suggest
from reviews.core.estimates import Among, Estimate, NotEnough
from reviews.core.simulation import Actions, Effect
from reviews.models.turns import Kind
from reviews.services.simulation import Simulation
from reviews.views.charts import percent

AMONG: dict[Among, str] = {
    "refused": "among the turns refused",
    "let_through": "among the flagged turns let through",
    "unflagged": "in the audit sample of unflagged turns",
}


class Change(NamedTuple):
    """A number under both policies, and the difference in words ("" for none)."""

    was: str
    now: str
    difference: str


class Share(NamedTuple):
    """A share under both policies, or why there is none; ``says`` is what follows from the tried one."""

    was: str
    now: str
    known: bool
    says: str
    css: str = ""


class KindRow(NamedTuple):
    name: str
    refused: Change
    revised: Change
    observed: Change


class Suggestion(NamedTuple):
    """A threshold for the wanted precision: ``threshold`` is empty when nothing is recommended."""

    words: str
    threshold: str = ""


class Numbers(NamedTuple):
    """All that the result shows beside charts and turns. ``said`` is for those who do not see it change."""

    window: str
    refused: Change
    refused_a_day: Change
    critic: Change
    critic_hint: str
    precision: Share
    recall: Share
    rows: list[KindRow]
    has_revised: bool
    suggestion: Suggestion
    said: str


def numbers_of(found: Simulation, target: float) -> Numbers:
    """``target`` is the wanted precision, 0 to 1."""
    now, then, days = found.now, found.then, found.window.days
    refused = _change(now.actions.refused, then.actions.refused)
    precision = _precision(now, then, target)
    recall = _recall(found)
    rows = [_row("All flagged turns", now.actions, then.actions)]
    rows += [_row(kind.label, now.by_kind[kind], then.by_kind[kind]) for kind in Kind if kind in then.by_kind]
    said = f"{refused.now} refused, {refused.was} before."
    said += f" Precision {precision.now}." if precision.known else f" {precision.says}"
    return Numbers(
        window=_window(found),
        refused=refused,
        refused_a_day=_daily(now.refused_per_day, then.refused_per_day),
        critic=_daily(found.calls_now / days, found.calls_then / days),
        critic_hint=_critic_hint(found),
        precision=precision,
        recall=recall,
        rows=rows,
        has_revised=bool(now.actions.revised or then.actions.revised),
        suggestion=suggestion_of(found, target),
        said=said,
    )


def suggestion_of(found: Simulation, target: float) -> Suggestion:
    """The lowest overall threshold that is precise enough, by the lower end of its interval."""
    answer = suggest(found.curve, target)
    wanted = percent(target)
    if isinstance(answer, NotEnough):
        return Suggestion(f"Nothing is recommended: {_missing(answer)}.")
    if isinstance(answer, Suggested):
        point = answer.point
        words = (
            f"{point.threshold / 1000:g} is the lowest threshold whose precision reaches {wanted}: "
            f"at least {_down(point.precision_low)} at 95 % confidence, {point.refused:,} turns refused."
        )
        return Suggestion(words, f"{point.threshold / 1000:g}")
    assert isinstance(answer, NotReached)
    best = answer.best
    return Suggestion(
        f"No threshold reaches {wanted}. The best is {best.threshold / 1000:g}: "
        f"at least {_down(best.precision_low)} at 95 % confidence, {best.refused:,} turns refused."
    )


def estimate_words(estimate: Estimate) -> str:
    """ "93 % [88–96]": the share and its 95 % interval."""
    return f"{percent(estimate.value)} [{estimate.low * 100:.0f}–{estimate.high * 100:.0f}]"


def _precision(now: Effect, then: Effect, target: float) -> Share:
    was = estimate_words(now.precision) if isinstance(now.precision, Estimate) else "–"
    found = then.precision
    wanted = percent(target)
    if isinstance(found, NotEnough):
        if not then.actions.refused:
            return Share(was, "–", False, "Nothing is refused, so there is no precision.")
        return Share(was, "–", False, f"{_missing(found).capitalize()}.")
    if found.low >= target:
        return Share(was, estimate_words(found), True, f"Reaches your {wanted}: yes.", "good")
    if found.value >= target:
        says = f"Reaches your {wanted}: perhaps; the lower end does not."
        return Share(was, estimate_words(found), True, says, "warn")
    return Share(was, estimate_words(found), True, f"Reaches your {wanted}: no.", "bad")


def _recall(found: Simulation) -> Share:
    before, after = found.now.recall, found.then.recall
    was = estimate_words(before) if isinstance(before, Estimate) else "–"
    if isinstance(after, NotEnough):
        return Share(was, "–", False, f"{_missing(after).capitalize()}.")
    audited = found.labelled["audited"]
    says = f"Unflagged turns judged by {_counted(audited, 'audited one')}." if audited else ""
    return Share(was, estimate_words(after), True, says)


def _missing(found: NotEnough) -> str:
    if found.among == "fabricated":
        return "no turn is known to be fabricated yet"
    return f"not enough labels: {found.labelled:,} of {found.needed:,} ({AMONG[found.among]})"


def _critic_hint(found: Simulation) -> str:
    if not found.gated:
        return "No turn came with a confidence that the critic’s gate could read."
    if found.gated < found.totals.turns:
        return f"Of {found.gated:,} turns whose confidence is known."
    return ""


def _window(found: Simulation) -> str:
    labels = found.labelled
    labelled = labels["fabricated"] + labels["false_alarm"] + labels["unsure"]
    return (
        f"Last {found.window.days} days · {_counted(found.totals.turns, 'turn')} · "
        f"{found.totals.flagged:,} flagged · {labelled:,} labelled"
    )


def _row(name: str, now: Actions, then: Actions) -> KindRow:
    return KindRow(name, *(_change(before, after) for before, after in zip(now, then, strict=True)))


def _change(was: int, now: int) -> Change:
    return Change(f"{was:,}", f"{now:,}", _signed(now - was, f"{abs(now - was):,}"))


def _daily(was: float, now: float) -> Change:
    return Change(_rate(was), _rate(now), _signed(now - was, _rate(abs(now - was))))


def _rate(value: float) -> str:
    """Three figures are enough: "0.4", "13.1", "1,204"."""
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _signed(difference: float, size: str) -> str:
    if not difference:
        return ""
    return f"{'+' if difference > 0 else '−'}{size}"


def _counted(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _down(share: float | None) -> str:
    """Rounded down, so that "at least" holds."""
    return f"{int((share or 0.0) * 1000) / 10:g} %"
