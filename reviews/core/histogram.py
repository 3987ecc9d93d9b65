"""Where a window's turns lie between 0 and 1, by the reviewers' verdict."""

from __future__ import annotations

from typing import NamedTuple

from reviews.core.labelled import Counts, Evidence
from reviews.core.profiles import UNIT
from reviews.core.thresholds import Thresholds

__all__ = ["Bin", "histogram"]


class Bin(NamedTuple):
    """Turns whose strongest claim has a confidence from ``low`` to below ``high``; the last bin holds 1."""

    low: float
    high: float
    turns: Counts


def histogram(evidence: Evidence, thresholds: Thresholds, bins: int = 20) -> list[Bin]:
    """Turns by confidence, as ``thresholds`` read it, in ``bins`` (1 or more) of equal width."""
    sums = [[0, 0, 0, 0] for _ in range(bins)]
    scored = evidence.scored(thresholds.calibration)
    for strongest, counts in zip(scored.strongest, evidence.counts, strict=True):
        place = sums[min(strongest * bins // UNIT, bins - 1)]
        for n, count in enumerate(counts):
            place[n] += count
    return [Bin(n / bins, (n + 1) / bins, Counts(*found)) for n, found in enumerate(sums)]
