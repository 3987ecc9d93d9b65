"""A window's counts, and how often a calibration is asked."""

from __future__ import annotations

import pytest

from reviews.core.labelled import Counts, Evidence, Row
from reviews.core.profiles import Claim, Profile

ONE = Profile("send", (Claim("kv", "pid", 800), Claim("uuid", "", 950)))
TWO = Profile("send", (Claim("kv", "pid", 800), Claim("verb_claim", "sent", 800)))
OTHER_TOOLS = Profile("", (Claim("kv", "pid", 800),))
PROFILES = {1: ONE, 2: TWO, 3: OTHER_TOOLS}


class Noting:
    """Leaves confidences alone and notes what it is asked."""

    def __init__(self):
        self.asked = []

    def confidence(self, group, raw):
        self.asked.append((group, raw))
        return raw


def test_rows_add_up_by_profile_and_verdict():
    rows = [
        Row(1, "fabricated", 3),
        Row(2, "", 5),
        Row(1, "", 2),
        Row(1, "fabricated", 1),
        Row(2, "unsure", 7),
        Row(2, "false_alarm", 4),
    ]
    evidence = Evidence(rows, PROFILES)
    assert dict(zip(evidence.profile_ids, evidence.counts, strict=True)) == {
        1: Counts(fabricated=4, false_alarms=0, unsure=0, unlabelled=2),
        2: Counts(fabricated=0, false_alarms=4, unsure=7, unlabelled=5),
    }
    assert evidence.turns == [6, 16]
    assert evidence.turns_by_kind == {"kv": 22, "uuid": 6, "verb_claim": 16}


def test_profiles_without_turns_do_not_occur():
    assert Evidence([Row(1, "", 0)], PROFILES).profile_ids == []


def test_a_calibration_is_asked_once_for_a_group_and_confidence():
    calibration = Noting()
    evidence = Evidence([Row(n, "", 1) for n in PROFILES], PROFILES)
    first = evidence.scored(calibration)
    assert evidence.scored(calibration) is first
    assert sorted(calibration.asked) == [
        (("kv", "pid", ""), 0.8),
        (("kv", "pid", "send"), 0.8),
        (("uuid", "", "send"), 0.95),
        (("verb_claim", "sent", "send"), 0.8),
    ]
    assert first.strongest == [950, 800, 800]


def test_each_calibration_has_its_own_confidences():
    class Zero:
        def confidence(self, group, raw):
            return 0.0

    evidence = Evidence([Row(1, "", 1)], PROFILES)
    assert evidence.scored(Zero()).strongest == [0]
    assert evidence.scored(None).strongest == [950]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Row(1, "wrong", 1), "verdict must be"),
        (Row(1, "", -1), "cannot be"),
        (Row(9, "", 1), "profile 9"),
        (Row(4, "", 1), "profile 4"),
    ],
)
def test_impossible_rows_are_refused(row, message):
    with pytest.raises(ValueError, match=message):
        Evidence([row], {**PROFILES, 4: Profile("", ())})
