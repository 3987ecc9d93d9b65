"""The critic's page: when it is asked, what it says, what that costs, and whether reviewers agree."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import render_page, wants_fragment
from reviews.models.tenants import Role
from reviews.services import critic_circuit, critic_numbers, critic_worklist
from reviews.services.errors import InvalidError
from reviews.tasks import hint_critic
from reviews.views.critic_trials import trials_context
from reviews.views.critic_words import SIDE_NAMES, row_of, words_of

DEFAULT_DAYS = 30
#: Disagreements shown on the page itself, and at a time behind them. They load when asked for, not when
#: scrolled to: the trials stand below.
FIRST_ROWS = 10
MORE_ROWS = 50


@require_safe
@tenant_view()
def critic_view(request: TenantRequest) -> HttpResponse:
    """The page. HTMX gets rows of the list of disagreements alone, those behind ``cursor``."""
    side = request.GET.get("side", "")
    side = side if side in SIDE_NAMES else ""
    rows = _rows(request, side)
    if wants_fragment(request):
        return render_page(request, "", rows, fragment="reviews/critic/_rows.html")
    days = request.GET.get("days", "")
    window = next((w for w in critic_numbers.WINDOWS if str(w) == days), DEFAULT_DAYS)
    found = critic_numbers.critic_numbers(tenant=request.tenant, days=window)
    context: dict[str, Any] = {
        "page": "critic",
        "words": words_of(found),
        "days": window,
        "windows": critic_numbers.WINDOWS,
        "sides": [(name, words, name == side) for name, words in SIDE_NAMES.items()],
        "side": side,
        **rows,
        **trials_context(request),
    }
    return render_page(request, "reviews/critic/page.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def close_circuit(request: TenantRequest) -> HttpResponse:
    """Ask the model again at once, after it has been mended."""
    if request.method == "POST":
        critic_circuit.close(tenant=request.tenant)
        hint_critic()
    return redirect("reviews:critic", request.tenant.slug)


def _rows(request: TenantRequest, side: str) -> dict[str, Any]:
    cursor = request.GET.get("cursor", "")
    try:
        page = critic_worklist.worklist_page(
            tenant=request.tenant, side=side, cursor=cursor, size=MORE_ROWS if cursor else FIRST_ROWS
        )
    except InvalidError:  # a cursor of another list, or none of ours
        page = critic_worklist.worklist_page(tenant=request.tenant, side=side, size=FIRST_ROWS)
    base = reverse("reviews:critic", args=[request.tenant.slug])
    more = f"{base}?{urlencode({'side': side, 'cursor': page.cursor})}" if page.cursor else ""
    return {"rows": [row_of(row, request.tenant.slug) for row in page.rows], "more": more}
