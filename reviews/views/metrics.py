"""Numbers for Prometheus. The page exists only for whoever sends the token the installation was given."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from reviews.services.monitoring import COUNT_LIMIT, AnalysisLine, analysis_line

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not _allowed(request):
        raise Http404
    return HttpResponse(_text(analysis_line()), content_type=CONTENT_TYPE)


def _allowed(request: HttpRequest) -> bool:
    """Whether a token is set and is the one sent; compared in constant time."""
    token = settings.METRICS_TOKEN
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    same = hmac.compare_digest(sent.strip().encode(), token.encode())
    return bool(token) and scheme.lower() == "bearer" and same


def _text(line: AnalysisLine) -> str:
    rows = [
        ("reviews_turns_pending", f"Turns waiting for analysis, counted up to {COUNT_LIMIT}.", line.pending),
        ("reviews_turns_claimed", f"Turns being analysed, counted up to {COUNT_LIMIT}.", line.claimed),
        ("reviews_turns_failed", f"Turns given up on, counted up to {COUNT_LIMIT}.", line.failed),
        (
            "reviews_oldest_pending_seconds",
            "Age of the turn that has waited longest for analysis; 0 when none waits.",
            round(line.oldest_pending_seconds, 3),
        ),
    ]
    return "".join(
        f"# HELP {name} {said}\n# TYPE {name} gauge\n{name} {value}\n" for name, said, value in rows
    )
