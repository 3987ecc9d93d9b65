"""The page of memory assertions: how often they pass, which turns fail, and the suites."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import render_page, wants_fragment
from reviews.models.tenants import Role
from reviews.services.assertion_numbers import WINDOWS, AssertionFilter, assertion_numbers
from reviews.services.assertion_worklist import failing_turns
from reviews.services.errors import InvalidError
from reviews.services.policies import current_policy
from reviews.services.suites import editable_policy
from reviews.views.assertion_words import (
    agent_rows,
    assertion_rows,
    failure_chart,
    rate_words,
    suite_rows,
    turn_rows,
)

DEFAULT_DAYS = 30
#: Failing turns shown on the page itself, and at a time behind them.
FIRST_ROWS = 10
MORE_ROWS = 50
FILTERS = ("suite", "assertion", "agent")


@require_safe
@tenant_view()
def assertions_view(request: TenantRequest) -> HttpResponse:
    """The page. HTMX gets rows of the worklist alone, those behind ``cursor``."""
    wanted = {name: request.GET.get(name, "").replace("\0", "") for name in FILTERS}
    if not wanted["suite"]:
        wanted["assertion"] = ""
    days = request.GET.get("days", "")
    window = next((w for w in WINDOWS if str(w) == days), DEFAULT_DAYS)
    query = {**wanted, "days": str(window)}
    rows = _worklist(request, wanted, query)
    if wants_fragment(request):
        return render_page(request, "", rows, fragment="reviews/assertions/_turns.html")
    found = assertion_numbers(tenant=request.tenant, days=window, about=AssertionFilter(**wanted))
    current = current_policy(tenant=request.tenant)
    may_edit = request.membership.may(Role.MANAGER)
    edited = editable_policy(tenant=request.tenant, current=current) if may_edit else current
    context: dict[str, Any] = {
        "page": "assertions",
        "days": window,
        "windows": [(w, f"?{urlencode(_said({**query, 'days': str(w)}))}") for w in WINDOWS],
        "chart": failure_chart(found.days),
        "total": found.total,
        "rate": rate_words(found.total),
        "by_assertion": assertion_rows(found, query),
        "by_agent": agent_rows(found, query),
        "other_agents": found.other_agents,
        "narrowed": _narrowed(wanted, query),
        "suites": suite_rows(edited.settings.assertion_suites, request.tenant.slug, may_edit=may_edit),
        "edited_number": edited.number,
        "is_draft": edited.number != current.number,
        "may_edit": may_edit,
        **rows,
    }
    return render_page(request, "reviews/assertions/page.html", context)


def _worklist(request: TenantRequest, wanted: dict[str, str], query: dict[str, str]) -> dict[str, Any]:
    cursor = request.GET.get("cursor", "")
    try:
        page = failing_turns(
            tenant=request.tenant,
            about=AssertionFilter(**wanted),
            cursor=cursor,
            size=MORE_ROWS if cursor else FIRST_ROWS,
        )
    except InvalidError:  # a cursor of another list, or none of ours
        page = failing_turns(tenant=request.tenant, about=AssertionFilter(**wanted), size=FIRST_ROWS)
    base = reverse("reviews:assertions", args=[request.tenant.slug])
    more = f"{base}?{urlencode(_said({**query, 'cursor': page.cursor}))}" if page.cursor else ""
    return {"turns": turn_rows(page.rows, request.tenant.slug), "more": more}


def _narrowed(wanted: dict[str, str], query: dict[str, str]) -> list[tuple[str, str]]:
    """What the page is narrowed to, and the address without it."""
    found = []
    if wanted["suite"]:
        said = f"{wanted['suite']}: {wanted['assertion']}" if wanted["assertion"] else wanted["suite"]
        found.append((said, f"?{urlencode(_said({**query, 'suite': '', 'assertion': ''}))}"))
    if wanted["agent"]:
        found.append((f"agent {wanted['agent']}", f"?{urlencode(_said({**query, 'agent': ''}))}"))
    return found


def _said(query: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value}
