"""Agreement of two raters against published tables, closed forms and the laws of kappa."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reviews.core.agreement import Confusion, Kappa, TooFew, kappa_of, precision_for, recall_for
from reviews.core.estimates import Estimate

WORDS = ("approve", "revise", "refuse")


def table(*rows):
    return Confusion(tuple("abcdefgh"[: len(rows)]), rows)


def tables(most=60):
    """Tables of two to four labels with at least 20 pairs."""
    return (
        st.integers(2, 4)
        .flatmap(lambda k: st.tuples(*[st.tuples(*[st.integers(0, most)] * k)] * k))
        .filter(lambda rows: sum(map(sum, rows)) >= 20)
        .map(lambda rows: table(*rows))
    )


# -- Counting pairs


def test_pairs_are_counted_by_both_words():
    pairs = [("approve", "approve")] * 3 + [("approve", "refuse")] * 2 + [("revise", "approve")]
    found = Confusion.from_pairs(WORDS, pairs)
    assert found.labels == WORDS
    assert found.counts == ((3, 0, 2), (1, 0, 0), (0, 0, 0))
    assert (found.rated, found.agreed) == (6, 3)
    assert found.first_totals == (5, 1, 0)
    assert found.second_totals == (4, 0, 2)
    assert found.of("approve", "refuse") == 2
    assert found.of("refuse", "approve") == 0


def test_without_pairs_the_table_is_empty():
    found = Confusion.from_pairs(WORDS, [])
    assert found.counts == ((0, 0, 0),) * 3
    assert (found.rated, found.agreed) == (0, 0)


def test_a_word_that_is_no_label_is_named():
    with pytest.raises(ValueError, match="not among the labels: perhaps"):
        Confusion.from_pairs(WORDS, [("approve", "perhaps")])


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        (("a", "a"), ((1, 0), (0, 1))),
        (("a", "b"), ((1, 0),)),
        (("a", "b"), ((1, 0), (0,))),
        (("a", "b"), ((1, 0), (0, -1))),
    ],
)
def test_an_impossible_table_is_refused(labels, counts):
    with pytest.raises(ValueError, match=r"label|count"):
        Confusion(labels, counts)


def test_merging_labels_keeps_the_pairs():
    fine = Confusion(WORDS, ((10, 1, 2), (3, 20, 4), (5, 6, 30)))
    coarse = fine.merged({"approve": "approve", "revise": "caution", "refuse": "caution"})
    assert coarse == Confusion(("approve", "caution"), ((10, 3), (8, 60)))


# -- Kappa


def test_a_published_example():
    """Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, 3rd ed., table 18.1.

    Two raters of 100 patients, with 89 % agreement where chance brings 66 %.
    """
    found = kappa_of(table((75, 1, 4), (5, 4, 1), (0, 0, 10)))
    assert found.value == pytest.approx(0.23 / 0.34)


def test_high_agreement_with_a_rare_category_is_little_beyond_chance():
    """Both say "a" of 90 and 90 of 100, at random: agreement 82 %, as chance brings."""
    found = kappa_of(table((81, 9), (9, 1)))
    assert found.value == 0
    assert found.low < 0 < found.high


@given(st.integers(0, 200), st.integers(0, 200))
def test_with_even_margins_it_is_a_share_in_disguise(same, other):
    """Both raters say each word half the time: chance brings 1/2, so kappa is twice the share of agreement
    less 1, and its standard error twice that of a share."""
    assume(2 * (same + other) >= 20)
    n, share = 2 * (same + other), same / (same + other)
    found = kappa_of(table((same, other), (other, same)))
    reach = 1.959963984540054 * 2 * sqrt(share * (1 - share) / n)
    assert found.value == pytest.approx(2 * share - 1, abs=1e-12)
    assert found.low == pytest.approx(max(-1, 2 * share - 1 - reach), abs=1e-7)
    assert found.high == pytest.approx(min(1, 2 * share - 1 + reach), abs=1e-7)


@given(tables())
def test_it_holds_its_value_and_stays_within_its_range(found):
    kappa = kappa_of(found)
    assume(isinstance(kappa, Kappa))
    assert -1 <= kappa.low <= kappa.value <= kappa.high <= 1


@given(tables())
def test_swapping_the_raters_changes_nothing(found):
    swapped = Confusion(found.labels, tuple(zip(*found.counts, strict=True)))
    assert _close(kappa_of(found), kappa_of(swapped))


@given(tables(), st.randoms())
def test_the_order_of_the_labels_means_nothing(found, rng):
    order = list(range(len(found.labels)))
    rng.shuffle(order)
    moved = Confusion(
        tuple(found.labels[i] for i in order), tuple(tuple(found.counts[i][j] for j in order) for i in order)
    )
    assert _close(kappa_of(found), kappa_of(moved))


@given(tables())
def test_a_label_that_nobody_uses_changes_nothing(found):
    wider = Confusion(
        (*found.labels, "unused"),
        (*((*row, 0) for row in found.counts), (0,) * (len(found.labels) + 1)),
    )
    assert _close(kappa_of(found), kappa_of(wider))


@given(tables())
def test_four_times_the_same_halves_the_interval(found):
    few, many = kappa_of(found), kappa_of(table(*(tuple(4 * c for c in row) for row in found.counts)))
    assume(isinstance(few, Kappa) and few.low > -1 and few.high < 1)
    assert many.value == pytest.approx(few.value, abs=1e-12)
    assert many.high - many.low == pytest.approx((few.high - few.low) / 2, abs=1e-7)


def test_perfect_agreement_is_1():
    assert kappa_of(table((10, 0), (0, 10))) == Kappa(1.0, 1.0, 1.0)
    assert kappa_of(table((7, 0, 0), (0, 11, 0), (0, 0, 13))) == Kappa(1.0, 1.0, 1.0)


def test_perfect_disagreement_is_minus_1():
    assert kappa_of(table((0, 10), (10, 0))) == Kappa(-1.0, -1.0, -1.0)


@pytest.mark.parametrize("rows", [((0, 0), (0, 0)), ((10, 0), (0, 9)), ((19, 0), (0, 0))])
def test_fewer_than_20_pairs_are_not_enough(rows):
    assert kappa_of(table(*rows)) == TooFew(sum(map(sum, rows)), 20, "rated")


def test_one_category_only_tells_nothing():
    assert kappa_of(table((500, 0, 0), (0, 0, 0), (0, 0, 0))) == TooFew(1, 2, "categories")


def test_one_rater_with_one_word_is_no_better_than_chance():
    """The first rater always says "a": whatever the second says, chance would agree as often."""
    found = kappa_of(table((30, 10), (0, 0)))
    assert found == Kappa(0.0, 0.0, 0.0)


def _close(one, other):
    if isinstance(one, TooFew):
        return one == other
    pairs = zip((one.value, one.low, one.high), (other.value, other.low, other.high), strict=True)
    return all(a == pytest.approx(b, abs=1e-7) for a, b in pairs)


# -- Precision and recall


def test_precision_is_a_share_of_the_row_and_recall_of_the_column():
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263 and 15 of 148, with intervals.
    found = table((81, 182), (0, 50))
    assert precision_for(found, "a") == Estimate(
        81 / 263, pytest.approx(0.2553, abs=0.00005), pytest.approx(0.3662, abs=0.00005)
    )
    assert recall_for(found, "a") == Estimate(1.0, pytest.approx(81 / (81 + 1.959964**2), abs=1e-6), 1.0)
    found = table((15, 20), (133, 50))
    assert recall_for(found, "a") == Estimate(
        15 / 148, pytest.approx(0.0624, abs=0.00005), pytest.approx(0.1605, abs=0.00005)
    )
    assert precision_for(found, "b").value == 50 / 183
    assert recall_for(found, "b").value == 50 / 70


def test_each_needs_20_of_its_own():
    found = table((10, 9), (10, 500))
    assert precision_for(found, "a") == TooFew(19, 20, "said")
    assert recall_for(found, "a").value == 0.5
    turned = table((10, 10), (9, 500))
    assert precision_for(turned, "a").value == 0.5
    assert recall_for(turned, "a") == TooFew(19, 20, "wanted")
