"""Tenant scoping that fails closed: a tenant's table has no query that forgot to say which tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django.db import models

if TYPE_CHECKING:
    from reviews.models.tenants import Tenant

M = TypeVar("M", bound=models.Model)


class UnscopedQueryError(RuntimeError):
    """A tenant's table was queried without a tenant."""


class TenantManager(models.Manager[M]):
    """Manager of a table that belongs to a tenant.

    ``for_tenant`` is the door for web and API; ``across_tenants`` is for the jobs that serve all of them
    (sweep, migration, verification) and is easy to find by name. Everything else raises.
    """

    def get_queryset(self) -> models.QuerySet[M]:
        # A related manager (turn.findings) is bound to one row, whose tenant was checked when it was read.
        if getattr(self, "instance", None) is not None:
            return super().get_queryset()
        raise UnscopedQueryError(
            f"{self.model.__name__} belongs to a tenant: start from objects.for_tenant(tenant)."
        )

    def for_tenant(self, tenant: Tenant | int) -> models.QuerySet[M]:
        return self.across_tenants().filter(tenant=tenant)

    def across_tenants(self) -> models.QuerySet[M]:
        return super().get_queryset()


class TenantModel(models.Model):
    """Base of every table that belongs to a tenant."""

    tenant = models.ForeignKey("reviews.Tenant", on_delete=models.PROTECT, related_name="+", db_index=False)

    objects = TenantManager()

    class Meta:
        abstract = True
