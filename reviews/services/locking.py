"""The one lock of a tenant: whoever changes its policy, suggestions, jobs or skills takes it first."""

from __future__ import annotations

from reviews.models import Tenant


def lock_tenant(tenant_id: int) -> None:
    """Wait for whoever else has it; held until the transaction ends, so two people act one after the other.

    The row is locked without its key, which rows written meanwhile refer to.
    """
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
