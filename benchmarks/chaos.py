"""Kills web server and worker in the middle of their work, again and again, and looks what became of it.

    python benchmarks/chaos.py [--turns 20000] [--kills 20] [--batch 100] [--seed 1] [--keep DIR]

Clients post batches and send again what was not answered; a ledger keeps every turn that was. Two thirds of
the kills (SIGKILL) hit the web server between two answers, the others the worker while it holds a batch.
Afterwards every turn of the ledger must be stored, each once, counted once and analysed; otherwise the
report names what is wrong and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.installation import PATIENCE, Installation  # noqa: E402
from benchmarks.turns import make_turns  # noqa: E402
from reviews.formats.native import encode_turn  # noqa: E402

CLIENTS = 3
#: A worker's claim is honoured this long after its death; short, so that many kills fit into a minute.
ENVIRONMENT = {"SWEEP_SECONDS": "1", "ANALYSIS_LEASE_SECONDS": "2"}


@dataclass
class Report:
    """What happened, and every promise that was broken."""

    posted: int = 0
    answered: int = 0
    resent: int = 0
    web_kills: int = 0
    worker_kills: int = 0
    interrupted: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)


class Ledger:
    """Which turns were answered, and how many batches; clients write it, the killer waits on it."""

    def __init__(self) -> None:
        self.turns: set[str] = set()
        self.refused: list[str] = []
        self.batches = 0
        self.resent = 0
        self.finished = False
        self._changed = threading.Condition()

    def note(self, turns: list[str]) -> None:
        with self._changed:
            self.turns.update(turns)
            self.batches += 1
            self._changed.notify_all()

    def refuse(self, why: str) -> None:
        with self._changed:
            self.refused.append(why)

    def note_resent(self) -> None:
        with self._changed:
            self.resent += 1

    def finish(self) -> None:
        with self._changed:
            self.finished = True
            self._changed.notify_all()

    def wait_for(self, batches: int) -> bool:
        """Wait until so many batches are answered; False when no more will be."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.batches >= batches or self.finished, PATIENCE):
                raise TimeoutError(f"waited {PATIENCE:.0f} s in vain for {batches} answers")
            return self.batches >= batches and not self.finished


def run(data: Path, *, turns: int = 20_000, kills: int = 20, batch: int = 100, seed: int = 1) -> Report:
    """Post ``turns`` turns to a new installation in ``data`` while ``kills`` processes are killed."""
    started = time.monotonic()
    report = Report(posted=turns)
    ledger = Ledger()
    with Installation(data, environment=ENVIRONMENT) as installation:
        installation.start()
        installation.wait_until_up()
        batches = _batches(turns, batch, seed)
        lock = threading.Lock()
        clients = [
            threading.Thread(target=_post_all, args=(installation, batches, lock, ledger))
            for _ in range(CLIENTS)
        ]
        killer = threading.Thread(target=_kill_workers, args=(installation, report, kills // 3, turns))
        for thread in (*clients, killer):
            thread.start()
        _kill_webs(installation, report, ledger, kills - kills // 3, -(-turns // batch), random.Random(seed))
        for client in clients:
            client.join()
        ledger.finish()
        killer.join()
        _wait(
            installation,
            report,
            "SELECT NOT EXISTS (SELECT 1 FROM reviews_turn WHERE analysis_state IN ('pending', 'claimed'))",
            "the analysis of all turns",
        )
        report.answered, report.resent = len(ledger.turns), ledger.resent
        report.violations += ledger.refused[:10]
        _check(installation, ledger, turns, report)
    report.seconds = time.monotonic() - started
    return report


# -- The clients


def _batches(turns: int, size: int, seed: int) -> Iterator[list[tuple[str, bytes]]]:
    rows = ((record.external_id, encode_turn(record)) for record in make_turns(turns, seed=seed))
    while rows_of_batch := list(islice(rows, size)):
        yield rows_of_batch


def _post_all(
    installation: Installation,
    batches: Iterator[list[tuple[str, bytes]]],
    lock: threading.Lock,
    ledger: Ledger,
) -> None:
    connection = installation.connect()
    while True:
        with lock:
            rows = next(batches, None)
        if rows is None:
            return
        body = b"\n".join(raw for _, raw in rows)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                status, answer = installation.post(connection, "/api/v1/turns", body)
            except (OSError, HTTPException):
                # Killed before it answered: nobody knows whether the turns are stored, so they go again.
                connection.close()
            else:
                if status == 200:
                    _note(ledger, answer)
                    break
                ledger.refuse(f"a batch was answered with {status}: {answer[:200]!r}")
                break
            ledger.note_resent()
            if time.monotonic() > deadline:
                ledger.refuse(f"a batch was not answered in {PATIENCE:.0f} s")
                break


def _note(ledger: Ledger, answer: bytes) -> None:
    rows = json.loads(answer)["results"]
    ledger.note([row["external_id"] for row in rows if row["status"] in ("accepted", "duplicate")])
    for row in rows:
        if row["status"] not in ("accepted", "duplicate"):
            ledger.refuse(f"a good row was refused: {row}")


# -- The killers


def _kill_webs(
    installation: Installation, report: Report, ledger: Ledger, kills: int, batches: int, rng: random.Random
) -> None:
    """Spread over the answers; the other clients' requests are under way at that moment."""
    for moment in sorted(rng.sample(range(1, max(batches - CLIENTS, kills + 1)), kills)):
        if not ledger.wait_for(moment):
            return
        installation.kill("web")
        report.web_kills += 1
        installation.start("web")


def _kill_workers(installation: Installation, report: Report, kills: int, turns: int) -> None:
    """Spread over the analysed turns, each time while a batch is claimed that no kill has hit before."""
    for number in range(kills):
        analysed = turns * number // (kills + 1)
        # ``attempts = 1``: who has hit a turn three times tests the dead-letter state, not recovery.
        if not _wait(
            installation,
            report,
            "SELECT (SELECT count(*) FROM reviews_turn WHERE analysis_state = 'done') >= "
            f"{analysed} AND EXISTS (SELECT 1 FROM reviews_turn WHERE analysis_state = 'claimed' "
            "AND attempts = 1 AND lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now'))",
            "a worker with a batch",
        ):
            return
        installation.kill("worker")
        report.worker_kills += 1
        installation.start("worker")


def _wait(installation: Installation, report: Report, sql: str, what: str) -> bool:
    """Wait for what a query tells; False, and a violation, when it does not come."""
    try:
        installation.wait_for(sql, what)
    except TimeoutError as error:
        report.violations.append(str(error))
        return False
    return True


# -- Afterwards


def _check(installation: Installation, ledger: Ledger, turns: int, report: Report) -> None:
    stored = [row[0] for row in installation.query("SELECT external_id FROM reviews_turn")]
    report.interrupted = _number(installation, "SELECT count(*) FROM reviews_turn WHERE attempts > 1")
    _expect(report, len(ledger.turns), turns, "turns in the ledger, of those posted")
    _expect(report, len(ledger.turns - set(stored)), 0, "turns that were answered and are lost")
    _expect(report, len(stored) - len(set(stored)), 0, "turns stored twice")
    for what, sql, expected in (
        ("stored turns", "SELECT count(*) FROM reviews_turn", turns),
        ("stored payloads", "SELECT count(*) FROM reviews_turnpayload", turns),
        ("analysed turns", "SELECT count(*) FROM reviews_turn WHERE analysis_state = 'done'", turns),
        ("turns in the daily counts", _COUNTED.format("turns"), turns),
        ("flagged turns in the daily counts less those stored", f"SELECT ({_COUNTED.format('flagged')}) - "
         "(SELECT count(*) FROM reviews_turn WHERE finding_count > 0)", 0),
        ("turns whose findings are not as many as they say",
         "SELECT count(*) FROM reviews_turn t WHERE finding_count <> "
         "(SELECT count(*) FROM reviews_finding f WHERE f.turn_id = t.id)", 0),
        ("problems found by the database itself",
         "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'", 0),
    ):  # fmt: skip
        _expect(report, _number(installation, sql), expected, what)


_COUNTED = "SELECT COALESCE(sum(count), 0) FROM reviews_dailycount WHERE name = '{}'"


def _number(installation: Installation, sql: str) -> int:
    return int(installation.query(sql)[0][0])


def _expect(report: Report, found: int, expected: int, what: str) -> None:
    if found != expected:
        report.violations.append(f"{what}: {found}, expected {expected}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--batch", type=int, default=100, help="turns a request")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to leave the data folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reviews-chaos-") as folder:
        report = run(
            options.keep or Path(folder),
            turns=options.turns, kills=options.kills, batch=options.batch, seed=options.seed,
        )  # fmt: skip
    print(f"{report.posted} turns posted, {report.answered} answered, in {report.seconds:.1f} s")
    print(f"{report.web_kills} kills of the web server: {report.resent} requests sent again")
    print(
        f"{report.worker_kills} kills of the worker: {report.interrupted} turns analysed in a second attempt"
    )
    for violation in report.violations:
        print(f"VIOLATION  {violation}")
    print("FAILED" if report.violations else "none lost, none doubled, all analysed")
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
