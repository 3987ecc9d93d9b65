"""Estimates from few numbers, and how far they can be trusted."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

__all__ = ["Interval", "wilson_interval"]

#: Two-sided 95 %: the standard normal's 97.5 % quantile.
Z_95 = 1.96


class Interval(NamedTuple):
    """Both ends belong to it; 0 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, n: int, z: float = Z_95) -> Interval:
    """Score interval for a proportion: honest for small ``n`` and near 0 or 1, where the textbook one fails.

    Edwin B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
    American Statistical Association 22 (1927), 209-212; recommended for small samples by Brown, Cai and
    DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16 (2001), 101-133.
    Without observations nothing is known: (0, 1).

    Raises:
        ValueError: ``successes`` is not between 0 and ``n``, or ``z`` is negative.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} cannot be")
    if z < 0:
        raise ValueError("z must not be negative")
    if n == 0:
        return Interval(0.0, 1.0)
    share = successes / n
    weight = z * z / n
    middle = (share + weight / 2) / (1 + weight)
    reach = z / (1 + weight) * sqrt(share * (1 - share) / n + weight / (4 * n))
    # The ends are exact at 0 and 1; rounding must not push them beside it.
    low = 0.0 if successes == 0 else max(0.0, middle - reach)
    high = 1.0 if successes == n else min(1.0, middle + reach)
    return Interval(low, high)
