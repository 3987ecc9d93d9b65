"""When the critic is asked, and the reason that is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.critic_gate import GateDecision, decide_gate
from reviews.core.fabrication import FabricationFinding
from reviews.core.intent import IntentVerdict

FINDING = FabricationFinding("A-17", "kv", "high", "It is nowhere.")
# 0.4 * 1 + 0.3 * min(1, 3 / 3) = 0.7
SURE = {"activated_nodes": [{"score": 1.0, "tags": ["weather", "payment"]}], "inference_paths": [[], [], []]}
# 0.4 * 1 = 0.4
UNSURE = {"activated_nodes": [{"score": 1.0}]}


def decide(activation=None, draft="Your parcel is on its way.", **options):
    return decide_gate(draft, activation, **options)


def test_a_confident_turn_passes():
    gate = decide(SURE)
    assert gate == GateDecision(False, pytest.approx(0.7), "confident")
    assert gate.detail == "Confidence 0.70 reaches 0.60. No sensitive tag was recalled."
    assert not gate.forces_revise


def test_low_confidence_fires():
    gate = decide(UNSURE)
    assert gate == GateDecision(True, pytest.approx(0.4), "low_confidence")
    assert gate.detail == "Confidence 0.40 is below 0.60."


def test_without_a_record_confidence_is_neutral_and_below_the_default():
    assert decide(None) == GateDecision(True, 0.5, "low_confidence")


@pytest.mark.parametrize(("threshold", "fires"), [(0.0, False), (0.5, False), (0.501, True), (1.0, True)])
def test_it_must_be_below_the_threshold(threshold, fires):
    gate = decide(None, threshold=threshold)
    assert (gate.fires, gate.threshold) == (fires, threshold)


def test_numbers_that_look_alike_are_told_apart():
    activation = {"activated_nodes": [{"score": 1.0}], "traversed_edges": [{"weight": 0.0}]}
    assert decide(activation, threshold=0.4001).detail == "Confidence 0.4 is below 0.4001."


def test_a_sensitive_tag_fires_however_sure():
    gate = decide(SURE, tags={"payment"})
    assert (gate.fires, gate.reason, gate.sensitive_tag) == (True, "sensitive_tag", "payment")
    assert gate.detail == "The sensitive tag payment was recalled."
    assert not decide(SURE, tags={"health"}).fires


def test_all_facts_are_told():
    activation = {"activated_nodes": [{"score": 1.0, "tags": ["payment"]}]}
    gate = decide(activation, tags={"payment"}, fabrication_mode="revise", findings=[FINDING, FINDING])
    assert gate.reason == "fabrication_revise"
    assert gate.detail == (
        "Fabrication mode revise with 2 findings. The sensitive tag payment was recalled. "
        "Confidence 0.40 is below 0.60."
    )


@pytest.mark.parametrize("mode", ["off", "observe", "refuse"])
def test_findings_fire_in_mode_revise_alone(mode):
    assert not decide(SURE, fabrication_mode=mode, findings=[FINDING]).fires
    assert not decide(SURE, fabrication_mode="revise").fires
    gate = decide(SURE, fabrication_mode="revise", findings=[FINDING])
    assert (gate.fires, gate.reason, gate.forces_revise) == (True, "fabrication_revise", True)
    assert gate.detail == "Fabrication mode revise with 1 finding."


def test_the_selective_gate_spares_a_trivial_acknowledgment_however_unsure():
    gate = decide(None, "Sure, will do!", selective=True)
    assert (gate.fires, gate.reason) == (False, "trivial_acknowledgment")
    assert gate.detail == "A trivial acknowledgment, which the selective gate spares the critic."
    assert decide(None, "Sure, will do!").fires


def test_the_selective_gate_reads_everything_else_however_sure():
    gate = decide(SURE, selective=True)
    assert (gate.fires, gate.reason) == (True, "not_trivial")
    assert gate.detail == "The selective gate is on and this is no trivial acknowledgment."
    assert decide(UNSURE, selective=True).reason == "low_confidence"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tool_calls": [{"name": "refund"}]}, "not_trivial"),
        ({"findings": [FINDING]}, "not_trivial"),
        ({"findings": [FINDING], "fabrication_mode": "revise"}, "fabrication_revise"),
        ({"intent": IntentVerdict("action", 0.8)}, "not_trivial"),
        ({"tags": {"payment"}}, "sensitive_tag"),
    ],
)
def test_what_else_is_known_of_the_turn_counts_in_the_selective_gate(options, reason):
    gate = decide(SURE, "Sure!", selective=True, **options)
    assert (gate.fires, gate.reason) == (True, reason)


class Broken:
    def __iter__(self):
        raise RuntimeError("cannot be read")

    def __len__(self):
        raise RuntimeError("cannot be counted")


@pytest.mark.parametrize(
    "options",
    [
        {"selective": True, "tool_calls": Broken()},
        {"selective": True, "findings": Broken()},
        {"fabrication_mode": "revise", "findings": Broken()},
        {"selective": True, "draft": None},
        {"activation": {"activated_nodes": [{"score": 10**400}]}},
    ],
)
def test_a_gate_that_cannot_read_the_turn_fires(options):
    gate = decide(**{"activation": SURE, "draft": "Sure!"} | options)
    assert (gate.fires, gate.reason) == (True, "gate_failed")
    assert gate.detail == "The gate could not read this turn, so the critic is asked."


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["activated_nodes", "score", "tags", "name"]), inner, max_size=3)
    ),
)


@given(JUNK, JUNK, JUNK, st.booleans())
def test_it_never_raises(draft, activation, calls, selective):
    gate = decide_gate(draft, activation, selective=selective, tool_calls=calls, tags={"payment"})
    assert 0 <= gate.confidence <= 1
    assert gate.fires or gate.reason in ("trivial_acknowledgment", "confident")
    assert gate.detail.endswith(".")
