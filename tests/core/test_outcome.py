"""The policy step: mode and threshold decide what happens to a draft."""

from __future__ import annotations

import json

import pytest

from reviews.core.fabrication import FabricationFinding
from reviews.core.outcome import SAFE_REFUSAL, apply_fabrication_policy

WEAK = FabricationFinding("9f2b1e47", "short_hex_near_verb", "high", "r", confidence=0.6)
STRONG = FabricationFinding("x", "verb_claim", "medium", "r", confidence=0.8)


def apply(mode, findings=(WEAK, STRONG), **options):
    return apply_fabrication_policy(findings=findings, mode=mode, draft="I ran it", **options)


@pytest.mark.parametrize(
    ("mode", "findings", "action"),
    [
        ("off", (STRONG,), "none"),
        ("observe", (), "none"),
        ("observe", (STRONG,), "observed"),
        ("revise", (), "none"),
        ("revise", (WEAK,), "revise_forced"),
        ("refuse", (), "none"),
        ("refuse", (WEAK,), "observed"),
        ("refuse", (WEAK, STRONG), "refuse_replaced"),  # 0.8 reaches the default threshold of 0.8
    ],
)
def test_mode_and_strength_decide_the_action(mode, findings, action):
    outcome = apply(mode, findings)
    assert outcome.action_taken == action
    assert outcome.replacement_draft == (SAFE_REFUSAL if action == "refuse_replaced" else None)
    assert outcome.forced_critic_verdict == ("revise" if action == "revise_forced" else None)


def test_off_drops_the_findings_it_is_given():
    assert (apply("off").findings, apply("off").max_finding_confidence) == ((), 0.0)


def test_an_empty_draft_has_no_findings():
    outcome = apply_fabrication_policy(findings=[STRONG], mode="refuse", draft="")
    assert (outcome.findings, outcome.action_taken) == ((), "none")


def test_a_lower_threshold_refuses_weaker_findings():
    assert apply("refuse", (WEAK,), refuse_min_confidence=0.6).action_taken == "refuse_replaced"
    assert apply("refuse", (WEAK, STRONG), refuse_min_confidence=0.81).action_taken == "observed"


def test_the_refusal_can_be_the_tenants_own():
    assert apply("refuse", safe_refusal="No.").replacement_draft == "No."


@pytest.mark.parametrize("mode", ["", "OFF", "block", None])
def test_an_unknown_mode_is_refused_with_the_known_ones(mode):
    with pytest.raises(ValueError, match="off, observe, revise or refuse"):
        apply(mode)


@pytest.mark.parametrize("threshold", [-0.01, 1.01, float("nan"), float("inf"), "0.8", None, True])
def test_a_threshold_outside_0_to_1_is_refused_even_when_off(threshold):
    with pytest.raises(ValueError, match="refuse_min_confidence"):
        apply("off", refuse_min_confidence=threshold)


def test_the_event_has_the_fields_of_9_12_0():
    payload = apply("refuse").to_event_payload("run-1", "d" * 241)
    assert json.loads(json.dumps(payload)) == payload
    assert payload == {
        "run_id": "run-1",
        "mode": "refuse",
        "action_taken": "refuse_replaced",
        "findings": [WEAK.to_event_payload(), STRONG.to_event_payload()],
        "refuse_threshold": 0.8,
        "max_finding_confidence": 0.8,
        "original_draft_preview": "d" * 240,
        "replacement_preview": SAFE_REFUSAL[:240],
        "preview_truncated": True,
    }


def test_previews_end_at_240_characters():
    outcome = apply("refuse", safe_refusal="r" * 300)
    payload = outcome.to_event_payload("", "d" * 240)
    assert payload["preview_truncated"] is False
    assert len(payload["replacement_preview"]) == 240
    assert apply("observe").to_event_payload("", "d")["replacement_preview"] is None


@pytest.mark.parity
def test_the_event_fits_the_published_event_class():
    callbacks = pytest.importorskip("symfonic.core.contracts.callbacks")
    payload = apply("revise").to_event_payload("run-1", "draft")
    event = callbacks.FabricationDetectedEvent(**payload)
    assert event.action_taken == "revise_forced"


def make(kind="kv", confidence=0.8):
    return FabricationFinding("x", kind, "medium", "r", confidence=confidence)


def refusing(*findings, **policy):
    return apply("refuse", findings, **policy).action_taken


@pytest.mark.parametrize(
    ("thresholds", "action"),
    [
        ({"refuse_min_confidence": 0.9}, "observed"),
        ({"refuse_min_confidence": 0.9, "refuse_min_confidence_by_kind": {"kv": 0.8}}, "refuse_replaced"),
        # The other kind's own threshold is no help, and a kind's own one may also be stricter.
        ({"refuse_min_confidence": 0.9, "refuse_min_confidence_by_kind": {"uuid": 0.1}}, "observed"),
        ({"refuse_min_confidence": 0.5, "refuse_min_confidence_by_kind": {"kv": 0.81}}, "observed"),
    ],
)
def test_a_kind_with_a_threshold_of_its_own_is_held_against_that_one(thresholds, action):
    assert refusing(make(kind="kv", confidence=0.8), **thresholds) == action


def test_each_finding_is_held_against_the_threshold_of_its_kind():
    weak, strong = make(kind="verb_claim", confidence=0.8), make(kind="uuid", confidence=0.95)
    by_kind = {"verb_claim": 0.85, "uuid": 0.96}
    assert (
        refusing(weak, strong, refuse_min_confidence=0.1, refuse_min_confidence_by_kind=by_kind) == "observed"
    )
    by_kind["uuid"] = 0.95
    assert refusing(weak, strong, refuse_min_confidence=1.0, refuse_min_confidence_by_kind=by_kind) == (
        "refuse_replaced"
    )


def test_thresholds_read_the_calibrated_confidences_only_when_told_to():
    findings = [make(confidence=0.95), make(confidence=0.6)]
    known = {"calibrated": [0.2, 0.3], "refuse_min_confidence": 0.5}
    assert refusing(*findings, **known) == "refuse_replaced"
    assert refusing(*findings, read_calibrated=True, **known) == "observed"
    assert refusing(*findings, read_calibrated=True, calibrated=[0.2, 0.5]) == "observed"
    assert refusing(*findings, read_calibrated=True, calibrated=[0.2, 0.8]) == "refuse_replaced"


def test_the_confidence_that_is_reported_stays_the_detectors():
    outcome = apply("refuse", [make(confidence=0.95)], calibrated=[0.2], read_calibrated=True)
    assert (outcome.max_finding_confidence, outcome.calibrated) == (0.95, (0.2,))


@pytest.mark.parametrize("calibrated", [[0.5], [0.5, 0.5, 0.5]])
def test_there_is_one_calibrated_confidence_a_finding(calibrated):
    with pytest.raises(ValueError, match="calibrated confidences for 2 findings"):
        refusing(make(), make(), calibrated=calibrated)
    with pytest.raises(ValueError, match="0 calibrated confidences for 1"):
        refusing(make(), read_calibrated=True)


def test_a_threshold_of_a_kind_is_checked_like_the_overall_one():
    with pytest.raises(ValueError, match="number from 0 to 1"):
        refusing(refuse_min_confidence_by_kind={"kv": 1.5})
