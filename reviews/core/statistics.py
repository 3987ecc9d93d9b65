"""Estimates from few numbers, and how far they can be trusted."""

from __future__ import annotations

from math import exp, lgamma, log, log1p, sqrt
from typing import Final, NamedTuple

__all__ = ["Interval", "beta_interval", "beta_quantile", "wilson_interval"]

#: Two-sided 95 %: the standard normal's 97.5 % quantile.
Z_95: Final = 1.959963984540054

# Relative change at which the continued fraction has converged, and the stand-in for a zero denominator.
_PRECISION: Final = 4e-16
_TINY: Final = 1e-300
# Terms needed grow with sqrt(max(a, b)): this is enough for 10^9 observations.
_MOST_TERMS: Final = 200_000
# exp(-745) is the smallest positive float, so log-odds beyond it cannot be told from 0 and 1.
_LARGEST_LOGIT: Final = 745.0
# Bisection alone gets from 1490 to the last bit of 745 in 64.
_MOST_STEPS: Final = 200
_LAST_STEP: Final = 1e-12


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


def beta_interval(a: float, b: float, share: float = 0.95) -> Interval:
    """The equal-tailed interval that holds ``share`` of a Beta(a, b) distribution.

    Raises:
        ValueError: ``a`` or ``b`` is not positive, or ``share`` is not between 0 and 1.
    """
    tail = (1 - share) / 2
    return Interval(beta_quantile(tail, a, b), beta_quantile(1 - tail, a, b))


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p: a share p of a Beta(a, b) distribution lies below it.

    Newton's method on the log-odds of x, where the distribution function is smooth and its slope is
    x^a (1 - x)^b / B(a, b); bisection takes over whenever a step leaves the bracket or is not half the last.

    Raises:
        ValueError: ``p`` is outside 0 to 1, or ``a`` or ``b`` is not positive.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"a share of {p} cannot be")
    if not (a > 0 and b > 0):
        raise ValueError(f"Beta({a}, {b}) is no distribution: both parameters must be positive")
    if p in (0, 1):
        return float(p)
    low, high = -_LARGEST_LOGIT, _LARGEST_LOGIT
    logit = log(a / b)
    previous = high - low
    for _ in range(_MOST_STEPS):
        below, slope = _beta_below(logit, a, b)
        if below < p:
            low = logit
        else:
            high = logit
        step = (p - below) / slope if slope else 0.0
        # Newton's error is squared at each step: after one this small it is far below rounding, which may
        # also have put the end of the bracket on the wrong side by then.
        if slope and abs(step) <= _LAST_STEP * max(1.0, abs(logit)):
            return _expit(logit + step)
        if not (slope and low < logit + step < high and abs(step) <= previous / 2):
            step = (low + high) / 2 - logit
        previous = abs(step)
        logit += step
    return _expit(logit)


def _expit(logit: float) -> float:
    return 1 / (1 + exp(-logit)) if logit >= 0 else exp(logit) / (1 + exp(logit))


def _beta_below(logit: float, a: float, b: float) -> tuple[float, float]:
    """I_x(a, b) for the x of these log-odds, and its derivative by the log-odds.

    NIST Digital Library of Mathematical Functions, 8.17.22 (continued fraction, fast for
    x < (a + 1) / (a + b + 2)) and 8.17.4 (I_x(a, b) = 1 - I_{1-x}(b, a), for the rest).
    """
    # log x and log (1 - x), each without cancellation.
    log_x = -log1p(exp(-logit)) if logit >= 0 else logit - log1p(exp(logit))
    log_y = log_x - logit
    slope = exp(a * log_x + b * log_y + lgamma(a + b) - lgamma(a) - lgamma(b))
    x = exp(log_x)
    if x < (a + 1) / (a + b + 2):
        return slope * _beta_fraction(x, a, b) / a, slope
    return 1 - slope * _beta_fraction(exp(log_y), b, a) / b, slope


def _beta_fraction(x: float, a: float, b: float) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + ...))) with the d of DLMF 8.17.23, by the modified Lentz method.

    W. J. Lentz, "Generating Bessel functions in Mie scattering calculations using continued fractions",
    Applied Optics 15 (1976), 668-671; the guard against zero denominators is Thompson and Barnett's, Journal
    of Computational Physics 64 (1986), 490-509.
    """
    value = numerator = 1.0
    denominator = 0.0
    for term in range(1, _MOST_TERMS):
        m = term // 2
        if term % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / ((1 + d * denominator) or _TINY)
        numerator = (1 + d / numerator) or _TINY
        change = numerator * denominator
        value *= change
        if abs(change - 1) <= _PRECISION:
            break
    return 1 / value
