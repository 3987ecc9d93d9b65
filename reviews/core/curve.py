"""What every overall threshold would refuse, and which one to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from reviews.core.estimates import FEWEST_FOR_PRECISION, NotEnough
from reviews.core.labelled import Evidence
from reviews.core.profiles import UNIT
from reviews.core.statistics import wilson_interval
from reviews.core.thresholds import Thresholds

__all__ = ["NotReached", "Point", "Suggested", "curve", "suggest"]

#: More than any threshold: refused in any case.
ALWAYS: Final = UNIT + 1


class Point(NamedTuple):
    """What is refused with an overall threshold of so many thousandths.

    ``refused`` turns, of which reviewers labelled ``fabricated`` and ``false_alarms``; ``precision`` the
    share of the former, with its lower end at 95 % (Wilson), both None without labels; ``caught`` the share
    of all flagged turns known to be fabricated that are refused, None if there are none.
    """

    threshold: int
    refused: int
    fabricated: int
    false_alarms: int
    precision: float | None
    precision_low: float | None
    caught: float | None


def curve(evidence: Evidence, thresholds: Thresholds) -> list[Point]:
    """A point for 0, 1000 and every overall threshold above which fewer turns are refused, lowest first.

    As if in mode ``refuse``, with the thresholds of single kinds left as they are. What holds at a point
    holds for every threshold down to the point before it. One pass over the profiles, and a sort of at most
    1001 confidences.
    """
    at = _by_decisive_confidence(evidence, thresholds)
    known = sum(counts.fabricated for counts in evidence.counts)
    refused, fabricated, false_alarms = at.pop(ALWAYS, (0, 0, 0))
    points = []
    for threshold in sorted({0, UNIT, *at}, reverse=True):
        turns, right, wrong = at.get(threshold, (0, 0, 0))
        refused, fabricated, false_alarms = refused + turns, fabricated + right, false_alarms + wrong
        points.append(_point(threshold, refused, fabricated, false_alarms, known))
    points.reverse()
    return points


@dataclass(frozen=True)
class Suggested:
    """The point with the lowest threshold that is precise enough."""

    point: Point


@dataclass(frozen=True)
class NotReached:
    """No threshold is precise enough; ``best`` is the lowest of those with the highest lower end."""

    best: Point


def suggest(points: Sequence[Point], target: float) -> Suggested | NotReached | NotEnough:
    """The lowest threshold at which the precision's lower end reaches ``target`` (0 to 1).

    Only points with ``FEWEST_FOR_PRECISION`` labels count; not enough if there are none. The lower end holds
    for a threshold chosen beforehand: the best of many flatters itself a little, so watch what it does.
    """
    labels = [(point, point.fabricated + point.false_alarms) for point in points]
    told = [(point, point.precision_low) for point, n in labels if n >= FEWEST_FOR_PRECISION]
    candidates = [(point, low) for point, low in told if low is not None]
    if not candidates:
        return NotEnough(max((n for _, n in labels), default=0), FEWEST_FOR_PRECISION, "refused")
    enough = [point for point, low in candidates if low >= target]
    if enough:
        return Suggested(min(enough, key=lambda point: point.threshold))
    best, _ = max(candidates, key=lambda pair: (pair[1], -pair[0].threshold))
    return NotReached(best)


def _by_decisive_confidence(evidence: Evidence, thresholds: Thresholds) -> dict[int, tuple[int, int, int]]:
    """The highest overall threshold that refuses, or ``ALWAYS``: such turns, fabricated, false alarms."""
    sums: dict[int, tuple[int, int, int]] = {}
    scored = evidence.scored(thresholds.calibration)
    by_kind = thresholds.by_kind
    decisive = [_decisive(found, by_kind) for found in scored.by_kind] if by_kind else scored.strongest
    for threshold, turns, counts in zip(decisive, evidence.turns, evidence.counts, strict=True):
        if threshold is not None:
            so_far, right, wrong = sums.get(threshold, (0, 0, 0))
            sums[threshold] = (so_far + turns, right + counts.fabricated, wrong + counts.false_alarms)
    return sums


def _decisive(strongest: Mapping[str, int], by_kind: Mapping[str, int]) -> int | None:
    """None: no overall threshold refuses the turn, its kinds have their own and are below them."""
    best: int | None = None
    for kind, confidence in strongest.items():
        threshold = by_kind.get(kind)
        if threshold is None:
            if best is None or confidence > best:
                best = confidence
        elif confidence >= threshold:
            return ALWAYS
    return best


def _point(threshold: int, refused: int, fabricated: int, false_alarms: int, known: int) -> Point:
    labelled = fabricated + false_alarms
    return Point(
        threshold,
        refused,
        fabricated,
        false_alarms,
        precision=fabricated / labelled if labelled else None,
        precision_low=wilson_interval(fabricated, labelled).low if labelled else None,
        caught=fabricated / known if known else None,
    )
