"""Taking up or dismissing a suggested rule, and learning anew from the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import render_page, wants_fragment
from reviews.models.jobs import JobKind
from reviews.models.tenants import Role
from reviews.services import jobs, suggestions
from reviews.services.errors import ConflictError, DomainError, InvalidError, NotFoundError
from reviews.services.policies import latest_calibration
from reviews.tasks import hint_jobs
from reviews.threshold_forms import ThresholdForm
from reviews.views.learning import learned
from reviews.views.settings import require_role
from reviews.views.thresholds import PAGE, done, show_thresholds, trial_of

LEARNED = "reviews/thresholds/_learned.html"


@require_POST
@tenant_view(Role.MANAGER)
def accept(request: TenantRequest, suggestion_id: int) -> HttpResponse:
    """Put the rule into the draft."""
    return _decide(request, suggestion_id, suggestions.accept_suggestion, "accepted")


@require_POST
@tenant_view(Role.MANAGER)
def dismiss(request: TenantRequest, suggestion_id: int) -> HttpResponse:
    return _decide(request, suggestion_id, suggestions.dismiss_suggestion, "dismissed")


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def learn(request: TenantRequest) -> HttpResponse:
    """How learning goes, for HTMX, which asks with what it has ``seen``; POST starts it."""
    if request.method != "POST":
        return _progress(request)
    require_role(request, Role.MANAGER)
    try:
        jobs.start_job(tenant=request.tenant, kind=JobKind.LEARN, parameters={}, actor=request.user)
    except ConflictError as error:
        return _refused(request, error)
    hint_jobs()
    return done(request, "learning", **_tried(request))


def _progress(request: TenantRequest) -> HttpResponse:
    if not wants_fragment(request):
        return done(request, "")
    context = learned(request, latest_calibration(tenant=request.tenant))
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    context["may_save"] = request.membership.may(Role.MANAGER)
    return render_page(request, PAGE, context, fragment=LEARNED)


def _decide(
    request: TenantRequest, suggestion_id: int, decide: Callable[..., Any], what: str
) -> HttpResponse:
    try:
        decide(tenant=request.tenant, actor=request.user, suggestion_id=suggestion_id)
    except NotFoundError as error:
        raise Http404 from error
    except (ConflictError, InvalidError) as error:
        return _refused(request, error)
    return done(request, what, **_tried(request))


def _refused(request: TenantRequest, error: DomainError) -> HttpResponse:
    trial = trial_of(request, _tried(request))
    status = 409 if isinstance(error, ConflictError) else 422
    return show_thresholds(request, trial, {"refused": error.message}, status=status)


def _tried(request: TenantRequest) -> dict[str, str]:
    """What stands in the controls, which the page sends along, so that it is not lost; without the version.

    A draft that takes up a rule is replaced by another version.
    """
    names = ThresholdForm().fields
    return {name: request.POST[name] for name in names if name in request.POST}
