"""Our detector beside symfonic-core 9.12.0, interleaved in one process.

    python benchmarks/detector.py [--quick] [--budget SECONDS]

Prints per case the median time of either detector and their ratio, whether the findings were the same, the
geometric mean of the grid, and how our time grows when an input doubles. Needs the ``parity`` extra.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import corpus
from reviews.core.fabrication import detect_fabrication
from reviews.core.intent import IntentClassifier

try:
    import symfonic.agent.middleware.fabrication as reference
    import symfonic.agent.triage.intent as reference_intent
except ImportError:
    sys.exit("This compares with symfonic-core: pip install 'symfonic-review[parity]'")

KIB = 1024
ROUNDS = 5
# (draft KiB, grounding KiB, identifiers) -> ratio we promise.
GOALS = {(1, 0, 0): 20, (1, 8, 0): 20, (4, 8, 0): 20, (1, 8, 5): 4, (4, 8, 5): 9, (4, 512, 50): 3}
WORST_GOAL_MS = 20.0
GROWTH_GOAL = 2.2

Run = Callable[[], object]


def runner(detector: Any, turns: Sequence[corpus.Turn]) -> Run:
    def run() -> None:
        for turn in turns:
            detector(turn.draft, turn.calls, hydrated_context=turn.context, user_message=turn.user)

    return run


def medians(runs: Sequence[Run], budget: float) -> list[float]:
    """Median CPU seconds of each (both only compute), interleaved so that a busy machine slows all alike."""
    once = []
    for run in runs:
        started = time.process_time()
        run()
        once.append(time.process_time() - started)
    repeats = [max(1, int(budget / ROUNDS / seconds)) for seconds in once]
    rounds = 1 if max(once) > budget else ROUNDS
    samples: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for number, run in enumerate(runs):
            started = time.process_time()
            for _ in range(repeats[number]):
                run()
            samples[number].append((time.process_time() - started) / repeats[number])
    return [statistics.median(times) for times in samples]


def facts(findings: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(f.identifier, f.kind, f.severity, f.key, f.confidence, tuple(f.span)) for f in findings]


def same(turns: Sequence[corpus.Turn]) -> bool:
    def of(detector: Any, turn: corpus.Turn) -> list[tuple[Any, ...]]:
        return facts(detector(turn.draft, turn.calls, hydrated_context=turn.context, user_message=turn.user))

    return all(of(detect_fabrication, turn) == of(reference.detect_fabrication, turn) for turn in turns)


def grid(budget: float, quick: bool) -> None:
    print(f"{'draft':>7} {'grounding':>9} {'ids':>4} {'reference':>12} {'ours':>12} {'ratio':>8}  goal")
    ratios = []
    for draft in (1, 4, 16) if quick else (0.3, 1, 4, 16, 64):
        for grounding in (0, 8, 512) if quick else (0, 8, 64, 512):
            for identifiers in (0, 5, 50):
                size = int(draft * KIB)
                turns = [corpus.turn(size, grounding * KIB, identifiers, seed) for seed in range(3)]
                runs = [runner(reference.detect_fabrication, turns), runner(detect_fabrication, turns)]
                theirs, ours = (seconds / len(turns) for seconds in medians(runs, budget))
                ratios.append(theirs / ours)
                goal = GOALS.get((int(draft), grounding, identifiers)) if draft >= 1 else None
                verdict = "" if goal is None else f"{goal}x {'ok' if ratios[-1] >= goal else 'MISSED'}"
                print(
                    f"{draft:>5} K {grounding:>7} K {identifiers:>4} {theirs * 1e6:>9.1f} us "
                    f"{ours * 1e6:>9.1f} us {ratios[-1]:>7.1f}x  {verdict}"
                    + ("" if same(turns) else "  DIFFERENT FINDINGS"),
                    flush=True,
                )
    print(f"geometric mean {statistics.geometric_mean(ratios):.1f}x over {len(ratios)} cases\n")


def worst(budget: float, quick: bool) -> None:
    print(f"{'worst case, 64 K draft, 512 K grounding':<40} {'reference':>12} {'ours':>10} {'ratio':>8}")
    for name, turn in corpus.worst_cases(64 * KIB, 512 * KIB):
        runs = [runner(detect_fabrication, [turn])]
        if not quick:
            runs.append(runner(reference.detect_fabrication, [turn]))
        ours, *theirs = medians(runs, budget)
        beside = f"{theirs[0] * 1e3:>9.1f} ms" if theirs else f"{'':>12}"
        ratio = f"{theirs[0] / ours:>7.1f}x" if theirs else ""
        note = "" if quick or same([turn]) else "  DIFFERENT FINDINGS"
        if name.startswith("claims") and "all-hex" not in name:
            note += f"  goal {WORST_GOAL_MS:.0f} ms {'ok' if ours * 1e3 <= WORST_GOAL_MS else 'MISSED'}"
        print(f"{name:<40} {beside} {ours * 1e3:>7.2f} ms {ratio}{note}", flush=True)
    print()


def growth(budget: float) -> None:
    print("our time when the draft (then the grounding) doubles")
    small = dict(corpus.worst_cases(32 * KIB, 256 * KIB))
    longer = dict(corpus.worst_cases(64 * KIB, 256 * KIB))
    richer = dict(corpus.worst_cases(32 * KIB, 512 * KIB))
    for name, turn in small.items():
        runs = [runner(detect_fabrication, [each]) for each in (turn, longer[name], richer[name])]
        base, *doubled = medians(runs, budget)
        factors = [seconds / base for seconds in doubled]
        verdict = "ok" if max(factors) <= GROWTH_GOAL else f"MORE THAN {GROWTH_GOAL}"
        print(f"{name:<40} draft {factors[0]:.2f}x  grounding {factors[1]:.2f}x  {verdict}", flush=True)
    print()


def intent(budget: float) -> None:
    class Domain:
        tool_trigger_keywords = {f"tool{n}": [f"word{n}", f"other{n}", f"run job {n}"] for n in range(50)}

    rng = corpus.random.Random(1)
    ours, theirs = IntentClassifier(), reference_intent.IntentClassifier()
    for size in (60, 300):
        queries = ["please run " + corpus.prose(rng, size) for _ in range(20)]
        for name, domain in (("no tools", None), ("50 tools of 3 keywords", Domain())):
            keywords = domain.tool_trigger_keywords if domain else None
            peer, own = medians(
                [
                    lambda queries=queries, domain=domain: [theirs.classify(q, domain) for q in queries],
                    lambda queries=queries, keywords=keywords: [ours.classify(q, keywords) for q in queries],
                ],
                budget,
            )
            print(
                f"intent, {size:>3} characters, {name:<23} {peer / 20 * 1e6:>7.1f} us "
                f"{own / 20 * 1e6:>7.1f} us {peer / own:>6.1f}x"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes; worst cases without the reference")
    parser.add_argument("--budget", type=float, default=0.15, help="seconds per case and detector (0.15)")
    options = parser.parse_args()
    # As a server does after start-up: else each full collection walks over all imported modules, and their
    # number, not the detectors, decides how long drafts with thousands of findings take.
    gc.collect()
    gc.freeze()
    grid(options.budget, options.quick)
    worst(options.budget, options.quick)
    growth(options.budget)
    intent(options.budget)


if __name__ == "__main__":
    main()
