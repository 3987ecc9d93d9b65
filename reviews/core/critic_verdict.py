"""The critic's verdict on one draft, as it is recorded here and as a symfonic critic records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Final, Literal, cast, get_args

from reviews.core.critic_gate import GateDecision
from reviews.core.critic_reply import Verdict
from reviews.core.model_failure import FailureCause

__all__ = ["PROVENANCE", "CriticCause", "CriticVerdict", "degraded_verdict", "read_recorded_value"]

PROVENANCE: Final = "critic-reflection-v1"

CriticCause = Literal["", "malformed", "truncated", "no_model", FailureCause]
"""Why a verdict is degraded; "" when it is not."""


@dataclass(frozen=True)
class CriticVerdict:
    """What came of one draft.

    Attributes:
        verdict: Recorded, never applied to the text.
        confidence_before: 0..1, the gate's; None only when it was recorded elsewhere and left out.
        sensitive_tag_hit: The sensitive tag that was recalled; None when the gate did not fire.
        revised_draft: Only with ``revise``; None there too when the verdict was forced and no model gave one.
        refusal_message: Only with ``refuse``.
        matched_preferences: Statements of the preferences that the model names as its reasons.
        reflection_latency_ms: Gate, rules and model together; None as for the confidence.
        degraded: The critic should have judged and could not; the verdict is then no judgement.
        cause: Why it is degraded.
        detail: The same as a sentence, which quotes neither draft nor reply.
        retry_after: Seconds after which another try may do better; None when it would not.
        forced: Fabrication mode ``revise`` stands here in place of an approval.
        rules: The working rules that the model was shown.
        tokens_in: Of the model call; None when not counted.
        tokens_out: Likewise.
        model: Its name, "" when unknown or not asked.
        gate: Why the critic was asked or not; None for a verdict recorded elsewhere.
    """

    provenance: ClassVar[str] = PROVENANCE

    verdict: Verdict
    confidence_before: float | None
    sensitive_tag_hit: str | None = None
    revised_draft: str | None = None
    refusal_message: str | None = None
    matched_preferences: tuple[str, ...] = ()
    reflection_latency_ms: float | None = 0.0
    degraded: bool = False
    cause: CriticCause = ""
    detail: str = ""
    retry_after: float | None = None
    forced: bool = False
    rules: tuple[str, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str = ""
    gate: GateDecision | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The verdict as the stage's counter."""
        return {self.verdict: 1}

    def recorded_value(self) -> dict[str, Any]:
        """The value that a symfonic critic would have recorded, as JSON values."""
        return {
            "verdict": self.verdict,
            "confidence_before": self.confidence_before,
            "sensitive_tag_hit": self.sensitive_tag_hit,
            "revised_draft": self.revised_draft,
            "refusal_message": self.refusal_message,
            "matched_preferences": list(self.matched_preferences),
            "reflection_latency_ms": self.reflection_latency_ms,
        }


def degraded_verdict(
    gate: GateDecision,
    cause: CriticCause,
    detail: str,
    *,
    latency_ms: float = 0.0,
    retry_after: float | None = None,
    rules: tuple[str, ...] = (),
    tokens_in: int | None = None,
    tokens_out: int | None = None,
    model: str = "",
) -> CriticVerdict:
    """The verdict on a draft that the critic was to judge and did not.

    It approves, as the contract says, unless findings force a revision.
    """
    return CriticVerdict(
        verdict="revise" if gate.forces_revise else "approve",
        confidence_before=gate.confidence,
        sensitive_tag_hit=gate.sensitive_tag,
        reflection_latency_ms=latency_ms,
        degraded=True,
        cause=cause,
        detail=detail,
        retry_after=retry_after,
        forced=gate.forces_revise,
        rules=rules,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        model=model,
        gate=gate,
    )


# Of a recorded value, of its envelope, and of symfonic's ReflectionEvent.
_KNOWN: Final = frozenset(
    {
        *("verdict", "confidence_before", "sensitive_tag_hit", "revised_draft", "refusal_message"),
        *("matched_preferences", "reflection_latency_ms", "provenance", "counts"),
        *("run_id", "original_draft", "reflection_tokens_in", "reflection_tokens_out"),
    }
)


def read_recorded_value(value: Mapping[str, Any]) -> CriticVerdict:
    """A verdict recorded elsewhere: a symfonic critic's value, or its ``ReflectionEvent`` as a mapping.

    Only ``verdict`` must be there. ``run_id``, ``original_draft``, ``provenance`` and ``counts`` are not read
    here; they tell which turn it belongs to and where it came from.

    Raises:
        ValueError: what is wrong, the field's name first.
    """
    if not isinstance(value, Mapping):
        raise ValueError("the recorded value: must be an object")
    for name in value:
        if name not in _KNOWN:
            raise ValueError(f"{name}: a recorded verdict has no such field")
    verdict = value.get("verdict")
    if verdict not in get_args(Verdict):
        raise ValueError("verdict: must be approve, revise or refuse")
    revised, message = _text(value, "revised_draft"), _text(value, "refusal_message")
    if revised is not None and verdict != "revise":
        raise ValueError("revised_draft: only a verdict revise has one")
    if message is not None and verdict != "refuse":
        raise ValueError("refusal_message: only a verdict refuse has one")
    return CriticVerdict(
        verdict=cast(Verdict, verdict),
        confidence_before=_number(value, "confidence_before", most=1.0),
        sensitive_tag_hit=_text(value, "sensitive_tag_hit"),
        revised_draft=revised,
        refusal_message=message,
        matched_preferences=_texts(value, "matched_preferences"),
        reflection_latency_ms=_number(value, "reflection_latency_ms"),
        tokens_in=_count(value, "reflection_tokens_in"),
        tokens_out=_count(value, "reflection_tokens_out"),
    )


def _text(value: Mapping[str, Any], name: str) -> str | None:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{name}: must be a text or null")
    return found


def _texts(value: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = value.get(name)
    if found is None:
        return ()
    if not isinstance(found, list | tuple) or not all(isinstance(item, str) for item in found):
        raise ValueError(f"{name}: must be a list of texts")
    return tuple(found)


def _number(value: Mapping[str, Any], name: str, *, most: float | None = None) -> float | None:
    found = value.get(name)
    if found is None:
        return None
    usable = isinstance(found, int | float) and not isinstance(found, bool) and found >= 0
    if not usable or found > (most or _LARGEST) or not isfinite(found):
        raise ValueError(f"{name}: must be a number from 0 {f'to {most:g}' if most else 'on'}")
    return float(found)


def _count(value: Mapping[str, Any], name: str) -> int | None:
    found = value.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _LARGEST:
        raise ValueError(f"{name}: must be a whole number from 0 on")
    return found


#: What a database's integer column of eight bytes holds, far beyond any time or count.
_LARGEST: Final = 2**63 - 1
