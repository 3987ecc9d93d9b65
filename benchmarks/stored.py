"""A tenant with many stored turns, built once for each size and database, and used by several benchmarks.

Two thirds of the turns are flagged, as on a bad week; 1,000,000 of them fill sixty days, about what a busy
tenant sends. Labels are added by the benchmark that needs them.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Turns that really differ; the rest repeat them under other ids and times.
DISTINCT = 2_000
CHUNK = 5_000
PASSWORD = "benchmark-only"


def add_options(parser: argparse.ArgumentParser, sizes: str) -> None:
    """The options that say which databases to build, and where."""
    parser.add_argument("--sizes", default=sizes, type=lambda s: [int(n) for n in s.split(",")])
    parser.add_argument("--database-url", default="", help="a PostgreSQL database; SQLite without it")
    parser.add_argument("--keep", default="/tmp/reviews-bench", type=Path)


def built(options: argparse.Namespace, size: int) -> dict[str, str]:
    """The environment of a process that works on the database of this size; built when it is not there."""
    environment = _environment(options, size)
    code = f"from benchmarks.stored import build; build({size})"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    return environment


def _environment(options: argparse.Namespace, size: int) -> dict[str, str]:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "reviews.server.settings",
        "PYTHONPATH": str(ROOT),
        "LOG_LEVEL": "WARNING",
    }
    kind = "postgresql" if options.database_url else "sqlite"
    folder = options.keep / f"{kind}-{size}"
    folder.mkdir(parents=True, exist_ok=True)
    environment["REVIEWS_DATA_DIR"] = str(folder)
    environment.pop("DATABASE_URL", None)
    if options.database_url:
        base, name = options.database_url.rsplit("/", 1)
        environment["DATABASE_URL"] = f"{base}/{name}_{size}"
        subprocess.run(
            ["psql", "-q", options.database_url, "-c", f"CREATE DATABASE {name}_{size}"],
            stderr=subprocess.DEVNULL,
            check=False,
        )
    return environment


def build(size: int) -> None:
    """Fill the database in the environment up to ``size`` turns."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from reviews.models import Membership, Tenant, Turn, User
    from reviews.services import keys, publishing

    call_command("migrate", verbosity=0)
    tenant = Tenant.objects.filter(slug="bench").first()
    if tenant is None:
        tenant = Tenant.objects.create(slug="bench", name="Bench")
        user = User.objects.create_user("bench", password=PASSWORD)
        Membership.objects.across_tenants().create(tenant=tenant, user=user, role="owner")
        publishing.publish_settings(tenant=tenant, author=user, values={})
        secret = keys.create_key(tenant=tenant, author=user, name="bench", scopes=["read"]).secret
        (Path(os.environ["REVIEWS_DATA_DIR"]) / "bench-key").write_text(secret)
    have = Turn.objects.for_tenant(tenant).count()
    began = time.perf_counter()
    for first in range(have, size, CHUNK):
        _store(tenant, first, min(CHUNK, size - first))
        if sys.stderr.isatty():
            print(f"\r{first + CHUNK:,} of {size:,}", end="", file=sys.stderr, flush=True)
    if have < size:
        print(f"built {size:,} turns on {connection.vendor} in {time.perf_counter() - began:.0f} s")
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE" if connection.vendor == "postgresql" else "PRAGMA optimize")


_templates: list = []


def _store(tenant, first: int, count: int) -> None:
    from datetime import UTC, datetime, timedelta

    from reviews.models.bulk import to_db_time
    from reviews.services.intake import store_prepared
    from reviews.services.judge import judge
    from reviews.services.policies import current_policy
    from reviews.services.rows import TURN_COLUMNS, prepare

    if not _templates:
        policy = current_policy(tenant=tenant)
        now = datetime.now(UTC)
        _templates.extend(
            prepare(
                record,
                tenant_id=tenant.pk,
                source="import",
                received_at=now,
                judgement=judge(record, policy),
                policy=policy,
            )
            for record in _records()
        )
    external = TURN_COLUMNS.index("external_id") - 1
    occurred = TURN_COLUMNS.index("occurred_at") - 1
    start = datetime.now(UTC) - timedelta(days=60)
    prepared = []
    for n in range(first, first + count):
        template = _templates[n * 7919 % len(_templates)]
        row = list(template.turn)
        row[external] = f"bench-{n:08d}"
        # Sixty days at 1,000,000 turns: about what a busy tenant sends.
        moment = start + timedelta(seconds=n * 5)
        row[occurred] = to_db_time(moment)
        prepared.append(template._replace(external_id=row[external], day=moment.date(), turn=tuple(row)))
    store_prepared(tenant=tenant, prepared=prepared)


def _records():
    """A third claims nothing; all activated something, so that the gate has confidences to tell apart."""
    import msgspec

    from benchmarks.turns import make_turns

    rng = random.Random(3)
    for number, record in enumerate(make_turns(DISTINCT)):
        activation = {"activated_nodes": [{"score": rng.random()}]}
        draft = record.draft if number % 3 else record.user_message
        yield msgspec.structs.replace(record, draft=draft, activation=activation)
