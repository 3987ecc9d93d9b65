"""How fast the evidence profile is beside the reference detector (symfonic-core 9.12.0) and our copy of it.

    python benchmarks/detection_speed.py [--quick] [--budget SECONDS]

Prints turns a second and their ratio for a grid of sizes, how long hostile drafts take (64 KiB of draft,
512 KiB of sources), and how the time grows when an input doubles. Turns are the ones of
``benchmarks/detector.py``; the evidence profile reads the same calls, context and user message. Needs the
``parity`` extra for the reference.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import corpus
from benchmarks.detector import medians, reference, runner
from reviews.core.evidence_profile import EvidenceCall, EvidenceTurn, detect_evidence
from reviews.core.fabrication import detect_fabrication

KIB = 1024
GOAL_CASE, GOAL_RATIO = (4, 64, 5), 2.0
WORST_GOAL_MS = 50.0
GROWTH_GOAL = 2.2
SEEDS = 8


def as_evidence(turn: corpus.Turn) -> EvidenceTurn:
    """The same turn as the evidence profile takes it."""
    calls = tuple(
        EvidenceCall(name=call["name"], args=call["args"], result=call["result"]) for call in turn.calls
    )
    return EvidenceTurn(draft=turn.draft, user_message=turn.user, hydrated_context=turn.context, calls=calls)


def evidence_runner(turns: Sequence[EvidenceTurn]):
    def run() -> None:
        for turn in turns:
            detect_evidence(turn)

    return run


def grid(budget: float, quick: bool) -> None:
    print(
        f"{'draft':>7} {'grounding':>9} {'ids':>4} {'reference':>12} {'our copy':>12} {'evidence':>12}  ratio"
    )
    ratios = []
    for draft in (1, 4, 16) if quick else (1, 4, 16, 64):
        for grounding in (0, 64) if quick else (0, 8, 64, 512):
            for identifiers in (0, 5, 50):
                turns = [
                    corpus.turn(draft * KIB, grounding * KIB, identifiers, seed) for seed in range(SEEDS)
                ]
                runs = [
                    runner(reference.detect_fabrication, turns),
                    runner(detect_fabrication, turns),
                    evidence_runner([as_evidence(turn) for turn in turns]),
                ]
                theirs, copy, ours = (len(turns) / seconds for seconds in medians(runs, budget))
                ratios.append(ours / theirs)
                verdict = ""
                if (draft, grounding, identifiers) == GOAL_CASE:
                    verdict = f"  goal {GOAL_RATIO:.0f}x {'ok' if ratios[-1] >= GOAL_RATIO else 'MISSED'}"
                print(
                    f"{draft:>5} K {grounding:>7} K {identifiers:>4} {theirs:>8.0f} t/s {copy:>8.0f} t/s "
                    f"{ours:>8.0f} t/s {ratios[-1]:>5.1f}x{verdict}",
                    flush=True,
                )
    print(f"geometric mean {statistics.geometric_mean(ratios):.1f}x over {len(ratios)} cases\n")


def hostile(size: int, sources: int) -> Iterator[tuple[str, EvidenceTurn]]:
    """Named drafts of ``size`` characters that are made to take time, with ``sources`` characters of
    context."""
    for name, turn in corpus.worst_cases(size, sources):
        yield name, as_evidence(turn)
    rng = corpus.random.Random(f"hostile/{size}/{sources}")
    mixed = corpus.context(rng, sources, [])

    def of(unit: str | None = None, context: str = mixed) -> EvidenceTurn:
        if unit is None:
            text = corpus.filled(lambda: f"I've {rng.choice(corpus.VERBS)} item {rng.random()}. ", size)
        else:
            text = (unit * (size // len(unit) + 1))[:size]
        return EvidenceTurn(draft=text, hydrated_context=context, user_message="please cancel it")

    yield "different claims", of()
    yield "claims without a full stop", of("I've cancelled the order and refunded the card and sent it ")
    yield "participles", of("saved, sent and booked ")
    yield "German participles", of("Ich habe es heute gesendet gespeichert ")
    yield "Chinese verbs", of("我已经取消创建发送保存更新")
    yield "Japanese verbs", of("予約キャンセル送信保存更新しました")
    yield "quotes", of('"“')
    yield "fences", of("```json\n{\n```\n")
    yield "one open fence", of("```json\n" + '{"tool_call": ' * 64)
    yield "nested JSON", of('{"a":[')
    yield "tags", of("<a_b>")
    yield "calls in tags", of("<tool_call><invoke name='x'>")
    yield "keys", of("order id number code: ")
    yield (
        "keyed codes",
        EvidenceTurn(
            draft=corpus.filled(lambda: f"Order ID: AB-{rng.getrandbits(40)} ", size), hydrated_context=mixed
        ),
    )
    yield "numbers", of("#12345 ")
    yield "white space", of("I have" + " " * 500)
    yield "emphasis", of("I have *" + "*" * 100)


def worst(budget: float) -> None:
    print(f"{'hostile, 64 K draft, 512 K sources':<40} {'evidence':>10}")
    for name, turn in hostile(64 * KIB, 512 * KIB):
        (seconds,) = medians([evidence_runner([turn])], budget)
        verdict = "ok" if seconds * 1e3 <= WORST_GOAL_MS else "MISSED"
        print(f"{name:<40} {seconds * 1e3:>7.1f} ms  goal {WORST_GOAL_MS:.0f} ms {verdict}", flush=True)
    print()


def growth(budget: float) -> None:
    print("time when the draft (then the sources) doubles")
    small = dict(hostile(32 * KIB, 256 * KIB))
    longer = dict(hostile(64 * KIB, 256 * KIB))
    richer = dict(hostile(32 * KIB, 512 * KIB))
    for name, turn in small.items():
        runs = [evidence_runner([each]) for each in (turn, longer[name], richer[name])]
        base, *doubled = medians(runs, budget)
        factors = [seconds / base for seconds in doubled]
        verdict = "ok" if max(factors) <= GROWTH_GOAL else f"MORE THAN {GROWTH_GOAL}"
        print(f"{name:<40} draft {factors[0]:.2f}x  sources {factors[1]:.2f}x  {verdict}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes, no growth")
    parser.add_argument("--budget", type=float, default=0.15, help="seconds per case and detector (0.15)")
    options = parser.parse_args()
    # As a server does after start-up; see benchmarks/detector.py.
    gc.collect()
    gc.freeze()
    grid(options.budget, options.quick)
    worst(options.budget)
    if not options.quick:
        growth(options.budget)


if __name__ == "__main__":
    main()
