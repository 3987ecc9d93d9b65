"""From a turn's profile to its fate under a policy's thresholds, in whole thousandths.

Decides as ``reviews.core.outcome`` does for the turn's findings: confidences are rounded down to thousandths
and thresholds have no more than three decimals, so comparing whole numbers loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, get_args

from reviews.core.outcome import FabricationAction, FabricationMode
from reviews.core.profiles import UNIT, Claim, Group, Profile, thousandths

__all__ = ["Calibrated", "Thresholds", "action_of", "margin", "margin_at", "strengths"]


class Calibrated(Protocol):
    """Turns a detector's confidence into one learned from labels."""

    def confidence(self, group: Group, raw: float) -> float:
        """0 to 1, always the same for the same arguments; ``raw`` is a whole number of thousandths."""
        ...


@dataclass(frozen=True)
class Thresholds:
    """What a policy does with findings, and from which confidence on.

    Attributes:
        mode: As in ``reviews.core.outcome``.
        overall: Thousandths, 0 to 1000: in mode ``refuse``, a finding of this confidence or more refuses.
        by_kind: Instead of ``overall`` for findings of these kinds.
        calibration: What the thresholds read the confidence through; None: as the detector gave it.

    Raises:
        ValueError: the mode is unknown, or a threshold lies outside 0 to 1000.
    """

    mode: FabricationMode
    overall: int
    by_kind: Mapping[str, int] = field(default_factory=dict)
    calibration: Calibrated | None = None

    def __post_init__(self) -> None:
        if self.mode not in get_args(FabricationMode):
            raise ValueError(f"mode must be off, observe, revise or refuse, not {self.mode!r}")
        for threshold in (self.overall, *self.by_kind.values()):
            if not 0 <= threshold <= UNIT:
                raise ValueError(f"a threshold is 0 to {UNIT} thousandths, not {threshold!r}")

    @classmethod
    def from_floats(
        cls,
        *,
        mode: FabricationMode,
        overall: float,
        by_kind: Mapping[str, float] | None = None,
        calibration: Calibrated | None = None,
    ) -> Thresholds:
        """From thresholds as a policy writes them.

        Raises:
            ValueError: as the class, or a threshold has more than three decimals.
        """
        kinds = {kind: _whole(threshold) for kind, threshold in (by_kind or {}).items()}
        return cls(mode, _whole(overall), kinds, calibration)


def strengths(
    profile: Profile, calibration: Calibrated | None, answers: dict[Claim, int] | None = None
) -> dict[str, int]:
    """For each kind of claim in the turn, the confidence of its strongest one, in thousandths.

    ``answers`` remembers what the calibration said, for the next profile with the same tools.
    """
    found: dict[str, int] = {}
    known = {} if answers is None else answers
    for claim in profile.claims:
        kind, _, confidence = claim
        if calibration is not None:
            answer = known.get(claim)
            if answer is None:
                answer = thousandths(calibration.confidence(profile.group(claim), confidence / UNIT))
                known[claim] = answer
            confidence = answer
        if confidence > found.get(kind, -1):
            found[kind] = confidence
    return found


def margin(profile: Profile, thresholds: Thresholds) -> int:
    """How far the turn's strongest claim lies above its threshold (below: negative), in thousandths.

    In mode ``refuse`` the turn is refused exactly when this is 0 or more. The strongest claim is the one that
    clears its kind's threshold by most. The profile must have a claim.
    """
    return margin_at(strengths(profile, thresholds.calibration), thresholds)


def margin_at(strongest: Mapping[str, int], thresholds: Thresholds) -> int:
    """``margin`` of a turn with these ``strengths``."""
    threshold_of, overall = thresholds.by_kind.get, thresholds.overall
    return max([found - threshold_of(kind, overall) for kind, found in strongest.items()])


def action_of(profile: Profile, thresholds: Thresholds) -> FabricationAction:
    """What happens to a turn's draft; a turn without claims is left alone in every mode."""
    mode = thresholds.mode
    if mode == "off" or not profile.claims:
        return "none"
    if mode == "revise":
        return "revise_forced"
    return "refuse_replaced" if mode == "refuse" and margin(profile, thresholds) >= 0 else "observed"


def _whole(threshold: float) -> int:
    # NaN fails the comparison; a bool is an int to Python, but no threshold.
    if isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise ValueError(f"a threshold is a number from 0 to 1, not {threshold!r}")
    whole = round(threshold * UNIT)
    if whole / UNIT != threshold:
        raise ValueError(f"a threshold has at most three decimals, unlike {threshold!r}")
    return whole
