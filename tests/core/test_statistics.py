"""Intervals and quantiles against published values, closed forms and their own laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reviews.core.statistics import Z_95, beta_interval, beta_quantile, wilson_interval

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_examples(successes, n, low, high):
    found = wilson_interval(successes, n)
    assert found.low == pytest.approx(low, abs=0.00005)
    assert found.high == pytest.approx(high, abs=0.00005)


@given(counts)
def test_holds_the_share_and_stays_within_0_and_1(pair):
    successes, n = pair
    found = wilson_interval(successes, n)
    assert 0 <= found.low <= successes / n <= found.high <= 1


@given(counts)
def test_counting_failures_mirrors_it(pair):
    successes, n = pair
    found, mirrored = wilson_interval(successes, n), wilson_interval(n - successes, n)
    assert found.low == pytest.approx(1 - mirrored.high)
    assert found.high == pytest.approx(1 - mirrored.low)


@given(counts)
def test_more_of_the_same_narrows_it(pair):
    successes, n = pair
    few, many = wilson_interval(successes, n), wilson_interval(successes * 4, n * 4)
    assert many.high - many.low < few.high - few.low


def test_nothing_seen_nothing_known():
    assert wilson_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (1, 0)])
def test_impossible_counts_are_refused(successes, n):
    with pytest.raises(ValueError, match="cannot be"):
        wilson_interval(successes, n)


def test_a_negative_z_is_refused():
    with pytest.raises(ValueError, match="negative"):
        wilson_interval(1, 2, z=-1)


# -- the beta distribution --

shares = st.floats(1e-6, 1 - 1e-6)
parameters = st.floats(0.01, 1e4)


@given(shares)
def test_beta_1_1_is_the_uniform_distribution(p):
    assert beta_quantile(p, 1, 1) == pytest.approx(p, rel=1e-12)


@given(shares, parameters)
@example(0.1539316686253564, 0.01171875)  # Newton's last step rounds to nothing here
def test_beta_a_1_has_the_quantile_p_to_the_1_over_a(p, a):
    assert beta_quantile(p, a, 1) == pytest.approx(p ** (1 / a), rel=1e-10, abs=1e-300)


@given(shares, parameters)
def test_beta_1_b_mirrors_it(p, b):
    assert beta_quantile(p, 1, b) == pytest.approx(-math.expm1(math.log1p(-p) / b), rel=1e-9)


@given(shares)
def test_beta_one_half_is_the_arcsine_distribution(p):
    assert beta_quantile(p, 0.5, 0.5) == pytest.approx(math.sin(math.pi * p / 2) ** 2, rel=1e-10)


@given(shares, st.integers(1, 60), st.integers(1, 60))
def test_whole_parameters_give_a_binomial_tail(p, a, b):
    """I_x(a, b) is the probability of a successes or more in a + b - 1 trials (DLMF 8.17.5)."""
    x, n = beta_quantile(p, a, b), a + b - 1
    tail = math.fsum(math.comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(a, n + 1))
    assert tail == pytest.approx(p, rel=1e-9)


@given(shares, parameters, parameters)
def test_swapping_the_parameters_mirrors_the_quantile(p, a, b):
    assert beta_quantile(p, a, b) == pytest.approx(1 - beta_quantile(1 - p, b, a), abs=1e-9)


@given(st.tuples(shares, shares).map(sorted), parameters, parameters)
def test_quantiles_grow_with_the_share(pair, a, b):
    low, high = (beta_quantile(p, a, b) for p in pair)
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Clopper and Pearson's limits; Newcombe, Statistics in Medicine 17 (1998), table I, method 5.
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_published_exact_limits(successes, n, low, high):
    assert beta_quantile(0.025, successes, n - successes + 1) == pytest.approx(low, abs=0.00005)
    assert beta_quantile(0.975, successes + 1, n - successes) == pytest.approx(high, abs=0.00005)


def test_a_large_sample_is_nearly_normal():
    """Mean 0.5 and standard deviation 1 / (2 sqrt(2n + 1)) for Beta(n, n)."""
    low, high = beta_interval(1e6, 1e6)
    assert high - low == pytest.approx(2 * Z_95 / (2 * math.sqrt(2e6 + 1)), rel=1e-5)
    assert (low + high) / 2 == pytest.approx(0.5, abs=1e-9)


def test_nothing_lies_below_0_or_above_1():
    assert beta_quantile(0, 2, 3) == 0.0
    assert beta_quantile(1, 2, 3) == 1.0


def test_the_interval_leaves_equal_tails():
    assert beta_interval(3, 5, 0.8) == (beta_quantile(0.1, 3, 5), beta_quantile(0.9, 3, 5))


@pytest.mark.parametrize("arguments", [(-0.1, 1, 1), (1.1, 1, 1), (float("nan"), 1, 1)])
def test_an_impossible_share_is_refused(arguments):
    with pytest.raises(ValueError, match="cannot be"):
        beta_quantile(*arguments)


@pytest.mark.parametrize("parameters", [(0, 1), (1, 0), (-1, 1), (1, float("nan"))])
def test_parameters_must_be_positive(parameters):
    with pytest.raises(ValueError, match="positive"):
        beta_quantile(0.5, *parameters)
