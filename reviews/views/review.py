"""Focus mode: one turn, its claims, the evidence, and the decisions on it.

The page and every decision answer with the same fragment. A decision re-reads what is stored and shows the
next claim, then the next turn of the filter; without HTMX it redirects there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import render_page, wants_fragment
from reviews.models import Finding, Membership, ReviewDecision, Turn
from reviews.models.tenants import Role
from reviews.models.turns import AnalysisState, Label, ReviewState
from reviews.services import queue, review
from reviews.services.errors import ConflictError, DomainError, InvalidError, NotFoundError
from reviews.services.evidence import call_views, claim_evidence
from reviews.views.ages import age
from reviews.views.draft import draft_runs
from reviews.views.queue import filter_from, query_of

#: Decisions and notes listed on the page, newest first.
HISTORY_LENGTH = 50
LABEL_KEYS = {Label.FABRICATED: "t", Label.FALSE_ALARM: "f", Label.UNSURE: "u"}
CHOICES = [(value, name, LABEL_KEYS[Label(value)]) for value, name in Label.choices]


@require_safe
@tenant_view()
def turn_view(request: TenantRequest, turn_id: int) -> HttpResponse:
    """One turn. ``?claim=N`` makes another claim current."""
    return _show(request, turn_id)


@require_safe
@tenant_view()
def step(request: TenantRequest, turn_id: int, *, forward: bool) -> HttpResponse:
    """Go to the next or previous turn of the filter, as it stands now and not when the page was made."""
    turn = _found(Turn.objects.for_tenant(request.tenant).only("priority", "occurred_at"), turn_id)
    wanted, _ = filter_from(request)
    other = queue.neighbour(tenant=request.tenant, wanted=wanted, turn=turn, forward=forward)
    if other is not None:
        address = reverse("reviews:turn", args=[request.tenant.slug, other])
        return redirect(_with_query(address, query_of(request)))
    if forward:
        return _end_of_list(request)
    return _show(request, turn_id, problem="This is the first turn of the list.")


@require_safe
@tenant_view(Role.REVIEWER)
def reviewers(request: TenantRequest, turn_id: int) -> HttpResponse:
    """The choice of reviewers for a turn, fetched when somebody wants to assign it."""
    turn = _found(Turn.objects.for_tenant(request.tenant).only("version", "assignee"), turn_id)
    context = {
        "turn": turn,
        "at": reverse("reviews:turn", args=[request.tenant.slug, turn.pk]),
        "query": query_of(request),
        "reviewers": _reviewers(request),
    }
    return render_page(
        request, "reviews/partials/_assign.html", context, fragment="reviews/partials/_assign.html"
    )


@require_POST
@tenant_view(Role.REVIEWER)
def label(request: TenantRequest, turn_id: int) -> HttpResponse:
    """Label one claim, or (without ``position``) all of the turn's."""

    def decide() -> review.Decided:
        common: dict[str, Any] = {
            "tenant": request.tenant,
            "actor": request.user,
            "turn_id": turn_id,
            "label": request.POST.get("label", ""),
            "seen_version": _number(request.POST, "version"),
            "spent_seconds": _seconds(request.POST),
        }
        if request.POST.get("position", "") == "":
            return review.decide_turn(**common)
        return review.label_finding(position=_number(request.POST, "position"), **common)

    return _act(request, turn_id, decide, go_on=True)


@require_POST
@tenant_view(Role.REVIEWER)
def note(request: TenantRequest, turn_id: int) -> HttpResponse:
    return _act(
        request,
        turn_id,
        lambda: review.add_note(
            tenant=request.tenant,
            actor=request.user,
            turn_id=turn_id,
            text=request.POST.get("text", ""),
            seen_version=_number(request.POST, "version"),
        ),
    )


@require_POST
@tenant_view(Role.REVIEWER)
def correct(request: TenantRequest, turn_id: int) -> HttpResponse:
    return _act(
        request,
        turn_id,
        lambda: review.correct_answer(
            tenant=request.tenant,
            actor=request.user,
            turn_id=turn_id,
            text=request.POST.get("text", ""),
            seen_version=_number(request.POST, "version"),
        ),
    )


@require_POST
@tenant_view(Role.REVIEWER)
def assign(request: TenantRequest, turn_id: int) -> HttpResponse:
    return _act(
        request,
        turn_id,
        lambda: review.assign_turn(
            tenant=request.tenant,
            actor=request.user,
            turn_id=turn_id,
            assignee_id=_number(request.POST, "assignee") if request.POST.get("assignee") else None,
            seen_version=_number(request.POST, "version"),
        ),
    )


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
        return _show(request, decision.turn_id, problem=error.message, status=_status_of(error))
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
        return _show(request, turn_id, problem=error.message, status=_status_of(error))
    following: int | None = turn_id
    if go_on and decided.review_state == ReviewState.DECIDED:
        wanted, _ = filter_from(request)
        following = queue.neighbour(tenant=request.tenant, wanted=wanted, turn=decided.turn)
    return _answer(request, following, last=decided.decision)


def _status_of(error: DomainError) -> int:
    return 409 if isinstance(error, ConflictError) else 422


def _answer(
    request: TenantRequest, turn_id: int | None, *, last: ReviewDecision | None = None
) -> HttpResponse:
    """Show a turn after a decision; None is the end of the list."""
    query = query_of(request)
    if turn_id is None:
        if wants_fragment(request):
            return _end_of_list(request)
        return redirect(_with_query(reverse("reviews:queue", args=[request.tenant.slug]), query))
    address = _with_query(reverse("reviews:turn", args=[request.tenant.slug, turn_id]), query)
    if wants_fragment(request):
        return _show(request, turn_id, push_url=address, last=last)
    return redirect(address)


def _end_of_list(request: TenantRequest) -> HttpResponse:
    may_review = request.membership.may(Role.REVIEWER)
    context = {
        "page": "queue",
        "query": query_of(request),
        "last": review.last_undoable(tenant=request.tenant, actor=request.user) if may_review else None,
    }
    return render_page(
        request, "reviews/end_of_list.html", context, fragment="reviews/partials/_end_of_list.html"
    )


def _show(
    request: TenantRequest,
    turn_id: int,
    *,
    problem: str = "",
    status: int = 200,
    push_url: str = "",
    last: ReviewDecision | None = None,
) -> HttpResponse:
    """The turn's page or fragment. ``last`` saves looking for the reviewer's last decision."""
    tenant = request.tenant
    turn = _found(
        Turn.objects.for_tenant(tenant)
        .select_related("payload", "policy_version", "assignee")
        .defer("policy_version__settings", "policy_version__evidence"),
        turn_id,
    )
    findings = review.in_order(turn.findings.select_related("labelled_by"))
    current = _current(findings, request.GET.get("claim", ""))
    payload = turn.payload
    whole = "whole" in request.GET
    may_review = request.membership.may(Role.REVIEWER)
    if last is None and may_review:
        last = review.last_undoable(tenant=tenant, actor=request.user)
    context: dict[str, Any] = {
        "page": "queue",
        "turn": turn,
        "at": reverse("reviews:turn", args=[tenant.slug, turn.pk]),
        "payload": payload,
        "findings": findings,
        "current": current,
        "runs": draft_runs(payload.draft, turn.draft_offset, findings, current.position if current else None),
        "evidence": claim_evidence(current, payload) if current else None,
        "calls": call_views(payload.tool_calls, whole=whole),
        "earlier": call_views(payload.earlier_calls, whole=whole),
        "choices": CHOICES,
        "waiting": turn.analysis_state in (AnalysisState.PENDING, AnalysisState.CLAIMED),
        "failed": turn.analysis_state == AnalysisState.FAILED,
        "may_review": may_review,
        "reviewers": _reviewers(request) if may_review and "assign" in request.GET else None,
        "history": _history(turn) if turn.version else [],
        "query": query_of(request),
        "last": last,
        "age": age(turn.occurred_at, timezone.now()),
        "problem": problem,
        "typed": request.POST.get("text", "") if problem else "",
    }
    return render_page(
        request,
        "reviews/turn.html",
        context,
        fragment="reviews/partials/_review.html",
        status=status,
        push_url=push_url,
    )


def _found(turns: QuerySet[Turn], turn_id: int) -> Turn:
    try:
        return turns.get(pk=turn_id)
    except Turn.DoesNotExist:
        raise Http404 from None


def _history(turn: Turn) -> list[ReviewDecision]:
    decisions = turn.decisions.select_related("actor", "finding", "undone_by", "undoes__finding")
    return list(decisions.order_by("-version")[:HISTORY_LENGTH])


def _current(findings: list[Finding], asked: str) -> Finding | None:
    """The claim asked for, else the first that has no label, else the first."""
    if not findings:
        return None
    if asked.isdecimal() and len(asked) < 6:
        for finding in findings:
            if finding.position == int(asked) - 1:
                return finding
    return next((f for f in findings if not f.label), findings[0])


def _reviewers(request: TenantRequest) -> list[Membership]:
    members = Membership.objects.for_tenant(request.tenant).select_related("user").order_by("user__username")
    return [m for m in members if m.may(Role.REVIEWER)]


def _with_query(address: str, query: str, **more: str) -> str:
    query = "&".join(filter(None, [query, urlencode(more)]))
    return f"{address}?{query}" if query else address


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
