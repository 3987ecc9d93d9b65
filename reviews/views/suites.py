"""Editing one suite of memory assertions: saved as a draft of the policy, in force once that is published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.forms import BoundField
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from reviews.access import TenantRequest, tenant_view
from reviews.core.assertion_suites import MAX_ASSERTIONS, MAX_SUITES, AssertionSuite
from reviews.htmx import render_page
from reviews.models.tenants import Role
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.judge import Policy
from reviews.services.policies import DEFAULTS, current_policy, policy_of, policy_version
from reviews.services.suites import editable_policy, save_suites, with_suite
from reviews.suite_forms import OPTIONS, TYPE_HINTS, TYPE_NAMES, SuiteForm, blank

NEW = AssertionSuite("", assertions=(blank("prompt_recall_excludes"),))


class Option(NamedTuple):
    """One field of an assertion. ``shape`` is "text", "number", "lines" or "flag"."""

    label: str
    hint: str
    shape: str
    field: BoundField


class Fieldset(NamedTuple):
    """One assertion in the form."""

    number: int
    type: str
    title: str
    hint: str
    label: BoundField
    options: list[Option]


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def new_suite(request: TenantRequest) -> HttpResponse:
    return _edit(request, None)


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def suite_view(request: TenantRequest, position: int) -> HttpResponse:
    return _edit(request, position)


def _edit(request: TenantRequest, position: int | None) -> HttpResponse:
    base = _base(request)
    suites = base.settings.assertion_suites
    if position is not None and position >= len(suites):
        raise Http404
    if request.method != "POST":
        suite = NEW if position is None else suites[position]
        initial = SuiteForm.initial_from(suite, base.number)
        return _show(
            request, position, base, SuiteForm(initial=initial, types=[s.type for s in suite.assertions])
        )
    if "delete" in request.POST and position is not None:
        return _save(request, position, base, None)
    form = SuiteForm(request.POST, types=SuiteForm.types_in(request.POST))
    if changed := _rows_changed(request, form):
        return _show(request, position, base, changed)
    if not form.is_valid():
        return _show(request, position, base, form, status=422)
    return _save(request, position, base, form)


def _base(request: TenantRequest) -> Policy:
    """The version that is edited: the one the form was made from, else the newest that can be."""
    sent = request.POST.get("based_on", "")
    if not sent:
        return editable_policy(tenant=request.tenant, current=current_policy(tenant=request.tenant))
    if not sent.isdecimal() or len(sent) > 9:
        raise Http404
    try:
        return policy_of(policy_version(tenant=request.tenant, number=int(sent))) if int(sent) else DEFAULTS
    except NotFoundError as error:
        raise Http404 from error


def _rows_changed(request: TenantRequest, form: SuiteForm) -> SuiteForm | None:
    """The form with an assertion added or taken out, when that is what was asked for."""
    add, remove = request.POST.get("add", ""), request.POST.get("take_out", "")
    kept = [n for n in range(len(form.types)) if str(n) != remove]
    kinds = [form.types[n] for n in kept]
    if add in OPTIONS and len(kinds) < MAX_ASSERTIONS:
        kinds.append(add)
    if kinds == form.types:
        return None
    initial: dict[str, Any] = {
        name: form[name].value()
        for name in ("name", "agents", "tags", "sampling", "queue", "note", "based_on")
    }
    for to, n in enumerate(kept):
        for option in ("label", *OPTIONS[form.types[n]]):
            initial[f"{to}-{option}"] = form[f"{n}-{option}"].value()
    if len(kinds) > len(kept):
        fresh = SuiteForm.initial_from(AssertionSuite("", assertions=(blank(add),)), 0)
        initial |= {f"{len(kept)}-{key[2:]}": value for key, value in fresh.items() if key.startswith("0-")}
    return SuiteForm(initial=initial, types=kinds)


def _save(request: TenantRequest, position: int | None, base: Policy, form: SuiteForm | None) -> HttpResponse:
    """Write a draft with the suite in its place, or without it for no form."""
    suites = with_suite(base.settings.assertion_suites, position=position, suite=form.suite if form else None)
    try:
        draft = save_suites(
            tenant=request.tenant,
            author=request.user,
            suites=suites,
            based_on=base.number,
            note=form.cleaned_data["note"] if form else _note(request),
        )
    except ConflictError as error:
        return _outrun(request, position, base, form, error.message)
    except InvalidError as error:
        if form is not None:
            _place(form, error.details["fields"], at=len(suites) - 1 if position is None else position)
        problem = "" if form is not None and form.errors else error.message
        return _refused(request, position, base, form, problem, status=422)
    address = reverse("reviews:policy-version", args=[request.tenant.slug, draft.number])
    return redirect(f"{address}?done=drafted")


def _note(request: TenantRequest) -> str:
    """The note beside the button that removes the suite, of which nothing else matters then."""
    return request.POST.get("note", "").replace("\0", "").strip()


def _outrun(
    request: TenantRequest, position: int | None, base: Policy, form: SuiteForm | None, problem: str
) -> HttpResponse:
    """Somebody else was quicker. Where the suite still has its place, what was typed now stands on what won:
    saving again replaces that, with open eyes."""
    newest = editable_policy(tenant=request.tenant, current=current_policy(tenant=request.tenant))
    if position is None or _name_at(newest, position) == _name_at(base, position):
        problem = f"{problem} Now you change version {newest.number}."
        base = newest
        if form is not None:
            data = request.POST.copy()
            data["based_on"] = str(newest.number)
            form = SuiteForm(data, types=form.types)
    else:
        problem = f"{problem} There the suites stand in another order: open the suite again."
    return _refused(request, position, base, form, problem, status=409)


def _name_at(policy: Policy, position: int) -> str:
    suites = policy.settings.assertion_suites
    return suites[position].name if position < len(suites) else ""


def _place(form: SuiteForm, fields: dict[str, str], *, at: int) -> None:
    """Problems of our suite beside its fields; what is wrong with the list or others above the form."""
    ours = {path.partition("/")[2]: text for path, text in fields.items() if path.startswith(f"{at}/")}
    form.add_problems(ours)
    for path, text in fields.items():
        if not path.startswith(f"{at}/"):
            form.add_error(None, text)


def _refused(
    request: TenantRequest,
    position: int | None,
    base: Policy,
    form: SuiteForm | None,
    problem: str,
    *,
    status: int,
) -> HttpResponse:
    if form is None:
        suite = base.settings.assertion_suites[position or 0]
        form = SuiteForm(
            initial=SuiteForm.initial_from(suite, base.number), types=[s.type for s in suite.assertions]
        )
    return _show(request, position, base, form, problem=problem, status=status)


def _show(
    request: TenantRequest,
    position: int | None,
    base: Policy,
    form: SuiteForm,
    *,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    current = current_policy(tenant=request.tenant)
    suites = base.settings.assertion_suites
    context = {
        "page": "assertions",
        "form": form,
        "fieldsets": _fieldsets(form),
        "types": list(TYPE_NAMES.items()),
        "title": suites[position].name if position is not None else "New suite",
        "is_new": position is None,
        "is_full": len(form.types) >= MAX_ASSERTIONS,
        "too_many": position is None and len(suites) >= MAX_SUITES,
        "edited_number": base.number,
        "is_draft": base.number != current.number,
        "problem": problem,
    }
    return render_page(
        request,
        "reviews/assertions/suite.html",
        context,
        fragment="reviews/assertions/_suite_form.html",
        status=status,
    )


def _fieldsets(form: SuiteForm) -> Sequence[Fieldset]:
    return [
        Fieldset(
            n,
            kind,
            TYPE_NAMES[kind],
            TYPE_HINTS[kind],
            form[f"{n}-label"],
            [
                Option(label, hint, _shape(form, f"{n}-{option}"), form[f"{n}-{option}"])
                for option, (label, hint, _) in OPTIONS[kind].items()
            ],
        )
        for n, kind in enumerate(form.types)
    ]


def _shape(form: SuiteForm, name: str) -> str:
    shapes = {"BooleanField": "flag", "IntegerField": "number", "LinesField": "lines", "MapField": "lines"}
    return shapes.get(type(form.fields[name]).__name__, "text")
