"""The curve against trying every threshold, and the suggestion read off it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.curve import NotReached, Point, Suggested, curve, suggest
from reviews.core.estimates import NotEnough
from reviews.core.labelled import Evidence, Row
from reviews.core.profiles import Claim, Profile
from reviews.core.statistics import wilson_interval
from reviews.core.thresholds import Thresholds
from tests.core.windows import labelled, policies, windows


def at(points, threshold):
    return next(point for point in points if point.threshold >= threshold)


@settings(max_examples=1000, deadline=None)
@given(windows, policies(), st.integers(0, 1000))
def test_every_point_and_what_lies_between_is_what_counting_turns_counts(window, policy, between):
    points = curve(window.evidence, policy.thresholds)
    known = labelled(window.turns, "fabricated")
    for threshold in [between, *(point.threshold for point in points)]:
        tried = replace(policy, mode="refuse", overall=float(f"{threshold / 1000:.3f}"))
        refused, point = window.refused(tried), at(points, threshold)
        right, wrong = labelled(refused, "fabricated"), labelled(refused, "false_alarm")
        assert point[1:4] == (len(refused), right, wrong)
        assert point.precision == (right / (right + wrong) if right + wrong else None)
        assert point.caught == (right / known if known else None)


@settings(deadline=None)
@given(windows, policies())
def test_only_thresholds_that_change_something_from_the_lowest(window, policy):
    points = curve(window.evidence, policy.thresholds)
    assert points[0].threshold == 0
    assert points[-1].threshold == 1000
    for lower, higher in pairwise(points):
        assert lower.threshold < higher.threshold
        if lower.threshold > 0:
            assert lower.refused > higher.refused
        assert lower.refused >= higher.refused


def test_an_example():
    profiles = {n: Profile("", (Claim("kv", "pid", raw),)) for n, raw in enumerate([600, 800, 1000])}
    profiles[3] = Profile("", (Claim("uuid", "", 950),))
    rows = [
        Row(0, "false_alarm", 6),
        Row(0, "fabricated", 2),
        Row(1, "fabricated", 5),
        Row(1, "unsure", 5),
        Row(2, "fabricated", 1),
        Row(3, "false_alarm", 2),
        Row(3, "fabricated", 2),
    ]
    # UUIDs are refused from 900 on, whatever the overall threshold.
    assert curve(Evidence(rows, profiles), Thresholds("observe", 800, {"uuid": 900})) == [
        Point(0, 23, 10, 8, 10 / 18, wilson_interval(10, 18).low, 1.0),
        Point(600, 23, 10, 8, 10 / 18, wilson_interval(10, 18).low, 1.0),
        Point(800, 15, 8, 2, 0.8, wilson_interval(8, 10).low, 0.8),
        Point(1000, 5, 3, 2, 0.6, wilson_interval(3, 5).low, 0.3),
    ]
    # With a threshold that they do not reach, they are never refused.
    assert curve(Evidence(rows, profiles), Thresholds("refuse", 0, {"uuid": 951}))[0].refused == 19


def test_a_window_without_turns():
    nothing = Point(0, 0, 0, 0, None, None, None)
    assert curve(Evidence([], {}), Thresholds("refuse", 800)) == [nothing, nothing._replace(threshold=1000)]


def point(threshold, fabricated, false_alarms):
    n = fabricated + false_alarms
    low = wilson_interval(fabricated, n).low if n else None
    return Point(threshold, n, fabricated, false_alarms, fabricated / n if n else None, low, None)


# Lower ends, from Wilson's formula: 300/500 0.556, 190/210 0.858, 90/100 0.826, 60/62 0.890, 19/19 0.832, 0.
POINTS = [
    point(0, 300, 200),
    point(700, 190, 20),
    point(800, 90, 10),
    point(900, 60, 2),
    point(950, 19, 0),
    point(1000, 0, 0),
]


@pytest.mark.parametrize(
    ("target", "threshold"), [(0.0, 0), (0.5, 0), (0.6, 700), (0.85, 700), (0.86, 900), (0.889, 900)]
)
def test_suggests_the_lowest_threshold_whose_lower_end_reaches_the_target(target, threshold):
    suggestion = suggest(POINTS, target)
    assert isinstance(suggestion, Suggested)
    assert suggestion.point.threshold == threshold


def test_reaching_the_target_exactly_is_enough():
    assert suggest(POINTS, POINTS[3].precision_low) == Suggested(POINTS[3])


def test_names_the_best_when_none_reaches_the_target():
    assert suggest(POINTS, 0.9) == NotReached(POINTS[3])


def test_of_equally_good_ones_the_lowest_is_the_best():
    twice = [point(700, 60, 2), point(800, 60, 2)]
    assert suggest(twice, 0.9) == NotReached(twice[0])


def test_perfect_precision_on_few_labels_is_no_suggestion():
    assert suggest([point(0, 10, 9), point(950, 19, 0)], 0.5) == NotEnough(19, 20, "refused")
    assert suggest([], 0.5) == NotEnough(0, 20, "refused")
    assert isinstance(suggest([point(950, 20, 0)], 0.5), Suggested)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8), st.floats(0, 1))
def test_a_suggestion_is_the_first_that_qualifies(labels, target):
    points = [point(100 * n, *pair) for n, pair in enumerate(labels)]
    told = [p for p in points if p.fabricated + p.false_alarms >= 20]
    enough = [p for p in told if wilson_interval(p.fabricated, p.fabricated + p.false_alarms).low >= target]
    found = suggest(points, target)
    if enough:
        assert found == Suggested(enough[0])
    elif told:
        assert isinstance(found, NotReached)
        assert found.best.precision_low == max(p.precision_low for p in told)
    else:
        assert isinstance(found, NotEnough)
