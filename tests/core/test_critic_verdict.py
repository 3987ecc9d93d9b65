"""Verdicts as they are recorded, here and by symfonic."""

from __future__ import annotations

import pytest

from reviews.core.critic_gate import GateDecision
from reviews.core.critic_verdict import CriticVerdict, degraded_verdict, read_recorded_value

VALUE = {
    "verdict": "revise",
    "confidence_before": 0.42,
    "sensitive_tag_hit": "payment",
    "revised_draft": "Better.",
    "refusal_message": None,
    "matched_preferences": ["Be kind"],
    "reflection_latency_ms": 812.5,
}
EVENT = VALUE | {
    "run_id": "r1",
    "original_draft": "Bad.",
    "reflection_tokens_in": 900,
    "reflection_tokens_out": 0,
}


def test_a_recorded_value_reads_back_as_it_was():
    verdict = read_recorded_value(VALUE)
    assert verdict.recorded_value() == VALUE
    assert list(verdict.recorded_value()) == list(VALUE)
    assert verdict.counts == {"revise": 1}
    assert verdict.provenance == "critic-reflection-v1"
    assert (verdict.degraded, verdict.gate, verdict.tokens_in) == (False, None, None)


def test_a_reflection_event_is_read_with_its_tokens():
    verdict = read_recorded_value(EVENT)
    assert verdict.recorded_value() == VALUE
    assert (verdict.tokens_in, verdict.tokens_out) == (900, 0)


def test_the_envelope_may_come_along():
    value = VALUE | {"provenance": "critic-reflection-v1", "counts": {"revise": 1}}
    assert read_recorded_value(value) == read_recorded_value(VALUE)


def test_the_verdict_is_all_that_is_needed():
    assert read_recorded_value({"verdict": "refuse"}) == CriticVerdict(
        "refuse", None, reflection_latency_ms=None
    )


@pytest.mark.parametrize("name", ["revised_draft", "sensitive_tag_hit", "confidence_before"])
def test_null_stands_for_nothing(name):
    assert read_recorded_value(VALUE | {name: None}).recorded_value()[name] is None


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"verdict": "Approve"}, "verdict"),
        ({"verdict": None}, "verdict"),
        ({"verdict": ["revise"]}, "verdict"),
        ({"confidence_before": 1.01}, "confidence_before"),
        ({"confidence_before": -0.01}, "confidence_before"),
        ({"confidence_before": "0.4"}, "confidence_before"),
        ({"confidence_before": True}, "confidence_before"),
        ({"confidence_before": float("nan")}, "confidence_before"),
        ({"sensitive_tag_hit": 5}, "sensitive_tag_hit"),
        ({"revised_draft": {"text": "x"}}, "revised_draft"),
        ({"verdict": "approve"}, "revised_draft"),
        ({"refusal_message": "No."}, "refusal_message"),
        ({"refusal_message": 0}, "refusal_message"),
        ({"matched_preferences": "Be kind"}, "matched_preferences"),
        ({"matched_preferences": ["Be kind", None]}, "matched_preferences"),
        ({"reflection_latency_ms": -1}, "reflection_latency_ms"),
        ({"reflection_latency_ms": float("inf")}, "reflection_latency_ms"),
        ({"reflection_latency_ms": float("nan")}, "reflection_latency_ms"),
        ({"reflection_latency_ms": 10**400}, "reflection_latency_ms"),
        ({"reflection_latency_ms": False}, "reflection_latency_ms"),
        ({"reflection_tokens_in": 1.5}, "reflection_tokens_in"),
        ({"reflection_tokens_in": -1}, "reflection_tokens_in"),
        ({"reflection_tokens_out": True}, "reflection_tokens_out"),
        ({"reflection_tokens_out": 2**63}, "reflection_tokens_out"),
        ({"verdcit": "revise"}, "verdcit"),
    ],
)
def test_what_is_wrong_is_named(changes, name):
    with pytest.raises(ValueError, match=rf"^{name}: "):
        read_recorded_value(VALUE | changes)


@pytest.mark.parametrize("value", [None, [], "approve", 5])
def test_it_must_be_an_object(value):
    with pytest.raises(ValueError, match="must be an object"):
        read_recorded_value(value)


def test_a_degraded_verdict_approves_and_says_so():
    gate = GateDecision(True, 0.4, "sensitive_tag", "payment")
    verdict = degraded_verdict(gate, "over_budget", "The budget is spent.", retry_after=60.0)
    assert verdict == CriticVerdict(
        "approve",
        0.4,
        "payment",
        degraded=True,
        cause="over_budget",
        detail="The budget is spent.",
        retry_after=60.0,
        gate=gate,
    )


def test_a_degraded_verdict_on_forcing_findings_revises():
    gate = GateDecision(True, 0.9, "fabrication_revise", findings=1)
    verdict = degraded_verdict(gate, "timeout", "It took too long.")
    assert (verdict.verdict, verdict.revised_draft) == ("revise", None)
    assert verdict.degraded
    assert verdict.forced
