"""API keys: making, listing and revoking them. A secret is in the answer to its making and nowhere else."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from reviews.access import TenantRequest, tenant_view
from reviews.forms import ApiKeyForm
from reviews.models import ApiKey
from reviews.models.tenants import Role, Scope
from reviews.services import keys
from reviews.services.errors import InvalidError, NotFoundError
from reviews.views.settings import settings_page

#: Keys listed, newest first.
KEYS_SHOWN = 200


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def api_keys(request: TenantRequest) -> HttpResponse:
    """The list. A POST makes a key and shows its secret on the page that answers, this once."""
    if request.method != "POST":
        return _show(request, ApiKeyForm())
    form = ApiKeyForm(request.POST)
    if not form.is_valid():
        return _show(request, form, status=422)
    try:
        created = keys.create_key(
            tenant=request.tenant,
            author=request.user,
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            expires_at=form.expires_at,
        )
    except InvalidError as error:
        form.add_problems(error.details["fields"])
        return _show(request, form, status=422)
    return _show(request, ApiKeyForm(), created=created, status=201)


@require_POST
@tenant_view(Role.MANAGER)
def revoke(request: TenantRequest, key_id: int) -> HttpResponse:
    try:
        keys.revoke_key(tenant=request.tenant, author=request.user, key_id=key_id)
    except NotFoundError as error:
        raise Http404 from error
    return redirect(reverse("reviews:api-keys", args=[request.tenant.slug]) + "?done=revoked")


def _show(
    request: TenantRequest, form: ApiKeyForm, *, created: keys.CreatedKey | None = None, status: int = 200
) -> HttpResponse:
    listed = (
        ApiKey.objects.for_tenant(request.tenant).select_related("created_by").order_by("-created_at", "-id")
    )[:KEYS_SHOWN]
    context = {
        "form": form,
        "chosen": form["scopes"].value() or [],
        "scopes": Scope.choices,
        "keys": list(listed),
        "created": created,
        "today": timezone.localdate(),
    }
    return settings_page(request, "api-keys", "reviews/settings/api_keys.html", context, status=status)
