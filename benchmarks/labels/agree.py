"""How far two groups of labellers agree, what they differ in, and the settled labels as one file.

    python benchmarks/labels/agree.py compare A B [--folder SHEETS] [--differences FILE.md]
    python benchmarks/labels/agree.py merge A B --settled FILE.jsonl --out labels.jsonl [--folder SHEETS]

``merge`` takes what both groups said, and for every turn they differ in the line of the settled file, which
has the format of a group's files. It refuses to write while a differing turn is not settled.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.labels.claims import SOURCES, VERDICTS, Claim, read_drafts, read_group, read_labels, read_rows
from reviews.core.agreement import Confusion, Kappa, kappa_of

Labels = dict[str, list[Claim]]
WORDS = ("fabricated", "grounded", "none")


@dataclass(frozen=True)
class Pair:
    """What either group said of the same piece of a draft; None where it said nothing."""

    first: Claim | None
    second: Claim | None

    @property
    def words(self) -> tuple[str, str]:
        return (
            self.first.verdict if self.first else "none",
            self.second.verdict if self.second else "none",
        )

    @property
    def differs(self) -> bool:
        if self.first is None or self.second is None:
            return True
        return (self.first.verdict, self.first.kind) != (self.second.verdict, self.second.kind)

    def merged(self) -> Claim:
        """Of a pair that does not differ: the shorter span, the source that comes first in the rubric."""
        if self.first is None or self.second is None or self.differs:
            raise ValueError("the groups differ")
        shorter = min(self.first, self.second, key=lambda claim: claim.end - claim.start)
        sources = [source for source in SOURCES if source in (self.first.source, self.second.source)]
        return replace(shorter, source=sources[0] if sources else None)


def pair_up(first: Sequence[Claim], second: Sequence[Claim]) -> list[Pair]:
    """Each claim in one pair, those that share most of their union first; in order of the draft."""
    candidates = sorted(
        (
            (-_share(one, other), one.kind != other.kind, i, j)
            for i, one in enumerate(first)
            for j, other in enumerate(second)
            if one.same_place(other)
        )
    )
    taken_first: dict[int, int] = {}
    taken_second: set[int] = set()
    for _share_of_union, _kind, i, j in candidates:
        if i not in taken_first and j not in taken_second:
            taken_first[i] = j
            taken_second.add(j)
    pairs = [
        Pair(claim, second[taken_first[i]] if i in taken_first else None) for i, claim in enumerate(first)
    ]
    pairs += [Pair(None, claim) for j, claim in enumerate(second) if j not in taken_second]
    return sorted(pairs, key=lambda pair: (pair.first or pair.second or _NOWHERE).start)


_NOWHERE = Claim(start=0, end=0, kind="", verdict="", source=None, why="")


def _share(one: Claim, other: Claim) -> float:
    shared = min(one.end, other.end) - max(one.start, other.start)
    return shared / (max(one.end, other.end) - min(one.start, other.start))


def line(name: str, table: Confusion) -> str:
    kappa = kappa_of(table)
    shown = (
        f"kappa {kappa.value:.3f} ({kappa.low:.3f} to {kappa.high:.3f})"
        if isinstance(kappa, Kappa)
        else f"kappa: too few ({kappa.among}: {kappa.found} of {kappa.needed})"
    )
    return f"{name:24} n {table.rated:4}  same {table.agreed:4}  {shown}"


def per_turn(first: Labels, second: Labels) -> list[tuple[str, str]]:
    return [(_turn_word(first[name]), _turn_word(second[name])) for name in first]


def _turn_word(claims: list[Claim]) -> str:
    return "fabricated" if any(claim.verdict == "fabricated" for claim in claims) else "clean"


def compare(first: Labels, second: Labels, drafts: dict[str, str], names: tuple[str, str]) -> list[str]:
    """The differences as sections of a page; the agreement is printed."""
    by_source: dict[str, list[str]] = {}
    for turn in first:
        by_source.setdefault(turn.split(":")[0], []).append(turn)
    for title, chosen in {"all": list(first), **by_source}.items():
        ones, others = {t: first[t] for t in chosen}, {t: second[t] for t in chosen}
        pairs = [pair for turn in chosen for pair in pair_up(ones[turn], others[turn])]
        print(title)
        print(line("  per turn", Confusion.from_pairs(("fabricated", "clean"), per_turn(ones, others))))
        table = Confusion.from_pairs(WORDS, (pair.words for pair in pairs))
        print(line("  per claim", table))
        both = Confusion.from_pairs(VERDICTS, (pair.words for pair in pairs if "none" not in pair.words))
        print(line("  per claim, both marked", both))
        if title == "all":
            print(
                f"  {names[0]} \\ {names[1]}: "
                + ", ".join(
                    f"{row}/{column} {table.counts[i][j]}"
                    for i, row in enumerate(WORDS)
                    for j, column in enumerate(WORDS)
                    if table.counts[i][j]
                )
            )
    return [
        section for turn in first if (section := _difference(turn, first[turn], second[turn], drafts, names))
    ]


def _difference(
    turn: str, first: list[Claim], second: list[Claim], drafts: dict[str, str], names: tuple[str, str]
) -> str:
    pairs = pair_up(first, second)
    if not any(pair.differs for pair in pairs):
        return ""
    rows = [f"## {turn}"]
    for pair in pairs:
        rows.append("- differs" if pair.differs else "- the same")
        for name, claim in zip(names, (pair.first, pair.second), strict=True):
            if claim is None:
                rows.append(f"  - {name}: none")
            else:
                text = drafts[turn][claim.start : claim.end]
                said = f"{claim.kind}, {claim.verdict}, {claim.source}"
                rows.append(f"  - {name}: {text!r} [{claim.start}:{claim.end}] {said}: {claim.why}")
    return "\n".join(rows)


def merge(
    first: Labels, second: Labels, settled: Labels, sample: list[dict[str, Any]], drafts: dict[str, str]
) -> list[dict[str, Any]]:
    """The rows of the label file in the order of the sample; exits when a differing turn is not settled."""
    rows = []
    open_turns = []
    for drawn in sample:
        turn = drawn["id"]
        pairs = pair_up(first[turn], second[turn])
        if turn in settled:
            claims = settled[turn]
        elif any(pair.differs for pair in pairs):
            open_turns.append(turn)
            continue
        else:
            claims = sorted(pair.merged() for pair in pairs)
        row = {
            key: drawn[key] for key in ("source", "conversation", "turn", "part", "language", "draft_digest")
        }
        row["claims"] = [asdict(claim) | {"text": drafts[turn][claim.start : claim.end]} for claim in claims]
        rows.append(row)
    if open_turns:
        sys.exit(f"{len(open_turns)} turns are not settled: {', '.join(open_turns)}")
    return rows


def _read(folder: Path, group: str, parts: dict[str, dict[str, str]]) -> Labels:
    labels, problems = read_group(folder / group, parts)
    if problems:
        sys.exit("\n".join([f"{group} is not in order:", *problems]))
    return labels


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("compare", "merge"))
    parser.add_argument("groups", nargs=2)
    parser.add_argument("--folder", type=Path, default=Path(), help="folder of the sheets and the groups")
    parser.add_argument("--differences", type=Path, help="compare: page to write the differences to")
    parser.add_argument("--settled", type=Path, help="merge: lines for the turns the groups differ in")
    parser.add_argument("--sample", type=Path, default=Path(__file__).with_name("sample.jsonl"))
    parser.add_argument("--out", type=Path, help="merge: the label file")
    options = parser.parse_args()
    parts = read_drafts(options.folder)
    drafts = {turn: draft for part in parts.values() for turn, draft in part.items()}
    first, second = (_read(options.folder, group, parts) for group in options.groups)
    if options.command == "compare":
        sections = compare(first, second, drafts, tuple(options.groups))
        print(f"turns that differ: {len(sections)} of {len(first)}")
        page = "\n\n".join(sections) + "\n"
        if options.differences:
            options.differences.write_text(page)
        else:
            print(page)
        return
    if not options.out:
        parser.error("merge needs --out")
    settled: Labels = {}
    if options.settled:
        settled, problems = read_labels(options.settled, drafts)
        # A settled file holds only the turns that differed.
        if wrong := [problem for problem in problems if ": no line for " not in problem]:
            sys.exit("\n".join(wrong))
    rows = merge(first, second, settled, read_rows(options.sample), drafts)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    print(f"{len(rows)} turns, {sum(len(row['claims']) for row in rows)} claims")


if __name__ == "__main__":
    main()
