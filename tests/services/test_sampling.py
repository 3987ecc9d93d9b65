"""The audit sample: as many as the rate says, the same ones every time."""

from __future__ import annotations

import pytest
from django.test import override_settings

from reviews.services import sampling
from reviews.services.sampling import is_drawn

IDS = [f"run-{n}" for n in range(20_000)]


def drawn(rate):
    return {external_id for external_id in IDS if is_drawn(external_id, rate)}


@pytest.mark.parametrize("rate", [0.02, 0.25, 0.9])
def test_as_many_are_drawn_as_the_rate_says(rate):
    # Binomial: five standard deviations, so one run in two million misses by chance.
    reach = 5 * (len(IDS) * rate * (1 - rate)) ** 0.5
    assert abs(len(drawn(rate)) - len(IDS) * rate) < reach


def test_none_and_all():
    assert drawn(0) == set()
    assert drawn(1) == set(IDS)


def test_a_turn_is_drawn_again_or_never_and_a_larger_sample_holds_the_smaller():
    assert drawn(0.02) == drawn(0.02)
    assert drawn(0.02) < drawn(0.1)


def test_who_does_not_know_the_secret_cannot_choose_an_id_that_is_never_looked_at():
    ours = drawn(0.1)
    with override_settings(SECRET_KEY="another secret"):
        sampling._key.cache_clear()
        try:
            theirs = drawn(0.1)
        finally:
            sampling._key.cache_clear()
    # Independent draws share one in ten.
    assert len(ours & theirs) < len(ours) / 5
