"""From findings to what happens to the draft, by the tenant's policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from reviews.core.fabrication import FabricationFinding

__all__ = [
    "PREVIEW_CHARACTERS",
    "SAFE_REFUSAL",
    "FabricationAction",
    "FabricationMode",
    "FabricationOutcome",
    "apply_fabrication_policy",
]

FabricationMode = Literal["off", "observe", "revise", "refuse"]
FabricationAction = Literal["none", "observed", "revise_forced", "refuse_replaced"]

SAFE_REFUSAL: Final = (
    "I could not verify that this was really done, so I would rather not claim it. "
    "Please let me check again before you rely on it."
)

# Length of the previews in the event that symfonic-core 9.12.0 emits.
PREVIEW_CHARACTERS: Final = 240


@dataclass(frozen=True)
class FabricationOutcome:
    """What the policy did with one draft.

    ``replacement_draft`` is set only when ``action_taken`` is ``refuse_replaced``, ``forced_critic_verdict``
    only when it is ``revise_forced``. ``max_finding_confidence`` is the detector's, 0.0 without findings.
    ``calibrated`` are the findings' calibrated confidences, in their order; empty when there were none.
    """

    findings: tuple[FabricationFinding, ...]
    action_taken: FabricationAction
    replacement_draft: str | None
    forced_critic_verdict: str | None
    max_finding_confidence: float
    refuse_threshold: float
    mode: FabricationMode
    calibrated: tuple[float, ...] = ()

    def to_event_payload(self, run_id: str, draft: str) -> dict[str, Any]:
        """The fields of a 9.12.0 ``FabricationDetectedEvent``; both previews are raw model text."""
        replacement = self.replacement_draft
        return {
            "run_id": run_id,
            "mode": self.mode,
            "action_taken": self.action_taken,
            "findings": [finding.to_event_payload() for finding in self.findings],
            "refuse_threshold": self.refuse_threshold,
            "max_finding_confidence": self.max_finding_confidence,
            "original_draft_preview": draft[:PREVIEW_CHARACTERS],
            "replacement_preview": None if replacement is None else replacement[:PREVIEW_CHARACTERS],
            "preview_truncated": len(draft) > PREVIEW_CHARACTERS,
        }


def apply_fabrication_policy(
    *,
    findings: Iterable[FabricationFinding],
    mode: str,
    refuse_min_confidence: float = 0.8,
    refuse_min_confidence_by_kind: Mapping[str, float] | None = None,
    calibrated: Sequence[float] = (),
    read_calibrated: bool = False,
    draft: str,
    safe_refusal: str = SAFE_REFUSAL,
) -> FabricationOutcome:
    """Decide about ``draft``, given the findings in it.

    ``off`` and an empty draft yield no findings. ``refuse`` replaces the draft by ``safe_refusal`` only
    when some finding's confidence reaches the threshold of its kind, else ``refuse_min_confidence`` (all
    0..1); weaker ones are recorded. ``calibrated`` are the findings' calibrated confidences, if known; the
    thresholds are held against them when ``read_calibrated``, and against the detector's own otherwise.

    Raises ``ValueError`` for an unknown mode, a threshold that is not a number from 0 to 1, or calibrated
    confidences that are not one a finding.
    """
    known_mode = _checked_mode(mode)
    threshold = _checked_threshold(refuse_min_confidence)
    thresholds = {kind: _checked_threshold(t) for kind, t in (refuse_min_confidence_by_kind or {}).items()}
    kept = () if known_mode == "off" or not draft else tuple(findings)
    fitted = tuple(calibrated) if kept else ()
    if (fitted or read_calibrated) and len(fitted) != len(kept):
        raise ValueError(f"{len(fitted)} calibrated confidences for {len(kept)} findings")
    strongest = max((finding.confidence for finding in kept), default=0.0)
    read = fitted if read_calibrated else [finding.confidence for finding in kept]

    action: FabricationAction = "none"
    if kept:
        if known_mode == "revise":
            action = "revise_forced"
        elif known_mode == "refuse" and any(
            confidence >= thresholds.get(finding.kind, threshold)
            for finding, confidence in zip(kept, read, strict=True)
        ):
            action = "refuse_replaced"
        else:
            action = "observed"
    return FabricationOutcome(
        findings=kept,
        action_taken=action,
        replacement_draft=safe_refusal if action == "refuse_replaced" else None,
        forced_critic_verdict="revise" if action == "revise_forced" else None,
        max_finding_confidence=strongest,
        refuse_threshold=threshold,
        mode=known_mode,
        calibrated=fitted,
    )


def _checked_mode(mode: str) -> FabricationMode:
    for known in get_args(FabricationMode):
        if mode == known:
            return known  # type: ignore[no-any-return]
    raise ValueError(f"mode must be off, observe, revise or refuse, not {mode!r}")


def _checked_threshold(value: float) -> float:
    # bool is an int to Python, but a threshold of True is a slip, not a wish. NaN fails the comparison.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise ValueError(f"refuse_min_confidence must be a number from 0 to 1, not {value!r}")
    return float(value)
