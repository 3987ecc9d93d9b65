"""Wilson's interval against published values and its own laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.statistics import wilson_interval

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
