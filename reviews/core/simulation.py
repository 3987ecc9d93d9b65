"""What a policy's thresholds would have done to the turns of a window.

Everything is counted in turns: a refused turn was rightly refused when the reviewers' verdict on it is
fabricated, wrongly when it is a false alarm; unsure counts as neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reviews.core.estimates import Estimate, NotEnough, precision_of
from reviews.core.labelled import Evidence
from reviews.core.outcome import FabricationMode
from reviews.core.recall import Flagged, Stratum, recall_of
from reviews.core.thresholds import Thresholds

__all__ = ["Actions", "Effect", "Flip", "Totals", "flips", "simulate"]


@dataclass(frozen=True)
class Totals:
    """All turns of the window, those with a finding among them, and the window's length in days.

    Raises:
        ValueError: more flagged turns than turns, a negative count, or no time.
    """

    turns: int
    flagged: int
    days: float

    def __post_init__(self) -> None:
        if not 0 <= self.flagged <= self.turns:
            raise ValueError(f"{self.flagged} of {self.turns} turns flagged cannot be")
        if not self.days > 0:
            raise ValueError(f"a window of {self.days!r} days cannot be")


class Actions(NamedTuple):
    """Turns by what is done to their draft; mode ``off`` does none of it."""

    refused: int = 0
    revised: int = 0
    observed: int = 0


@dataclass(frozen=True)
class Effect:
    """What a policy does.

    Attributes:
        actions: Turns in all.
        by_kind: The same for each kind of claim, sorted; a turn counts for every kind it has a claim of.
        refused_per_day: Refused turns per day of the window.
        fabricated: Refused turns that reviewers found fabricated.
        false_alarms: Refused turns that reviewers found to be false alarms.
        precision: The share of refused turns that are fabricated.
        recall: The share of fabricated turns that are refused, unflagged turns included.
    """

    actions: Actions
    by_kind: Mapping[str, Actions]
    refused_per_day: float
    fabricated: int
    false_alarms: int
    precision: Estimate | NotEnough
    recall: Estimate | NotEnough


def simulate(
    evidence: Evidence, thresholds: Thresholds, totals: Totals, strata: Sequence[Stratum] = ()
) -> Effect:
    """Apply ``thresholds`` to every turn; ``strata`` are the audits of unflagged turns in the window.

    Raises:
        ValueError: ``evidence`` does not hold as many turns as ``totals`` says are flagged.
    """
    flagged = sum(evidence.turns)
    if flagged != totals.flagged:
        raise ValueError(f"{totals.flagged} turns are flagged, but the rows add up to {flagged}")
    refused, refused_by_kind = _refused(evidence, thresholds)
    actions = _actions(thresholds.mode, flagged, refused.turns)
    let_through = Flagged(
        flagged - refused.turns,
        sum(counts.fabricated for counts in evidence.counts) - refused.fabricated,
        sum(counts.false_alarms for counts in evidence.counts) - refused.false_alarms,
    )
    return Effect(
        actions=actions,
        by_kind={
            kind: _actions(thresholds.mode, turns, refused_by_kind.get(kind, 0))
            for kind, turns in sorted(evidence.turns_by_kind.items())
        },
        refused_per_day=refused.turns / totals.days,
        fabricated=refused.fabricated,
        false_alarms=refused.false_alarms,
        precision=precision_of(refused.fabricated, refused.false_alarms),
        recall=recall_of(
            refused=refused, let_through=let_through, unflagged=totals.turns - flagged, audits=strata
        ),
    )


def _refused(evidence: Evidence, thresholds: Thresholds) -> tuple[Flagged, Mapping[str, int]]:
    """The refused turns, and how many there are by kind."""
    turns = fabricated = false_alarms = 0
    by_kind: dict[str, int] = {}
    if thresholds.mode == "refuse":
        scored = evidence.scored(thresholds.calibration)
        rows = zip(scored.margins(thresholds), scored.by_kind, evidence.turns, evidence.counts, strict=True)
        for margin, kinds, size, counts in rows:
            if margin >= 0:
                turns += size
                fabricated += counts.fabricated
                false_alarms += counts.false_alarms
                for kind in kinds:
                    by_kind[kind] = by_kind.get(kind, 0) + size
    return Flagged(turns, fabricated, false_alarms), by_kind


def _actions(mode: FabricationMode, turns: int, refused: int) -> Actions:
    if mode == "off":
        return Actions()
    if mode == "revise":
        return Actions(revised=turns)
    return Actions(refused=refused, observed=turns - refused)


class Flip(NamedTuple):
    """The turns of a profile that one policy refuses and the other does not.

    ``refused_now``: the current one refuses them, so the candidate would let them through; ``distance``: so
    many thousandths they are from the candidate's threshold (0: just refused). A candidate that refuses
    nothing, because of its mode, has no threshold to be near; the distance is to the current one's then.
    """

    profile_id: int
    refused_now: bool
    distance: int
    turns: int


def flips(evidence: Evidence, current: Thresholds, candidate: Thresholds) -> list[Flip]:
    """Profiles whose turns change between refused and not refused, closest to the threshold first.

    Those are the doubtful ones, worth a look. Equally close ones come with the most turns first.
    """
    now = evidence.scored(current.calibration).margins(current)
    then = evidence.scored(candidate.calibration).margins(candidate)
    refuses_now, refuses_then = current.mode == "refuse", candidate.mode == "refuse"
    found = []
    for profile_id, turns, before, after in zip(evidence.profile_ids, evidence.turns, now, then, strict=True):
        refused_now = refuses_now and before >= 0
        if refused_now != (refuses_then and after >= 0):
            distance = abs(after if refuses_then else before)
            found.append(Flip(profile_id, refused_now, distance, turns))
    found.sort(key=lambda flip: (flip.distance, -flip.turns, flip.profile_id))
    return found
