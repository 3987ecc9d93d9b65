"""How far two raters of the same things agree: counts by both words, Cohen's kappa, precision and recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal

from reviews.core.estimates import Estimate
from reviews.core.statistics import Z_95, wilson_interval

__all__ = [
    "FEWEST_RATED",
    "Among",
    "Confusion",
    "Kappa",
    "TooFew",
    "kappa_of",
    "precision_for",
    "recall_for",
]

#: With fewer pairs an interval is so wide that the number would only mislead.
FEWEST_RATED: Final = 20

#: Where there are too few: among all pairs; among those to which the first rater gave the label ("said"), or
#: the second did ("wanted"); or there are pairs enough, but all in one and the same category.
Among = Literal["rated", "said", "wanted", "categories"]


@dataclass(frozen=True)
class TooFew:
    """There are ``found`` of what a number needs ``needed`` of."""

    found: int
    needed: int
    among: Among


@dataclass(frozen=True)
class Kappa:
    """Agreement beyond chance with its two-sided 95 % interval: -1 <= low <= value <= high <= 1.

    1 is perfect, 0 what chance would bring, below 0 worse than chance.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Confusion:
    """How often the first rater said ``labels[row]`` where the second said ``labels[column]``."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        size = len(self.labels)
        if len(set(self.labels)) != size:
            raise ValueError("each label may stand here once")
        if len(self.counts) != size or any(len(row) != size for row in self.counts):
            raise ValueError(f"{size} labels need {size} rows of {size} counts")
        if any(count < 0 for row in self.counts for count in row):
            raise ValueError("a count cannot be negative")

    @classmethod
    def from_pairs(cls, labels: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Confusion:
        """Count pairs of what the first rater said and what the second did.

        Raises:
            ValueError: a pair has a word that is not among the labels.
        """
        counted = Counter(pairs)
        strange = {word for pair in counted for word in pair} - set(labels)
        if strange:
            raise ValueError(f"not among the labels: {', '.join(sorted(strange))}")
        return cls(tuple(labels), tuple(tuple(counted[row, column] for column in labels) for row in labels))

    def merged(self, names: Mapping[str, str]) -> Confusion:
        """The same pairs with coarser labels: ``names`` maps every label to the one that takes it in."""
        labels = tuple(dict.fromkeys(names[label] for label in self.labels))
        counted: Counter[tuple[str, str]] = Counter()
        for row, line in zip(self.labels, self.counts, strict=True):
            for column, count in zip(self.labels, line, strict=True):
                counted[names[row], names[column]] += count
        return Confusion(labels, tuple(tuple(counted[r, c] for c in labels) for r in labels))

    def of(self, first: str, second: str) -> int:
        """How many pairs are these two words. Raises ValueError for a word that is no label."""
        return self.counts[self.labels.index(first)][self.labels.index(second)]

    @property
    def rated(self) -> int:
        return sum(self.first_totals)

    @property
    def agreed(self) -> int:
        return sum(line[n] for n, line in enumerate(self.counts))

    @property
    def first_totals(self) -> tuple[int, ...]:
        """How often the first rater said each label."""
        return tuple(sum(line) for line in self.counts)

    @property
    def second_totals(self) -> tuple[int, ...]:
        """How often the second rater said each label."""
        return tuple(sum(column) for column in zip(*self.counts, strict=True))


def kappa_of(table: Confusion) -> Kappa | TooFew:
    """Cohen's kappa, unweighted, with its asymptotic interval.

    Jacob Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20
    (1960), 37-46; the variance is that of Joseph L. Fleiss, Jacob Cohen and B. S. Everitt, "Large sample
    standard errors of kappa and weighted kappa", Psychological Bulletin 72 (1969), 323-327. It holds for many
    pairs; at perfect agreement it is 0, and so is the interval's width, however few they are.

    Kappa is undefined when both raters used one and the same category only: chance would bring that too. It
    is low when one category is rare, whatever the share of agreement (Alvan R. Feinstein and Domenic V.
    Cicchetti, "High agreement but low kappa", Journal of Clinical Epidemiology 43 (1990), 543-549), so the
    table belongs beside it.
    """
    n = table.rated
    if n < FEWEST_RATED:
        return TooFew(n, FEWEST_RATED, "rated")
    first, second = table.first_totals, table.second_totals
    by_chance = sum(a * b for a, b in zip(first, second, strict=True))  # times n squared
    if by_chance == n * n:
        return TooFew(1, 2, "categories")
    value = (n * table.agreed - by_chance) / (n * n - by_chance)
    reach = Z_95 * sqrt(_variance(table, value, by_chance / n**2))
    return Kappa(value, max(-1.0, value - reach), min(1.0, value + reach))


def _variance(table: Confusion, kappa: float, by_chance: float) -> float:
    n = table.rated
    first = [total / n for total in table.first_totals]
    second = [total / n for total in table.second_totals]
    on_diagonal = beside = 0.0
    for i, line in enumerate(table.counts):
        for j, count in enumerate(line):
            if i == j:
                on_diagonal += count / n * (1 - (first[i] + second[i]) * (1 - kappa)) ** 2
            else:
                beside += count / n * (second[i] + first[j]) ** 2
    spread = on_diagonal + (1 - kappa) ** 2 * beside - (kappa - by_chance * (1 - kappa)) ** 2
    # Rounding may push it below 0, which it reaches at perfect agreement.
    return max(0.0, spread) / (n * (1 - by_chance) ** 2)


def precision_for(table: Confusion, label: str) -> Estimate | TooFew:
    """Of those the first rater gave this label, the share the second gave it too: Wilson's interval."""
    at = table.labels.index(label)
    return _share(table.counts[at][at], table.first_totals[at], "said")


def recall_for(table: Confusion, label: str) -> Estimate | TooFew:
    """Of those the second rater gave this label, the share the first gave it too: Wilson's interval."""
    at = table.labels.index(label)
    return _share(table.counts[at][at], table.second_totals[at], "wanted")


def _share(both: int, n: int, among: Among) -> Estimate | TooFew:
    if n < FEWEST_RATED:
        return TooFew(n, FEWEST_RATED, among)
    return Estimate(both / n, *wilson_interval(both, n))
