"""How often findings turn out fabricated, learned from reviewers' labels: a confidence that can be believed.

The model is a chain of conjugate Beta-binomial updates (Gelman et al., "Bayesian Data Analysis", 3rd edition,
sections 2.4 and 5.3). The detector's own confidence is the prior mean of a kind's rate; the kind's posterior
mean is the prior mean of each of its groups; the same prior strength at both steps. A group's labels are left
out of its kind's posterior, so that none counts twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NamedTuple

from reviews.core.profiles import Group, thousandths
from reviews.core.statistics import Interval, beta_interval, wilson_interval

__all__ = [
    "CalibrationTable",
    "LabelledClaim",
    "Quality",
    "ReliabilityBin",
    "Tally",
    "evaluate",
    "fit",
]

#: What the detector's own confidence weighs, in pseudo-labels. A prior of 0.8 then leaves true rates of 0.48
#: to 0.98 plausible (95 %), about what a rule of thumb measured on nobody's agents deserves; five labels that
#: all say otherwise bring it under one half, and one alone cannot.
PRIOR_STRENGTH: Final = 8.0
#: A raw confidence is known in whole thousandths, so 0 and 1 mean "within half of one": a prior that is
#: certain could never learn. Only the interval needs it.
NEAREST_TO_CERTAIN: Final = 0.0005
#: Labels are split by time: this share, the earliest, to learn from.
TRAIN_SHARE: Final = 0.7
#: With fewer labels on either side a Brier score says nothing: its standard error exceeds 0.05 even when each
#: squared error deviates by no more than 0.25 (0.25 / sqrt(25)).
FEWEST_LABELS: Final = 25
#: Bins of equal width for the reliability diagram, as usual since DeGroot and Fienberg, "The comparison and
#: evaluation of forecasters", The Statistician 32 (1983), 12-22.
BINS: Final = 10


class Tally(NamedTuple):
    """Labels given so far."""

    fabricated: int
    false_alarms: int


class LabelledClaim(NamedTuple):
    """A finding a reviewer has judged. ``raw`` is the detector's confidence, 0 to 1; ``at`` epoch seconds."""

    group: Group
    raw: float
    fabricated: bool
    at: float


class ReliabilityBin(NamedTuple):
    """Findings predicted alike: what was predicted on average, and the share that was fabricated."""

    predicted: float
    observed: float
    n: int
    interval: Interval


@dataclass(frozen=True)
class Quality:
    """Confidences against labels given later. Brier: mean squared error, 0 is perfect, lower is better."""

    n_train: int
    n_test: int
    brier_raw: float
    brier_calibrated: float
    bins_raw: tuple[ReliabilityBin, ...]
    bins_calibrated: tuple[ReliabilityBin, ...]


# The posterior mean is base + weight * raw.
_Line = tuple[float, float]


@dataclass(frozen=True)
class CalibrationTable:
    """Label counts of one tenant. ``kinds`` hold the labels of all their groups.

    Raises:
        ValueError: a group has more labels than its kind.
    """

    kinds: Mapping[str, Tally]
    groups: Mapping[Group, Tally]
    _kind_lines: dict[str, _Line] = field(init=False, repr=False, compare=False)
    _group_lines: dict[Group, _Line] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Worked out once: ``confidence`` runs for every finding.
        kind_lines = {kind: _updated((0.0, 1.0), tally) for kind, tally in self.kinds.items()}
        group_lines = {
            group: _updated(_updated((0.0, 1.0), self._others(group)), tally)
            for group, tally in self.groups.items()
        }
        object.__setattr__(self, "_kind_lines", kind_lines)
        object.__setattr__(self, "_group_lines", group_lines)

    def confidence(self, group: Group, raw: float) -> float:
        """The probability that such a finding is fabricated, to three decimals; ``raw`` without any label.

        ``raw`` is the detector's confidence, 0 to 1; it counts in whole thousandths, rounded down.
        """
        line = self._group_lines.get(group) or self._kind_lines.get(group.kind)
        known = thousandths(raw) / 1000
        return known if line is None else round(line[0] + line[1] * known, 3)

    def interval(self, group: Group, raw: float) -> Interval:
        """Holds the rate of the group with a probability of 95 %, leaving equal tails.

        The kind's posterior mean is taken as known, an empirical Bayes shortcut. If the scatter of the prior
        is shared out evenly between kinds and the groups of a kind, simulated coverage is 95 % for a lone
        group, 91 to 93 % where the kind is known from one thin group, 98 to 99 % under a well-known kind.
        """
        known = min(1 - NEAREST_TO_CERTAIN, max(NEAREST_TO_CERTAIN, thousandths(raw) / 1000))
        base, weight = _updated((0.0, 1.0), self._others(group))
        mean = base + weight * known
        fabricated, false_alarms = self.groups.get(group, _NONE)
        return beta_interval(fabricated + PRIOR_STRENGTH * mean, false_alarms + PRIOR_STRENGTH * (1 - mean))

    def to_json(self) -> dict[str, Any]:
        return {
            "kinds": {kind: list(tally) for kind, tally in sorted(self.kinds.items())},
            "groups": [[list(group), list(tally)] for group, tally in sorted(self.groups.items())],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> CalibrationTable:
        return cls(
            {kind: Tally(*tally) for kind, tally in content["kinds"].items()},
            {Group(*group): Tally(*tally) for group, tally in content["groups"]},
        )

    def _others(self, group: Group) -> Tally:
        """The labels of the group's kind outside the group."""
        kind, own = self.kinds.get(group.kind, _NONE), self.groups.get(group, _NONE)
        others = Tally(kind.fabricated - own.fabricated, kind.false_alarms - own.false_alarms)
        if min(others) < 0:
            raise ValueError(f"a group of {group.kind} has more labels than its kind")
        return others


_NONE: Final = Tally(0, 0)


def _updated(prior: _Line, tally: Tally) -> _Line:
    """The posterior mean after ``tally``, when the prior mean is that line of raw."""
    total = PRIOR_STRENGTH + tally.fabricated + tally.false_alarms
    return (PRIOR_STRENGTH * prior[0] + tally.fabricated) / total, PRIOR_STRENGTH * prior[1] / total


def fit(labels: Iterable[LabelledClaim]) -> CalibrationTable:
    """The table of these labels, in whatever order."""
    kinds: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    groups: defaultdict[Group, list[int]] = defaultdict(lambda: [0, 0])
    for group, _, fabricated, _ in labels:
        column = 0 if fabricated else 1
        kinds[group.kind][column] += 1
        groups[group][column] += 1
    return CalibrationTable(
        {kind: Tally(*counts) for kind, counts in kinds.items()},
        {group: Tally(*counts) for group, counts in groups.items()},
    )


def evaluate(labels: Sequence[LabelledClaim]) -> Quality | None:
    """How well a table of the earlier labels predicts the later ones; None with too few of either.

    Labels given at the same moment are never torn apart: with the first later one, all go to the later part.
    """
    ordered = sorted(labels, key=attrgetter("at"))
    if len(ordered) < 2 * FEWEST_LABELS:
        return None
    start = ordered[int(len(ordered) * TRAIN_SHARE)].at
    earlier = [label for label in ordered if label.at < start]
    later = ordered[len(earlier) :]
    if min(len(earlier), len(later)) < FEWEST_LABELS:
        return None
    table = fit(earlier)
    raw = [(thousandths(label.raw) / 1000, label.fabricated) for label in later]
    calibrated = [(table.confidence(label.group, label.raw), label.fabricated) for label in later]
    return Quality(len(earlier), len(later), _brier(raw), _brier(calibrated), _bins(raw), _bins(calibrated))


_Judged = Sequence[tuple[float, bool]]  # prediction, and whether the finding was fabricated


def _brier(judged: _Judged) -> float:
    """G. W. Brier, "Verification of forecasts expressed in terms of probability", 1950, for two outcomes."""
    return sum((predicted - fabricated) ** 2 for predicted, fabricated in judged) / len(judged)


def _bins(judged: _Judged) -> tuple[ReliabilityBin, ...]:
    """Bins from 0 upwards, empty ones left out; 1.0 belongs to the last."""
    bins: defaultdict[int, list[tuple[float, bool]]] = defaultdict(list)
    for pair in judged:
        # In thousandths, since 0.7 * 10 falls short of 7 for some floats.
        bins[min(BINS - 1, thousandths(pair[0]) * BINS // 1000)].append(pair)
    found = []
    for _, pairs in sorted(bins.items()):
        n, fabricated = len(pairs), sum(truth for _, truth in pairs)
        mean = sum(predicted for predicted, _ in pairs) / n
        found.append(ReliabilityBin(mean, fabricated / n, n, wilson_interval(fabricated, n)))
    return tuple(found)
