"""Focus mode: one turn, its claims, the evidence, and the decisions on it.

The page and every decision answer with the same fragment. A decision re-reads what is stored and shows the
next claim, then the next turn of the filter; without HTMX it redirects there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import render_page, wants_fragment
from reviews.models import ReviewDecision, Turn
from reviews.models.critic import Verdict
from reviews.models.tenants import Role
from reviews.models.turns import ReviewState
from reviews.services import critic_review, queue, review
from reviews.services.errors import (
    ConflictError,
    DomainError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from reviews.views.critic_panel import revision_in_sight
from reviews.views.queue import filter_from, query_of
from reviews.views.turn_page import found_turn, reviewers_of, show_critic, show_end_of_list, show_turn


@require_safe
@tenant_view()
def turn_view(request: TenantRequest, turn_id: int) -> HttpResponse:
    """One turn. ``?claim=N`` makes another claim current."""
    return show_turn(request, turn_id)


@require_safe
@tenant_view()
def step(request: TenantRequest, turn_id: int, *, forward: bool) -> HttpResponse:
    """Go to the next or previous turn of the filter, as it stands now and not when the page was made."""
    turn = found_turn(Turn.objects.for_tenant(request.tenant).only("priority", "occurred_at"), turn_id)
    wanted, _ = filter_from(request)
    other = queue.neighbour(tenant=request.tenant, wanted=wanted, turn=turn, forward=forward)
    if other is not None:
        address = reverse("reviews:turn", args=[request.tenant.slug, other])
        return redirect(_with_query(address, query_of(request)))
    if forward:
        return show_end_of_list(request)
    return show_turn(request, turn_id, problem="This is the first turn of the list.")


@require_safe
@tenant_view(Role.REVIEWER)
def reviewers(request: TenantRequest, turn_id: int) -> HttpResponse:
    """The choice of reviewers for a turn, fetched when somebody wants to assign it."""
    turn = found_turn(Turn.objects.for_tenant(request.tenant).only("version", "assignee"), turn_id)
    context = {
        "turn": turn,
        "at": reverse("reviews:turn", args=[request.tenant.slug, turn.pk]),
        "query": query_of(request),
        "reviewers": reviewers_of(request),
    }
    return render_page(
        request, "reviews/partials/_assign.html", context, fragment="reviews/partials/_assign.html"
    )


@require_POST
@tenant_view(Role.REVIEWER)
def label(request: TenantRequest, turn_id: int) -> HttpResponse:
    """Label one claim, or (without ``position``) all of the turn's."""

    def decide() -> review.Decided:
        said = {
            "label": request.POST.get("label", ""),
            "spent_seconds": _seconds(request.POST),
            **_seen(request, turn_id),
        }
        if request.POST.get("position", "") == "":
            return review.decide_turn(**said)
        return review.label_finding(position=_number(request.POST, "position"), **said)

    return _act(request, turn_id, decide, go_on=True)


@require_POST
@tenant_view(Role.REVIEWER)
def note(request: TenantRequest, turn_id: int) -> HttpResponse:
    text = request.POST.get("text", "")
    return _act(request, turn_id, lambda: review.add_note(text=text, **_seen(request, turn_id)))


@require_POST
@tenant_view(Role.REVIEWER)
def correct(request: TenantRequest, turn_id: int) -> HttpResponse:
    text = request.POST.get("text", "")
    return _act(request, turn_id, lambda: review.correct_answer(text=text, **_seen(request, turn_id)))


@require_safe
@tenant_view()
def critic(request: TenantRequest, turn_id: int) -> HttpResponse:
    """What the critic says of the turn, for HTMX, which asks with what it has ``seen``."""
    if not wants_fragment(request):
        address = reverse("reviews:turn", args=[request.tenant.slug, turn_id])
        found_turn(Turn.objects.for_tenant(request.tenant).only("id"), turn_id)
        return redirect(_with_query(address, query_of(request)))
    version = request.GET.get("version", "")
    return show_critic(
        request,
        turn_id,
        seen=request.GET.get("seen", ""),
        version=_number(request.GET, "version") if version.isdecimal() and len(version) < 18 else None,
    )


@require_POST
@tenant_view(Role.REVIEWER)
def judge_critic(request: TenantRequest, turn_id: int) -> HttpResponse:
    """Say what the critic's verdict should be. With ``take`` its revision becomes the corrected answer."""

    def decide() -> review.Decided:
        said = {
            "verdict": request.POST.get("verdict", ""),
            "reason": request.POST.get("reason", ""),
            "spent_seconds": _seconds(request.POST),
            **_seen(request, turn_id),
        }
        if "take" in request.POST:
            said |= {"verdict": Verdict.REVISE, "answer": revision_in_sight(request, turn_id)}
        return critic_review.judge_critic(**said)

    return _act(request, turn_id, decide)


@require_POST
@tenant_view(Role.REVIEWER)
def assign(request: TenantRequest, turn_id: int) -> HttpResponse:
    def decide() -> review.Decided:
        to = _number(request.POST, "assignee") if request.POST.get("assignee") else None
        return review.assign_turn(assignee_id=to, **_seen(request, turn_id))

    return _act(request, turn_id, decide)


@require_POST
@tenant_view(Role.REVIEWER)
def undo(request: TenantRequest, decision_id: int) -> HttpResponse:
    """Undo one decision and go to its turn."""
    try:
        decided = review.undo_decision(tenant=request.tenant, actor=request.user, decision_id=decision_id)
    except NotFoundError as error:
        raise Http404 from error
    except DomainError as error:
        decision = ReviewDecision.objects.for_tenant(request.tenant).filter(pk=decision_id).first()
        if decision is None:
            raise Http404 from error
        return show_turn(request, decision.turn_id, problem=error.message, status=_status_of(error))
    return _answer(request, decided.turn_id)


def _act(
    request: TenantRequest, turn_id: int, decide: Callable[[], review.Decided], *, go_on: bool = False
) -> HttpResponse:
    """Run a decision and show what comes next, or say on the same turn why it was not saved."""
    try:
        decided = decide()
    except NotFoundError as error:
        raise Http404 from error
    except DomainError as error:
        return show_turn(request, turn_id, problem=error.message, status=_status_of(error))
    following: int | None = turn_id
    if go_on and decided.review_state == ReviewState.DECIDED:
        wanted, _ = filter_from(request)
        following = queue.neighbour(tenant=request.tenant, wanted=wanted, turn=decided.turn)
    return _answer(request, following, last=decided.decision)


def _status_of(error: DomainError) -> int:
    if isinstance(error, ForbiddenError):
        return 403
    return 409 if isinstance(error, ConflictError) else 422


def _answer(
    request: TenantRequest, turn_id: int | None, *, last: ReviewDecision | None = None
) -> HttpResponse:
    """Show a turn after a decision; None is the end of the list."""
    query = query_of(request)
    if turn_id is None:
        if wants_fragment(request):
            return show_end_of_list(request)
        return redirect(_with_query(reverse("reviews:queue", args=[request.tenant.slug]), query))
    address = _with_query(reverse("reviews:turn", args=[request.tenant.slug, turn_id]), query)
    if wants_fragment(request):
        return show_turn(request, turn_id, push_url=address, last=last)
    return redirect(address)


def _with_query(address: str, query: str, **more: str) -> str:
    query = "&".join(filter(None, [query, urlencode(more)]))
    return f"{address}?{query}" if query else address


def _seen(request: TenantRequest, turn_id: int) -> dict[str, Any]:
    """What every decision says: who decides about which turn, and which version of it they saw."""
    return {
        "tenant": request.tenant,
        "actor": request.user,
        "turn_id": turn_id,
        "seen_version": _number(request.POST, "version"),
    }


def _number(values: QueryDict, name: str) -> int:
    value = values.get(name, "")
    if not value.isdecimal() or len(value) > 18:
        raise InvalidError("The form is not complete.", fields={name: "Must be a number."})
    return int(value)


def _seconds(values: QueryDict) -> float | None:
    try:
        seconds = float(values.get("spent") or "nan")
    except ValueError:
        return None
    return seconds if seconds >= 0 else None
