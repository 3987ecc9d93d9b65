"""Settings: the policy's editor, and the navigation that all pages of settings share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from django.core.exceptions import PermissionDenied
from django.forms import BoundField
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from reviews.access import TenantRequest, tenant_view
from reviews.core.settings import TenantSettings, parse_settings
from reviews.htmx import render_page
from reviews.models import PolicyVersion
from reviews.models.policies import PolicyState
from reviews.models.tenants import Role
from reviews.policy_forms import KINDS, PolicyForm, kind_field
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.judge import Policy
from reviews.services.policies import (
    DEFAULTS,
    current_policy,
    policy_of,
    policy_version,
    unpublished_versions,
)
from reviews.services.publishing import save_draft
from reviews.setting_words import ALWAYS_OFF, KIND_NAMES, SECTIONS, Setting, values_in_words
from reviews.views.policy_words import DiffRow, diff_rows, state_of

#: Longer numbers name no version.
MAX_DIGITS = 9

#: The pages of settings: name of the URL, what the navigation calls it, and who may open it.
PAGES = (
    ("settings", "Policy", Role.VIEWER),
    ("policy-versions", "Versions", Role.VIEWER),
    ("members", "Members", Role.VIEWER),
    ("api-keys", "API keys", Role.MANAGER),
    ("runtime", "Runtime", Role.MANAGER),
    ("audit", "Audit log", Role.MANAGER),
)


#: What a redirect says with ``?done=``: only these sentences, never text from the address.
DONE = {
    "drafted": "Saved as a draft. Nothing changes until it is published.",
    "published": "Published. Turns analysed from now on go by this version.",
    "rolled-back": "Rolled back. Turns analysed from now on go by this copy.",
    "shadowed": "Running in shadow: new turns are judged by both versions, and only the one in force counts.",
    "ended": "The shadow has ended. This version is a plain draft again.",
    "discarded": "Set aside. The draft stays in the history.",
    "role": "The role is changed.",
    "removed": "Removed. The person can no longer open this tenant.",
    "added": "Added.",
    "revoked": "Revoked. The key is refused from now on.",
    "runtime": "Saved.",
    "runtime-removed": "Removed. Nothing is pulled from there or sent to it any more.",
    "pulling": "Pulling has been put in line; look again in a moment.",
    "retried": "It is being sent again.",
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


def manager_action(
    page: Callable[[TenantRequest, int], str],
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Make a view that only does something, for managers, to what a number in its address names.

    Who looks at its address, as after an action that was refused, is sent to the address that ``page`` gives.
    """

    def decorate(do: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        def view(request: TenantRequest, /, **about: int) -> HttpResponse:
            (number,) = about.values()
            if request.method != "POST":
                return redirect(page(request, number))
            require_role(request, Role.MANAGER)
            return do(request, number)

        return wraps(do)(require_http_methods(["GET", "HEAD", "POST"])(tenant_view()(view)))

    return decorate


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def policy(request: TenantRequest) -> HttpResponse:
    """All settings of the policy. Managers write drafts here; publishing is a step of its own.

    Edited is the newest unpublished version, else the one in force, or the one that ``?version=`` names.
    """
    current = current_policy(tenant=request.tenant)
    if not request.membership.may(Role.MANAGER):
        if request.method == "POST":
            require_role(request, Role.MANAGER)
        context = {"values": values_in_words(current.settings), "number": current.number}
        return settings_page(request, "settings", "reviews/settings/policy.html", context)
    asked = request.GET.get("version", "")
    if request.method != "POST":
        edited = _edited(request, current, asked=asked)
        return _show(request, current, edited, PolicyForm(initial=edited.initial))
    form = PolicyForm(request.POST)
    if not form.is_valid():
        return _show(request, current, _edited(request, current, asked=asked), form, status=422)
    try:
        # Suites are edited on a page of their own, and stay as they are here.
        suites = _suites(request, current, asked=asked, based_on=form.cleaned_data["based_on"])
        values = form.values | {"assertion_suites": suites}
        draft = save_draft(
            tenant=request.tenant,
            author=request.user,
            values=values,
            based_on=form.cleaned_data["based_on"],
            note=form.cleaned_data["note"],
        )
    except NotFoundError as error:
        raise Http404 from error
    except InvalidError as error:
        form.add_problems(error.details["fields"])
        problem = "" if error.details["fields"] else error.message
        return _show(
            request, current, _edited(request, current, asked=asked), form, problem=problem, status=422
        )
    except ConflictError as error:
        # The typed values now stand on what won: saving again replaces that, with open eyes.
        edited = _edited(request, current, asked="")
        kept = {"assertion_suites": edited.settings.to_json()["assertion_suites"]}
        theirs = diff_rows(edited.settings, parse_settings(form.values | kept))
        return _show(request, current, edited, form, conflict=error.message, theirs=theirs, status=409)
    address = reverse("reviews:policy-version", args=[request.tenant.slug, draft.number])
    return redirect(f"{address}?done=drafted")


class Edited(NamedTuple):
    """What a draft is made from: settings, and the number of the version that it will be based on.

    ``version`` is None for the defaults. A draft that was set aside lends its settings only.
    """

    version: PolicyVersion | None
    settings: TenantSettings
    based_on: int

    @property
    def initial(self) -> dict[str, Any]:
        return PolicyForm.initial_from(self.settings, self.based_on)


def _edited(request: TenantRequest, current: Policy, *, asked: str) -> Edited:
    """What the person asked to edit, or without a word would want to."""
    drafts = [] if asked else unpublished_versions(tenant=request.tenant)
    number = drafts[0].number if drafts else current.number
    if asked:
        if not asked.isdecimal() or len(asked) > MAX_DIGITS:
            raise Http404
        number = int(asked)
    if not number:
        return Edited(None, DEFAULTS.settings, 0)
    try:
        version = policy_version(tenant=request.tenant, number=number)
    except NotFoundError as error:
        raise Http404 from error
    is_set_aside = version.state == PolicyState.SUPERSEDED and version.published_at is None
    return Edited(version, policy_of(version).settings, current.number if is_set_aside else number)


def _suites(request: TenantRequest, current: Policy, *, asked: str, based_on: int) -> list[dict[str, Any]]:
    """The suites, in their JSON form, of what is edited. Raises NotFoundError for no such version."""
    edited = _edited(request, current, asked=asked) if asked else None
    if edited is not None and edited.based_on == based_on:
        settings = edited.settings
    elif based_on:
        settings = policy_of(policy_version(tenant=request.tenant, number=based_on)).settings
    else:
        settings = DEFAULTS.settings
    return [suite.to_json() for suite in settings.assertion_suites]


def _show(
    request: TenantRequest,
    current: Policy,
    edited: Edited,
    form: PolicyForm,
    *,
    problem: str = "",
    conflict: str = "",
    theirs: Sequence[DiffRow] = (),
    status: int = 200,
) -> HttpResponse:
    version = edited.version
    context = {
        "form": form,
        "sections": [
            (section, [(setting, _fields_of(form, setting)) for setting in section.settings])
            for section in SECTIONS
        ],
        "always_off": ALWAYS_OFF,
        "number": current.number,
        "edited": version,
        "edited_state": state_of(version) if version else None,
        "based_on": edited.based_on if conflict or not form.is_bound else form["based_on"].value(),
        "is_mine": version is not None and version.author_id == request.user.pk,
        "problem": problem,
        "conflict": conflict,
        "theirs": theirs,
        "wrong": _wrong(form),
    }
    return settings_page(request, "settings", "reviews/settings/policy.html", context, status=status)


def _fields_of(form: PolicyForm, setting: Setting) -> list[tuple[str, BoundField]]:
    """The fields that a setting is typed into, with the name of each where there are several."""
    if setting.shape == "by_kind":
        return [(KIND_NAMES[kind], form[kind_field(kind)]) for kind in KINDS]
    return [("", form[setting.name])]


class Wrong(NamedTuple):
    """A field that cannot be used: what the page calls it, where it is, and why."""

    label: str
    anchor: str
    text: str


def _wrong(form: PolicyForm) -> list[Wrong]:
    """In the order of the page; for the form as a whole the page has other words."""
    labels = {
        field.name: f"{setting.label}, {name}" if name else setting.label
        for section in SECTIONS
        for setting in section.settings
        for name, field in _fields_of(form, setting)
    } | {"note": "Note"}
    return [
        Wrong(label, form[name].id_for_label or f"id_{name}", " ".join(map(str, form.errors[name])))
        for name, label in labels.items()
        if name in form.errors
    ]
