"""``manage.py serve``: the whole product in one command."""

from __future__ import annotations

import hashlib
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from reviews.server.supervisor import CannotStartError, Program, Supervisor, address_of, exclusive, listen


class Command(BaseCommand):
    help = "Starts web server, worker and scheduler together, and keeps them running until Ctrl-C."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        add("--port", type=int, default=8000, help="port, 0 for any free one (default: %(default)s)")
        add("--data", metavar="DIR", help="data folder; overrides REVIEWS_DATA_DIR")
        add("--no-worker", action="store_true", help="web server only: worker and scheduler run elsewhere")
        add("--workers", type=int, default=4, help="tasks the worker runs at once (default: %(default)s)")

    def handle(
        self, *, host: str, port: int, data: str | None, no_worker: bool, workers: int, **_: Any
    ) -> None:
        data_dir = Path(settings.DATA_DIR)
        if data is not None and Path(data).resolve() != data_dir:
            raise CommandError(
                "--data must be known before Django starts: use manage.py, or set REVIEWS_DATA_DIR."
            )
        if workers < 1:
            raise CommandError("--workers must be 1 or more.")
        try:
            with exclusive(data_dir), listen(host, port) as listener:
                if os.geteuid() == 0:
                    self.stderr.write("Running as root: a user account of its own would be safer.")
                self.check(tags=["database"], databases=["default"])
                migrate_if_needed()
                collect_static_if_needed()
                connections.close_all()
                supervisor = Supervisor(
                    programs(listener.fileno(), data_dir=data_dir, workers=0 if no_worker else workers),
                    listener=listener,
                    health_host=health_host(),
                    ready_text=f"Symfonic Review is ready at {address_of(listener)} (Ctrl-C stops it)",
                    environment=environment(data_dir),
                    out=sys.stdout,
                )
                code = supervisor.run()
        except CannotStartError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            code = 0
        if code:
            sys.exit(code)


def programs(descriptor: int, *, data_dir: Path, workers: int) -> list[Program]:
    """The web server and, unless ``workers`` is 0, worker and scheduler."""
    found = [Program(name="web", arguments=("web", str(descriptor)), descriptors=(descriptor,))]
    if workers:
        celery = ("celery", "--quiet", "-A", "reviews.server.celery")
        worker = (
            *("worker", "--pool", "threads", "--concurrency", str(workers)),
            *("--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "info"),
        )
        beat = ("beat", "-s", str(data_dir / "beat-schedule"), "--pidfile=", "-l", "warning")
        found += [
            Program(name="worker", arguments=(*celery, *worker)),
            Program(name="beat", arguments=(*celery, *beat)),
        ]
    return found


def environment(data_dir: Path) -> dict[str, str]:
    """The children's environment: this one, with the same code and the same data folder wherever they run."""
    paths = [str(settings.BASE_DIR), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "REVIEWS_DATA_DIR": str(data_dir),
    }


def health_host() -> str:
    """A host name that the settings allow, for the question whether the web server answers."""
    for host in settings.ALLOWED_HOSTS:
        if host != "*":
            return str(host).lstrip(".")
    return "localhost"


def migrate_if_needed() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", interactive=False, verbosity=1, skip_checks=True)


def collect_static_if_needed() -> None:
    """Collect the static files under their hashed names when one of the sources has changed."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = os.stat(storage.path(path))
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    stamp = Path(settings.STATIC_ROOT) / ".sources"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    call_command("collectstatic", interactive=False, verbosity=0, skip_checks=True)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(digest.hexdigest())
