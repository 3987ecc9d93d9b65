from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from reviews.formats.record import CriticRecord
from reviews.formats.reflection_event import decode_reflection
from tests.formats.samples import raw, refusal

EVENT = {
    "run_id": "r",
    "verdict": "revise",
    "confidence_before": 0.42,
    "sensitive_tag_hit": "payment",
    "original_draft": "Your refund is on its way.",
    "revised_draft": "I have asked for your refund.",
    "refusal_message": None,
    "matched_preferences": ["Promise no refund."],
    "reflection_latency_ms": 812.5,
    "reflection_tokens_in": 1240,
    "reflection_tokens_out": 96,
}
VALUE = {
    "verdict": "refuse",
    "confidence_before": 0.81,
    "sensitive_tag_hit": None,
    "revised_draft": None,
    "refusal_message": "I must not say that.",
    "matched_preferences": [],
    "reflection_latency_ms": 9,
}


def test_the_event_as_it_is_sent() -> None:
    event = decode_reflection(raw(EVENT))
    assert {name: getattr(event, name) for name in EVENT} == EVENT
    assert event.sent_id == "r"
    assert event.record() == CriticRecord(
        verdict="revise",
        confidence_before=0.42,
        sensitive_tag_hit="payment",
        revised_draft="I have asked for your refund.",
        matched_preferences=["Promise no refund."],
        reflection_latency_ms=812.5,
    )


@pytest.mark.parametrize("name", ["run_id", "external_id"])
def test_the_recorded_value_with_the_id_of_its_turn(name: str) -> None:
    envelope = {"provenance": "critic-reflection-v1", "counts": {"refuse": 1}}
    event = decode_reflection(raw({**VALUE, name: "turn-1", **envelope}))
    assert event.sent_id == "turn-1"
    assert event.record() == msgspec.convert(VALUE, CriticRecord)
    assert (event.reflection_tokens_in, event.reflection_tokens_out) == (None, None)


def test_an_id_and_a_verdict_are_enough() -> None:
    event = decode_reflection(raw({"external_id": "turn-1", "verdict": "approve"}))
    assert event.record() == CriticRecord(verdict="approve")


def test_an_event_outside_of_a_run_has_no_id() -> None:
    assert decode_reflection(raw({**EVENT, "run_id": ""})).sent_id == ""


def test_the_bounds_themselves_are_accepted() -> None:
    fields = {
        "run_id": "x" * 200,
        "confidence_before": 1,
        "reflection_latency_ms": 0,
        "reflection_tokens_in": 2**31 - 1,
        "reflection_tokens_out": 0,
        "matched_preferences": ["p"] * 1000,
    }
    event = decode_reflection(changed(**fields))
    assert {name: getattr(event, name) for name in fields} == fields


def changed(**fields: Any) -> bytes:
    return raw({**EVENT, **fields})


def without(name: str, **fields: Any) -> bytes:
    return raw({key: value for key, value in {**EVENT, **fields}.items() if key != name})


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        (b"[]", ""),
        (b'"approve"', ""),
        (b'{"run_id": "a", "run_id": "a"}', "/run_id"),
        (without("run_id"), "/run_id"),
        (without("verdict"), "/verdict"),
        (changed(run_id=" "), "/run_id"),
        (changed(run_id=7), "/run_id"),
        (changed(run_id="x" * 201), "/run_id"),
        (changed(run_id="a\0b"), "/run_id"),
        (changed(run_id="\ud800"), "/run_id"),
        (without("original_draft", run_id=""), "/run_id"),
        (changed(external_id="r"), "/external_id"),
        (without("run_id", external_id=""), "/external_id"),
        (without("run_id", external_id=" "), "/external_id"),
        (without("run_id", external_id="x" * 201), "/external_id"),
        (changed(verdict="shrug"), "/verdict"),
        (changed(verdict=None), "/verdict"),
        (changed(confidence_before=1.01), "/confidence_before"),
        (changed(confidence_before=-0.1), "/confidence_before"),
        (changed(confidence_before=float("nan")), "/confidence_before"),
        (changed(confidence_before="0.5"), "/confidence_before"),
        (changed(confidence_before=True), "/confidence_before"),
        (changed(sensitive_tag_hit=["payment"]), "/sensitive_tag_hit"),
        (changed(original_draft="\0"), "/original_draft"),
        (changed(revised_draft="\ud800"), "/revised_draft"),
        (changed(revised_draft=1), "/revised_draft"),
        (changed(verdict="approve"), "/revised_draft"),
        (changed(verdict="refuse"), "/revised_draft"),
        (changed(refusal_message=""), "/refusal_message"),
        (changed(matched_preferences=None), "/matched_preferences"),
        (changed(matched_preferences="all"), "/matched_preferences"),
        (changed(matched_preferences=["a", 1]), "/matched_preferences/1"),
        (changed(matched_preferences=["a", "\0"]), "/matched_preferences/1"),
        (changed(matched_preferences=["p"] * 1001), "/matched_preferences"),
        (changed(reflection_latency_ms=-1), "/reflection_latency_ms"),
        (changed(reflection_latency_ms=float("inf")), "/reflection_latency_ms"),
        (changed(reflection_tokens_in=-1), "/reflection_tokens_in"),
        (changed(reflection_tokens_in=1.5), "/reflection_tokens_in"),
        (changed(reflection_tokens_out=2**31), "/reflection_tokens_out"),
        (changed(reflection_tokens_out=2**70), "/reflection_tokens_out"),
        (changed(provenance="by hand"), "/provenance"),
        (changed(counts={"revise": 2}), "/counts"),
        (changed(counts={"approve": 1}), "/counts"),
        (changed(counts={"revise": "1"}), "/counts/revise"),
        (changed(tenant="x"), "/tenant"),
    ],
)
def test_refusals_point_at_the_spot(document: bytes, spot: str) -> None:
    assert refusal(decode_reflection, document).pointer == spot


def test_a_document_beyond_the_limit_is_refused() -> None:
    assert refusal(decode_reflection, changed(revised_draft="x" * 2**22)).pointer == ""


@pytest.mark.parity
def test_the_published_package_emits_exactly_these_fields() -> None:
    events = pytest.importorskip("symfonic.agent.middleware.events")
    sent = dataclasses.asdict(events.ReflectionEvent(**EVENT))
    assert set(sent) == set(EVENT)
    event = decode_reflection(raw(sent))
    assert {name: getattr(event, name) for name in sent} == sent
    short = dataclasses.asdict(
        events.ReflectionEvent(
            run_id="r",
            verdict="approve",
            confidence_before=1.0,
            sensitive_tag_hit=None,
            original_draft="Hello.",
            revised_draft=None,
            refusal_message=None,
        )
    )
    event = decode_reflection(raw(short))
    assert {name: getattr(event, name) for name in short} == short
