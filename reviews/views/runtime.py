"""Settings, Runtime: where the agents run, pulling their drafts, and messages that do not arrive there."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from reviews.access import TenantRequest, tenant_view
from reviews.models import Delivery, Job, Runtime
from reviews.models.jobs import JobKind, JobState
from reviews.models.runtimes import DeliveryState
from reviews.models.tenants import Role
from reviews.services import deliveries, jobs, runtimes
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.skill_forms import RuntimeForm
from reviews.tasks import hint_deliveries, hint_jobs
from reviews.views.ages import ago
from reviews.views.settings import settings_page
from reviews.views.skill_page import show_skill
from reviews.views.skill_words import Tag, counted, delivery_name, delivery_tag
from reviews.views.texts import visible

#: Deliveries in trouble that are listed, oldest first.
TROUBLE_SHOWN = 100


#: What else became of drafts that were pulled.
PULLED = {
    "folded": "folded into others",
    "came_back": "came back",
    "unchanged": "known already",
    "missing": "gone meanwhile",
    "unreadable": "not readable",
}


class TroubleRow(NamedTuple):
    """A delivery that has failed at least once and has not arrived."""

    pk: int
    skill: str
    url: str
    name: str
    attempts: int
    trouble: str
    state: Tag
    next: str
    may_retry: bool


class Pull(NamedTuple):
    """The newest pull in words."""

    words: str
    css: str
    active: bool


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def runtime_view(request: TenantRequest) -> HttpResponse:
    """The page; POST saves where the runtime is."""
    runtime = runtimes.runtime_of(tenant=request.tenant)
    if request.method != "POST":
        return _show(request, RuntimeForm(initial=RuntimeForm.initial_from(runtime)))
    form = RuntimeForm(request.POST)
    if not form.is_valid():
        return _show(request, form, status=422)
    try:
        runtimes.set_runtime(tenant=request.tenant, actor=request.user, **form.values)
    except InvalidError as error:
        form.add_problems(error.details["fields"])
        return _show(request, form, status=422)
    return _done(request, "runtime")


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def remove(request: TenantRequest) -> HttpResponse:
    """Forget the runtime; what has not arrived there is no longer sent."""
    if request.method != "POST":
        return redirect("reviews:runtime", request.tenant.slug)
    try:
        runtimes.remove_runtime(tenant=request.tenant, actor=request.user)
    except NotFoundError as error:
        return _show(request, RuntimeForm(), problem=error.message, status=409)
    return _done(request, "runtime-removed")


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def pull(request: TenantRequest) -> HttpResponse:
    """Put pulling the runtime's drafts in line."""
    if request.method != "POST":
        return redirect("reviews:runtime", request.tenant.slug)
    try:
        jobs.start_job(tenant=request.tenant, kind=JobKind.PULL, parameters={}, actor=request.user)
    except (ConflictError, InvalidError, NotFoundError) as error:
        form = RuntimeForm(initial=RuntimeForm.initial_from(runtimes.runtime_of(tenant=request.tenant)))
        return _show(request, form, problem=error.message, status=409)
    hint_jobs()
    return _done(request, "pulling")


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.REVIEWER)
def retry(request: TenantRequest, delivery_id: int) -> HttpResponse:
    """Send a message again that was given up, from this page or from that of its skill."""
    if request.method != "POST":
        return redirect(_skill_address(request, _found(request, delivery_id)))
    try:
        message = deliveries.retry(tenant=request.tenant, actor=request.user, delivery_id=delivery_id)
    except NotFoundError as error:
        raise Http404 from error
    except ConflictError as error:
        if not request.membership.may(Role.MANAGER):
            return show_skill(
                request, _found(request, delivery_id).skill_id, problem=error.message, status=409
            )
        form = RuntimeForm(initial=RuntimeForm.initial_from(runtimes.runtime_of(tenant=request.tenant)))
        return _show(request, form, problem=error.message, status=409)
    hint_deliveries()
    if request.POST.get("skill") or not request.membership.may(Role.MANAGER):
        return redirect(_skill_address(request, message))
    return _done(request, "retried")


def _found(request: TenantRequest, delivery_id: int) -> Delivery:
    delivery = Delivery.objects.for_tenant(request.tenant).filter(pk=delivery_id).first()
    if delivery is None:
        raise Http404
    return delivery


def _skill_address(request: TenantRequest, delivery: Delivery) -> str:
    return reverse("reviews:skill", args=[request.tenant.slug, delivery.skill_id]) + "#delivery"


def _done(request: TenantRequest, what: str) -> HttpResponse:
    return redirect(reverse("reviews:runtime", args=[request.tenant.slug]) + f"?done={what}")


def _show(request: TenantRequest, form: RuntimeForm, *, problem: str = "", status: int = 200) -> HttpResponse:
    runtime = Runtime.objects.for_tenant(request.tenant).select_related("changed_by").first()
    troubled, more = _trouble(request)
    context: dict[str, Any] = {
        "runtime": runtime,
        "has_authorization": bool(runtime and runtime.auth_sealed),
        "form": form,
        "pull": pull_words(jobs.latest_job(tenant=request.tenant, kind=JobKind.PULL)),
        "troubled": troubled,
        "more_troubled": more,
        "problem": problem,
    }
    return settings_page(request, "runtime", "reviews/settings/runtime.html", context, status=status)


def _trouble(request: TenantRequest) -> tuple[list[TroubleRow], bool]:
    """Given up ones first, then those that are tried again by themselves."""
    listed = Delivery.objects.for_tenant(request.tenant).select_related("skill").order_by("id")
    dead = list(listed.filter(state=DeliveryState.DEAD)[: TROUBLE_SHOWN + 1])
    failing = list(
        listed.filter(state=DeliveryState.WAITING).exclude(last_error="")[: TROUBLE_SHOWN + 1 - len(dead)]
    )
    found = [*dead, *failing]
    base = reverse("reviews:skill", args=[request.tenant.slug, 0])[:-2]
    return [_row(delivery, base) for delivery in found[:TROUBLE_SHOWN]], len(found) > TROUBLE_SHOWN


def _row(delivery: Delivery, base: str) -> TroubleRow:
    is_dead = delivery.state == DeliveryState.DEAD
    wait = (delivery.next_at - timezone.now()).total_seconds()
    return TroubleRow(
        pk=delivery.pk,
        skill=visible(delivery.skill.label),
        url=f"{base}{delivery.skill_id}/",
        name=delivery_name(delivery),
        attempts=delivery.attempts,
        trouble=delivery.last_error,
        state=delivery_tag(delivery),
        next="" if is_dead else "tried again soon" if wait < 60 else f"again in {int(wait // 60)} min",
        may_retry=is_dead,
    )


def pull_words(job: Job | None) -> Pull:
    """What became of the newest pull."""
    if job is None:
        return Pull("", "", False)
    if job.state in jobs.ACTIVE:
        words = "Waiting for a worker." if job.state == JobState.WAITING else "Pulling."
        return Pull(words, "", True)
    if job.state == JobState.FAILED:
        return Pull("The last pull failed.", "bad", False)
    if job.state == JobState.DONE:
        ended = ago(job.ended_at or job.created_at, timezone.now())
        return Pull(f"{_counts(job.result or {})}, {ended}.", "", False)
    return Pull(f"The last pull is {JobState(job.state).label.lower()}.", "warn", False)


def _counts(result: dict[str, Any]) -> str:
    """What a pull brought; what is none is left out, but for new drafts."""
    parts = [counted(result.get("new", 0), "new draft")]
    for name, words in PULLED.items():
        if result.get(name):
            parts.append(f"{result[name]:,} {words}")
    return ", ".join(parts)
