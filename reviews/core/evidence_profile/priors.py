"""How sure a finding of each kind is before anything else is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from reviews.core.evidence_profile.turn import ClaimKind

__all__ = ["BY_DECREE", "DEFAULT_PRIORS", "FITTED", "Prior", "complete"]

#: What was thought of each kind before any label: the reference profile's value for the kinds it has, and
#: for the new ones its value for what is alike: a shape is nearly as plain as a UUID, an identifier beside a
#: claim as weak as short hex.
BY_DECREE: Final[Mapping[ClaimKind, float]] = {
    "verb_claim": 0.8,
    "uuid": 0.95,
    "short_hex_near_key": 0.6,
    "short_hex_near_verb": 0.6,
    "kv": 0.8,
    "intent_action_no_tool": 0.7,
    "tool_output_shape": 0.9,
    "claimed_identifier": 0.6,
}


class Prior(NamedTuple):
    """A confidence, 0 to 1, and how many labelled findings it rests on."""

    confidence: float
    n: int


#: Fitted by ``benchmarks/fit_priors.py`` on the labelled turns for building: few labels move it a little.
FITTED: Final[Mapping[ClaimKind, Prior]] = {
    "verb_claim": Prior(0.81, 16),
    "uuid": Prior(0.95, 0),
    "short_hex_near_key": Prior(0.60, 0),
    "short_hex_near_verb": Prior(0.68, 2),
    "kv": Prior(0.84, 2),
    "intent_action_no_tool": Prior(0.73, 1),
    "tool_output_shape": Prior(0.96, 13),
    "claimed_identifier": Prior(0.71, 3),
}
DEFAULT_PRIORS: Final[Mapping[ClaimKind, float]] = {kind: prior.confidence for kind, prior in FITTED.items()}


def complete(priors: Mapping[str, float] | None) -> Mapping[ClaimKind, float]:
    """The confidence (0..1) of each kind: from ``priors``, or the default where it has none or no such
    number.
    """
    if not priors:
        return DEFAULT_PRIORS
    return {kind: _checked(priors.get(kind), default) for kind, default in DEFAULT_PRIORS.items()}


def _checked(value: object, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        return default
    return float(value)
