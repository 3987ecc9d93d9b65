"""Random windows of turns and policies, and what a policy does to them, counted turn by turn.

The counting knows nothing of profiles or thousandths: it asks the policy step of the runtime about the
findings of every turn, with confidences and thresholds as they are.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from functools import cached_property
from math import nextafter

from hypothesis import strategies as st

from reviews.core.fabrication import FabricationFinding
from reviews.core.labelled import Evidence, Row
from reviews.core.outcome import apply_fabrication_policy
from reviews.core.profiles import Group, Profile, profile_of, subject_of, thousandths, tools_of
from reviews.core.simulation import Totals
from reviews.core.thresholds import Thresholds

KINDS = ["verb_claim", "uuid", "kv", "short_hex_near_key"]
MODES = ["off", "observe", "revise", "refuse"]
VERDICTS = ["", "fabricated", "false_alarm", "unsure"]


@dataclass(frozen=True)
class Learned:
    """A calibration without rhyme or reason, but always the same one for a seed."""

    seed: int

    def confidence(self, group: Group, raw: float) -> float:
        return random.Random(f"{self.seed} {group} {thousandths(raw)}").randrange(1001) / 1000


@dataclass(frozen=True)
class Policy:
    """Thresholds as floats."""

    mode: str
    overall: float
    by_kind: Mapping[str, float]
    calibration: Learned | None

    @property
    def thresholds(self) -> Thresholds:
        return Thresholds.from_floats(
            mode=self.mode, overall=self.overall, by_kind=self.by_kind, calibration=self.calibration
        )


@dataclass(frozen=True)
class Turn:
    """A flagged turn."""

    findings: tuple[FabricationFinding, ...]
    tools: tuple[str, ...] | None
    verdict: str

    @property
    def kinds(self) -> set[str]:
        return {finding.kind for finding in self.findings}

    @property
    def profile(self) -> Profile:
        return profile_of(self.findings, self.tools)

    def read(self, policy: Policy) -> list[FabricationFinding]:
        """The findings with the confidences that the policy's thresholds compare."""
        if policy.calibration is None:
            return list(self.findings)
        return [
            replace(f, confidence=found) for f, found in zip(self.findings, self.fitted(policy), strict=True)
        ]

    def fitted(self, policy: Policy) -> list[float]:
        """The findings' calibrated confidences; none without a calibration."""
        tools, table = tools_of(self.tools), policy.calibration
        if table is None:
            return []
        return [table.confidence(Group(f.kind, subject_of(f), tools), f.confidence) for f in self.findings]

    def action(self, policy: Policy) -> str:
        return apply_fabrication_policy(
            findings=self.findings,
            mode=policy.mode,
            refuse_min_confidence=policy.overall,
            refuse_min_confidence_by_kind=policy.by_kind,
            calibrated=self.fitted(policy),
            read_calibrated=policy.calibration is not None,
            draft="I sent it",
        ).action_taken

    def margin(self, policy: Policy) -> int:
        """By decimal arithmetic on the shortest decimal that stands for each confidence."""
        return max(
            int((1000 * Decimal(repr(f.confidence))).to_integral_value(ROUND_FLOOR))
            - int(1000 * Decimal(repr(policy.by_kind.get(f.kind, policy.overall))))
            for f in self.read(policy)
        )


@dataclass(frozen=True)
class Window:
    """Flagged turns, and how many more there were."""

    turns: Sequence[Turn]
    unflagged: int

    @cached_property
    def profiles(self) -> dict[int, Profile]:
        return dict(enumerate(dict.fromkeys(turn.profile for turn in self.turns), start=1))

    @property
    def rows(self) -> list[Row]:
        ids = {profile: n for n, profile in self.profiles.items()}
        counted = Counter((ids[turn.profile], turn.verdict) for turn in self.turns)
        return [Row(n, verdict, turns) for (n, verdict), turns in counted.items()]

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.rows, self.profiles)

    @property
    def totals(self) -> Totals:
        return Totals(len(self.turns) + self.unflagged, len(self.turns), days=7.0)

    def refused(self, policy: Policy) -> list[Turn]:
        return [turn for turn in self.turns if turn.action(policy) == "refuse_replaced"]


def labelled(turns: Sequence[Turn], verdict: str) -> int:
    return sum(turn.verdict == verdict for turn in turns)


@st.composite
def confidences(draw: st.DrawFn) -> float:
    """Thousandths, the floats right beside them, and any other from 0 to 1."""
    near = draw(st.integers(0, 1000)) / 1000
    return draw(
        st.sampled_from([near, nextafter(near, 0.0), min(1.0, nextafter(near, 2.0)), 0.8, 0.95])
        | st.floats(0.0, 1.0)
    )


@st.composite
def findings(draw: st.DrawFn) -> FabricationFinding:
    kind = draw(st.sampled_from(KINDS))
    identifier, key = (
        ("I " + draw(st.sampled_from(["sent", "ran"])), None) if kind == "verb_claim" else ("x", "pid")
    )
    return FabricationFinding(identifier, kind, "medium", "r", key, confidence=draw(confidences()))


turns = st.builds(
    Turn,
    findings=st.lists(findings(), min_size=1, max_size=3).map(tuple),
    tools=st.sampled_from([None, (), ("send",), ("a", "b", "c", "d")]),
    verdict=st.sampled_from(VERDICTS),
)
# Some turns more than once, so that profiles have more than one turn, and of more than one verdict.
windows = st.builds(
    lambda turns, again, unflagged: Window(
        [*turns, *(replace(turns[n % len(turns)], verdict=verdict) for n, verdict in again)], unflagged
    ),
    st.lists(turns, min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from(VERDICTS)), max_size=4),
    st.integers(0, 50),
)


def policies(modes: Sequence[str] = MODES) -> st.SearchStrategy[Policy]:
    # As a policy has them: written with three decimals, not computed.
    thresholds = st.integers(0, 1000).map(lambda n: float(f"{n / 1000:.3f}")) | st.sampled_from([0.8, 0.95])
    return st.builds(
        Policy,
        mode=st.sampled_from(modes),
        overall=thresholds,
        by_kind=st.dictionaries(st.sampled_from([*KINDS, "unheard_of"]), thresholds, max_size=3),
        calibration=st.none() | st.builds(Learned, st.integers(0, 9)),
    )
