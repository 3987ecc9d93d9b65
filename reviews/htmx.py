"""HTMX in one way: one place decides between page and fragment, one names the headers we send."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from reviews.access import TenantRequest


def wants_fragment(request: HttpRequest) -> bool:
    """Whether HTMX asks for a part of the page (not a boosted link, not a page from the history)."""
    htmx = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    fragment: str = "",
    status: int = 200,
    push_url: str = "",
) -> HttpResponse:
    """Render a page, or only its fragment (a template of its own, included by the page) for HTMX.

    ``push_url`` is the address the browser shall show for a fragment.
    """
    is_fragment = bool(fragment) and wants_fragment(request)
    context = {**_frame(request), **context, "is_fragment": is_fragment}
    response = render(request, fragment if is_fragment else template, context, status=status)
    response.headers["Vary"] = "HX-Request, Cookie"
    if is_fragment and push_url:
        response.headers["HX-Push-Url"] = push_url
    return response


def _frame(request: HttpRequest | TenantRequest) -> dict[str, Any]:
    """What every page of a tenant shows around its content."""
    tenant = getattr(request, "tenant", None)
    return {
        "tenant": tenant,
        "membership": getattr(request, "membership", None),
        "memberships": getattr(request, "memberships", []),
    }
