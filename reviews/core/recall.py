"""How many of all fabricated turns a policy refuses, though most turns were never looked at.

A turn is in one of three strata: refused (R turns), flagged but let through (O), not flagged (U). With p the
share of fabricated turns in each, the recall of refusing is

    A / (A + B)    where A = R p_R and B = O p_O + U p_U.

The shares come from labels: p_R and p_O from those on the two flagged strata, taken as if reviewers had
picked the turns at random within each; p_U from random audit samples of the unflagged turns. A sample of s
turns drawn at rate r speaks for N_r = s / r turns, so with p_r the share among its labels,

    p_U = sum of w_r p_r    where w_r = N_r / sum of N over the samples that have labels,

while U itself is counted, not estimated. This is stratified estimation: W. G. Cochran, "Sampling Techniques"
(3rd edition, 1977), chapter 5.

The 95 % interval is the delta method's (A. Agresti, "Categorical Data Analysis", 2nd edition, 2002, section
14.1) on the log odds ln(A / B), strata being independent:

    var ln(A / B) = R^2 v_R / A^2  +  (O^2 v_O + U^2 v_U) / B^2
    v = p (1 - p) / n for n labels
    v_U = sum of w_r^2 (p_r (1 - p_r) / n_r + (p_r - p_U)^2 (1 - r) / s_r)

where the last term is there because N_r is an estimate: s is binomial. In the variance, and for the middle
where A or B would be 0, x of n enters as (x + 1/2) / (n + 1), the mean of Jeffreys' posterior (Brown, Cai and
DasGupta, Statistical Science 16 (2001), 101-133), so that none among a few labels is not taken for certainty.
There is no correction for finite populations: the interval is about turns like these, not just about these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Final, NamedTuple

from reviews.core.estimates import FEWEST_FOR_PRECISION, Among, Estimate, NotEnough
from reviews.core.statistics import Z_95

__all__ = ["FEWEST_FOR_RECALL", "Flagged", "Stratum", "recall_of"]

#: The unflagged turns weigh most and hold few fabrications, so they need more labels than a precision does.
FEWEST_FOR_RECALL: Final = 30


class Flagged(NamedTuple):
    """``turns`` flagged turns that meet the same fate, and the verdicts on some of them."""

    turns: int
    fabricated: int
    false_alarms: int


@dataclass(frozen=True)
class Stratum:
    """A random audit sample of unflagged turns.

    ``rate``: the chance, above 0 to 1, with which each turn was drawn; ``sampled``: turns drawn; the others:
    those labelled so. Turns drawn but not labelled, or labelled unsure, are in neither.

    Raises:
        ValueError: the rate is no such chance, a count is negative, or there are more labels than turns.
    """

    rate: float
    sampled: int
    fabricated: int
    false_alarms: int

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ValueError(f"a sampling rate is above 0 and at most 1, not {self.rate!r}")
        if min(self.fabricated, self.false_alarms) < 0 or self.labelled > self.sampled:
            raise ValueError(f"{self.labelled} labels on {self.sampled} sampled turns cannot be")

    @property
    def labelled(self) -> int:
        return self.fabricated + self.false_alarms


def recall_of(
    *, refused: Flagged, let_through: Flagged, unflagged: int, audits: Sequence[Stratum]
) -> Estimate | NotEnough:
    """The share of all fabricated turns that are refused; ``unflagged`` counts the turns without a finding.

    Not enough, in this order: when one of the flagged strata has fewer than ``FEWEST_FOR_PRECISION`` labels
    and not all its turns are labelled; when the audit samples carry fewer than ``FEWEST_FOR_RECALL`` labels
    though there are unflagged turns; when no label anywhere says fabricated: then there is nothing to find.
    Exactly 0 when no turn is refused, exactly 1 when every turn is.
    """
    samples = [audit for audit in audits if audit.labelled]
    missing = _missing(refused, let_through, unflagged, samples)
    if missing is not None:
        return missing
    value = _share(*_fabricated(refused, let_through, unflagged, samples, smoothing=0.0))
    if value is None:
        return NotEnough(0, 1, "fabricated")
    if not refused.turns or not (let_through.turns or unflagged):
        return Estimate(value, value, value)
    caught, missed = _fabricated(refused, let_through, unflagged, samples, smoothing=0.5)
    middle = log(value / (1 - value)) if 0 < value < 1 else log(caught / missed)
    variance = _variance(refused) / caught**2
    variance += (_variance(let_through) + _audit_variance(unflagged, samples)) / missed**2
    reach = Z_95 * sqrt(variance)
    # Where the middle is not the value (0 or 1 of the labels), and against rounding.
    low, high = min(value, _expit(middle - reach)), max(value, _expit(middle + reach))
    return Estimate(value, low, high)


def _missing(
    refused: Flagged, let_through: Flagged, unflagged: int, samples: Sequence[Stratum]
) -> NotEnough | None:
    strata: tuple[tuple[Among, Flagged], ...] = (("refused", refused), ("let_through", let_through))
    for among, stratum in strata:
        labelled = stratum.fabricated + stratum.false_alarms
        needed = min(FEWEST_FOR_PRECISION, stratum.turns)
        if labelled < needed:
            return NotEnough(labelled, needed, among)
    labelled = sum(sample.labelled for sample in samples)
    if unflagged and labelled < FEWEST_FOR_RECALL:
        return NotEnough(labelled, FEWEST_FOR_RECALL, "unflagged")
    return None


def _fabricated(
    refused: Flagged, let_through: Flagged, unflagged: int, samples: Sequence[Stratum], *, smoothing: float
) -> tuple[float, float]:
    """A and B of the module's formula: fabricated turns that are refused, and that are not."""
    missed = let_through.turns * _smoothed(let_through, smoothing)
    if unflagged:
        missed += unflagged * _audit_share(samples, smoothing)
    return refused.turns * _smoothed(refused, smoothing), missed


def _share(caught: float, missed: float) -> float | None:
    return caught / (caught + missed) if caught + missed else None


def _smoothed(labels: Flagged | Stratum, smoothing: float) -> float:
    """The share of fabricated among labels; a stratum without turns has no labels and no fabrications."""
    n = labels.fabricated + labels.false_alarms
    return (labels.fabricated + smoothing) / (n + 2 * smoothing) if n else 0.0


def _weights(samples: Sequence[Stratum]) -> list[float]:
    populations = [sample.sampled / sample.rate for sample in samples]
    return [population / sum(populations) for population in populations]


def _audit_share(samples: Sequence[Stratum], smoothing: float) -> float:
    return sum(
        weight * _smoothed(sample, smoothing)
        for weight, sample in zip(_weights(samples), samples, strict=True)
    )


def _variance(stratum: Flagged) -> float:
    """Of the number of fabricated turns in a stratum: N^2 v."""
    labelled = stratum.fabricated + stratum.false_alarms
    if not labelled:
        return 0.0
    share = _smoothed(stratum, 0.5)
    return stratum.turns**2 * share * (1 - share) / labelled


def _audit_variance(unflagged: int, samples: Sequence[Stratum]) -> float:
    """Of the number of fabricated turns among the unflagged: U^2 v_U."""
    overall = _audit_share(samples, 0.5)
    found = 0.0
    for weight, sample in zip(_weights(samples), samples, strict=True):
        share = _smoothed(sample, 0.5)
        of_labels = share * (1 - share) / sample.labelled
        of_weight = (share - overall) ** 2 * (1 - sample.rate) / sample.sampled
        found += weight**2 * (of_labels + of_weight)
    return unflagged**2 * found


def _expit(log_odds: float) -> float:
    # Either branch keeps exp from overflowing.
    if log_odds >= 0:
        return 1 / (1 + exp(-log_odds))
    return exp(log_odds) / (1 + exp(log_odds))
