"""A simulation in words and numbers: what is done now, what is tried would do, and the difference."""

from __future__ import annotations

from typing import NamedTuple

from reviews.core.curve import NotReached, Point, Suggested, suggest
from reviews.core.estimates import Estimate, NotEnough
from reviews.core.simulation import Actions, Effect
from reviews.models.turns import Kind
from reviews.services.simulation import Simulation
from reviews.views.estimates import (
    REFUSES_NOTHING,
    decimals_of,
    estimate_words,
    goal_words,
    missing_words,
    not_counted_words,
    rate_words,
    rounded_down,
)


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
    """All that the result shows beside charts and turns. ``said`` is for those who do not see it change, and
    ``not_counted`` says what the numbers leave out ("" for nothing).
    """

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
    not_counted: str


def numbers_of(found: Simulation, target: float) -> Numbers:
    """``target`` is the wanted precision, 0 to 1."""
    now, then, days = found.now, found.then, found.window.days
    refused = _change(now.actions.refused, then.actions.refused)
    precision = _precision(now, then, target)
    recall = _recall(found, target)
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
        not_counted=not_counted_words(found.not_counted),
    )


def suggestion_of(found: Simulation, target: float) -> Suggestion:
    """The lowest overall threshold that is precise enough, by the lower end of its interval."""
    answer = suggest(found.curve, target)
    wanted = goal_words(target)
    digits = max(1, decimals_of(target))
    if isinstance(answer, NotEnough):
        return Suggestion(f"Nothing is recommended: {missing_words(answer)}.")
    if isinstance(answer, Suggested):
        point = answer.point
        words = (
            f"{point.threshold / 1000:g} is the lowest threshold whose precision reaches {wanted}: "
            f"{_at_least(point, digits)}."
        )
        return Suggestion(words, f"{point.threshold / 1000:g}")
    assert isinstance(answer, NotReached)
    best = answer.best
    return Suggestion(
        f"No threshold reaches {wanted}. The best is {best.threshold / 1000:g}: {_at_least(best, digits)}."
    )


def _at_least(point: Point, digits: int) -> str:
    low = rounded_down(point.precision_low or 0.0, digits)
    return f"at least {low} % at 95 % confidence, {point.refused:,} turns refused"


def _precision(now: Effect, then: Effect, target: float) -> Share:
    was = _known(now.precision, target)
    found = then.precision
    wanted = goal_words(target)
    if isinstance(found, NotEnough):
        return Share(was, "–", False, _why_none(found, then))
    words = estimate_words(found, target)
    if found.low >= target:
        return Share(was, words, True, f"Reaches your {wanted}: yes.", "good")
    if found.value >= target:
        return Share(was, words, True, f"Reaches your {wanted}: perhaps; the lower end does not.", "warn")
    return Share(was, words, True, f"Reaches your {wanted}: no.", "bad")


def _recall(found: Simulation, target: float) -> Share:
    was = _known(found.now.recall, target)
    after = found.then.recall
    if isinstance(after, NotEnough):
        return Share(was, "–", False, _why_none(after, found.then))
    audited = found.labelled["audited"]
    says = f"Unflagged turns judged by {_counted(audited, 'audited one')}." if audited else ""
    return Share(was, estimate_words(after, target), True, says)


def _known(estimate: Estimate | NotEnough, target: float) -> str:
    return estimate_words(estimate, target) if isinstance(estimate, Estimate) else "–"


def _why_none(found: NotEnough, effect: Effect) -> str:
    words = missing_words(found) if effect.actions.refused else REFUSES_NOTHING
    return f"{words.capitalize()}."


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
    before, after = rate_words(was), rate_words(now)
    # What reads the same is not told apart.
    return Change(before, after, _signed(now - was, rate_words(abs(now - was))) if before != after else "")


def _signed(difference: float, size: str) -> str:
    if not difference:
        return ""
    return f"{'+' if difference > 0 else '−'}{size}"


def _counted(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
