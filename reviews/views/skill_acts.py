"""Decisions about one skill. Each answers with the next skill of the filter, or says why it was refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import wants_fragment
from reviews.models import Skill, SkillDecision
from reviews.models.jobs import JobKind
from reviews.models.skills import SkillAction
from reviews.models.tenants import Role
from reviews.services import jobs, skill_queue, skills
from reviews.services.errors import ConflictError, DomainError, ForbiddenError, InvalidError, NotFoundError
from reviews.skill_forms import RejectForm, SkillForm
from reviews.tasks import hint_deliveries, hint_jobs
from reviews.views.settings import require_role
from reviews.views.skill_page import found_skill, show_end_of_list, show_replay, show_skill
from reviews.views.skills import filter_from, query_of

#: After these the next skill is shown; an edit stays with what was edited.
MOVES_ON = (SkillAction.APPROVE, SkillAction.REJECT, SkillAction.MERGE, SkillAction.RETIRE)
MAX_DIGITS = 18


@require_safe
@tenant_view()
def skill_view(request: TenantRequest, skill_id: int) -> HttpResponse:
    """One skill. ``?touched=`` lists turns of its replay, ``?turns=all`` every turn it comes from."""
    return show_skill(request, skill_id)


@require_safe
@tenant_view()
def step(request: TenantRequest, skill_id: int, *, forward: bool) -> HttpResponse:
    """Go to the next or previous skill of the filter, as it stands now and not when the page was made."""
    skill = found_skill(request, skill_id)
    other = _neighbour(request, skill, forward=forward)
    if other is not None:
        return redirect(_skill_address(request, other))
    if forward:
        return show_end_of_list(request)
    return show_skill(request, skill_id, problem="This is the first skill of the list.")


def _action(do: Callable[[TenantRequest, int], HttpResponse]) -> Callable[..., HttpResponse]:
    """A view for reviewers that only does something. Who looks at its address, as after a decision that was
    refused, is sent to the skill's page.
    """

    @require_http_methods(["GET", "HEAD", "POST"])
    @tenant_view()
    @wraps(do)
    def view(request: TenantRequest, skill_id: int) -> HttpResponse:
        if request.method != "POST":
            return redirect(_skill_address(request, skill_id))
        require_role(request, Role.REVIEWER)
        return do(request, skill_id)

    return view


@_action
def approve(request: TenantRequest, skill_id: int) -> HttpResponse:
    return _act(request, skill_id, lambda: skills.approve_skill(**_seen(request, skill_id)))


@_action
def edit(request: TenantRequest, skill_id: int) -> HttpResponse:
    """Write the text anew, and with ``approve`` also give the first approval."""
    form = SkillForm(request.POST)

    def decide() -> skills.Done:
        if not form.is_valid():
            raise InvalidError("What is wrong is marked below.", fields={})
        return skills.edit_skill(
            content=form.content(found_skill(request, skill_id)),
            approve=bool(request.POST.get("approve")),
            **_seen(request, skill_id),
        )

    return _act(request, skill_id, decide, opened="edit", form=form)


@_action
def reject(request: TenantRequest, skill_id: int) -> HttpResponse:
    form = RejectForm(request.POST)

    def decide() -> skills.Done:
        if not form.is_valid():
            raise InvalidError("What is wrong is marked below.", fields={})
        return skills.reject_skill(**form.cleaned_data, **_seen(request, skill_id))

    return _act(request, skill_id, decide, opened="reject", form=form)


@_action
def merge(request: TenantRequest, skill_id: int) -> HttpResponse:
    def decide() -> skills.Done:
        return skills.merge_skill(into_id=_number(request, "into"), **_seen(request, skill_id))

    return _act(request, skill_id, decide, opened="merge")


@_action
def retire(request: TenantRequest, skill_id: int) -> HttpResponse:
    text = request.POST.get("text", "")
    return _act(
        request, skill_id, lambda: skills.retire_skill(text=text, **_seen(request, skill_id)), opened="retire"
    )


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def undo(request: TenantRequest, decision_id: int) -> HttpResponse:
    """Undo one decision and go to its skill."""
    if request.method != "POST":
        return redirect(_skill_address(request, _found_decision(request, decision_id).skill_id))
    require_role(request, Role.REVIEWER)
    try:
        done = skills.undo_skill_decision(tenant=request.tenant, actor=request.user, decision_id=decision_id)
    except NotFoundError as error:
        raise Http404 from error
    except DomainError as error:
        decision = _found_decision(request, decision_id)
        return show_skill(request, decision.skill_id, problem=error.message, status=status_of(error))
    _tell_runtime(done)
    return _answer(request, done.skill.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def replay(request: TenantRequest, skill_id: int) -> HttpResponse:
    """How the replay goes, for HTMX, which asks with what it has ``seen``; POST starts one."""
    if request.method != "POST":
        return show_replay(request, skill_id, seen=request.GET.get("seen", ""))
    require_role(request, Role.REVIEWER)
    found_skill(request, skill_id)
    try:
        jobs.start_job(
            tenant=request.tenant, kind=JobKind.REPLAY, parameters={"skill": skill_id}, actor=request.user
        )
    except NotFoundError as error:
        raise Http404 from error
    except (ConflictError, InvalidError) as error:
        if wants_fragment(request):
            return show_replay(request, skill_id, problem=error.message, status=status_of(error))
        return show_skill(request, skill_id, problem=error.message, status=status_of(error))
    hint_jobs()
    if wants_fragment(request):
        return show_replay(request, skill_id)
    return redirect(_skill_address(request, skill_id))


def _act(
    request: TenantRequest,
    skill_id: int,
    decide: Callable[[], skills.Done],
    *,
    opened: str = "",
    form: SkillForm | RejectForm | None = None,
) -> HttpResponse:
    """Run a decision and show what comes next, or say on the same skill why it was not saved."""
    before = found_skill(request, skill_id)
    try:
        done = decide()
    except NotFoundError as error:
        raise Http404 from error
    except DomainError as error:
        if form is not None and form.is_valid() and isinstance(error, InvalidError):
            form.add_problems(error.details.get("fields") or {})
        return show_skill(
            request, skill_id, problem=error.message, status=status_of(error), opened=opened, form=form
        )
    _tell_runtime(done)
    following: int | None = skill_id
    if done.decision.action in MOVES_ON:
        following = _neighbour(request, before)
    return _answer(request, following, last=done.decision)


def _tell_runtime(done: skills.Done) -> None:
    """Hint the workers that a message to the runtime waits, if this skill is known there."""
    if done.skill.runtime_id:
        hint_deliveries()


def _found_decision(request: TenantRequest, decision_id: int) -> SkillDecision:
    decision = SkillDecision.objects.for_tenant(request.tenant).filter(pk=decision_id).first()
    if decision is None:
        raise Http404
    return decision


def _skill_address(request: TenantRequest, skill_id: int) -> str:
    return _with_query(reverse("reviews:skill", args=[request.tenant.slug, skill_id]), request)


def status_of(error: DomainError) -> int:
    if isinstance(error, ForbiddenError):
        return 403
    return 409 if isinstance(error, ConflictError) else 422


def _answer(
    request: TenantRequest, skill_id: int | None, *, last: SkillDecision | None = None
) -> HttpResponse:
    """Show a skill after a decision; None is the end of the list."""
    if skill_id is None:
        if wants_fragment(request):
            return show_end_of_list(request)
        return redirect(_with_query(reverse("reviews:skills", args=[request.tenant.slug]), request))
    address = _skill_address(request, skill_id)
    if wants_fragment(request):
        return show_skill(request, skill_id, push_url=address, last=last)
    return redirect(address)


def _neighbour(request: TenantRequest, skill: Skill, *, forward: bool = True) -> int | None:
    wanted, _ = filter_from(request)
    return skill_queue.neighbour(tenant=request.tenant, wanted=wanted, skill=skill, forward=forward)


def _with_query(address: str, request: TenantRequest, **more: str) -> str:
    query = "&".join(filter(None, [query_of(request), urlencode(more)]))
    return f"{address}?{query}" if query else address


def _seen(request: TenantRequest, skill_id: int) -> dict[str, Any]:
    """What every decision says: who decides about which skill, and which version of it they saw."""
    return {
        "tenant": request.tenant,
        "actor": request.user,
        "skill_id": skill_id,
        "seen_version": _number(request, "version"),
    }


def _number(request: TenantRequest, name: str) -> int:
    value = request.POST.get(name, "")
    if not value.isdecimal() or len(value) > MAX_DIGITS:
        raise InvalidError("The form is not complete; look at the page again.", fields={})
    return int(value)
