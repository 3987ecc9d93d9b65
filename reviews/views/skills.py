"""Skills: a filtered list a page at a time, learning new ones, and rejecting many at once."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.core.settings import TenantSettings
from reviews.htmx import render_page, wants_fragment
from reviews.models import Skill, User
from reviews.models.jobs import JobKind
from reviews.models.skills import RejectReason, SkillOrigin, SkillState
from reviews.models.tenants import Role
from reviews.services import jobs, skill_bulk, skill_queue
from reviews.services.errors import (
    ConflictError,
    DomainError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from reviews.services.policies import current_policy
from reviews.services.skill_queue import SkillCounts, SkillFilter, parse_skill_filter
from reviews.skill_forms import RejectForm
from reviews.tasks import hint_deliveries, hint_jobs
from reviews.views.settings import require_role
from reviews.views.skill_runs import latest_run
from reviews.views.skill_words import KIND_NAMES, SkillRow, counted, people_of, skill_row

FILTERS = ("state", "kind", "origin", "text")
#: What the list shows: drafts that the policy trusts enough stand apart from the others.
STATE_NAMES = {
    "draft": "Drafts",
    "low": "Low confidence",
    "approved": "Approved",
    "rejected": "Rejected",
    "retired": "Retired",
    "merged": "Merged",
}
DRAFT_STATES = ("draft", "low")

#: What ``skill_bulk.reject_many`` returns.
BATCH = re.compile("[0-9a-f]{32}")

#: What a redirect says with ``?done=``: only these sentences, never text from the address.
DONE = {
    "rejected": "The drafts are rejected.",
    "undone": "Undone: the drafts wait again.",
    "learning": "Learning has been put in line.",
}


class Tab(NamedTuple):
    """A link that shows part of the list. ``number`` is empty where nobody counted."""

    name: str
    url: str
    number: str
    is_current: bool


@require_safe
@tenant_view()
def skills_view(request: TenantRequest) -> HttpResponse:
    return show_list(request)


def show_list(request: TenantRequest, *, problem: str = "", status: int = 200) -> HttpResponse:
    """The list. HTMX gets the list alone, or with a cursor the rows that follow."""
    wanted, wrong = filter_from(request)
    query = query_of(request)
    cursor = request.GET.get("cursor", "")
    settings = current_policy(tenant=request.tenant).settings
    try:
        page = skill_queue.skill_page(tenant=request.tenant, wanted=wanted, cursor=cursor)
    except InvalidError as error:
        wrong = error.details.get("fields") or {"cursor": error.message}
        page = skill_queue.SkillPage([], "")
    status = 422 if wrong else status
    context: dict[str, Any] = {
        "rows": rows_of(request, page.skills, settings, query),
        "more": _more(query, page.cursor) if page.cursor else "",
    }
    if cursor and wants_fragment(request):
        return render_page(
            request, "reviews/skills/list.html", context, fragment="reviews/skills/_rows.html", status=status
        )
    state = _state_of(wanted)
    found = skill_queue.counts(tenant=request.tenant)
    may_manage = request.membership.may(Role.MANAGER)
    is_narrowed = bool(wanted.kind or wanted.text or wanted.origin)
    batch = request.GET.get("batch", "")
    context |= {
        "page": "skills",
        "wanted": wanted,
        "state": state,
        "query": query or f"state={state}",
        "kinds": _kind_tabs(wanted, found),
        "low": Tab("Low confidence", "?state=low", _number(found.low), state == "low"),
        "folded": _number(found.folded),
        "heading": _heading(wanted, found),
        "wrong": wrong,
        "problem": problem,
        "filtered": is_narrowed,
        "choices": _choices(wanted),
        "may_start": may_manage,
        "may_bulk": may_manage and state in DRAFT_STATES,
        "done": DONE.get(request.GET.get("done", ""), ""),
        "undo_batch": batch if BATCH.fullmatch(batch) and may_manage else "",
        "run": latest_run(tenant=request.tenant),
    }
    return render_page(
        request, "reviews/skills/list.html", context, fragment="reviews/skills/_list.html", status=status
    )


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def learn(request: TenantRequest) -> HttpResponse:
    """How learning goes, for HTMX, which asks with what it has ``seen``; POST starts it."""
    if request.method != "POST":
        return _progress(request)
    require_role(request, Role.MANAGER)
    try:
        jobs.start_job(tenant=request.tenant, kind=JobKind.EXTRACT, parameters={}, actor=request.user)
    except (ConflictError, InvalidError) as error:
        if wants_fragment(request):
            return _run(request, status=_status_of(error))
        return show_list(request, problem=error.message, status=_status_of(error))
    hint_jobs()
    if wants_fragment(request):
        return _run(request)
    return redirect(reverse("reviews:skills", args=[request.tenant.slug]) + "?done=learning")


def _progress(request: TenantRequest) -> HttpResponse:
    if not wants_fragment(request):
        return redirect("reviews:skills", request.tenant.slug)
    if request.GET.get("seen") == latest_run(tenant=request.tenant).seen:
        return HttpResponse(status=204)
    return _run(request)


def _run(request: TenantRequest, *, status: int = 200) -> HttpResponse:
    context = {
        "run": latest_run(tenant=request.tenant),
        "may_start": request.membership.may(Role.MANAGER),
    }
    return render_page(
        request, "reviews/skills/list.html", context, fragment="reviews/skills/_run.html", status=status
    )


# -- Many at once


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def reject_all(request: TenantRequest) -> HttpResponse:
    """What rejecting everything in the filter would do, exactly; POST does it."""
    if request.method != "POST":
        return _show_bulk(request, RejectForm())
    wanted, wrong = filter_from(request)
    form = RejectForm(request.POST)
    if wrong or not form.is_valid():
        return _show_bulk(request, form, status=422)
    try:
        batch = skill_bulk.reject_many(
            tenant=request.tenant,
            actor=request.user,
            wanted=wanted,
            ids_digest=request.POST.get("ids_digest", ""),
            **form.cleaned_data,
        )
    except ConflictError as error:
        return _show_bulk(request, form, problem=error.message, status=409)
    except InvalidError as error:
        form.add_problems(error.details.get("fields") or {"reason": error.message})
        return _show_bulk(request, form, status=422)
    hint_deliveries()
    return _back(request, done="rejected", batch=batch)


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def undo_all(request: TenantRequest, batch: str) -> HttpResponse:
    """Undo a bulk decision as a whole. Who looks at the address is sent to the list."""
    if request.method != "POST":
        return redirect("reviews:skills", request.tenant.slug)
    try:
        skill_bulk.undo_batch(tenant=request.tenant, actor=request.user, batch=batch)
    except NotFoundError as error:
        raise Http404 from error
    except DomainError as error:
        return show_list(request, problem=error.message, status=_status_of(error))
    hint_deliveries()
    return _back(request, done="undone")


def _show_bulk(
    request: TenantRequest, form: RejectForm, *, problem: str = "", status: int = 200
) -> HttpResponse:
    wanted, wrong = filter_from(request)
    if wrong or _state_of(wanted) not in DRAFT_STATES:
        raise Http404
    query = query_of(request)
    preview = skill_bulk.preview_reject(tenant=request.tenant, wanted=wanted)
    settings = current_policy(tenant=request.tenant).settings
    rows = rows_of(request, preview.skills, settings, query)
    context: dict[str, Any] = {
        "page": "skills",
        "count": preview.count,
        "ids_digest": preview.ids_digest,
        "rows": rows,
        "not_shown": preview.count - len(rows),
        "said": _said(wanted),
        "reasons": RejectReason.choices,
        "form": form,
        "query": query,
        "problem": problem,
        "back": reverse("reviews:skills", args=[request.tenant.slug]) + (f"?{query}" if query else ""),
    }
    return render_page(request, "reviews/skills/bulk.html", context, status=status)


def _back(request: TenantRequest, **values: str) -> HttpResponse:
    query = "&".join(filter(None, [query_of(request), urlencode(values)]))
    return redirect(reverse("reviews:skills", args=[request.tenant.slug]) + f"?{query}")


def _said(wanted: SkillFilter) -> str:
    """The filter as a sentence."""
    words = ["All drafts"]
    if wanted.low is not None:
        words.append("of low confidence" if wanted.low else "of enough confidence")
    if wanted.kind:
        words.append(f"of the kind {KIND_NAMES[wanted.kind].lower()}")
    if wanted.origin:
        words.append(f"({SkillOrigin(wanted.origin).label.lower()})")
    if wanted.text:
        words.append(f"with “{wanted.text}”")
    return " ".join(words) + "."


# -- Filters


def filter_from(request: HttpRequest) -> tuple[SkillFilter, dict[str, str]]:
    """The filter in the address, and what is wrong with it; a wrong one falls back to the plain list."""
    values = {name: request.GET.get(name, "") for name in FILTERS}
    state = values["state"] or "draft"
    if state in DRAFT_STATES:
        values |= {"state": SkillState.DRAFT, "low": "yes" if state == "low" else "no"}
    try:
        return parse_skill_filter(values), {}
    except InvalidError as error:
        return SkillFilter(low=False), error.details["fields"]


def query_of(request: HttpRequest) -> str:
    """The filter part of the address, as it came, without paging."""
    return urlencode({name: request.GET[name] for name in FILTERS if request.GET.get(name)})


def rows_of(
    request: TenantRequest, listed: list[Skill], settings: TenantSettings, query: str
) -> list[SkillRow]:
    ids = people_of(skill.first_approver_id for skill in listed)
    names = {user.pk: user.display_name for user in User.objects.filter(pk__in=ids)} if ids else {}
    base = reverse("reviews:skill", args=[request.tenant.slug, 0])[:-2]
    return [skill_row(skill, base=base, query=query, names=names, settings=settings) for skill in listed]


def _state_of(wanted: SkillFilter) -> str:
    """The filter's state by the name that the page gives it."""
    return "low" if wanted.low else wanted.state


def _address(wanted: SkillFilter, **changes: str) -> str:
    """The address of the list with some of the filter changed; empty parts are left out."""
    values = {
        "state": _state_of(wanted),
        "kind": wanted.kind,
        "origin": wanted.origin,
        "text": wanted.text,
    } | changes
    return "?" + urlencode({name: value for name, value in values.items() if value})


def _more(query: str, cursor: str) -> str:
    return "?" + "&".join(filter(None, [query, urlencode({"cursor": cursor})]))


def _kind_tabs(wanted: SkillFilter, found: SkillCounts) -> list[Tab]:
    """The kinds, counted where drafts are listed."""
    counted_here = _state_of(wanted) == "draft" and not wanted.text and not wanted.origin
    numbers = {"": found.drafts, **found.kinds} if counted_here else {}
    return [
        Tab(name, _address(wanted, kind=kind), _number(numbers.get(kind)), wanted.kind == kind)
        for kind, name in {"": "All kinds", **KIND_NAMES}.items()
    ]


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _heading(wanted: SkillFilter, found: SkillCounts) -> str:
    """What is listed, with how many there are where that is known without counting them."""
    state = _state_of(wanted)
    name = STATE_NAMES[state].lower()
    if wanted.text or wanted.origin or (wanted.kind and state == "low"):
        return f"{name.capitalize()} that match"
    if state == "draft":
        return counted(found.kinds[wanted.kind] if wanted.kind else found.drafts, "draft") + " to decide"
    if state == "low":
        return counted(found.low, "draft") + " of low confidence"
    return f"{name.capitalize()} skills"


def _choices(wanted: SkillFilter) -> dict[str, Any]:
    """What each filter offers, with the chosen value marked."""
    return {
        "state": _options(STATE_NAMES, _state_of(wanted)),
        "kind": _options({"": "any", **KIND_NAMES}, wanted.kind),
        "origin": _options({"": "anywhere", **dict(SkillOrigin.choices)}, wanted.origin),
    }


def _options(names: dict[str, str], chosen: str) -> list[tuple[str, str, bool]]:
    return [(value, name, value == chosen) for value, name in names.items()]


def _status_of(error: DomainError) -> int:
    if isinstance(error, ForbiddenError):
        return 403
    return 409 if isinstance(error, ConflictError) else 422
