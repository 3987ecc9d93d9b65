"""Members: everybody sees who belongs here, owners say who does and as what."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from reviews.access import TenantRequest, tenant_view
from reviews.forms import MemberForm, RoleForm
from reviews.models import Membership
from reviews.models.tenants import Role
from reviews.services import accounts, tenants
from reviews.services.errors import ConflictError, NotFoundError
from reviews.views.settings import require_role, settings_page

#: What each role may do, said beside the choice.
ROLES = {
    Role.VIEWER: "looks at everything but keys and audit log",
    Role.REVIEWER: "also decides, notes, corrects and assigns",
    Role.MANAGER: "also publishes settings, makes keys, reads the audit log",
    Role.OWNER: "also says who belongs here",
}


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def members(request: TenantRequest) -> HttpResponse:
    """The list. An owner's POST adds a person; a new account's password is on the page that answers, once."""
    if request.method != "POST":
        return _show(request)
    require_role(request, Role.OWNER)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _show(request, form=form, status=422)
    try:
        invited = accounts.invite_member(tenant=request.tenant, author=request.user, **form.cleaned_data)
    except ConflictError as error:
        form.add_error("username", error.message)
        return _show(request, form=form, status=409)
    if invited.password:
        return _show(request, invited=invited, status=201)
    return _done(request, "added")


@require_POST
@tenant_view(Role.OWNER)
def change_role(request: TenantRequest, user_id: int) -> HttpResponse:
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _show(request, problem="There is no such role.", status=422)
    try:
        tenants.change_role(
            tenant=request.tenant, author=request.user, user_id=user_id, role=form.cleaned_data["role"]
        )
    except NotFoundError as error:
        raise Http404 from error
    except ConflictError as error:
        return _show(request, problem=error.message, status=409)
    return _done(request, "role")


@require_POST
@tenant_view(Role.OWNER)
def remove(request: TenantRequest, user_id: int) -> HttpResponse:
    """End a membership; an owner who leaves goes to what they still may see."""
    try:
        tenants.remove_member(tenant=request.tenant, author=request.user, user_id=user_id)
    except NotFoundError as error:
        raise Http404 from error
    except ConflictError as error:
        return _show(request, problem=error.message, status=409)
    return redirect("reviews:home") if user_id == request.user.pk else _done(request, "removed")


def _done(request: TenantRequest, what: str) -> HttpResponse:
    return redirect(reverse("reviews:members", args=[request.tenant.slug]) + f"?done={what}")


def _show(
    request: TenantRequest,
    *,
    form: MemberForm | None = None,
    invited: accounts.Invited | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    people = Membership.objects.for_tenant(request.tenant).select_related("user").order_by("user__username")
    context: dict[str, Any] = {
        "members": list(people),
        "form": form or MemberForm(),
        "roles": Role.choices,
        "role_words": [(role.label, words) for role, words in ROLES.items()],
        "may_manage": request.membership.may(Role.OWNER),
        "invited": invited,
        "login_address": request.build_absolute_uri(reverse("reviews:login")),
        "problem": problem,
    }
    return settings_page(request, "members", "reviews/settings/members.html", context, status=status)
