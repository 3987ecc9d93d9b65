"""A precision needs labels, and says how far it can be trusted."""

from __future__ import annotations

import pytest

from reviews.core.estimates import Estimate, NotEnough, precision_of


def test_the_share_with_wilsons_interval():
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    found = precision_of(81, 182)
    assert found.value == 81 / 263
    assert found.low == pytest.approx(0.2553, abs=0.00005)
    assert found.high == pytest.approx(0.3662, abs=0.00005)


@pytest.mark.parametrize(("fabricated", "false_alarms"), [(0, 0), (19, 0), (0, 19), (10, 9)])
def test_fewer_than_20_labels_are_not_enough(fabricated, false_alarms):
    assert precision_of(fabricated, false_alarms) == NotEnough(fabricated + false_alarms, 20, "refused")


def test_20_labels_are():
    assert precision_of(20, 0) == Estimate(1.0, pytest.approx(0.8389, abs=0.0001), 1.0)
    assert precision_of(0, 20) == Estimate(0.0, 0.0, pytest.approx(0.1611, abs=0.0001))
