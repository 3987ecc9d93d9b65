"""Short ways to write a turn, and to read what the profile made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reviews.core.evidence_profile import EvidenceCall, EvidenceReport, EvidenceTurn, detect_evidence


@dataclass(frozen=True)
class Tool:
    name: str
    description: str = ""


def call(name: str, result: Any = "OK", **fields: Any) -> EvidenceCall:
    return EvidenceCall(name=name, result=result, **fields)


def report(
    draft: str, *calls: EvidenceCall, user: str = "", context: str = "", **fields: Any
) -> EvidenceReport:
    return detect_evidence(
        EvidenceTurn(draft=draft, user_message=user, hydrated_context=context, calls=calls, **fields)
    )


def flagged(draft: str, *calls: EvidenceCall, **fields: Any) -> list[tuple[str, str]]:
    """Kind and identifier of each finding."""
    return [(finding.kind, finding.identifier) for finding in report(draft, *calls, **fields).findings]


def claims(draft: str) -> list[str]:
    """The wordings that are claims of an action, whatever their verdict, in a turn without calls."""
    return [claim.identifier for claim in report(draft).claims if claim.kind == "verb_claim"]
