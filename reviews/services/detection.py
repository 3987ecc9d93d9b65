"""Running the detector that a tenant's policy names over a turn."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from reviews.core.evidence_profile import CheckedClaim, EvidenceTurn, detect_evidence
from reviews.core.fabrication import FabricationFinding, detect_fabrication
from reviews.core.grounding_rules import GroundingRules
from reviews.core.intent import IntentVerdict
from reviews.core.settings import TenantSettings
from reviews.formats.history import LEFT_OUT
from reviews.formats.record import ToolCall, TurnRecord

#: What a finding keeps of its claim; the rest stands in the finding's own fields.
_KEPT: Final = ("action", "language", "checked", "ran", "missing")


class Detected(NamedTuple):
    """What a detector found. ``evidence`` has what each finding's claim was held against (None by the
    reference profile), ``grounded`` the claims that something bears out, as JSON values, in text order."""

    findings: list[FabricationFinding]
    evidence: list[dict[str, Any] | None]
    grounded: list[dict[str, Any]]


NOTHING: Final = Detected([], [], [])


def detect(
    record: TurnRecord, settings: TenantSettings, rules: GroundingRules | None, intent: IntentVerdict | None
) -> Detected:
    """The findings on a turn by the profile that the settings name."""
    if settings.detection_profile == "reference":
        findings = detect_fabrication(
            record.draft,
            [detector_call(call) for call in record.tool_calls],
            hydrated_context=record.hydrated_context,
            user_message=record.user_message,
            identifier_keys=settings.identifier_keys,
            intent_verdict=intent,
            rules=rules,
        )
        return Detected(findings, [None] * len(findings), [])
    report = detect_evidence(
        EvidenceTurn(
            draft=record.draft,
            user_message=record.user_message,
            earlier_user_messages=_said_before(record),
            hydrated_context=record.hydrated_context,
            calls=record.tool_calls,
            earlier_calls=record.earlier_calls,
            tools=record.tools,
            intent=intent,
        ),
        rules=rules,
        identifier_keys=settings.identifier_keys,
    )
    fabricated = [claim for claim in report.claims if claim.verdict == "fabricated"]
    return Detected(
        list(report.findings),
        [_evidence(claim) for claim in fabricated],
        [claim.to_payload() for claim in report.grounded],
    )


def _said_before(record: TurnRecord) -> list[str] | None:
    """What the user said in earlier turns; None when not all of it is known."""
    left_out = record.attributes.get(LEFT_OUT)
    if isinstance(left_out, dict) and left_out.get("user_messages"):
        return None
    return record.earlier_user_messages


def _evidence(claim: CheckedClaim) -> dict[str, Any]:
    payload = claim.to_payload()
    return {name: payload[name] for name in _KEPT}


def detector_call(call: ToolCall) -> dict[str, Any]:
    """A call in the shape the reference detector reads; a failure's text grounds what the draft quotes."""
    found = {"name": call.name, "args": call.args, "result": call.result}
    if call.error:
        found["output"] = call.error
    return found
