"""The detector profile ``evidence``: claims sentence by sentence, grounded by named sources.

    >>> turn = EvidenceTurn(draft="I've cancelled your order.", user_message="Cancel it, please.")
    >>> [finding.identifier for finding in detect_evidence(turn).findings]
    ["I've cancelled"]

Needs re2; nothing else beyond the standard library.
"""

from __future__ import annotations

from reviews.core.evidence_profile.detect import detect_evidence
from reviews.core.evidence_profile.priors import DEFAULT_PRIORS
from reviews.core.evidence_profile.success import CallOutcome, call_outcome
from reviews.core.evidence_profile.turn import (
    CallLike,
    CheckedClaim,
    ClaimKind,
    EvidenceCall,
    EvidenceReport,
    EvidenceTurn,
    GroundingSource,
    RanCall,
    SourceKind,
    ToolLike,
    Verdict,
)

__all__ = [
    "DEFAULT_PRIORS",
    "CallLike",
    "CallOutcome",
    "CheckedClaim",
    "ClaimKind",
    "EvidenceCall",
    "EvidenceReport",
    "EvidenceTurn",
    "GroundingSource",
    "RanCall",
    "SourceKind",
    "ToolLike",
    "Verdict",
    "call_outcome",
    "detect_evidence",
]
