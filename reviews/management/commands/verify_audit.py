"""``manage.py verify_audit``: whether the audit log is as it was written."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from reviews.management.arguments import add_tenant_argument, tenant_of
from reviews.models import AuditHead, Tenant
from reviews.services.audit import verify_chain


class Command(BaseCommand):
    help = "Checks the audit log's hash chain; ends with exit code 1 when anything was changed or is missing."
    requires_system_checks = [Tags.database]

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_tenant_argument(parser, required=False)

    def handle(self, *, tenant: str | None, **_: Any) -> None:
        tenants = [tenant_of(tenant)] if tenant else Tenant.objects.order_by("slug").iterator()
        whole = True
        for one in tenants:
            broken = False
            for sentence in verify_chain(tenant=one):
                broken = True
                self.stderr.write(sentence)
            if broken:
                whole = False
            else:
                head = AuditHead.objects.for_tenant(one).first()
                self.stdout.write(f"{one.slug}: {head.sequence if head else 0} events, all as written")
        if not whole:
            sys.exit(1)
