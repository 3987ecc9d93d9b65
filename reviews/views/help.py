"""Help inside the product."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from reviews.access import memberships_of
from reviews.htmx import render_page


@require_safe
def help_view(request: HttpRequest) -> HttpResponse:
    memberships = memberships_of(request.user)  # type: ignore[arg-type]
    return render_page(request, "reviews/help.html", {"page": "help", "memberships": memberships})
