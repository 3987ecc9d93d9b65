"""How findings are held against labelled claims, and what the script with the figures keeps to itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.labels.claims import Claim
from benchmarks.labels.cutting import SourceTurn
from benchmarks.labels.sample import draft_digest
from benchmarks.quality import Found, Score, Share, detect, match, read_labelled
from reviews.formats.record import ToolCall, TurnRecord

ROOT = Path(__file__).parents[2]
DRAFT = "I looked up your account. I've cancelled order 7 and refunded it, ticket QX-2041."


def label(text: str, verdict: str = "fabricated", kind: str = "verb_claim", draft: str = DRAFT) -> Claim:
    start = draft.index(text)
    source = None if verdict == "fabricated" else "call_this_turn"
    return Claim(start=start, end=start + len(text), kind=kind, verdict=verdict, source=source, why="stated")


def found(text: str, kind: str = "verb_claim", draft: str = DRAFT) -> Found:
    start = draft.index(text)
    return Found(start=start, end=start + len(text), kind=kind, identifier=text)


WHOLE_TURN = Found(start=0, end=0, kind="intent_action_no_tool")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("I've cancelled", id="within the label"),
        pytest.param("I've cancelled order 7 and refunded it", id="around the label"),
        pytest.param("I've cancelled order 7", id="the same"),
        pytest.param("cancelled order 7 and refu", id="17 of 31 characters shared"),
    ],
)
def test_findings_at_the_place_of_a_fabricated_claim_catch_it(text):
    claim = label("I've cancelled order 7")
    matching = match([found(text)], [claim])
    assert [caught for _, caught in matching.caught] == [claim]
    assert (matching.missed, matching.false_alarms) == ([], [])


def test_a_brush_with_a_label_is_a_false_alarm_and_the_claim_is_missed():
    # They share 2 of the 22 characters that either has, and neither holds the other.
    claim = label("refunded it", kind="tool_output_shape")
    stray = found("it, ticket QX", kind="tool_output_shape")
    matching = match([stray], [claim])
    assert matching.false_alarms == [(stray, None)]
    assert matching.missed == [claim]


def test_kinds_need_not_agree():
    claim = label("QX-2041", kind="claimed_identifier")
    matching = match([found("QX-2041", kind="kv")], [claim])
    assert len(matching.caught) == 1


def test_several_findings_on_one_claim_are_one_hit_and_no_false_alarm():
    block = label("I've cancelled order 7 and refunded it, ticket QX-2041", kind="tool_output_shape")
    findings = [
        found("QX-2041", kind="kv"),
        found("I've cancelled order 7 and refunded it"),
        found("order 7", "kv"),
    ]
    matching = match(findings, [block])
    # The finding that shares most of the block stands for it.
    assert matching.caught == [(findings[1], block)]
    assert [each for each, _ in matching.repeats] == [findings[0], findings[2]]
    assert matching.false_alarms == []

    score = Score()
    score.add(findings, [block])
    assert (score.precision, score.recall) == (Share(1, 1), Share(1, 1))


def test_one_finding_over_two_claims_catches_the_nearer_only():
    cancelled, ticket = label("I've cancelled order 7"), label("QX-2041", kind="claimed_identifier")
    matching = match([found("I've cancelled order 7 and refunded it, ticket QX-2041")], [cancelled, ticket])
    assert [claim for _, claim in matching.caught] == [cancelled]
    assert matching.missed == [ticket]


def test_each_finding_on_a_grounded_claim_or_on_nothing_is_a_false_alarm():
    grounded = label("I looked up your account", verdict="grounded")
    findings = [found("I looked up"), found("your account"), found("refunded it")]
    score = Score()
    score.add(findings, [grounded])
    assert (score.on_grounded, score.on_nothing) == (2, 1)
    assert score.precision == Share(0, 3)
    assert score.recall == Share(0, 0)


def test_a_grounded_claim_without_a_finding_is_neither_right_nor_wrong():
    matching = match([], [label("I looked up your account", verdict="grounded")])
    assert (matching.caught, matching.missed, matching.false_alarms) == ([], [], [])


def test_a_finding_is_about_the_label_nearest_to_it_whatever_its_verdict():
    inner = label("order 7", verdict="grounded", kind="claimed_identifier")
    outer = label("I've cancelled order 7")
    assert match([found("order 7")], [outer, inner]).missed == [outer]
    assert match([found("I've cancelled order 7")], [inner, outer]).missed == []


def test_what_is_said_of_the_whole_turn_counts_only_where_nothing_is_fabricated():
    clean, lying = Score(), Score()
    clean.add([WHOLE_TURN], [label("I looked up your account", verdict="grounded")])
    lying.add([WHOLE_TURN], [label("I've cancelled order 7")])
    assert (clean.on_nothing, lying.on_nothing) == (1, 0)
    # It points at no claim, so it catches none; but the turn is rightly flagged.
    assert lying.recall == Share(0, 1)
    assert (clean.turn_precision, lying.turn_precision) == (Share(0, 1), Share(1, 1))


def test_turns_are_counted_by_flag_and_truth():
    score = Score()
    lie, truth = [label("refunded it")], [label("I looked up your account", verdict="grounded")]
    score.add([found("refunded it")], lie)
    score.add([], lie)
    score.add([], truth)
    score.add([found("I looked up")], truth)
    assert (score.turn_precision, score.turn_recall) == (Share(1, 2), Share(1, 2))
    assert score.kinds == {
        ("verb_claim", "fabricated verb_claim"): 1,
        ("verb_claim", "grounded verb_claim"): 1,
    }
    assert score.missed_kinds == {"verb_claim": 1}


def test_a_share_has_wilsons_interval_and_of_nothing_there_is_none():
    # Table of Newcombe (1998), method 3: 15 of 148 is 0.0624 to 0.1605.
    assert str(Share(15, 148)) == "0.101 [0.06-0.16]"
    assert str(Share(0, 0)) == "none"
    assert Share(0, 0).as_json() == {"part": 0, "whole": 0, "value": None, "low": 0.0, "high": 1.0}


@pytest.mark.parametrize("profile", ["reference", "evidence"])
def test_findings_stand_at_their_place_in_the_draft_as_it_is(profile):
    text = "I sent the parcel."
    plain, indented = (
        detect(profile, TurnRecord(external_id="t", draft=draft, user_message="Where is it?"))
        for draft in (text, "\n\n  " + text)
    )
    placed = [each for each in plain if not each.whole_turn]
    assert placed
    assert [(each.start + 4, each.end + 4) for each in placed] == [
        (each.start, each.end) for each in indented if not each.whole_turn
    ]


def test_both_profiles_read_what_the_calls_of_the_turn_returned():
    draft = "Your request_id: 7f3d2c91 is open."
    unknown = TurnRecord(external_id="t", draft=draft)
    returned = TurnRecord(
        external_id="t",
        draft=draft,
        tool_calls=[ToolCall(name="open_case", result={"id": "7f3d2c91"}, ok=True)],
    )
    for profile in ("reference", "evidence"):
        assert {each.identifier for each in detect(profile, unknown)} == {"7f3d2c91"}, profile
        assert detect(profile, returned) == [], profile


def _label_file(folder: Path, digest: str) -> Path:
    claim = label("refunded it")
    row = {
        "source": "reports",
        "conversation": 3,
        "turn": 0,
        "part": "build",
        "language": "en",
        "draft_digest": digest,
        "claims": [
            {
                "start": claim.start,
                "end": claim.end,
                "kind": claim.kind,
                "verdict": claim.verdict,
                "source": None,
                "why": claim.why,
                "text": "refunded it",
            }
        ],
    }
    path = folder / "labels.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return path


def test_labels_are_read_with_the_turn_they_were_written_for(tmp_path):
    turn = SourceTurn(
        source="reports", conversation=3, turn=0, record=TurnRecord(external_id="t", draft=DRAFT)
    )
    path = _label_file(tmp_path, draft_digest(DRAFT))
    (labelled,) = read_labelled(path, {turn.id: turn})
    assert (labelled.part, labelled.turn, labelled.claims) == ("build", turn, (label("refunded it"),))


def test_labels_of_another_draft_or_of_no_turn_are_refused(tmp_path):
    turn = SourceTurn(
        source="reports", conversation=3, turn=0, record=TurnRecord(external_id="t", draft=DRAFT + " ")
    )
    path = _label_file(tmp_path, draft_digest(DRAFT))
    for turns in ({turn.id: turn}, {}):
        with pytest.raises(SystemExit, match="reports:3:0 is not the draft that was labelled"):
            read_labelled(path, turns)


def test_errors_of_the_part_for_measuring_are_not_listed():
    script = ROOT / "benchmarks" / "detection_quality.py"
    done = subprocess.run(
        [sys.executable, script, "--errors", "measure"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "errors of the measure part are not listed" in done.stderr
