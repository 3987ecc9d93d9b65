"""``manage.py rejudge``: judge stored turns again by a version of the policy, and see what changed."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviews.management.arguments import add_tenant_argument, complain, tenant_of
from reviews.management.waiting import as_json, told, wait_for
from reviews.models import Job, RejudgedTurn, Tenant
from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs
from reviews.services.errors import DomainError
from reviews.services.rejudging import changed_turns
from reviews.tasks import hint_jobs

ROWS_AT_ONCE = 1000
#: Changes that the table shows; ``--json`` has all.
ROWS_SHOWN = 200
ID_WIDTH = 36


class Command(BaseCommand):
    help = (
        "Judges a tenant's stored turns again by one version of its policy. Turns that a reviewer has worked "
        "on stay as they are; what would differ is recorded."
    )
    requires_system_checks = [Tags.database]

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's own --version gives way to ours.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_tenant_argument(parser, required=True)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--version", type=int, metavar="N", help="start: judge by version N of the policy")
        for name, text in (
            ("pause", "stop a job after the step it is at"),
            ("resume", "have a paused or failed job go on"),
            ("cancel", "end a job; what it has done stays done"),
            ("show", "print what a job changed"),
        ):
            what.add_argument(f"--{name}", type=int, metavar="ID", help=text)
        parser.add_argument("--since", metavar="DATE", help="only turns that occurred since, e.g. 2026-01-31")
        parser.add_argument("--wait", action="store_true", help="wait for the job's end, working on it too")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of sentences")

    def handle(self, *, tenant: str, version: int | None, **options: Any) -> None:
        if options["since"] and version is None:
            raise CommandError("--since goes with --version.")
        here = tenant_of(tenant)
        try:
            job = self._act(here, version, options)
            if options["wait"]:
                job = wait_for(here, job.pk, sys.stderr)
        except DomainError as error:
            raise complain(error) from error
        if options["json"]:
            changes = [row_of(row) for row in _changes(here, job)] if options["show"] is not None else None
            answer = as_json(job) if changes is None else {**as_json(job), "changes": changes}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
        else:
            self.stdout.write(told(job))
            self._tell_result(job)
            if options["show"] is not None:
                self._tell_changes(here, job)
        if job.state == JobState.FAILED and options["wait"]:
            sys.exit(1)

    def _act(self, tenant: Tenant, version: int | None, options: dict[str, Any]) -> Job:
        if version is not None:
            job = jobs.start_job(
                tenant=tenant,
                kind=JobKind.REJUDGE,
                parameters={"version": version, "since": options["since"]},
                actor=None,
            )
            hint_jobs()
            return job
        actions = {"pause": jobs.pause_job, "resume": jobs.resume_job, "cancel": jobs.cancel_job}
        for name, action in actions.items():
            if options[name] is not None:
                job = action(tenant=tenant, actor=None, job_id=options[name])
                if name == "resume":
                    hint_jobs()
                return job
        return jobs.job_of(tenant=tenant, job_id=options["show"])

    def _tell_result(self, job: Job) -> None:
        result = job.result or {}
        if "looked_at" not in result:
            return
        counts = ("changed", "applied", "left", "skipped", "broken")
        numbers = ", ".join(f"{result.get(name, 0)} {name}" for name in counts)
        self.stdout.write(f"{result['looked_at']} turns looked at: {numbers}")
        for pair, count in result.get("outcomes", {}).items():
            self.stdout.write(f"  {count:>8}  {pair}")

    def _tell_changes(self, tenant: Tenant, job: Job) -> None:
        for shown, row in enumerate(_changes(tenant, job)):
            if shown == ROWS_SHOWN:
                self.stdout.write("… and more: --json has all.")
                return
            if not shown:
                self.stdout.write(f"{'turn':<{ID_WIDTH}}  {'before':<26}  {'after':<26}  applied")
            before, after = (_cell(side) for side in (row.before, row.after))
            applied = "yes" if row.applied else "no, reviewed"
            self.stdout.write(
                f"{_shown(row.turn.external_id):<{ID_WIDTH}}  {before:<26}  {after:<26}  {applied}"
            )


def row_of(row: RejudgedTurn) -> dict[str, Any]:
    """A changed turn as ``--json`` prints it."""
    return {
        "turn": row.turn_id,
        "external_id": row.turn.external_id,
        "applied": row.applied,
        "before": row.before,
        "after": row.after,
    }


def _changes(tenant: Tenant, job: Job) -> Iterator[RejudgedTurn]:
    after = 0
    while rows := changed_turns(tenant=tenant, job_id=job.pk, limit=ROWS_AT_ONCE, after=after):
        yield from rows
        after = rows[-1].turn_id


def _cell(side: dict[str, Any]) -> str:
    return f"{side['outcome']}, {len(side['findings'])} findings"


def _shown(external_id: str) -> str:
    """An agent's id, safe for a terminal, and short."""
    safe = "".join(char if char.isprintable() else "?" for char in external_id)
    return safe if len(safe) <= ID_WIDTH else safe[: ID_WIDTH - 1] + "…"
