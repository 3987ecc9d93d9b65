"""How fast turns come in: from a file, over HTTP in batches, and one by one through the inline check.

    python benchmarks/intake.py [--turns 100000] [--http-turns 20000] [--checks 300] [--only file,http,check]

Each measurement has a fresh SQLite database and the processes of a real installation. Turns are about
1.5 KB of native JSON (benchmarks/turns.py); a check has a draft of 4 KB and 64 KB to ground it in.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.installation import Installation  # noqa: E402
from benchmarks.turns import SENTENCES, make_turns, write_turns  # noqa: E402
from reviews.formats.native import encode_turn  # noqa: E402
from reviews.formats.record import ToolCall, TurnRecord  # noqa: E402

BATCH = 500
CLIENTS = 2
DRAFT_BYTES = 4 * 1024
GROUNDING_BYTES = 64 * 1024
WARM_UP = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=100_000, help="turns in the file")
    parser.add_argument("--http-turns", type=int, default=20_000)
    parser.add_argument("--checks", type=int, default=300)
    parser.add_argument("--only", default="file,http,check")
    options = parser.parse_args()
    wanted = options.only.split(",")
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before\n")
    for name, measure, count in (
        ("file", measure_file, options.turns),
        ("http", measure_http, options.http_turns),
        ("check", measure_check, options.checks),
    ):
        if name in wanted:
            with tempfile.TemporaryDirectory(prefix="reviews-intake-") as folder:
                for what, value in measure(Path(folder), count):
                    print(f"{what:<58}{value:>14}", flush=True)


def measure_file(data: Path, turns: int) -> Iterator[tuple[str, str]]:
    """``import_turns`` as its user runs it; its start-up is not in the rate but in the seconds below it."""
    with Installation(data) as installation:
        file = data / "turns.jsonl"
        size = write_turns(file, turns) / turns
        started = time.perf_counter()
        done = json.loads(
            installation.manage("import_turns", "--tenant", "acme", "--format", "native", "--json", str(file))
        )
        seconds = time.perf_counter() - started
        if done["analysed"] != turns:
            raise RuntimeError(f"only {done['analysed']} of {turns} turns were stored and analysed")
        yield f"import_turns, {size:.0f} bytes a turn", f"{turns / done['seconds']:.0f} turns/s"
        yield f"  {turns} turns, start to end of the command", f"{seconds:.1f} s"


def measure_http(data: Path, turns: int) -> Iterator[tuple[str, str]]:
    """Two clients post batches; then how long the worker takes to analyse what has come in."""
    with Installation(data, workers=4) as installation:
        installation.start()
        installation.wait_until_up()
        bodies = list(_bodies(turns))
        seconds = _post_all(installation, bodies)
        yield f"POST /api/v1/turns, {BATCH} a batch, {CLIENTS} connections", f"{turns / seconds:.0f} turns/s"
        started = time.perf_counter()
        installation.wait_for(
            "SELECT NOT EXISTS (SELECT 1 FROM reviews_turn WHERE analysis_state IN ('pending', 'claimed'))",
            "the analysis of all turns",
        )
        seconds += time.perf_counter() - started
        yield "  the same, until all are analysed", f"{turns / seconds:.0f} turns/s"


def _bodies(turns: int) -> Iterator[bytes]:
    lines = map(encode_turn, make_turns(turns))
    while batch := list(islice(lines, BATCH)):
        yield b"\n".join(batch)


def _post_all(installation: Installation, bodies: list[bytes]) -> float:
    failures: list[bytes] = []

    def post(share: list[bytes]) -> None:
        connection = installation.connect()
        for body in share:
            status, answer = installation.post(connection, "/api/v1/turns", body)
            if status != 200:
                failures.append(answer)

    clients = [threading.Thread(target=post, args=(bodies[n::CLIENTS],)) for n in range(CLIENTS)]
    started = time.perf_counter()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    seconds = time.perf_counter() - started
    if failures:
        raise RuntimeError(f"{len(failures)} batches were refused: {failures[0][:300]!r}")
    return seconds


def measure_check(data: Path, checks: int) -> Iterator[tuple[str, str]]:
    """One client, one connection, one check after the other, each with other content."""
    with Installation(data) as installation:
        installation.start()
        installation.wait_until_up()
        connection = installation.connect()
        rng = random.Random(1)
        taken = []
        for number in range(WARM_UP + checks):
            body = encode_turn(make_check(number, rng))
            started = time.perf_counter()
            status, answer = installation.post(connection, "/api/v1/check", body, "application/json")
            taken.append((time.perf_counter() - started) * 1000)
            if status != 200:
                raise RuntimeError(f"a check was answered with {status}: {answer[:300]!r}")
        taken = sorted(taken[WARM_UP:])
        for percent in (50, 95, 99):
            value = taken[min(len(taken) - 1, len(taken) * percent // 100)]
            yield f"POST /api/v1/check, 4 KB draft, 64 KB grounding, p{percent}", f"{value:.1f} ms"


def make_check(number: int, rng: random.Random) -> TurnRecord:
    """A turn to check: half of its grounding is recalled context, half a tool's result."""
    (turn,) = make_turns(1, size=DRAFT_BYTES + 800, seed=1000 + number)
    grounding = _prose(rng, GROUNDING_BYTES)
    half = len(grounding) // 2
    return TurnRecord(
        external_id=f"check-{number}",
        draft=turn.draft[:DRAFT_BYTES],
        user_message=turn.user_message,
        hydrated_context=grounding[:half],
        tool_calls=[*turn.tool_calls, ToolCall(name="query_orders", args={}, result=grounding[half:])],
        agent=turn.agent,
    )


def _prose(rng: random.Random, size: int) -> str:
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(f"{rng.choice(SENTENCES)} Order {rng.getrandbits(48):012x} of {rng.randrange(10**6)}.")
        length += len(parts[-1]) + 1
    return " ".join(parts)[:size]


if __name__ == "__main__":
    main()
