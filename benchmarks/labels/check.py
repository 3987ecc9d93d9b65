"""Checks what a group of labellers wrote.

    python benchmarks/labels/check.py GROUP [part_00 …] [--folder SHEETS]

Reads ``SHEETS/GROUP/part_NN.jsonl`` (all parts, or the named ones); prints every problem and exits with 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.labels.claims import read_drafts, read_group


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    drafts = read_drafts(options.folder)
    if unknown := set(options.parts) - drafts.keys():
        sys.exit(f"no such part: {', '.join(sorted(unknown))}")
    chosen = {part: drafts[part] for part in options.parts or drafts}
    labels, problems = read_group(options.folder / options.group, chosen)
    for problem in problems:
        print(problem)
    claims = [claim for found in labels.values() for claim in found]
    counts = Counter((claim.kind, claim.verdict) for claim in claims)
    print(f"{len(labels)} turns, {sum(not found for found in labels.values())} without claims")
    for (kind, verdict), number in sorted(counts.items()):
        print(f"  {kind:20} {verdict:10} {number}")
    print("not yet in order" if problems else "in order")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
