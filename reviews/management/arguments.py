"""Arguments that several commands share."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import CommandError

from reviews.models import Tenant


def add_tenant_argument(parser: ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--tenant", required=required, metavar="SLUG", help="the tenant's short name")


def tenant_of(slug: str) -> Tenant:
    """The tenant of that short name, or an error for the person at the terminal that names those there are."""
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        known = ", ".join(Tenant.objects.order_by("slug").values_list("slug", flat=True)[:20])
        raise CommandError(f"There is no tenant {slug!r}. " + (f"There are: {known}." if known else "There is none yet."))
    return tenant
