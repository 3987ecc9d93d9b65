"""``manage.py extract_skills``: look for skills in a tenant's turns now instead of tonight."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from reviews.management.arguments import add_tenant_argument, complain, tenant_of
from reviews.management.waiting import as_json, told, wait_for
from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs
from reviews.services.errors import DomainError
from reviews.tasks import hint_jobs


class Command(BaseCommand):
    help = "Extracts drafts of skills from a tenant's newest turns by its policy, as happens every night."
    requires_system_checks = [Tags.database]

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_tenant_argument(parser, required=True)
        parser.add_argument("--wait", action="store_true", help="wait for the job's end, working on it too")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of sentences")

    def handle(self, *, tenant: str, **options: Any) -> None:
        here = tenant_of(tenant)
        try:
            job = jobs.start_job(tenant=here, kind=JobKind.EXTRACT, parameters={}, actor=None)
            hint_jobs()
            if options["wait"]:
                job = wait_for(here, job.pk, sys.stderr)
        except DomainError as error:
            raise complain(error) from error
        if options["json"]:
            self.stdout.write(json.dumps(as_json(job), ensure_ascii=False))
        else:
            self.stdout.write(told(job))
            if job.state == JobState.DONE:
                self.stdout.write(_result(job.result))
        if job.state == JobState.FAILED:
            sys.exit(1)


def _result(result: dict[str, Any]) -> str:
    counts = ", ".join(f"{result[name]} {name.replace('_', ' ')}" for name in ("kept", "folded", "came_back"))
    cost = "" if result["cost"] is None else f", cost {result['cost']:.4f}"
    return (
        f"{result['words']} ({result['extractor']}): {result['scanned']} episodes scanned, "
        f"{result['emitted']} emitted, {counts}{cost}. {result['detail']}"
    )
