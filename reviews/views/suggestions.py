"""Taking up or dismissing a suggested rule, and learning anew from the labels."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import render_page, wants_fragment
from reviews.models.jobs import JobKind
from reviews.models.tenants import Role
from reviews.services import jobs, suggestions
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.policies import latest_calibration
from reviews.tasks import hint_jobs
from reviews.views.learning import learned
from reviews.views.settings import manager_action, require_role
from reviews.views.thresholds import PAGE, address_of, done, show_conflict, show_thresholds, trial_of

LEARNED = "reviews/thresholds/_learned.html"


@manager_action(address_of)
def accept(request: TenantRequest, suggestion_id: int) -> HttpResponse:
    """Put the rule into a draft: that on the screen, or one made from the version on the screen."""

    def decide(edited: int) -> int:
        return suggestions.accept_suggestion(
            tenant=request.tenant, actor=request.user, suggestion_id=suggestion_id, based_on=edited
        ).number

    return _decide(request, decide, "accepted")


@manager_action(address_of)
def dismiss(request: TenantRequest, suggestion_id: int) -> HttpResponse:
    def decide(edited: int) -> int:
        suggestions.dismiss_suggestion(tenant=request.tenant, actor=request.user, suggestion_id=suggestion_id)
        return edited

    return _decide(request, decide, "dismissed")


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def learn(request: TenantRequest) -> HttpResponse:
    """How learning goes, for HTMX, which asks with what it has ``seen``; POST starts it."""
    if request.method != "POST":
        return _progress(request)
    require_role(request, Role.MANAGER)

    def start(edited: int) -> int:
        jobs.start_job(tenant=request.tenant, kind=JobKind.LEARN, parameters={}, actor=request.user)
        hint_jobs()
        return edited

    return _decide(request, start, "learning")


def _progress(request: TenantRequest) -> HttpResponse:
    if not wants_fragment(request):
        return redirect(address_of(request))
    context = learned(request, latest_calibration(tenant=request.tenant))
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    context["may_save"] = request.membership.may(Role.MANAGER)
    return render_page(request, PAGE, context, fragment=LEARNED)


def _decide(request: TenantRequest, decide: Callable[[int], int], what: str) -> HttpResponse:
    """Do it with the number of the version on the screen, and go to the version whose number comes back.

    Everything typed goes along. As with saving, who edited a draft that has been replaced since is shown what
    took its place.
    """
    trial = trial_of(request, request.POST)
    try:
        number = decide(trial.edited.number)
    except NotFoundError as error:
        raise Http404 from error
    except InvalidError as error:
        return show_thresholds(request, trial, {"refused": error.message}, status=422)
    except ConflictError as error:
        trial = trial_of(request, request.POST)
        if trial.is_given_up:
            return show_conflict(request, trial, error)
        return show_thresholds(request, trial, {"refused": error.message}, status=409)
    return done(request, what, version=number, **trial.tried)
