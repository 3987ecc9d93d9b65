"""The ``FabricationDetectedEvent`` that symfonic-core 9.12.0 emits, as JSON, taken in as strictly as a turn.

The event carries a preview of the draft, not the turn: it says what the runtime found and did.
"""

from __future__ import annotations

import msgspec

from reviews.formats import limits
from reviews.formats.checks import check_choice, check_length, check_share
from reviews.formats.errors import RecordError
from reviews.formats.strict import decode_strict

__all__ = ["EventFinding", "FabricationEvent", "decode_event"]

MODES = ("off", "observe", "revise", "refuse")
ACTIONS = ("none", "observed", "revise_forced", "refuse_replaced")
KINDS = ("uuid", "short_hex_near_verb", "short_hex_near_key", "kv", "verb_claim", "intent_action_no_tool")
SEVERITIES = ("low", "medium", "high")

_SPAN = 2


class EventFinding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One finding as ``to_event_payload()`` writes it; ``span`` is [start, end] in the stripped draft."""

    identifier: str
    kind: str
    severity: str
    confidence: float
    reason: str = ""
    key: str | None = None
    pattern_kind: str = ""
    span: list[int] = msgspec.field(default_factory=lambda: [0, 0])


class FabricationEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the runtime found in one draft and did about it; the sender cuts previews (240 characters)."""

    run_id: str
    mode: str
    action_taken: str
    findings: list[EventFinding]
    refuse_threshold: float
    max_finding_confidence: float
    original_draft_preview: str = ""
    replacement_preview: str | None = None
    preview_truncated: bool = False


_DECODER = msgspec.json.Decoder(FabricationEvent)


def decode_event(raw: bytes) -> FabricationEvent:
    """One event; raises ``RecordError`` with a pointer, and nothing else, for anything not accepted."""
    event = decode_strict(raw, _DECODER)
    if event.run_id and not event.run_id.strip():
        # An empty one is what symfonic sends outside of a run.
        raise RecordError("/run_id", "found a blank string, expected the id of the run")
    check_length("/run_id", event.run_id, limits.EXTERNAL_ID_CHARS)
    check_choice("/mode", event.mode, MODES)
    check_choice("/action_taken", event.action_taken, ACTIONS)
    check_share("/refuse_threshold", event.refuse_threshold)
    check_share("/max_finding_confidence", event.max_finding_confidence)
    if len(event.findings) > limits.EVENT_FINDINGS:
        found = len(event.findings)
        raise RecordError("/findings", f"found a list of {found}, expected at most {limits.EVENT_FINDINGS}")
    for index, finding in enumerate(event.findings):
        _check_finding(f"/findings/{index}", finding)
    return event


def _check_finding(spot: str, finding: EventFinding) -> None:
    check_choice(f"{spot}/kind", finding.kind, KINDS)
    check_choice(f"{spot}/severity", finding.severity, SEVERITIES)
    check_share(f"{spot}/confidence", finding.confidence)
    span = finding.span
    if len(span) != _SPAN or not 0 <= span[0] <= span[1]:
        raise RecordError(f"{spot}/span", f"found {span[:3]}, expected [start, end] with 0 <= start <= end")
