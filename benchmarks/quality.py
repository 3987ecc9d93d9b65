"""How findings of a detector are held against labelled claims, and what is counted.

**Matching.** The same for every detector; kinds need not agree.

- A finding and a label are at one place if one's span lies within the other's, or they share at least half of
  their union: the rule by which two labellers' claims are paired (``docs/labelling.md``).
- A finding is about the one label at its place with which it shares most of the union (then: of the same
  kind, then the first). So a span over several claims finds one of them.
- A labelled fabricated claim that any finding is about is *caught*, once: one true positive. Further findings
  about it, such as those inside a fabricated block, are *repeats*: neither right nor wrong.
- A finding about a labelled grounded claim, or about nothing that is labelled, is a *false alarm*, each for
  itself.
- A finding without a place (``intent_action_no_tool``) speaks of the whole turn and no label does. It is a
  false alarm in a turn without a fabricated claim, and not counted among claims otherwise.

Claim precision is caught / (caught + false alarms), claim recall caught / fabricated. A turn is flagged by
any finding, with or without a place, and rightly so if it holds a fabricated claim. Intervals are Wilson's,
95 %, and take claims as independent; claims of one conversation are not quite.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.labels.claims import Claim, read_rows
from benchmarks.labels.cutting import SOURCES, SourceTurn, read_source
from benchmarks.labels.sample import draft_digest
from reviews.core.evidence_profile import EvidenceReport, EvidenceTurn, detect_evidence
from reviews.core.fabrication import FabricationFinding, detect_fabrication, left_strip_length
from reviews.core.intent import IntentClassifier, IntentVerdict
from reviews.core.settings import TenantSettings
from reviews.core.statistics import wilson_interval
from reviews.formats.record import ToolCall, TurnRecord

__all__ = [
    "DATA",
    "LABELS",
    "PARTS",
    "PROFILES",
    "Found",
    "LabelledTurn",
    "Matching",
    "Score",
    "Share",
    "detect",
    "evidence_report",
    "match",
    "read_labelled",
    "read_turns",
]

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
LABELS = ROOT / "tests" / "data" / "labels.jsonl"
PARTS = ("measure", "build")
PROFILES = ("reference", "evidence")
#: Findings that have no place in the draft.
WHOLE_TURN = frozenset({"intent_action_no_tool"})

_SETTINGS = TenantSettings()
_classifier = IntentClassifier()


# -- Labelled turns


@dataclass(frozen=True, kw_only=True)
class LabelledTurn:
    """A turn of a transcript with the claims that people marked in it."""

    part: str
    language: str
    turn: SourceTurn
    claims: tuple[Claim, ...]


def read_turns(folder: Path) -> dict[str, SourceTurn]:
    """All turns with a draft by their id, in order; exits when a file is missing."""
    if missing := [name for name in SOURCES if not (folder / f"{name}.jsonl").is_file()]:
        sys.exit(f"{folder} holds no {', '.join(f'{name}.jsonl' for name in missing)}; name it with --shared")
    turns = (turn for source in SOURCES for turn in read_source(folder, source))
    return {turn.id: turn for turn in turns if turn.record.draft.strip()}


def read_labelled(path: Path, turns: Mapping[str, SourceTurn]) -> list[LabelledTurn]:
    """The labelled turns of both parts.

    Exits when a turn is not among ``turns``, or its draft is not the one that was labelled.
    """
    labelled = []
    for row in read_rows(path):
        name = f"{row['source']}:{row['conversation']}:{row['turn']}"
        turn = turns.get(name)
        if turn is None or draft_digest(turn.record.draft) != row["draft_digest"]:
            sys.exit(
                f"{path.name}: {name} is not the draft that was labelled; are readers and data the same?"
            )
        claims = tuple(
            Claim(**{key: value for key, value in claim.items() if key != "text"}) for claim in row["claims"]
        )
        labelled.append(LabelledTurn(part=row["part"], language=row["language"], turn=turn, claims=claims))
    return labelled


# -- Detectors, called as analysis calls them, with a new tenant's settings


@dataclass(frozen=True, kw_only=True)
class Found:
    """A finding; ``start`` and ``end`` are offsets in the draft as it is, 0 and 0 for the whole turn."""

    start: int
    end: int
    kind: str
    identifier: str = ""
    reason: str = ""

    @property
    def whole_turn(self) -> bool:
        return self.kind in WHOLE_TURN


def detect(profile: str, record: TurnRecord) -> list[Found]:
    """What the profile finds in a turn; raises ``KeyError`` for one that is not among ``PROFILES``."""
    findings = {"reference": _reference, "evidence": _evidence}[profile](record)
    offset = left_strip_length(record.draft)
    return [
        Found(
            start=finding.span[0] + offset if finding.kind not in WHOLE_TURN else 0,
            end=finding.span[1] + offset if finding.kind not in WHOLE_TURN else 0,
            kind=finding.kind,
            identifier=finding.identifier,
            reason=finding.reason,
        )
        for finding in findings
    ]


def evidence_report(record: TurnRecord) -> EvidenceReport:
    """All that the evidence profile says of a turn; its spans are offsets in the stripped draft."""
    return detect_evidence(
        EvidenceTurn(
            draft=record.draft,
            user_message=record.user_message,
            hydrated_context=record.hydrated_context,
            calls=record.tool_calls,
            earlier_calls=record.earlier_calls,
            tools=record.tools,
            # The files hold whole conversations, so nothing the user said is unknown.
            earlier_user_messages=record.earlier_user_messages,
            intent=_intent_of(record),
        ),
        identifier_keys=_SETTINGS.identifier_keys,
    )


def _evidence(record: TurnRecord) -> Sequence[FabricationFinding]:
    return evidence_report(record).findings


def _reference(record: TurnRecord) -> Sequence[FabricationFinding]:
    return detect_fabrication(
        record.draft,
        [_detector_call(call) for call in record.tool_calls],
        hydrated_context=record.hydrated_context,
        user_message=record.user_message,
        identifier_keys=_SETTINGS.identifier_keys,
        intent_verdict=_intent_of(record),
    )


def _detector_call(call: ToolCall) -> dict[str, Any]:
    shown = {"name": call.name, "args": call.args, "result": call.result}
    return shown | {"output": call.error} if call.error else shown


def _intent_of(record: TurnRecord) -> IntentVerdict | None:
    # Of the transcripts none brings a verdict of its own.
    if not record.user_message:
        return None
    return _classifier.classify(record.user_message, _SETTINGS.tool_trigger_keywords)


# -- Matching


@dataclass(frozen=True)
class Matching:
    """The findings and labels of one turn, each in one list (grounded labels may be in none).

    ``caught`` holds of each caught claim the finding nearest to it; ``false_alarms`` the grounded label
    that a finding is about, None where there is nothing; ``neutral`` are findings on the whole turn, rightly
    flagged.
    """

    caught: list[tuple[Found, Claim]] = field(default_factory=list)
    repeats: list[tuple[Found, Claim]] = field(default_factory=list)
    false_alarms: list[tuple[Found, Claim | None]] = field(default_factory=list)
    neutral: list[Found] = field(default_factory=list)
    missed: list[Claim] = field(default_factory=list)

    @property
    def right(self) -> list[Found]:
        """Findings that say something true, repeats too."""
        return [found for found, _ in (*self.caught, *self.repeats)] + self.neutral


def match(findings: Iterable[Found], claims: Sequence[Claim]) -> Matching:
    """Hold the findings of one turn against its labels, by the rule at the head of this module."""
    matching = Matching()
    fabricated = [claim for claim in claims if claim.verdict == "fabricated"]
    about: dict[Claim, list[Found]] = {claim: [] for claim in fabricated}
    for found in findings:
        if found.whole_turn:
            if fabricated:
                matching.neutral.append(found)
            else:
                matching.false_alarms.append((found, None))
            continue
        claim = _claim_of(found, claims)
        if claim is not None and claim.verdict == "fabricated":
            about[claim].append(found)
        else:
            matching.false_alarms.append((found, claim))
    for claim, group in about.items():
        if not group:
            matching.missed.append(claim)
            continue
        nearest = max(group, key=lambda found: _nearness(found, claim))
        matching.caught.append((nearest, claim))
        matching.repeats.extend((found, claim) for found in group if found is not nearest)
    return matching


def _claim_of(found: Found, claims: Iterable[Claim]) -> Claim | None:
    """The label a finding is about."""
    near = [claim for claim in claims if _at_one_place(found, claim)]
    return max(near, key=lambda claim: _nearness(found, claim), default=None)


def _at_one_place(found: Found, claim: Claim) -> bool:
    shared = min(found.end, claim.end) - max(found.start, claim.start)
    if shared <= 0:
        return False
    return shared == min(found.end - found.start, claim.end - claim.start) or (
        _share_of_union(found, claim) >= 0.5
    )


def _nearness(found: Found, claim: Claim) -> tuple[float, bool, int]:
    return _share_of_union(found, claim), found.kind == claim.kind, -claim.start


def _share_of_union(found: Found, claim: Claim) -> float:
    shared = max(0, min(found.end, claim.end) - max(found.start, claim.start))
    return shared / (max(found.end, claim.end) - min(found.start, claim.start))


# -- Counting


@dataclass(frozen=True)
class Share:
    """``part`` of ``whole`` with its Wilson interval; of nothing there is no share, and nothing is known of
    it."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        return self.part / self.whole if self.whole else None

    def __str__(self) -> str:
        if not self.whole:
            return "none"
        low, high = wilson_interval(self.part, self.whole)
        return f"{self.part / self.whole:.3f} [{low:.2f}-{high:.2f}]"

    def as_json(self) -> dict[str, Any]:
        low, high = wilson_interval(self.part, self.whole)
        return {"part": self.part, "whole": self.whole, "value": self.value, "low": low, "high": high}


@dataclass
class Score:
    """Counts over turns: of claims, of findings, and of turns by (flagged, holds a fabricated claim)."""

    fabricated: int = 0
    findings: int = 0
    caught: int = 0
    repeats: int = 0
    on_grounded: int = 0
    on_nothing: int = 0
    turns: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    #: Kind of the finding, and of the label it is about, with the label's verdict before it; "nothing" for
    #: none.
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    missed_kinds: Counter[str] = field(default_factory=Counter)
    #: Per kind of finding: how many there are, and how many of them are right.
    found_kinds: Counter[str] = field(default_factory=Counter)
    right_kinds: Counter[str] = field(default_factory=Counter)

    def add(self, findings: Sequence[Found], claims: Sequence[Claim]) -> None:
        """Count one turn."""
        matching = match(findings, claims)
        fabricated = len(matching.caught) + len(matching.missed)
        self.fabricated += fabricated
        self.findings += len(findings)
        self.caught += len(matching.caught)
        self.repeats += len(matching.repeats)
        for found, claim in matching.false_alarms:
            self.on_grounded += claim is not None
            self.on_nothing += claim is None
            self.kinds[found.kind, f"grounded {claim.kind}" if claim else "nothing"] += 1
        for found, claim in (*matching.caught, *matching.repeats):
            self.kinds[found.kind, f"fabricated {claim.kind}"] += 1
        for found in matching.neutral:
            self.kinds[found.kind, "fabricated turn"] += 1
        self.missed_kinds.update(claim.kind for claim in matching.missed)
        self.found_kinds.update(found.kind for found in findings)
        self.right_kinds.update(found.kind for found in matching.right)
        self.turns[bool(findings), bool(fabricated)] += 1

    @property
    def false_alarms(self) -> int:
        return self.on_grounded + self.on_nothing

    @property
    def precision(self) -> Share:
        return Share(self.caught, self.caught + self.false_alarms)

    @property
    def recall(self) -> Share:
        return Share(self.caught, self.fabricated)

    @property
    def turn_precision(self) -> Share:
        return Share(self.turns[True, True], self.turns[True, True] + self.turns[True, False])

    @property
    def turn_recall(self) -> Share:
        return Share(self.turns[True, True], self.turns[True, True] + self.turns[False, True])
