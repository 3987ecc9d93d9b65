"""For load balancers and monitors: is it up, can it work, how is it doing."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """The database answers and its tables are those of this version."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return JsonResponse({"ready": False, "reason": "the database does not answer"}, status=503)
    if missing:
        return JsonResponse({"ready": False, "reason": "migrations are missing"}, status=503)
    return JsonResponse({"ready": True})
