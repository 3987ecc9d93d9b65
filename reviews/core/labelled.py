"""The turns of a window, counted by profile and reviewers' verdict: what thresholds are tried out on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

from reviews.core.profiles import Claim, Profile
from reviews.core.thresholds import Calibrated, Thresholds, margin_at, strengths

__all__ = ["Counts", "Evidence", "Row", "Scored", "Verdict"]

#: The reviewers' verdict on a turn; "" as long as there is none.
Verdict = Literal["", "fabricated", "false_alarm", "unsure"]


class Row(NamedTuple):
    """So many flagged turns have this profile and this verdict. Rows of a profile and verdict add up."""

    profile_id: int
    verdict: str
    turns: int


class Counts(NamedTuple):
    """Turns by verdict."""

    fabricated: int
    false_alarms: int
    unsure: int
    unlabelled: int


#: Where a verdict stands in ``Counts``.
PLACE: Final[Mapping[str, int]] = {"fabricated": 0, "false_alarm": 1, "unsure": 2, "": 3}


@dataclass(frozen=True)
class Scored:
    """How confident a window's claims are, in thousandths; a place in either list is a profile.

    ``by_kind``: the strongest claim of each kind; ``strongest``: the strongest of all.
    """

    by_kind: Sequence[Mapping[str, int]]
    strongest: Sequence[int]

    def margins(self, thresholds: Thresholds) -> list[int]:
        """``reviews.core.thresholds.margin`` of each profile."""
        if not thresholds.by_kind:
            overall = thresholds.overall
            return [found - overall for found in self.strongest]
        return [margin_at(found, thresholds) for found in self.by_kind]


class Evidence:
    """A window's flagged turns. Confidences are worked out once per calibration and kept.

    Attributes:
        profile_ids: The profiles that occur; the lists that follow, and those of ``scored``, run along it.
        counts: Their turns by verdict.
        turns: Their turns.
        turns_by_kind: In all, for each kind of claim; a turn counts for every kind it has a claim of.

    Raises:
        ValueError: a row has an unknown verdict, a negative count, or a profile that has no claims or is
            missing in ``profiles``.
    """

    def __init__(self, rows: Iterable[Row], profiles: Mapping[int, Profile]) -> None:
        added_up = _added_up(rows)
        self.profile_ids: Sequence[int] = list(added_up)
        self.counts: Sequence[Counts] = [Counts(*found) for found in added_up.values()]
        self.turns: Sequence[int] = [sum(found) for found in added_up.values()]
        self._profiles: list[Profile] = []
        for profile_id in added_up:
            profile = profiles.get(profile_id)
            if profile is None or not profile.claims:
                raise ValueError(f"profile {profile_id} is not known or has no claims")
            self._profiles.append(profile)
        # Looked through one by one: a calibration need not be hashable, and there are hardly more than two.
        self._scored: list[tuple[Calibrated | None, Scored]] = []

    @cached_property
    def turns_by_kind(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for by_kind, turns in zip(self.scored(None).by_kind, self.turns, strict=True):
            for kind in by_kind:
                found[kind] = found.get(kind, 0) + turns
        return found

    def scored(self, calibration: Calibrated | None) -> Scored:
        """The confidences as ``calibration`` has them; None: as the detector gave them."""
        for known, scored in self._scored:
            if known is calibration:
                return scored
        answers: dict[str, dict[Claim, int]] = {profile.tools: {} for profile in self._profiles}
        by_kind = [strengths(profile, calibration, answers[profile.tools]) for profile in self._profiles]
        scored = Scored(by_kind, [max(found.values()) for found in by_kind])
        self._scored.append((calibration, scored))
        return scored


def _added_up(rows: Iterable[Row]) -> dict[int, list[int]]:
    sums: dict[int, list[int]] = {}
    for profile_id, verdict, turns in rows:
        place = PLACE.get(verdict)
        if place is None:
            raise ValueError(f"verdict must be fabricated, false_alarm, unsure or empty, not {verdict!r}")
        if turns < 0:
            raise ValueError(f"{turns} turns of profile {profile_id} cannot be")
        if turns:
            found = sums.get(profile_id)
            if found is None:
                found = sums[profile_id] = [0, 0, 0, 0]
            found[place] += turns
    return sums
