"""The recall of refusing: examples worked by hand, laws, and whether the interval keeps its promise."""

from __future__ import annotations

import random
from math import log
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.estimates import Estimate, NotEnough
from reviews.core.recall import Flagged, Stratum, recall_of

REFUSED = Flagged(100, 40, 10)
LET_THROUGH = Flagged(200, 5, 20)
AUDIT = Stratum(rate=0.1, sampled=100, fabricated=2, false_alarms=48)
NONE = Flagged(0, 0, 0)


def recall(refused=REFUSED, let_through=LET_THROUGH, unflagged=1000, audits=(AUDIT,)):
    return recall_of(refused=refused, let_through=let_through, unflagged=unflagged, audits=audits)


def test_one_audit_rate():
    # A = 100 40/50 = 80, B = 200 5/25 + 1000 2/50 = 40 + 40. Smoothed: p = 40.5/51, 5.5/26 and 2.5/51;
    # A = 79.412, B = 42.308 + 49.020; var A = 32.70, var B = 266.87 + 932.34; so var ln(A/B) =
    # 32.70/79.412^2 + 1199.2/91.327^2 = 0.14896, and 1.96 times its root is 0.7565.
    found = recall()
    assert found.value == pytest.approx(0.5)
    assert log(found.high / (1 - found.high)) == pytest.approx(0.7565, abs=0.0001)
    assert log(found.low / (1 - found.low)) == pytest.approx(-0.7565, abs=0.0001)


def test_two_audit_rates_weigh_by_the_turns_they_speak_for():
    # 50 at 1 % and 500 at 10 % speak for 5000 turns each: p_U = (10/40 + 5/50) / 2 = 0.175, of 12,000 turns
    # that is 2100. All 30 labels on 300 refused turns say fabricated: 300 of 2400.
    audits = [Stratum(0.01, 50, 10, 30), Stratum(0.1, 500, 5, 45)]
    found = recall(Flagged(300, 30, 0), NONE, 12_000, audits)
    assert found.value == pytest.approx(0.125)
    # Smoothed: p_R = 30.5/31; p_r = 10.5/41 and 5.5/51, p_U their mean 0.18197. v_R = 0.01587/30;
    # v_U = (0.19051/40 + 0.07413^2 0.99/50 + 0.09621/50 + 0.07413^2 0.9/500) / 4 = 0.0017015;
    # var ln(A/B) = 0.00052905/0.98387^2 + 0.0017015/0.18197^2 = 0.051931; 1.96 times its root is 0.44665.
    assert log(found.high / (1 - found.high)) == pytest.approx(log(1 / 7) + 0.44665, abs=0.0001)
    assert log(found.low / (1 - found.low)) == pytest.approx(log(1 / 7) - 0.44665, abs=0.0001)


def test_turns_that_were_all_drawn_weigh_exactly():
    # As above, but at a rate of 1 the weights are known: v_U = (0.19051/40 + 0.09621/50) / 4 = 0.0016717;
    # var ln(A/B) = 0.00054654 + 0.0016717/0.18197^2 = 0.051033, 1.96 times its root 0.44277; A/B = 300/35.
    found = recall(Flagged(300, 30, 0), NONE, 200, [Stratum(1.0, 100, 10, 30), Stratum(1.0, 100, 5, 45)])
    assert log(found.high / (1 - found.high)) == pytest.approx(log(300 / 35) + 0.44277, abs=0.0001)


def test_an_audit_without_labels_has_no_weight():
    assert recall(audits=[AUDIT, Stratum(0.001, 500, 0, 0)]) == recall()


def test_unflagged_turns_are_counted_not_estimated():
    # The same sample, but ten times the turns: 80 of 80 + 40 + 400.
    assert recall(unflagged=10_000).value == pytest.approx(80 / 520)


def test_none_of_a_few_labels_is_not_certainty():
    none_missed = recall(let_through=NONE, audits=[Stratum(0.1, 100, 0, 50)])
    assert none_missed.value == none_missed.high == 1
    # Smoothed, A = 79.412 and B = 1000 0.5/51 = 9.804: ln(A/B) = 2.0918, its variance 0.00518 + 2.02.
    assert log(none_missed.low / (1 - none_missed.low)) == pytest.approx(2.0918 - 1.96 * 1.4231, abs=0.001)
    none_caught = recall(refused=Flagged(100, 0, 50))
    assert none_caught.value == none_caught.low == 0
    assert 0 < none_caught.high < 0.5


def test_refusing_nothing_catches_nothing_and_refusing_all_catches_all():
    assert recall(refused=NONE) == Estimate(0.0, 0.0, 0.0)
    assert recall(let_through=NONE, unflagged=0, audits=[]) == Estimate(1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({"refused": Flagged(100, 10, 9)}, NotEnough(19, 20, "refused")),
        ({"let_through": Flagged(100, 10, 9)}, NotEnough(19, 20, "let_through")),
        ({"refused": Flagged(5, 4, 0)}, NotEnough(4, 5, "refused")),
        ({"audits": [Stratum(0.1, 100, 2, 27)]}, NotEnough(29, 30, "unflagged")),
        ({"audits": [Stratum(0.1, 100, 2, 10), Stratum(0.2, 100, 2, 15)]}, NotEnough(29, 30, "unflagged")),
        ({"audits": []}, NotEnough(0, 30, "unflagged")),
        (
            {
                "refused": Flagged(50, 0, 50),
                "let_through": Flagged(50, 0, 50),
                "audits": [Stratum(1, 99, 0, 99)],
            },
            NotEnough(0, 1, "fabricated"),
        ),
    ],
)
def test_too_few_labels(changed, missing):
    assert recall(**changed) == missing


@pytest.mark.parametrize(
    "changed",
    [
        {"refused": Flagged(100, 20, 0)},
        {"refused": Flagged(5, 4, 1)},
        {"let_through": Flagged(1, 0, 1)},
        {"audits": [Stratum(0.1, 100, 2, 10), Stratum(0.2, 100, 2, 16)]},
        {"unflagged": 0, "audits": []},
    ],
)
def test_just_enough_labels(changed):
    assert isinstance(recall(**changed), Estimate)


@pytest.mark.parametrize(
    ("rate", "sampled", "fabricated", "false_alarms"),
    [
        (0.0, 9, 1, 1),
        (1.1, 9, 1, 1),
        (float("nan"), 9, 1, 1),
        (0.5, 9, 5, 5),
        (0.5, 9, -1, 5),
        (0.5, 9, 5, -1),
    ],
)
def test_impossible_samples_are_refused(rate, sampled, fabricated, false_alarms):
    with pytest.raises(ValueError, match=r"rate|cannot be"):
        Stratum(rate, sampled, fabricated, false_alarms)


def flagged(most=1000):
    return st.tuples(st.integers(0, most), st.integers(0, most), st.integers(0, most)).map(
        lambda n: Flagged(sum(n), n[1], n[2])
    )


strata = st.lists(
    st.builds(
        lambda rate, rest, fabricated, false_alarms: Stratum(
            rate, fabricated + false_alarms + rest, fabricated, false_alarms
        ),
        st.floats(1e-6, 1),
        *[st.integers(0, 1000)] * 3,
    ),
    max_size=3,
)


@given(flagged(), flagged(), st.integers(0, 10_000_000), strata)
def test_the_interval_holds_the_estimate_within_0_and_1(refused, let_through, unflagged, audits):
    found = recall(refused, let_through, unflagged, audits)
    if isinstance(found, Estimate):
        assert 0 <= found.low <= found.value <= found.high <= 1
        certain = not refused.turns or not (let_through.turns or unflagged)
        assert (found.low == found.high) == certain


@given(st.integers(1, 40), st.integers(0, 40), st.integers(1, 40), st.integers(0, 40), st.integers(0, 9))
def test_more_of_the_same_labels_narrow_it(right, wrong, missed, fine, audited):
    def estimate(times):
        return recall(
            Flagged(100_000, times * (right + 20), times * wrong),
            Flagged(200_000, times * missed, times * (fine + 20)),
            1_000_000,
            [Stratum(0.01, 10_000, times * audited, times * 50)],
        )

    few, many = estimate(1), estimate(10)
    assert many.value == pytest.approx(few.value)
    assert many.high - many.low < few.high - few.low


class Population(NamedTuple):
    """Turns and the fabricated ones among them in each stratum, how many of the flagged ones are labelled,
    and groups of unflagged ones, each with a rate of its own at which they are audited.
    """

    refused: tuple[int, int]
    refused_labels: int
    let_through: tuple[int, int]
    let_through_labels: int
    unflagged: tuple[tuple[int, int, float], ...]

    @property
    def recall(self):
        missed = self.let_through[1] + sum(fabricated for _, fabricated, _ in self.unflagged)
        return self.refused[1] / (self.refused[1] + missed)

    def observed(self, rng):
        """One round of reviewing: what the interval is computed from. A fifth of an audit ends as unsure."""
        audits = []
        for turns, fabricated, rate in self.unflagged:
            right = binomial(rng, fabricated, rate)
            wrong = binomial(rng, turns - fabricated, rate)
            audits.append(Stratum(rate, right + wrong, binomial(rng, right, 0.8), binomial(rng, wrong, 0.8)))
        return recall_of(
            refused=labels(rng, *self.refused, self.refused_labels),
            let_through=labels(rng, *self.let_through, self.let_through_labels),
            unflagged=sum(turns for turns, _, _ in self.unflagged),
            audits=audits,
        )


def binomial(rng, n, p):
    """Successes of n trials, by the geometric gaps between them."""
    found, place = 0, 0
    while True:
        place += 1 + int(log(1 - rng.random()) / log(1 - p))
        if place > n:
            return found
        found += 1


def labels(rng, turns, fabricated, n):
    right = sum(place < fabricated for place in rng.sample(range(turns), n))
    return Flagged(turns, right, n - right)


POPULATIONS = {
    "usual": Population((2000, 1200), 200, (8000, 1200), 400, ((90_000, 1800, 0.01),)),
    "few labels": Population((2000, 1600), 30, (3000, 600), 30, ((5000, 500, 0.02),)),
    "small": Population((300, 210), 60, (600, 120), 60, ((4000, 80, 0.03),)),
    "imprecise": Population((3000, 300), 300, (8000, 160), 400, ((90_000, 450, 0.01),)),
    "precise": Population((2000, 1900), 100, (8000, 800), 100, ((40_000, 800, 0.01),)),
    "rarely missed": Population((2000, 1200), 200, (8000, 1200), 400, ((90_000, 50, 0.01),)),
    "two rates": Population(
        (2000, 1200), 200, (8000, 1200), 400, ((45_000, 2250, 0.005), (45_000, 225, 0.02))
    ),
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_covers_the_true_recall_about_95_times_in_100(name):
    population, rng = POPULATIONS[name], random.Random(name)
    rounds = [population.observed(rng) for _ in range(1000)]
    told = [found for found in rounds if isinstance(found, Estimate)]
    assert len(told) > 950
    covered = sum(found.low <= population.recall <= found.high for found in told) / len(told)
    # A thousand rounds at 95 % stray by 1.4 percentage points (two standard errors); the rest is leeway for
    # an approximation.
    assert 0.92 <= covered <= 0.99


def test_the_estimate_is_about_right_on_average():
    population, rng = POPULATIONS["two rates"], random.Random(0)
    found = [population.observed(rng).value for _ in range(1000)]
    assert sum(found) / len(found) == pytest.approx(population.recall, abs=0.02)
