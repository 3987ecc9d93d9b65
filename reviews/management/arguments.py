"""What several commands share: the argument that names a tenant, and how a refusal is told."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import CommandError

from reviews.models import Tenant
from reviews.services.errors import DomainError

#: Tenants that an error names.
TENANTS_NAMED = 20


def add_tenant_argument(parser: ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--tenant", required=required, metavar="SLUG", help="the tenant's short name")


def tenant_of(slug: str) -> Tenant:
    """The tenant of that short name, or an error that names those there are."""
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        slugs = Tenant.objects.order_by("slug").values_list("slug", flat=True)[:TENANTS_NAMED]
        known = f"There are: {', '.join(slugs)}." if slugs else "There is none yet: see create_tenant."
        raise CommandError(f"There is no tenant {slug!r}. {known}")
    return tenant


def complain(error: DomainError) -> CommandError:
    """A refusal in the words of the service, with what is wrong with each value."""
    fields = error.details.get("fields") or {}
    return CommandError(" ".join([error.message, *(f"{name}: {text}" for name, text in fields.items())]))
