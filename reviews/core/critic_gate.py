"""Whether the critic is asked about a draft, and why. No model is called here.

The rule is section 2 of the behaviour document; equal to symfonic-core 9.12.0's, but for fabrication mode
``revise``, in which findings always call the critic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from reviews.core.acknowledgments import is_trivial_acknowledgment
from reviews.core.confidence import NEUTRAL_CONFIDENCE, activation_confidence, sensitive_hit
from reviews.core.fabrication import FabricationFinding
from reviews.core.intent import IntentVerdict
from reviews.core.patterns import Pattern

__all__ = ["DEFAULT_THRESHOLD", "SPARED", "GateDecision", "GateReason", "decide_gate"]

DEFAULT_THRESHOLD: Final = 0.6

GateReason = Literal[
    "fabrication_revise",
    "sensitive_tag",
    "low_confidence",
    "not_trivial",
    "gate_failed",
    "trivial_acknowledgment",
    "confident",
]
"""The first five fire, the last two do not. Where several hold, the one that stands first here is told."""

#: The reasons for which the critic is not asked.
SPARED: Final[tuple[GateReason, ...]] = ("trivial_acknowledgment", "confident")


@dataclass(frozen=True)
class GateDecision:
    """What the gate decided about one draft.

    ``confidence`` 0..1 and ``sensitive_tag`` are read off the turn's activation; ``threshold`` is what the
    confidence was held against; ``findings`` counts the fabrication findings that force a revision.
    """

    fires: bool
    confidence: float
    reason: GateReason
    sensitive_tag: str | None = None
    threshold: float = DEFAULT_THRESHOLD
    findings: int = 0

    @property
    def forces_revise(self) -> bool:
        """Whether fabrication mode ``revise`` rules out that the draft is approved."""
        return self.findings > 0

    @property
    def detail(self) -> str:
        """Every fact that spoke for the decision, in sentences; nothing of the draft is quoted."""
        match self.reason:
            case "gate_failed":
                return "The gate could not read this turn, so the critic is asked."
            case "trivial_acknowledgment":
                return "A trivial acknowledgment, which the selective gate spares the critic."
            case "not_trivial":
                return "The selective gate is on and this is no trivial acknowledgment."
            case "confident":
                return f"{self._compared('reaches')} No sensitive tag was recalled."
        said = []
        if self.findings:
            counted = "1 finding" if self.findings == 1 else f"{self.findings} findings"
            said.append(f"Fabrication mode revise with {counted}.")
        if self.sensitive_tag is not None:
            said.append(f"The sensitive tag {self.sensitive_tag} was recalled.")
        if self.confidence < self.threshold:
            said.append(self._compared("is below"))
        return " ".join(said)

    def _compared(self, verb: str) -> str:
        shown = [f"{number:.2f}" for number in (self.confidence, self.threshold)]
        if shown[0] == shown[1] and self.confidence != self.threshold:
            shown = [repr(self.confidence), repr(self.threshold)]
        return f"Confidence {shown[0]} {verb} {shown[1]}."


def decide_gate(
    draft: str,
    activation: object,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    tags: Collection[str] = frozenset(),
    fabrication_mode: str = "off",
    findings: Sequence[FabricationFinding] = (),
    selective: bool = False,
    tool_calls: Iterable[Mapping[str, Any]] | None = (),
    read_only_tools: Collection[str] = frozenset(),
    intent: IntentVerdict | None = None,
    patterns: Iterable[Pattern] = (),
) -> GateDecision:
    """Decide about one draft. Never raises: a turn that cannot be read is one for the critic.

    ``activation`` as ``reviews.core.confidence`` reads it; ``tags`` are all sensitive ones, the preferences'
    among them. With ``selective`` the confidence decides nothing: every draft is for the critic but a trivial
    acknowledgment, for which ``tool_calls`` to ``patterns`` are read (see ``reviews.core.acknowledgments``).
    """
    confidence, hit, forcing = NEUTRAL_CONFIDENCE, None, 0
    try:
        confidence = activation_confidence(activation)
        hit = sensitive_hit(activation, tags)
        forcing = len(findings) if fabrication_mode == "revise" else 0
        trivial = selective and is_trivial_acknowledgment(
            draft,
            sensitive_hit=hit,
            findings=findings,
            tool_calls=tool_calls,
            read_only_tools=read_only_tools,
            intent=intent,
            patterns=patterns,
        )
        reason: GateReason
        if forcing:
            reason = "fabrication_revise"
        elif hit is not None:
            reason = "sensitive_tag"
        elif trivial:
            reason = "trivial_acknowledgment"
        elif confidence < threshold:
            reason = "low_confidence"
        else:
            reason = "not_trivial" if selective else "confident"
    except Exception:  # whatever came with the turn: in doubt the critic is asked
        reason = "gate_failed"
    fires = reason not in SPARED
    return GateDecision(fires, confidence, reason, hit, threshold, forcing)
