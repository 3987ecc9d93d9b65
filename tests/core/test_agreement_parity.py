"""Kappa, precision and recall with their intervals beside statsmodels on the same tables."""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reviews.core.agreement import Confusion, TooFew, kappa_of, precision_for, recall_for
from reviews.core.statistics import wilson_interval

pytestmark = pytest.mark.parity

if os.environ.get("CI"):
    # A skipped parity suite would look like a passed one: let the import error fail the run.
    import statsmodels.stats.inter_rater as raters
    import statsmodels.stats.proportion as proportion
else:
    raters = pytest.importorskip("statsmodels.stats.inter_rater")
    proportion = pytest.importorskip("statsmodels.stats.proportion")

#: Both sum in another order. Near perfect agreement the variance is a small difference of large numbers, and
#: the square root enlarges its rounding; an interval is never shown with more than three decimals.
CLOSE = {"abs": 1e-7}

counts = st.integers(0, 5000) | st.integers(0, 5) | st.just(0)
tables = st.integers(2, 5).flatmap(lambda k: st.tuples(*[st.tuples(*[counts] * k)] * k))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # theirs, where a variance is zero
@settings(max_examples=5000, deadline=None)
@example(((75, 1, 4), (5, 4, 1), (0, 0, 10)))
@example(((500, 0), (0, 1)))
@example(((500, 1), (0, 0)))
@example(((0, 20), (1, 0)))
@given(tables)
def test_kappa_and_its_interval(rows):
    table = Confusion(tuple("abcde"[: len(rows)]), rows)
    ours = kappa_of(table)
    if isinstance(ours, TooFew):
        assert sum(map(sum, rows)) < 20 or sum(any(row) for row in rows) == 1
        return
    theirs = raters.cohens_kappa(rows)
    assert ours.value == pytest.approx(theirs.kappa, **CLOSE)
    # Theirs may leave the range of kappa, and has no number where rounding made a zero variance negative.
    low, high = (theirs.kappa if end != end else end for end in (theirs.kappa_low, theirs.kappa_upp))
    assert ours.low == pytest.approx(max(-1.0, low), **CLOSE)
    assert ours.high == pytest.approx(min(1.0, high), **CLOSE)


@settings(max_examples=2000, deadline=None)
@given(st.tuples(*[st.tuples(*[counts] * 2)] * 2))
def test_precision_and_recall(rows):
    table = Confusion(("caution", "approve"), rows)
    (both, only_first), (only_second, _) = rows
    for ours, n in (
        (precision_for(table, "caution"), both + only_first),
        (recall_for(table, "caution"), both + only_second),
    ):
        if n < 20:
            assert isinstance(ours, TooFew)
            continue
        low, high = proportion.proportion_confint(both, n, alpha=0.05, method="wilson")
        assert (ours.value, ours.low, ours.high) == pytest.approx((both / n, low, high), abs=1e-12)


@settings(max_examples=5000, deadline=None)
@given(st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval(pair):
    successes, n = pair
    theirs = proportion.proportion_confint(successes, n, alpha=0.05, method="wilson")
    assert tuple(wilson_interval(successes, n)) == pytest.approx(theirs, abs=1e-12)
