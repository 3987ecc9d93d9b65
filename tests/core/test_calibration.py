"""Calibration against the laws of the Beta-binomial model and against rates known by construction."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.calibration import (
    FEWEST_LABELS,
    PRIOR_STRENGTH,
    TRAIN_SHARE,
    CalibrationTable,
    LabelledClaim,
    Tally,
    evaluate,
    fit,
)
from reviews.core.profiles import Group
from reviews.core.statistics import beta_interval, wilson_interval

CHECKED = Group("verb_claim", "checked", "get_order")
SENT = Group("verb_claim", "sent", "get_order")
OTHER = Group("kv", "service", "")
EMPTY = CalibrationTable({}, {})

thousandths = st.integers(0, 1000).map(lambda n: n / 1000)
counts = st.integers(0, 60)


def labels(group, fabricated, false_alarms, *, raw=0.8, at=0.0):
    return [LabelledClaim(group, raw, n < fabricated, at) for n in range(fabricated + false_alarms)]


# -- confidence --


@given(thousandths)
def test_without_labels_the_detector_is_believed(raw):
    assert EMPTY.confidence(CHECKED, raw) == raw


def test_confidences_count_in_whole_thousandths_rounded_down():
    assert EMPTY.confidence(CHECKED, 0.7999) == 0.799


def test_labels_of_another_kind_change_nothing():
    table = fit(labels(CHECKED, 0, 50))
    assert table.confidence(OTHER, 0.8) == 0.8


def test_a_group_on_its_own_adds_its_labels_to_the_prior():
    """(8 * 0.8 + 1) / (8 + 5) = 7.4 / 13."""
    assert PRIOR_STRENGTH == 8
    assert fit(labels(CHECKED, 1, 4)).confidence(CHECKED, 0.8) == 0.569


def test_a_group_without_labels_follows_its_kind():
    """(8 * 0.8 + 2) / (8 + 22) = 8.4 / 30."""
    assert fit(labels(SENT, 2, 20)).confidence(CHECKED, 0.8) == 0.28


def test_a_thin_group_leans_on_the_others_of_its_kind_and_no_label_counts_twice():
    """The others: 8.4 / 30 = 0.28. With the own two: (8 * 0.28 + 2) / 10."""
    table = fit([*labels(SENT, 2, 20), *labels(CHECKED, 2, 0)])
    assert table.confidence(CHECKED, 0.8) == 0.424


def test_five_labels_overturn_a_confidence_of_four_fifths_and_one_does_not():
    assert fit(labels(CHECKED, 0, 1)).confidence(CHECKED, 0.8) > 0.5
    assert fit(labels(CHECKED, 0, 5)).confidence(CHECKED, 0.8) < 0.5


@given(thousandths, counts, counts)
def test_it_lies_between_the_raw_confidence_and_the_share(raw, fabricated, false_alarms):
    found = fit(labels(CHECKED, fabricated, false_alarms)).confidence(CHECKED, raw)
    if not fabricated + false_alarms:
        assert found == raw
        return
    share = fabricated / (fabricated + false_alarms)
    low, high = sorted((raw, share))
    assert low - 0.0005 <= found <= high + 0.0005  # three decimals
    assert 0 <= found <= 1


@given(thousandths, st.tuples(counts, counts), st.tuples(counts, counts), st.sampled_from([CHECKED, SENT]))
def test_a_label_moves_its_whole_kind_its_own_way(raw, own, others, labelled):
    known = [*labels(CHECKED, *own), *labels(SENT, *others)]
    before = fit(known).confidence(CHECKED, raw)
    assert fit([*known, *labels(labelled, 1, 0)]).confidence(CHECKED, raw) >= before
    assert fit([*known, *labels(labelled, 0, 1)]).confidence(CHECKED, raw) <= before


@given(st.tuples(thousandths, thousandths).map(sorted), counts, counts)
def test_a_more_confident_detector_stays_more_confident(raws, fabricated, false_alarms):
    table = fit(labels(CHECKED, fabricated, false_alarms))
    low, high = (table.confidence(CHECKED, raw) for raw in raws)
    assert low <= high


@given(st.lists(st.sampled_from(labels(CHECKED, 3, 5) + labels(OTHER, 2, 1)), max_size=30), st.randoms())
def test_the_order_of_labels_does_not_matter(known, shuffler):
    shuffled = list(known)
    shuffler.shuffle(shuffled)
    assert fit(known) == fit(shuffled)


# -- intervals --


def test_the_interval_is_that_of_the_posterior():
    assert fit(labels(CHECKED, 1, 4)).interval(CHECKED, 0.75) == beta_interval(7, 6)


def test_more_labels_narrow_it():
    few, many = (fit(labels(CHECKED, n, n)).interval(CHECKED, 0.8) for n in (3, 30))
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize("raw", [0.0, 1.0])
def test_even_a_certain_detector_can_be_wrong(raw):
    found = fit(labels(CHECKED, 10, 10)).interval(CHECKED, raw)
    assert found.low < 0.5 < found.high


REPEATS = 4000
# The share held among 4,000 repeats has a standard error of 0.34 percentage points: 93.5 to 96.5 % is more
# than four of them on either side, so a wrong interval fails and chance does not.
HELD = (0.935, 0.965)


def test_the_interval_of_a_lone_group_holds_its_rate_95_times_in_100():
    rng = random.Random(20)
    held = 0
    for _ in range(REPEATS):
        raw = rng.choice((0.6, 0.7, 0.8, 0.95))
        rate = rng.betavariate(PRIOR_STRENGTH * raw, PRIOR_STRENGTH * (1 - raw))
        n = rng.choice((0, 1, 2, 5, 20, 60))
        fabricated = sum(rng.random() < rate for _ in range(n))
        tally = Tally(fabricated, n - fabricated)
        low, high = CalibrationTable({CHECKED.kind: tally}, {CHECKED: tally}).interval(CHECKED, raw)
        held += low <= rate <= high
    assert HELD[0] < held / REPEATS < HELD[1]


def test_the_interval_of_a_thin_group_under_a_well_known_kind_does_too():
    rng = random.Random(21)
    held = 0
    for _ in range(REPEATS):
        raw = rng.choice((0.6, 0.8, 0.95))
        of_kind = rng.uniform(0.05, 0.95)
        rate = rng.betavariate(PRIOR_STRENGTH * of_kind, PRIOR_STRENGTH * (1 - of_kind))
        n = rng.choice((0, 1, 2, 4))
        own = sum(rng.random() < rate for _ in range(n))
        many = 5000
        others = round(of_kind * many)
        table = CalibrationTable(
            {CHECKED.kind: Tally(others + own, many - others + n - own)}, {CHECKED: Tally(own, n - own)}
        )
        low, high = table.interval(CHECKED, raw)
        held += low <= rate <= high
    assert HELD[0] < held / REPEATS < HELD[1]


# -- storage --


@given(st.lists(st.sampled_from(labels(CHECKED, 3, 5) + labels(SENT, 1, 1) + labels(OTHER, 2, 1))))
def test_a_table_survives_json(known):
    table = fit(known)
    read = CalibrationTable.from_json(json.loads(json.dumps(table.to_json())))
    assert read == table
    assert read.confidence(CHECKED, 0.8) == table.confidence(CHECKED, 0.8)


def test_a_group_cannot_have_more_labels_than_its_kind():
    with pytest.raises(ValueError, match="more labels than its kind"):
        CalibrationTable({CHECKED.kind: Tally(3, 0)}, {CHECKED: Tally(0, 1)})


# -- quality --


def wrong_by_group(seed, n):
    """The detector says 0.8 of everything; one group is nearly always right, another nearly never."""
    rng = random.Random(seed)
    rates = {CHECKED: 0.05, SENT: 0.95, OTHER: 0.4}
    groups = rng.choices(list(rates), k=n)
    return [LabelledClaim(group, 0.8, rng.random() < rates[group], at) for at, group in enumerate(groups)]


@pytest.mark.parametrize("seed", range(5))
def test_labels_improve_the_brier_score_where_the_detector_is_wrong(seed):
    quality = evaluate(wrong_by_group(seed, 600))
    # Raw errs by 0.36 on average here, perfect knowledge of the rates by 0.11.
    assert quality.brier_raw > 0.25
    assert quality.brier_calibrated < 0.15


def test_the_earlier_part_is_learned_and_the_later_part_judged():
    known = wrong_by_group(1, 600)
    quality = evaluate(list(reversed(known)))
    cut = int(600 * TRAIN_SHARE)
    assert (quality.n_train, quality.n_test) == (cut, 600 - cut)
    assert quality.brier_raw == pytest.approx(
        sum((0.8 - c.fabricated) ** 2 for c in known[cut:]) / (600 - cut)
    )
    table = fit(known[:cut])
    expected = sum((table.confidence(c.group, c.raw) - c.fabricated) ** 2 for c in known[cut:]) / (600 - cut)
    assert quality.brier_calibrated == pytest.approx(expected)


def test_a_later_label_never_reaches_the_fit():
    """What was labelled later is reversed: the confidences it is judged by must not move."""
    known = wrong_by_group(2, 200)
    cut = int(200 * TRAIN_SHARE)
    turned = [*known[:cut], *(c._replace(fabricated=not c.fabricated) for c in known[cut:])]
    predicted = [[(b.predicted, b.n) for b in evaluate(each).bins_calibrated] for each in (known, turned)]
    assert predicted[0] == predicted[1]


def test_labels_of_one_moment_are_not_torn_apart():
    """A bulk label at the time of the split belongs to the later part as a whole."""
    known = labels(CHECKED, 0, 40, at=1.0) + labels(CHECKED, 40, 20, at=2.0)
    quality = evaluate(known)
    assert (quality.n_train, quality.n_test) == (40, 60)
    assert evaluate(labels(CHECKED, 50, 50, at=1.0)) is None


def test_too_few_labels_are_not_judged():
    n = 2 * FEWEST_LABELS - 1
    assert evaluate(labels(CHECKED, 5, n - 5)) is None
    assert evaluate([]) is None
    # 70 % of 84 leaves 26 labels to judge by, of 80 only 24.
    assert evaluate(wrong_by_group(3, 84)) is not None
    assert evaluate(wrong_by_group(3, 80)) is None


def test_bins_say_what_was_predicted_and_what_was_seen():
    earlier = labels(CHECKED, 0, 60, raw=0.7, at=1.0)
    later = [*labels(CHECKED, 6, 24, raw=0.7, at=2.0), *labels(OTHER, 9, 1, raw=1.0, at=2.0)]
    quality = evaluate([*earlier, *later])
    assert [(pytest.approx(b.predicted), b.observed, b.n) for b in quality.bins_raw] == [
        (0.7, 0.2, 30),
        (1.0, 0.9, 10),
    ]
    assert quality.bins_raw[0].interval == wilson_interval(6, 30)
    # 8 * 0.7 / 68 = 0.082
    assert [(pytest.approx(b.predicted), b.n) for b in quality.bins_calibrated] == [(0.082, 30), (1.0, 10)]
    assert sum(b.n for b in quality.bins_raw) == quality.n_test
