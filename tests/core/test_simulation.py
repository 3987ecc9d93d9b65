"""What thresholds do to a window, against counting its turns one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.estimates import Estimate, NotEnough, precision_of
from reviews.core.labelled import Evidence, Row
from reviews.core.profiles import Claim, Profile
from reviews.core.recall import Flagged, Stratum, recall_of
from reviews.core.simulation import Actions, Flip, Totals, flips, simulate
from reviews.core.thresholds import Thresholds
from tests.core.windows import labelled, policies, windows

STRONG = Profile("", (Claim("uuid", "", 950), Claim("verb_claim", "sent", 800)))
WEAK = Profile("", (Claim("short_hex_near_verb", "", 600),))
PROFILES = {1: STRONG, 2: WEAK}
AUDIT = Stratum(rate=0.1, sampled=100, fabricated=2, false_alarms=48)


def actions_by(turns, policy):
    found = Counter(turn.action(policy) for turn in turns)
    return Actions(found["refuse_replaced"], found["revise_forced"], found["observed"])


@settings(max_examples=1000, deadline=None)
@given(windows, policies())
def test_counts_what_counting_turns_counts(window, policy):
    effect = simulate(window.evidence, policy.thresholds, window.totals, [AUDIT])
    refused = window.refused(policy)
    rest = [turn for turn in window.turns if turn not in refused]
    right, wrong = labelled(refused, "fabricated"), labelled(refused, "false_alarm")

    assert effect.actions == actions_by(window.turns, policy)
    assert effect.by_kind == {
        kind: actions_by([turn for turn in window.turns if kind in turn.kinds], policy)
        for kind in set().union(*(turn.kinds for turn in window.turns))
    }
    assert list(effect.by_kind) == sorted(effect.by_kind)
    assert effect.refused_per_day == pytest.approx(len(refused) / 7)
    assert (effect.fabricated, effect.false_alarms) == (right, wrong)
    assert effect.precision == precision_of(right, wrong)
    assert effect.recall == recall_of(
        refused=Flagged(len(refused), right, wrong),
        let_through=Flagged(len(rest), labelled(rest, "fabricated"), labelled(rest, "false_alarm")),
        unflagged=window.unflagged,
        audits=[AUDIT],
    )


@settings(max_examples=1000, deadline=None)
@given(windows, policies(), policies())
def test_flips_are_the_turns_that_change_fate(window, current, candidate):
    expected = Counter()
    for turn in window.turns:
        now, then = (turn.action(policy) == "refuse_replaced" for policy in (current, candidate))
        if now != then:
            distance = abs(turn.margin(candidate if candidate.mode == "refuse" else current))
            expected[(turn.profile, now, distance)] += 1
    found = flips(window.evidence, current.thresholds, candidate.thresholds)
    assert {(window.profiles[f.profile_id], f.refused_now, f.distance): f.turns for f in found} == expected
    assert len(found) == len(expected)
    assert found == sorted(found, key=lambda f: (f.distance, -f.turns, f.profile_id))


@settings(deadline=None)
@given(windows, policies(["refuse"]), st.integers(0, 1000))
def test_a_higher_threshold_never_refuses_more(window, policy, other):
    low, high = sorted([policy.overall, other / 1000])
    lower, higher = (replace(policy, overall=overall).thresholds for overall in (low, high))
    at_low, at_high = (simulate(window.evidence, t, window.totals) for t in (lower, higher))
    assert at_high.actions.refused <= at_low.actions.refused
    assert at_high.fabricated <= at_low.fabricated
    assert at_high.false_alarms <= at_low.false_alarms
    assert all(flip.refused_now for flip in flips(window.evidence, lower, higher))


@settings(deadline=None)
@given(windows, policies(), policies())
def test_flips_make_up_the_difference_and_turn_around(window, current, candidate):
    now, then = current.thresholds, candidate.thresholds
    found = flips(window.evidence, now, then)
    more = sum(-flip.turns if flip.refused_now else flip.turns for flip in found)
    before, after = (simulate(window.evidence, t, window.totals).actions.refused for t in (now, then))
    assert after - before == more
    back = flips(window.evidence, then, now)
    assert {(f.profile_id, f.refused_now, f.turns) for f in found} == {
        (f.profile_id, not f.refused_now, f.turns) for f in back
    }
    assert flips(window.evidence, now, now) == []


@pytest.mark.parametrize(
    ("mode", "strong", "weak"),
    [
        ("off", Actions(), Actions()),
        ("observe", Actions(observed=50), Actions(observed=30)),
        ("revise", Actions(revised=50), Actions(revised=30)),
        ("refuse", Actions(refused=50), Actions(observed=30)),
    ],
)
def test_each_mode(mode, strong, weak):
    evidence = Evidence([Row(1, "", 50), Row(2, "", 30)], PROFILES)
    effect = simulate(evidence, Thresholds(mode, 800), Totals(1000, 80, 10.0))
    assert effect.by_kind == {"short_hex_near_verb": weak, "uuid": strong, "verb_claim": strong}
    assert effect.actions == Actions(*(a + b for a, b in zip(strong, weak, strict=True)))
    assert effect.refused_per_day == strong.refused / 10


def test_precision_and_recall_of_an_example():
    # 100 refused turns, 40 of 50 labels fabricated; 200 let through, 5 of 25; 1000 unflagged, 2 of 50:
    # 80 of 80 + 40 + 40 fabricated turns are refused. Unsure counts nowhere.
    evidence = Evidence(
        [
            Row(1, "fabricated", 40),
            Row(1, "false_alarm", 10),
            Row(1, "unsure", 20),
            Row(1, "", 30),
            Row(2, "fabricated", 5),
            Row(2, "false_alarm", 20),
            Row(2, "unsure", 75),
            Row(2, "", 100),
        ],
        PROFILES,
    )
    effect = simulate(evidence, Thresholds("refuse", 800), Totals(1300, 300, 2.5), [AUDIT])
    assert effect.refused_per_day == 40
    # Wilson for 40 of 50: (0.8 + 1.92/50 -+ 1.96 sqrt(0.8 0.2 / 50 + 3.84 / 10000)) / (1 + 3.84/50).
    assert effect.precision.value == 0.8
    assert effect.precision.low == pytest.approx(0.6696, abs=0.0001)
    assert effect.precision.high == pytest.approx(0.8876, abs=0.0001)
    assert effect.recall.value == pytest.approx(0.5)


def test_without_labels_there_is_no_precision_and_no_recall():
    evidence = Evidence([Row(1, "", 50), Row(2, "", 30)], PROFILES)
    effect = simulate(evidence, Thresholds("refuse", 800), Totals(1000, 80, 10.0), [AUDIT])
    assert effect.precision == effect.recall == NotEnough(labelled=0, needed=20, among="refused")


def test_a_mode_that_refuses_nothing_has_no_precision_and_catches_nothing():
    evidence = Evidence([Row(1, "fabricated", 50)], PROFILES)
    effect = simulate(evidence, Thresholds("observe", 800), Totals(1000, 50, 10.0), [AUDIT])
    assert effect.precision == NotEnough(labelled=0, needed=20, among="refused")
    assert effect.recall == Estimate(0.0, 0.0, 0.0)


def test_flips_start_with_the_most_doubtful():
    profiles = {n: Profile("", (Claim("kv", "pid", raw),)) for n, raw in enumerate([700, 799, 720, 690, 720])}
    evidence = Evidence([Row(n, "", 1 + n) for n in profiles], profiles)
    assert flips(evidence, Thresholds("refuse", 800), Thresholds("refuse", 700)) == [
        Flip(0, False, 0, 1),
        Flip(4, False, 20, 5),
        Flip(2, False, 20, 3),
        Flip(1, False, 99, 2),
    ]
    assert flips(evidence, Thresholds("refuse", 700), Thresholds("refuse", 721))[0] == Flip(4, True, 1, 5)


def test_without_refusing_the_distance_is_to_the_current_threshold():
    profiles = {1: Profile("", (Claim("kv", "pid", 830),))}
    evidence = Evidence([Row(1, "", 4)], profiles)
    assert flips(evidence, Thresholds("refuse", 800), Thresholds("observe", 100)) == [Flip(1, True, 30, 4)]


def test_rows_that_do_not_add_up_to_the_flagged_turns_are_refused():
    evidence = Evidence([Row(1, "", 50)], PROFILES)
    with pytest.raises(ValueError, match="60 turns are flagged, but the rows add up to 50"):
        simulate(evidence, Thresholds("refuse", 800), Totals(100, 60, 1.0))


@pytest.mark.parametrize(
    ("turns", "flagged", "days"), [(5, 6, 1.0), (5, -1, 1.0), (5, 5, 0.0), (5, 5, float("nan"))]
)
def test_impossible_totals_are_refused(turns, flagged, days):
    with pytest.raises(ValueError, match="cannot be"):
        Totals(turns, flagged, days)
