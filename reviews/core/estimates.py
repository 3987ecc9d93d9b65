"""Shares estimated from reviewers' labels, or the word that there are too few labels to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from reviews.core.statistics import wilson_interval

__all__ = ["FEWEST_FOR_PRECISION", "Among", "Estimate", "NotEnough", "precision_of"]

#: With fewer labels even a perfect record leaves Wilson's lower end below 0.84, so it would tell little.
FEWEST_FOR_PRECISION: Final = 20

#: Where labels are missing: among the refused turns, among those flagged but let through, in the audit sample
#: of unflagged turns; or there are labels enough, but none that says fabricated.
Among = Literal["refused", "let_through", "unflagged", "fabricated"]


@dataclass(frozen=True)
class Estimate:
    """A share with its two-sided 95 % interval: 0 <= low <= value <= high <= 1."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class NotEnough:
    """``labelled`` of the labels that an estimate needs among those turns, which is fewer than ``needed``."""

    labelled: int
    needed: int
    among: Among


def precision_of(fabricated: int, false_alarms: int) -> Estimate | NotEnough:
    """The share of refused turns that were rightly refused, from the labels on them: Wilson's interval."""
    labelled = fabricated + false_alarms
    if labelled < FEWEST_FOR_PRECISION:
        return NotEnough(labelled, FEWEST_FOR_PRECISION, "refused")
    return Estimate(fabricated / labelled, *wilson_interval(fabricated, labelled))
