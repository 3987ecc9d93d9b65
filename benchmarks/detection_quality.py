"""How often either detector is right on labelled turns of real transcripts.

    python benchmarks/detection_quality.py [--part measure|build] [--shared FOLDER] [--json]
    python benchmarks/detection_quality.py --errors build [--shared FOLDER]

Prints precision and recall of the reference and the evidence profile, claim by claim and turn by turn, per
source and per language, with 95 % intervals; then the share of all turns that either flags, labelled or not.
Rules are written with the ``build`` part; the ``measure`` part (the default) is only counted, and
``--errors`` lists what the evidence profile gets wrong in the ``build`` part alone. ``benchmarks/quality.py``
states how findings are matched to labels. FOLDER holds the transcripts (default: ``../shared/data`` beside
the repository).

The labelled turns are no even sample: all that the reference flagged are among them, and turns that look like
claims are drawn more often (``docs/labelling.md``). Its rates are not those of the traffic; the flagged
shares are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.labels.claims import Claim
from benchmarks.labels.cutting import SOURCES, SourceTurn
from benchmarks.quality import (
    DATA,
    LABELS,
    PARTS,
    PROFILES,
    Found,
    LabelledTurn,
    Score,
    Share,
    detect,
    evidence_report,
    match,
    read_labelled,
    read_turns,
)
from reviews.core.fabrication import left_strip_length

GOAL_PRECISION, GOAL_RECALL = 0.90, 0.80
HONEST, GOAL_FLAGGED = "tau_bench_airline", 0.005
_LEAD, _TAIL = 160, 120

Scores = dict[str, dict[str, Score]]


def scores_of(labelled: Sequence[LabelledTurn]) -> Scores:
    """Group (``all``, ``source X``, ``language X``) → profile → counts."""
    sources = [source for source in SOURCES if any(each.turn.source == source for each in labelled)]
    groups = ["all", *(f"source {source}" for source in sources)]
    groups += [f"language {language}" for language in sorted({each.language for each in labelled})]
    scores = {group: {profile: Score() for profile in PROFILES} for group in groups}
    for each in labelled:
        for profile in PROFILES:
            findings = detect(profile, each.turn.record)
            for group in ("all", f"source {each.turn.source}", f"language {each.language}"):
                scores[group][profile].add(findings, each.claims)
    return scores


def flagged_of(turns: Iterable[SourceTurn]) -> dict[str, dict[str, Share]]:
    """Source → profile → share of its turns with a draft that have a finding."""
    turns = list(turns)
    total = Counter(turn.source for turn in turns)
    flagged = {
        profile: Counter(turn.source for turn in turns if detect(profile, turn.record))
        for profile in PROFILES
    }
    return {
        source: {profile: Share(flagged[profile][source], total[source]) for profile in PROFILES}
        for source in total
    }


def report(part: str, scores: Scores, flagged: dict[str, dict[str, Share]]) -> Iterator[str]:
    """The figures as lines of text."""
    total = scores["all"]["evidence"]
    yield f"part {part}: {total.turns.total()} labelled turns, {total.fabricated} fabricated claims"
    yield ""
    yield (
        f"{'':<28} {'profile':<9} {'turns':>5} {'fabr.':>5} {'found':>5} {'right':>5} "
        f"{'again':>5} {'wrong':>5}  "
        f"{'claim precision':<18} {'claim recall':<18} {'turn precision':<18} {'turn recall':<18}"
    )
    for group, by_profile in scores.items():
        for profile, score in by_profile.items():
            shown = group if profile == PROFILES[0] else ""
            yield (
                f"{shown:<28} {profile:<9} {score.turns.total():>5} {score.fabricated:>5} "
                f"{score.findings:>5} "
                f"{score.caught:>5} {score.repeats:>5} {score.false_alarms:>5}  {score.precision!s:<18} "
                f"{score.recall!s:<18} {score.turn_precision!s:<18} {score.turn_recall!s:<18}"
            ).rstrip()
    yield ""
    for profile, score in scores["all"].items():
        on = f"{score.on_grounded} on grounded claims, {score.on_nothing} on nothing"
        yield f"{profile}: false alarms {on}"
        yield f"  found → label: {_counted(f'{kind} → {label}' for kind, label in score.kinds.elements())}"
        yield f"  missed: {_counted(score.missed_kinds.elements())}"
    yield ""
    yield "flagged, of all turns with a draft"
    for source, shares in flagged.items():
        yield f"  {source:<26} " + "   ".join(
            f"{profile} {share.part:>3}/{share.whole:<3} {share}" for profile, share in shares.items()
        )
    yield ""
    yield from goals(scores, flagged)


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in Counter(names).most_common()) or "none"


def goals(scores: Scores, flagged: dict[str, dict[str, Share]]) -> Iterator[str]:
    """What the evidence profile is meant to reach, and whether it does."""
    for group in ("all", "source reports"):
        if group in scores:
            score = scores[group]["evidence"]
            yield _goal(f"{group}, claim precision", score.precision, GOAL_PRECISION)
            yield _goal(f"{group}, claim recall", score.recall, GOAL_RECALL)
    share = flagged[HONEST]["evidence"]
    verdict = "ok" if (share.value or 0.0) <= GOAL_FLAGGED else "MISSED"
    yield f"goal {HONEST} flagged <= {GOAL_FLAGGED:.1%}: {share} {verdict}"


def _goal(name: str, share: Share, least: float) -> str:
    verdict = "ok" if share.value is not None and share.value >= least else "MISSED"
    return f"goal {name} >= {least:.2f}: {share} {verdict}"


def as_json(part: str, scores: Scores, flagged: dict[str, dict[str, Share]]) -> dict[str, Any]:
    """The same figures as JSON values; per claim or turn there is nothing in it."""
    return {
        "part": part,
        "scores": {
            group: {profile: _score_json(score) for profile, score in by_profile.items()}
            for group, by_profile in scores.items()
        },
        "flagged": {
            source: {profile: share.as_json() for profile, share in shares.items()}
            for source, shares in flagged.items()
        },
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {
        "turns": score.turns.total(),
        "fabricated": score.fabricated,
        "findings": score.findings,
        "caught": score.caught,
        "repeats": score.repeats,
        "on_grounded": score.on_grounded,
        "on_nothing": score.on_nothing,
        "claim_precision": score.precision.as_json(),
        "claim_recall": score.recall.as_json(),
        "turn_precision": score.turn_precision.as_json(),
        "turn_recall": score.turn_recall.as_json(),
        "kinds": [
            {"finding": kind, "label": label, "n": number} for (kind, label), number in score.kinds.items()
        ],
        "missed": dict(score.missed_kinds),
    }


# -- What goes wrong, for whoever writes the rules


def errors(labelled: Iterable[LabelledTurn]) -> Iterator[str]:
    """False alarms and misses of the evidence profile as a page in Markdown."""
    for each in labelled:
        matching = match(detect("evidence", each.turn.record), each.claims)
        if not (matching.false_alarms or matching.missed):
            continue
        yield f"## {each.turn.id} ({each.language})"
        yield ""
        yield from _scene(each)
        for found, claim in matching.false_alarms:
            what = (
                f"a grounded claim ({claim.kind}, {claim.source}: {claim.why})"
                if claim
                else "nothing labelled"
            )
            yield f"- FALSE ALARM {found.kind} {found.identifier!r} on {what}"
            yield f"  - engine: {found.reason}"
            yield f"  - draft: {_excerpt(each, found.start, found.end)}"
        for claim in matching.missed:
            text = each.turn.record.draft[claim.start : claim.end]
            yield f"- MISSED {claim.kind} {_short(text)!r}"
            yield f"  - label: {claim.why}"
            yield f"  - engine: {_seen(each, claim)}"
            yield f"  - draft: {_excerpt(each, claim.start, claim.end)}"
        yield ""


def _scene(each: LabelledTurn) -> Iterator[str]:
    record = each.turn.record
    yield f"- user: {_short(record.user_message)!r}"
    for name, calls in (("calls", record.tool_calls), ("earlier calls", record.earlier_calls)):
        if calls:
            outcomes = (
                f"{call.name}{'' if call.ok is None else ' (ok)' if call.ok else ' (failed)'}"
                for call in calls
            )
            yield f"- {name}: {', '.join(outcomes)}"
    if not record.tool_calls:
        yield "- calls: none"


def _seen(each: LabelledTurn, claim: Claim) -> str:
    """What the engine made of the place of a missed claim."""
    offset = left_strip_length(each.turn.record.draft)
    for checked in evidence_report(each.turn.record).claims:
        start, end = checked.span[0] + offset, checked.span[1] + offset
        place = Found(start=start, end=end, kind=checked.kind)
        if start < claim.end and claim.start < end and not place.whole_turn:
            source = checked.source
            by = f" by {source.kind} {source.tool}: {_short(source.excerpt)!r}" if source else ""
            return f"{checked.kind} {_short(checked.identifier)!r} found {checked.verdict}{by}"
    return "sees no claim there"


def _excerpt(each: LabelledTurn, start: int, end: int) -> str:
    draft = each.turn.record.draft
    before, after = draft[max(0, start - _LEAD) : start], draft[end : end + _TAIL]
    return json.dumps(f"{before}⟦{_short(draft[start:end])}⟧{after}", ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:200]} […] {text[-80:]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, default="measure", help="labelled turns to count (measure)")
    parser.add_argument(
        "--shared", type=Path, default=DATA, metavar="FOLDER", help="where the transcripts are"
    )
    parser.add_argument("--json", action="store_true", help="the figures as one JSON object")
    parser.add_argument("--errors", choices=PARTS, help="list errors instead; of the build part only")
    options = parser.parse_args()
    if options.errors == "measure":
        parser.error(
            "errors of the measure part are not listed: rules written after them could not be measured"
        )
    turns = read_turns(options.shared)
    labelled = read_labelled(LABELS, turns)
    if options.errors:
        print("\n".join(errors(each for each in labelled if each.part == options.errors)))
        return
    scores = scores_of([each for each in labelled if each.part == options.part])
    flagged = flagged_of(turns.values())
    if options.json:
        print(json.dumps(as_json(options.part, scores, flagged), indent=2))
    else:
        print("\n".join(report(options.part, scores, flagged)))


if __name__ == "__main__":
    main()
