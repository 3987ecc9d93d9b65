"""``manage.py export_skills``: approved skills as symfonic memory entries, one JSON object a line."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from reviews.management.arguments import add_tenant_argument, tenant_of
from reviews.services.skill_listing import approved_entries


class Command(BaseCommand):
    help = "Prints a tenant's approved skills as symfonic memory entries, one JSON object a line."
    requires_system_checks = [Tags.database]

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_tenant_argument(parser, required=True)

    def handle(self, *, tenant: str, **_: Any) -> None:
        for entry in approved_entries(tenant=tenant_of(tenant)):
            # Text of agents: escaped, so that a terminal and a line stay what they are.
            self.stdout.write(json.dumps(entry))
