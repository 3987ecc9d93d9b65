"""Fits how sure a finding of each kind of the evidence profile is, on the labelled turns for building.

    python benchmarks/fit_priors.py [--shared PATH]

A kind's confidence is the posterior mean of its precision: its default, which weighs as much as
``calibration.PRIOR_STRENGTH`` labels, and the labels of the part ``build``. It prints what
``reviews/core/evidence_profile/priors.py`` holds, with the n behind each number.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.quality import DATA, LABELS, detect, match, read_labelled, read_turns  # noqa: E402
from reviews.core.calibration import PRIOR_STRENGTH  # noqa: E402
from reviews.core.evidence_profile.priors import BY_DECREE  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=DATA, help="the folder with the transcripts")
    options = parser.parse_args()
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for labelled in read_labelled(LABELS, read_turns(options.shared)):
        if labelled.part == "build":
            matching = match(detect("evidence", labelled.turn.record), labelled.claims)
            right.update(found.kind for found in matching.right)
            wrong.update(found.kind for found, _ in matching.false_alarms)
    for kind, before in BY_DECREE.items():
        n = right[kind] + wrong[kind]
        fitted = (PRIOR_STRENGTH * before + right[kind]) / (PRIOR_STRENGTH + n)
        print(f'    "{kind}": Prior({fitted:.2f}, {n}),  # {right[kind]} of {n} right')


if __name__ == "__main__":
    main()
