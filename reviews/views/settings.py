"""Settings: detection, and what leads to the other pages of settings."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import render_page


@require_safe
@tenant_view()
def detection(request: TenantRequest) -> HttpResponse:
    return render_page(request, "reviews/settings/detection.html", {"page": "settings"})
