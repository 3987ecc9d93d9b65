"""How long a simulation of thresholds takes on the turns of one tenant.

    python benchmarks/simulate.py [--sizes 10000,1000000] [--database-url postgres://…] [--days 30,60]

Uses the databases of ``benchmarks/pages.py``, with 2,000 turns decided and a calibration learned from them.
Prints p50 and p95 in milliseconds, in the server's own process (the numbers, the curve, the histogram and the
turns that flip) and over HTTP as the Thresholds screen asks for it, for random candidate thresholds.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.pages import Client, serving  # noqa: E402
from benchmarks.stored import add_options, built  # noqa: E402

LABELS = 2_000
SAMPLES = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, sizes="10000,1000000")
    parser.add_argument("--days", default="30,90", type=lambda s: [int(n) for n in s.split(",")])
    options = parser.parse_args()
    for size in options.sizes:
        environment = built(options, size)
        for days in options.days:
            code = f"from benchmarks.simulate import in_process; in_process({days})"
            done = subprocess.run(
                [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
            )
            facts = json.loads(done.stdout.splitlines()[-1])
            over_http = _over_http(environment, days)
            print(
                f"{size:>9,} turns, {days:>3} days: {facts['turns']:>9,} in the window, "
                f"{facts['profiles']:>5,} profiles, {facts['queries']} queries; "
                f"simulation p50 {facts['p50']:6.1f} ms p95 {facts['p95']:6.1f} ms; "
                f"page fragment p50 {over_http[0]:6.1f} ms p95 {over_http[1]:6.1f} ms"
            )


def in_process(days: int) -> None:
    """Label what is needed, then time the service; prints one line of JSON."""
    import django

    django.setup()
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from reviews.core.settings import TenantSettings
    from reviews.models import Tenant
    from reviews.services.judge import Policy
    from reviews.services.policies import calibration_table, current_policy, latest_calibration
    from reviews.services.simulation import last_days, simulate_policies

    tenant = Tenant.objects.get(slug="bench")
    _label(tenant)
    calibration = latest_calibration(tenant=tenant)
    assert calibration is not None
    table = calibration_table(calibration)
    current = current_policy(tenant=tenant)
    rng = random.Random(1)

    def once():
        settings = TenantSettings(
            "refuse",
            rng.randrange(500, 1001) / 1000,
            {"kv": rng.randrange(1001) / 1000} if rng.random() < 0.5 else {},
            fabrication_confidence_source=rng.choice(["raw", "calibrated"]),
            metacognition_confidence_threshold=rng.randrange(1001) / 1000,
        )
        found = simulate_policies(
            tenant=tenant, current=current, candidate=Policy(1, 1, settings, table), window=last_days(days)
        )
        return found, (found.now, found.then, found.curve, found.histogram, found.flipped_turns())

    once()
    timings = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        once()
        timings.append((time.perf_counter() - began) * 1e3)
    with CaptureQueriesContext(connection) as queries:
        found, _ = once()
    p50, p95 = _percentiles(timings)
    facts = {"p50": p50, "p95": p95, "queries": len(queries), "turns": found.totals.turns}
    print(json.dumps(facts | {"profiles": len(found.evidence.profile_ids)}))


def _label(tenant) -> None:
    from reviews.models import Turn, User
    from reviews.services.jobs import run_jobs, start_job
    from reviews.services.policies import latest_calibration
    from reviews.services.review import decide_turn

    user = User.objects.get(username="bench")
    decided = Turn.objects.for_tenant(tenant).filter(review_state="decided")[:LABELS].count()
    rng = random.Random(2)
    opened = Turn.objects.for_tenant(tenant).filter(review_state="open").order_by("-occurred_at", "-id")
    # One in eight of the latest, so that they lie within any window.
    for turn_id, version in list(opened.values_list("id", "version")[: 8 * (LABELS - decided) : 8]):
        label = "fabricated" if rng.random() < 0.7 else "false_alarm"
        decide_turn(tenant=tenant, actor=user, turn_id=turn_id, label=label, seen_version=version)
    if latest_calibration(tenant=tenant) is None:
        start_job(tenant=tenant, kind="learn", parameters={}, actor=user)
        run_jobs()


def _over_http(environment: dict[str, str], days: int) -> tuple[float, float]:
    rng = random.Random(4)
    with serving(environment) as port:
        client = Client(port)
        client.log_in()
        timings = []
        for _ in range(SAMPLES):
            query = urlencode(
                {
                    "fabrication_check_mode": "refuse",
                    "fabrication_refuse_min_confidence": rng.randrange(500, 1001) / 1000,
                    "days": days,
                }
            )
            path = f"/t/bench/thresholds/simulate?{query}"
            timings.append(client.timed("GET", path, headers={"HX-Request": "true"}))
    return _percentiles(timings[5:])


def _percentiles(timings: list[float]) -> tuple[float, float]:
    ordered = sorted(timings)
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]


if __name__ == "__main__":
    main()
