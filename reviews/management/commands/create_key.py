"""``manage.py create_key``: a key for an agent's process."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from reviews.management.arguments import add_tenant_argument, complain, tenant_of
from reviews.models.tenants import Scope
from reviews.services.errors import DomainError
from reviews.services.keys import create_key

#: A century: whoever wants longer leaves it out.
MOST_DAYS = 36_500


class Command(BaseCommand):
    help = "Creates an API key. Its secret is printed on standard output, this once and never again."
    requires_system_checks = [Tags.database]

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add_tenant_argument(parser, required=True)
        add("--name", required=True, help="what the key is for")
        add(
            "--scope",
            dest="scopes",
            action="append",
            choices=Scope.values,
            help=f"what it may do, can be given more than once (default: {Scope.INGEST.value})",
        )
        add("--days", type=int, metavar="N", help="how long it lives (default: until it is revoked)")

    def handle(self, *, tenant: str, name: str, scopes: list[str] | None, days: int | None, **_: Any) -> None:
        if days is not None and not 0 < days <= MOST_DAYS:
            raise CommandError(f"--days must be 1 to {MOST_DAYS}.")
        try:
            created = create_key(
                tenant=tenant_of(tenant),
                author=None,
                name=name,
                scopes=scopes or [Scope.INGEST.value],
                expires_at=timezone.now() + timedelta(days=days) if days else None,
            )
        except DomainError as error:
            raise complain(error) from error
        self.stderr.write(f"Key {created.key.prefix} ({created.key.scopes}); its secret is not stored:")
        self.stdout.write(created.secret)
