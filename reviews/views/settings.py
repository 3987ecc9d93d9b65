"""Settings: the detection page, and the navigation that all pages of settings share."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from reviews.access import TenantRequest, tenant_view
from reviews.forms import FIELD_NAMES, MODE_NAMES, DetectionForm
from reviews.htmx import render_page
from reviews.models import PolicyVersion
from reviews.models.tenants import Role
from reviews.services.errors import ConflictError, InvalidError
from reviews.services.policies import Policy, current_policy, publish_settings

#: Versions listed below the form, newest first.
VERSIONS_SHOWN = 20

#: The pages of settings: name of the URL, what the navigation calls it, and who may open it.
PAGES = (
    ("settings", "Detection", Role.VIEWER),
    ("members", "Members", Role.VIEWER),
    ("api-keys", "API keys", Role.MANAGER),
    ("audit", "Audit log", Role.MANAGER),
)


#: What a redirect says with ``?done=``: only these sentences, never text from the address.
DONE = {
    "published": "Published. Turns analysed from now on go by these settings.",
    "role": "The role is changed.",
    "removed": "Removed. The person can no longer open this tenant.",
    "added": "Added.",
    "revoked": "Revoked. The key is refused from now on.",
}


class Tab(NamedTuple):
    url: str
    name: str
    is_current: bool


def settings_page(
    request: TenantRequest, current: str, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render one page of settings under the navigation to those the person may open."""
    tabs = [
        Tab(reverse(f"reviews:{url}", args=[request.tenant.slug]), name, url == current)
        for url, name, role in PAGES
        if request.membership.may(role)
    ]
    frame = {"page": "settings", "tabs": tabs, "done": DONE.get(request.GET.get("done", ""), "")}
    return render_page(request, template, {**frame, **context}, status=status)


def require_role(request: TenantRequest, role: Role) -> None:
    """For a page that more people may see than change. Raises PermissionDenied."""
    if not request.membership.may(role):
        raise PermissionDenied(f"This needs the role {role.label.lower()}.")


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def detection(request: TenantRequest) -> HttpResponse:
    """The settings in force; managers publish new ones, unless somebody else has done so meanwhile."""
    policy = current_policy(tenant=request.tenant)
    if request.method != "POST":
        return _show(request, policy, DetectionForm(initial=_initial(policy)))
    require_role(request, Role.MANAGER)
    form = DetectionForm(request.POST)
    if not form.is_valid():
        return _show(request, policy, form, status=422)
    typed = dict(form.cleaned_data)
    note, based_on = typed.pop("note"), typed.pop("based_on")
    try:
        publish_settings(
            tenant=request.tenant,
            author=request.user,
            values=policy.settings.to_json() | typed,
            note=note,
            based_on=based_on,
        )
    except InvalidError as error:
        form.add_problems(error.details["fields"])
        return _show(request, policy, form, status=422)
    except ConflictError as error:
        policy = current_policy(tenant=request.tenant)
        return _show(request, policy, form, conflict=error.message, status=409)
    return redirect(reverse("reviews:settings", args=[request.tenant.slug]) + "?done=published")


def _show(
    request: TenantRequest, policy: Policy, form: DetectionForm, *, conflict: str = "", status: int = 200
) -> HttpResponse:
    versions = (
        PolicyVersion.objects.for_tenant(request.tenant)
        .select_related("author")
        .defer("settings", "evidence")
        .order_by("-number")[:VERSIONS_SHOWN]
    )
    context = {
        "form": form,
        "settings": policy.settings,
        "number": policy.number,
        # After a conflict the typed values stand on the version in force: publishing again replaces it.
        "based_on": policy.number if conflict else form["based_on"].value(),
        "versions": list(versions),
        "may_publish": request.membership.may(Role.MANAGER),
        "mode_name": MODE_NAMES[policy.settings.fabrication_check_mode],
        "conflict": conflict,
        "theirs": _differences(policy, form) if conflict else [],
    }
    return settings_page(request, "settings", "reviews/settings/detection.html", context, status=status)


def _initial(policy: Policy) -> dict[str, Any]:
    return DetectionForm.initial_from(policy.settings, policy.number)


def _differences(policy: Policy, form: DetectionForm) -> list[tuple[str, str]]:
    """What the version in force says where the typed values say something else."""
    in_force = DetectionForm(_initial(policy))
    in_force.is_valid()
    return [
        (label, str(in_force[name].value()) or "(none)")
        for name, label in FIELD_NAMES.items()
        if in_force.cleaned_data.get(name) != form.cleaned_data.get(name)
    ]
