"""``manage.py import_turns``: files of turns into a tenant, judged on the way in."""

from __future__ import annotations

import json
import shutil
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import IO, Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError

from reviews.formats import AUTO, FORMATS
from reviews.formats.limits import AGENT_CHARS
from reviews.management.arguments import add_tenant_argument, complain, tenant_of
from reviews.services.errors import DomainError
from reviews.services.importing import ImportReport, Progress, default_jobs, import_files

COUNTS = ("accepted", "duplicates", "conflicts", "invalid", "analysed")
ERRORS_SHOWN = 100


class Command(BaseCommand):
    help = "Imports turns from files (also gzipped ones); what was imported before is left as it is."
    # Only what concerns the database: the URLs and all that they import do not matter here.
    requires_system_checks = [Tags.database]

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add_tenant_argument(parser, required=True)
        add(
            "--format", choices=[AUTO, *sorted(FORMATS)], required=True,
            help="format of the files; auto: told from the first documents of each",
        )  # fmt: skip
        add("--agent", default="", metavar="NAME", help="agent of the turns that name none")
        add("--jobs", type=int, metavar="N", help="worker processes (default: one a processor; 1: none)")
        add("--json", action="store_true", help="print one JSON object instead of sentences")
        add("--strict", action="store_true", help="end with exit code 1 when there were invalid rows")
        add("files", nargs="+", type=Path, metavar="FILE")

    def handle(
        self,
        *,
        tenant: str,
        files: list[Path],
        agent: str,
        jobs: int | None,
        strict: bool,
        **options: Any,
    ) -> None:
        if jobs is not None and jobs < 1:
            raise CommandError("--jobs must be 1 or more.")
        if len(agent) > AGENT_CHARS:
            raise CommandError(f"--agent must have at most {AGENT_CHARS} characters.")
        bar = ProgressBar(sys.stderr)
        try:
            report = import_files(
                tenant=tenant_of(tenant),
                format_name=options["format"],
                paths=files,
                jobs=jobs or default_jobs(files),
                agent=agent,
                on_progress=bar.show,
            )
        except DomainError as error:
            raise complain(error) from error
        finally:
            bar.clear()
        if options["json"]:
            self.stdout.write(json.dumps(as_json(report), ensure_ascii=False))
        else:
            self._tell(report)
        if report.unreadable or (strict and report.total("invalid")):
            sys.exit(1)

    def _tell(self, report: ImportReport) -> None:
        for problem in [*report.unreadable, *report.problems]:
            self.stderr.write(str(problem))
        more = report.total("invalid") + report.total("conflicts") - len(report.problems)
        if more:
            self.stderr.write(f"… and {more} more.")
        counts = {name: report.total(name) for name in COUNTS}
        rate = (counts["accepted"] + counts["duplicates"] + counts["conflicts"]) / max(report.seconds, 0.001)
        self.stdout.write(
            f"{counts['accepted']} accepted ({counts['analysed']} of them analysed), "
            f"{counts['duplicates']} duplicates, {counts['conflicts']} conflicts, "
            f"{counts['invalid']} invalid in {report.seconds:.1f} s ({rate:.0f} turns/s)"
        )


def as_json(report: ImportReport) -> dict[str, Any]:
    """What ``--json`` prints: the counts of all files together and of each, and the first errors."""
    return {
        **{name: report.total(name) for name in COUNTS},
        "seconds": round(report.seconds, 3),
        "files": [
            {"file": file.file, **{name: getattr(file, name) for name in COUNTS}} for file in report.files
        ],
        "errors": [p._asdict() for p in [*report.unreadable, *report.problems][:ERRORS_SHOWN]],
    }


class ProgressBar:
    """One line that tells how far an import is; only on a terminal."""

    WIDTH = 30
    SECONDS_BETWEEN = 0.1

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._visible = out.isatty()
        self._started = time.monotonic()
        self._next = self._started

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if not self._visible or now < self._next:
            return
        self._next = now + self.SECONDS_BETWEEN
        share = min(progress.bytes_done / progress.bytes_total, 1.0) if progress.bytes_total else 1.0
        rate = progress.turns / (now - self._started)
        bar = ("#" * round(share * self.WIDTH)).ljust(self.WIDTH, "·")
        line = f"{bar} {share:4.0%}  {progress.turns} turns, {rate:.0f}/s"
        self._write(line[: shutil.get_terminal_size().columns - 1])

    def clear(self) -> None:
        if self._visible:
            self._write("")

    def _write(self, line: str) -> None:
        # Back to the beginning of the line, and the rest of what stood there is erased.
        self._out.write(f"\r{line}\x1b[K")
        self._out.flush()
