"""``manage.py analyze``: stored turns once more, by the policy that is in force now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any, get_args

from reviews.core.settings import DetectionProfile
from reviews.management.job_command import JobCommand
from reviews.models import Tenant
from reviews.models.jobs import JobKind
from reviews.services.errors import InvalidError
from reviews.services.policies import current_policy

_COUNTS = ("changed", "applied", "left", "skipped", "broken")


class Command(JobCommand):
    help = (
        "Analyses a tenant's stored turns again by the policy in force. Turns that a reviewer has worked on "
        "stay as they are; what would differ is recorded. The job goes on after a crash where it was; "
        "rejudge pauses, resumes and shows it."
    )
    kind = JobKind.REJUDGE

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--profile",
            choices=get_args(DetectionProfile),
            help="refuse unless the policy in force judges by this detector",
        )
        parser.add_argument("--since", metavar="DATE", help="only turns that occurred since, e.g. 2026-01-31")

    def parameters_of(self, tenant: Tenant, options: dict[str, Any]) -> dict[str, Any]:
        policy = current_policy(tenant=tenant)
        wanted, given = options["profile"], policy.settings.detection_profile
        if wanted and wanted != given:
            raise InvalidError(
                f"Version {policy.number}, in force, judges by the {given} profile. Publish a version with "
                f"detection_profile {wanted!r} first (Settings, Policy): the history then says what judged."
            )
        return {"version": policy.number, "since": options["since"]}

    def describe(self, result: dict[str, Any]) -> str:
        numbers = ", ".join(f"{result.get(name, 0)} {name}" for name in _COUNTS)
        return f"{result.get('looked_at', 0)} turns looked at: {numbers}"
