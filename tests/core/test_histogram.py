"""Turns by confidence and verdict, against sorting the turns one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.histogram import Bin, histogram
from reviews.core.labelled import Counts, Evidence, Row
from reviews.core.profiles import Claim, Profile
from reviews.core.thresholds import Thresholds
from tests.core.windows import VERDICTS, labelled, policies, windows


# Edges at whole thousandths, so that the detector's own confidences can be compared with them.
@settings(max_examples=1000, deadline=None)
@given(windows, policies(), st.sampled_from([1, 2, 5, 10, 20, 50, 100]))
def test_counts_what_counting_turns_counts(window, policy, bins):
    found = histogram(window.evidence, policy.thresholds, bins)
    assert len(found) == bins
    for n, each in enumerate(found):
        inside = []
        for turn in window.turns:
            strongest = max(finding.confidence for finding in turn.read(policy))
            if each.low <= strongest and (strongest < each.high or n == bins - 1):
                inside.append(turn)
        assert each.turns == Counts(
            labelled(inside, "fabricated"),
            labelled(inside, "false_alarm"),
            labelled(inside, "unsure"),
            labelled(inside, ""),
        )


@pytest.mark.parametrize(
    ("raw", "place"), [(0, 0), (49, 0), (50, 1), (800, 16), (949, 18), (950, 19), (1000, 19)]
)
def test_a_bin_has_its_lower_edge_and_the_last_one_has_1_too(raw, place):
    profiles = {1: Profile("", (Claim("kv", "pid", raw), Claim("uuid", "", 0)))}
    rows = [Row(1, verdict, n) for n, verdict in enumerate(VERDICTS, start=1)]
    found = histogram(Evidence(rows, profiles), Thresholds("off", 0))
    assert len(found) == 20
    assert [n for n, each in enumerate(found) if sum(each.turns)] == [place]
    assert found[place].turns == Counts(fabricated=2, false_alarms=3, unsure=4, unlabelled=1)


def test_bins_touch_and_cover_0_to_1():
    found = histogram(Evidence([], {}), Thresholds("refuse", 800), bins=3)
    none = Counts(0, 0, 0, 0)
    assert found == [Bin(0.0, 1 / 3, none), Bin(1 / 3, 2 / 3, none), Bin(2 / 3, 1.0, none)]
