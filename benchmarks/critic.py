"""What the critic costs: its gate a turn without a call, and its calls end to end with a real worker.

    python benchmarks/critic.py [--turns 1000] [--concurrency 16] [--seconds 0.05] [--faults 0] [--calls N]

The gate is timed over drafts of 4 KB, with and without the selective gate. Then turns are posted to an
installation of its own (web server, worker, SQLite) whose model is a fake one behind real HTTP that takes
``--seconds`` an answer. ``--faults 0.1`` has a tenth of the requests answered slowly, brokenly, with 429 or
500. Every turn must end with a verdict or a named cause, and the day's budget must hold; otherwise the exit
code is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from timeit import repeat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.fake_model import fake_model  # noqa: E402
from benchmarks.installation import PATIENCE, Installation  # noqa: E402
from benchmarks.turns import make_turns  # noqa: E402
from reviews.core.critic_gate import decide_gate  # noqa: E402
from reviews.formats.native import encode_turn  # noqa: E402

BATCH = 100
ACTIVATION = {
    "activated_nodes": [{"score": 0.8, "tags": ["order", "customer"]} for _ in range(10)],
    "inference_paths": [["order", "refund", "policy"] for _ in range(5)],
    "traversed_edges": [{"weight": 4.0} for _ in range(20)],
}


_PUBLISH = """
from reviews.models import Tenant
from reviews.services.publishing import publish_settings
publish_settings(tenant=Tenant.objects.get(slug="acme"), author=None, values={policy!r})
"""


@dataclass
class Report:
    """``verdicts`` and ``causes`` by name; ``violations`` are promises that were broken."""

    turns: int
    seconds: float = 0.0
    calls: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    causes: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


def gate_seconds(*, selective: bool) -> float:
    """Seconds a decision of the gate about a draft of 4 KB that is not for the critic; the best of five."""
    draft = "The parcel left the warehouse this morning and should arrive on Friday. " * 57
    threshold = 0.6
    decided = decide_gate(draft, ACTIVATION, threshold=threshold)
    assert not decided.fires

    def once() -> None:
        decide_gate(draft, ACTIVATION, threshold=threshold, tags={"payment"}, selective=selective)

    return min(repeat(once, number=2_000, repeat=5)) / 2_000


def run(
    data: Path,
    *,
    turns: int = 1_000,
    concurrency: int = 16,
    seconds: float = 0.05,
    faults: float = 0.0,
    calls: int = 1_000_000,
) -> Report:
    """Post turns to a new installation in ``data`` and wait until the critic is through with them."""
    report = Report(turns)
    with fake_model(seconds=seconds, faults=faults) as model:
        environment = {
            "MODEL_BASE_URL": model.url,
            "MODEL_NAME": "fake",
            "MODEL_TIMEOUT_SECONDS": "2",
            "SWEEP_SECONDS": "1",
        }
        with Installation(data, workers=4, environment=environment) as installation:
            policy = {"critic_enabled": True, "critic_concurrency": concurrency, "critic_daily_calls": calls}
            installation.manage("shell", "--no-imports", "-c", _PUBLISH.format(policy=policy))
            installation.start()
            installation.wait_until_up()
            connection = installation.connect()
            started = time.monotonic()
            rows = [encode_turn(record) for record in make_turns(turns)]
            for begin in range(0, turns, BATCH):
                status, answer = installation.post(
                    connection, "/api/v1/turns", b"\n".join(rows[begin : begin + BATCH])
                )
                if status != 200:
                    report.violations.append(f"a batch was answered with {status}: {answer[:200]!r}")
            try:
                installation.wait_for(
                    f"SELECT count(*) >= {turns} FROM reviews_criticverdict WHERE state = 'done'",
                    "a verdict or a cause for every turn",
                    seconds=PATIENCE * 5,
                )
            except TimeoutError as error:
                report.violations.append(str(error))
            report.seconds = time.monotonic() - started
            report.asked = dict(model.answered)
            _read(installation, report)
            if report.calls != model.asked:
                report.violations.append(f"{model.asked} calls were made and {report.calls} counted")
            if model.asked > calls:
                report.violations.append(f"{model.asked} calls were made of {calls} allowed")
    return report


def _read(installation: Installation, report: Report) -> None:
    report.verdicts = dict(
        installation.query("SELECT critic, count(*) FROM reviews_turn GROUP BY critic ORDER BY 1")
    )
    report.causes = dict(
        installation.query(
            "SELECT cause, count(*) FROM reviews_criticverdict WHERE cause <> '' GROUP BY cause ORDER BY 1"
        )
    )
    ((report.calls, reserved),) = installation.query(
        "SELECT COALESCE(sum(calls), 0), COALESCE(sum(reserved), 0) FROM reviews_modeluse"
    )
    counted = dict(
        installation.query(
            "SELECT substr(name, 8), sum(count) FROM reviews_dailycount WHERE name LIKE 'critic:%' "
            "GROUP BY name HAVING sum(count) <> 0 ORDER BY 1"
        )
    )
    if sum(report.verdicts.values()) != report.turns or "waiting" in report.verdicts or "" in report.verdicts:
        report.violations.append(f"turns without a verdict or a cause: {report.verdicts}")
    if counted != report.verdicts:
        report.violations.append(f"the counts say {counted}, the turns {report.verdicts}")
    if reserved:
        report.violations.append(f"{reserved} tokens are still set aside")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--calls", type=int, default=1_000_000)
    options = parser.parse_args()
    for name, selective in (("gate", False), ("gate, selective", True)):
        print(f"{name:<20} {gate_seconds(selective=selective) * 1e6:8.1f} µs a turn")
    with tempfile.TemporaryDirectory() as folder:
        report = run(Path(folder) / "data", **vars(options))
    print(f"{report.turns:,} turns, {report.calls:,} calls in {report.seconds:.1f} s:", end=" ")
    print(f"{report.calls / report.seconds:.0f} calls/s; at best {options.concurrency / options.seconds:.0f}")
    print(f"answered  {report.asked}\nverdicts  {report.verdicts}\ncauses    {report.causes}")
    for violation in report.violations:
        print(f"BROKEN: {violation}")
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
