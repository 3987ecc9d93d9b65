"""Whole thousandths decide as the runtime's policy step does with floats."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from reviews.core.profiles import Claim, Profile
from reviews.core.thresholds import Thresholds, action_of, margin, strengths
from tests.core.windows import policies, turns

PROFILE = Profile("send", (Claim("kv", "pid", 800), Claim("uuid", "", 950), Claim("uuid", "", 600)))


class Halved:
    """Halves what the detector gave UUIDs."""

    def confidence(self, group, raw):
        return round(raw / 2, 3) if group.kind == "uuid" else raw


def test_the_strongest_claim_of_each_kind():
    assert strengths(PROFILE, None) == {"kv": 800, "uuid": 950}
    assert strengths(PROFILE, Halved()) == {"kv": 800, "uuid": 475}


@pytest.mark.parametrize(
    ("thresholds", "found"),
    [
        (Thresholds("refuse", 900), 50),  # the UUID
        (Thresholds("refuse", 900, {"uuid": 1000}), -50),  # the UUID is 50 below its own, kv 100 below
        (Thresholds("refuse", 900, {"kv": 700}), 100),  # kv clears its own by more
        (Thresholds("refuse", 900, {"verb_claim": 0}), 50),  # no such claim here
        (Thresholds("refuse", 900, {}, Halved()), -100),  # kv, now the strongest
        (Thresholds("refuse", 950), 0),
    ],
)
def test_the_margin_is_that_of_the_claim_that_clears_its_threshold_by_most(thresholds, found):
    assert margin(PROFILE, thresholds) == found


@settings(max_examples=1000, deadline=None)
@given(turns, policies())
def test_decides_as_the_policy_step_does_with_floats(turn, policy):
    assert action_of(turn.profile, policy.thresholds) == turn.action(policy)
    assert margin(turn.profile, policy.thresholds) == turn.margin(policy)


@pytest.mark.parametrize("mode", ["off", "observe", "revise", "refuse"])
def test_without_claims_nothing_happens(mode):
    assert action_of(Profile("", ()), Thresholds(mode, 0)) == "none"


def test_floats_of_three_decimals_become_thousandths():
    written = [*(f"0.{n:03}" for n in range(1000)), "1"]
    read = [Thresholds.from_floats(mode="refuse", overall=float(text)).overall for text in written]
    assert read == list(range(1001))


def test_thresholds_by_kind_become_thousandths():
    thresholds = Thresholds.from_floats(mode="observe", overall=0.8, by_kind={"kv": 0.57})
    assert thresholds.by_kind == {"kv": 570}


@pytest.mark.parametrize("wrong", [0.8005, 0.1 + 0.2, -0.001, 1.001, float("nan"), float("inf"), True])
def test_other_numbers_are_refused(wrong):
    with pytest.raises(ValueError, match="a threshold"):
        Thresholds.from_floats(mode="refuse", overall=wrong)
    with pytest.raises(ValueError, match="a threshold"):
        Thresholds.from_floats(mode="refuse", overall=0.8, by_kind={"kv": wrong})


@pytest.mark.parametrize(("overall", "by_kind"), [(-1, {}), (1001, {}), (800, {"kv": 1001})])
def test_thousandths_outside_0_to_1000_are_refused(overall, by_kind):
    with pytest.raises(ValueError, match="thousandths"):
        Thresholds("refuse", overall, by_kind)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="off, observe, revise or refuse"):
        Thresholds("block", 800)
