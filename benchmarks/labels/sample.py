"""Draws the turns to label from real transcripts: the same ones for the same files, on any machine.

    python benchmarks/labels/sample.py --data FOLDER [--out benchmarks/labels/sample.jsonl]

All turns of the small sources and all that the reference profile flags are taken; the rest is drawn evenly
over language, presence of calls, and whether the draft looks like a claim. Prints the counts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.labels.cutting import SOURCES, SourceTurn, read_source
from benchmarks.labels.language import language_of
from reviews.core.fabrication import detect_fabrication

SEED = "labels-1"
#: Turns drawn per source on top of the flagged ones; None takes every turn with a draft.
DRAWN: dict[str, int | None] = {
    "tau_bench_airline": 120,
    "tau2_sim_es_en": 165,
    "provider_wire": 90,
    "hammerbench_zh": 24,
    "swe_agent_traj": None,
    "otel_genai_examples": None,
    "reports": None,
}
PER_CONVERSATION = 3

# Wider than any claim: it only makes sure that the sample is not all small talk.
_CLAIM_LIKE = re.compile(
    r"\b(?:i(?:['’]ve| have)|(?:has|have|was|were) (?:now |also )?(?:been )?\w+(?:ed|ent|ade|ound)"
    r"|successful\w*|done|saved|booked|confirmed|i (?:\w+ed|found|ran|sent|got|made)|we(?:['’]ve| have)"
    r"|(?:has|ha|han|he|hemos) (?:sido |quedado )?\w+(?:ado|ido|cho|to)s?|éxito|exitosa\w*|listo"
    r"|foi \w+|wurde|j['’]ai)\b|```|已|成功|<\w+>",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,}\b|#\d{2,}|\b\d{5,}\b")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One turn of the sample, with what it was drawn by."""

    id: str
    source: str
    conversation: int
    turn: int
    part: str
    language: str
    flagged: bool
    has_tools: bool
    claim_like: bool
    draft_digest: str


def part_of(source: str, conversation: int) -> str:
    """``build`` or ``measure``, by the conversation alone, so that no conversation is in both.

    The key of the hash is the one of six that halves sources and languages most evenly; it was chosen before
    anything was labelled.
    """
    return "measure" if _rank("part-5", f"{source}:{conversation}") % 2 else "build"


def draft_digest(draft: str) -> str:
    """16 hex digits: tells whether a reader still cuts the draft that was labelled."""
    return hashlib.sha256(draft.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def describe(turn: SourceTurn) -> Drawn:
    record = turn.record
    calls = [{"name": call.name, "args": call.args, "result": call.result} for call in record.tool_calls]
    found = detect_fabrication(
        record.draft, calls, hydrated_context=record.hydrated_context, user_message=record.user_message
    )
    return Drawn(
        id=turn.id,
        source=turn.source,
        conversation=turn.conversation,
        turn=turn.turn,
        part=part_of(turn.source, turn.conversation),
        language=language_of(record.draft, record.user_message),
        flagged=bool(found),
        has_tools=bool(calls),
        claim_like=bool(_CLAIM_LIKE.search(record.draft) or _CODE.search(record.draft)),
        draft_digest=draft_digest(record.draft),
    )


def draw(turns: Iterable[Drawn], wanted: int | None) -> list[Drawn]:
    """The turns to label of one source, in the file's order."""
    candidates = list(turns)
    if wanted is None:
        return candidates
    taken = [turn for turn in candidates if turn.flagged]
    per_conversation = Counter(turn.conversation for turn in taken)
    strata: defaultdict[tuple[str, bool, bool], list[Drawn]] = defaultdict(list)
    for turn in sorted(candidates, key=lambda turn: _rank("draw", turn.id)):
        if not turn.flagged:
            strata[turn.language, turn.has_tools, turn.claim_like].append(turn)
    goal = len(taken) + wanted
    digests = {turn.draft_digest for turn in taken}
    # Round by round: small strata are taken whole, large ones share what is left; two of each claim-like
    # stratum to one of the others.
    rounds = sorted([*strata, *(key for key in strata if key[2])])
    while len(taken) < goal and any(strata.values()):
        for key in rounds:
            while strata[key] and len(taken) < goal:
                turn = strata[key].pop(0)
                # The same greeting a hundred times teaches and measures nothing.
                if turn.draft_digest in digests or per_conversation[turn.conversation] >= PER_CONVERSATION:
                    continue
                digests.add(turn.draft_digest)
                per_conversation[turn.conversation] += 1
                taken.append(turn)
                break
    return sorted(taken, key=lambda turn: (turn.conversation, turn.turn))


def _rank(use: str, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{SEED}:{use}:{name}".encode()).digest()[:8], "big")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the transcripts")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("sample.jsonl"))
    options = parser.parse_args()
    sample: list[Drawn] = []
    for source in SOURCES:
        turns = [turn for turn in read_source(options.data, source) if turn.record.draft.strip()]
        population = [describe(turn) for turn in turns]
        drawn = draw(population, DRAWN[source])
        sample.extend(drawn)
        flagged = sum(turn.flagged for turn in population)
        print(f"{source}: {len(drawn)} of {len(population)} turns, {flagged} flagged by the reference")
    options.out.write_text("".join(json.dumps(asdict(turn), ensure_ascii=False) + "\n" for turn in sample))
    print("\nsource × language × flagged × part")
    counts = Counter((turn.source, turn.language, turn.flagged, turn.part) for turn in sample)
    for (source, language, flagged, part), number in sorted(counts.items()):
        print(f"{source:20} {language:3} {'flagged' if flagged else '-':8} {part:8} {number:4}")
    for name in ("flagged", "has_tools", "claim_like", "part"):
        print(name, dict(Counter(getattr(turn, name) for turn in sample)))
    print("turns", len(sample))


if __name__ == "__main__":
    main()
