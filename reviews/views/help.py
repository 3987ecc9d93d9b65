"""Help inside the product."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from reviews.access import memberships_of
from reviews.core.lexicon import BUILT_IN_KEYS
from reviews.core.outcome import SAFE_REFUSAL
from reviews.htmx import render_page


@require_safe
def help_view(request: HttpRequest) -> HttpResponse:
    """For anybody who is logged in; the examples carry the address of this installation."""
    context = {
        "page": "help",
        "memberships": memberships_of(request.user),  # type: ignore[arg-type]
        "address": request.build_absolute_uri("/api/v1/"),
        "keys": sorted(BUILT_IN_KEYS),
        "refusal": SAFE_REFUSAL,
    }
    return render_page(request, "reviews/help.html", context)
