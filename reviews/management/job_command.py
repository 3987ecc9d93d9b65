"""Commands that start a job of a tenant now, which otherwise runs at night, and tell what came of it."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from reviews.management.arguments import add_tenant_argument, complain, tenant_of
from reviews.management.waiting import as_json, told, wait_for
from reviews.models import Tenant
from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs
from reviews.services.errors import DomainError
from reviews.tasks import hint_jobs


class JobCommand(BaseCommand):
    """Starts a job of ``kind``; ``describe`` puts its result into a sentence."""

    requires_system_checks = [Tags.database]
    kind: JobKind

    def describe(self, result: dict[str, Any]) -> str:
        raise NotImplementedError

    def parameters_of(self, tenant: Tenant, options: dict[str, Any]) -> dict[str, Any]:
        """What the job is started with. Raises DomainError or CommandError where it cannot be."""
        return {}

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_tenant_argument(parser, required=True)
        parser.add_argument("--wait", action="store_true", help="wait for the job's end, working on it too")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of sentences")

    def handle(self, *, tenant: str, **options: Any) -> None:
        here = tenant_of(tenant)
        try:
            parameters = self.parameters_of(here, options)
            job = jobs.start_job(tenant=here, kind=self.kind, parameters=parameters, actor=None)
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
                self.stdout.write(self.describe(job.result))
        if job.state == JobState.FAILED:
            sys.exit(1)
