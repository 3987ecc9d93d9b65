from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from reviews.formats import decode_event
from tests.formats.samples import raw, refusal

FINDING = {
    "identifier": "J-88",
    "kind": "kv",
    "severity": "high",
    "reason": "not in any tool result",
    "key": "job_id",
    "pattern_kind": "kv",
    "confidence": 0.8,
    "span": [4, 15],
}
EVENT = {
    "run_id": "r",
    "mode": "refuse",
    "action_taken": "refuse_replaced",
    "findings": [FINDING],
    "refuse_threshold": 0.8,
    "max_finding_confidence": 0.8,
    "original_draft_preview": "I ran job_id=J-88",
    "replacement_preview": "I cannot confirm that.",
    "preview_truncated": False,
}


def test_the_event_as_it_is_sent() -> None:
    event = decode_event(raw(EVENT))
    assert msgspec.to_builtins(event) == EVENT


def test_previews_are_optional() -> None:
    short = {key: EVENT[key] for key in EVENT if "preview" not in key}
    event = decode_event(raw(short))
    assert (event.original_draft_preview, event.replacement_preview) == ("", None)


def changed(**fields: Any) -> bytes:
    return raw(EVENT | fields)


def finding(**fields: Any) -> bytes:
    return changed(findings=[FINDING, FINDING | fields])


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        (b"[]", ""),
        (b'{"run_id": "a", "run_id": "a"}', "/run_id"),
        (changed(run_id=" "), "/run_id"),
        (changed(run_id="x" * 201), "/run_id"),
        (changed(run_id=None), "/run_id"),
        (changed(mode="loud"), "/mode"),
        (changed(action_taken="shrugged"), "/action_taken"),
        (changed(refuse_threshold=1.5), "/refuse_threshold"),
        (changed(max_finding_confidence=-1), "/max_finding_confidence"),
        (changed(max_finding_confidence=float("nan")), "/max_finding_confidence"),
        (changed(original_draft_preview="\0"), "/original_draft_preview"),
        (changed(preview_truncated=0), "/preview_truncated"),
        (changed(findings=[FINDING] * 1001), "/findings"),
        (changed(tenant="x"), "/tenant"),
        (finding(kind="guess"), "/findings/1/kind"),
        (finding(severity="fatal"), "/findings/1/severity"),
        (finding(confidence=2), "/findings/1/confidence"),
        (finding(span=[5, 4]), "/findings/1/span"),
        (finding(span=[-1, 4]), "/findings/1/span"),
        (finding(span=[1]), "/findings/1/span"),
        (finding(span=[1, 2.5]), "/findings/1/span/1"),
        (finding(key=5), "/findings/1/key"),
        (finding(grounded_sources=[]), "/findings/1/grounded_sources"),
    ],
)
def test_refusals_point_at_the_spot(document: bytes, spot: str) -> None:
    assert refusal(decode_event, document).pointer == spot


@pytest.mark.parity
def test_the_published_package_emits_exactly_these_fields() -> None:
    callbacks = pytest.importorskip("symfonic.core.contracts.callbacks")
    middleware = pytest.importorskip("symfonic.agent.middleware.fabrication")
    findings = middleware.detect_fabrication(
        "I created task_id=zq-1188 and 1f0c7a52-8a3e-4c0f-9a6b-3a1d2e4f5a6b.", []
    )
    event = callbacks.FabricationDetectedEvent(
        run_id="r",
        mode="observe",
        action_taken="observed",
        findings=[found.to_event_payload() for found in findings],
        refuse_threshold=0.8,
        max_finding_confidence=0.95,
        original_draft_preview="I created",
        replacement_preview=None,
        preview_truncated=False,
    )
    sent = dataclasses.asdict(event)
    assert len(sent["findings"]) >= 3
    assert msgspec.to_builtins(decode_event(raw(sent))) == sent
