"""Who may open a page: the tenant in the address, the person's membership, and the role it asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django_htmx.middleware import HtmxDetails

from reviews.models import Membership, Tenant, User
from reviews.models.confinement import confined
from reviews.models.tenants import Role

P = ParamSpec("P")


class TenantRequest(HttpRequest):
    """A request that ``tenant_view`` let through."""

    user: User
    htmx: HtmxDetails
    tenant: Tenant
    membership: Membership
    #: All of the person's memberships, for the tenant switcher.
    memberships: list[Membership]


def tenant_view(
    role: Role = Role.VIEWER,
) -> Callable[[Callable[Concatenate[TenantRequest, P], HttpResponse]], Callable[..., HttpResponse]]:
    """Guard a view whose address names a tenant. One query.

    A stranger gets 404, as for a tenant that does not exist; a member without the role gets 403.
    """

    def decorate(view: Callable[Concatenate[TenantRequest, P], HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def guarded(request: Any, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            request.memberships = memberships_of(request.user)
            for membership in request.memberships:
                if membership.tenant.slug == slug:
                    break
            else:
                raise Http404
            request.membership, request.tenant = membership, membership.tenant
            if not membership.may(role):
                raise PermissionDenied(f"This needs the role {role.label.lower()}.")
            with confined(request.tenant.pk):
                return view(request, *args, **kwargs)

        return guarded

    return decorate


def memberships_of(user: User) -> list[Membership]:
    """A person's memberships, by the tenant's name."""
    memberships = Membership.objects.across_tenants().filter(user=user).select_related("tenant")
    return sorted(memberships, key=lambda m: (m.tenant.name, m.tenant_id))
