"""The page of one turn, or the fragment of it that HTMX gets: everything around a claim in one context."""

from __future__ import annotations

from typing import Any

from django.db.models import F, QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone

from reviews.access import TenantRequest
from reviews.htmx import render_page
from reviews.models import Finding, Membership, ReviewDecision, Turn, User
from reviews.models.tenants import Role
from reviews.models.turns import AnalysisState
from reviews.services import review
from reviews.services.evidence import call_views, claim_evidence
from reviews.views.ages import age
from reviews.views.claims import claim_row, history_of, turn_choices, verdict_name
from reviews.views.draft import draft_runs
from reviews.views.queue import query_of

#: Decisions and notes listed on the page, newest first.
HISTORY_LENGTH = 50


def show_turn(
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
    turn = found_turn(
        Turn.objects.for_tenant(tenant)
        .select_related("payload")
        .annotate(policy_number=F("policy_version__number")),
        turn_id,
    )
    findings = review.in_order(turn.findings.all())
    decisions = list(turn.decisions.order_by("-version")[:HISTORY_LENGTH]) if turn.version else []
    names = _names(request, turn, findings, decisions)
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
        "claims": [claim_row(finding, finding is current, names) for finding in findings],
        "current": current,
        "runs": draft_runs(payload.draft, turn.draft_offset, findings, current.position if current else None),
        "evidence": claim_evidence(current, payload) if current else None,
        "calls": call_views(payload.tool_calls, whole=whole),
        "earlier": call_views(payload.earlier_calls, whole=whole),
        "verdict": verdict_name(turn.verdict, has_findings=bool(findings)) if turn.verdict else "",
        "audit_rate": "" if turn.audit_rate is None else f"{turn.audit_rate * 100:g} %",
        "turn_choices": turn_choices(turn, bool(findings)) if len(findings) != 1 else [],
        "assignee": names.get(turn.assignee_id or 0, ""),
        "waiting": turn.analysis_state in (AnalysisState.PENDING, AnalysisState.CLAIMED),
        "failed": turn.analysis_state == AnalysisState.FAILED,
        "may_review": may_review,
        "reviewers": reviewers_of(request) if may_review and "assign" in request.GET else None,
        "history": history_of(decisions, findings, names, request.membership),
        "query": query_of(request),
        "last": last,
        "age": age(turn.occurred_at, timezone.now()),
        "problem": problem,
        # What was typed into the form that was refused, by the form's name, so that it is not lost.
        "typed": {url_name(request): request.POST.get("text", "")} if problem else {},
    }
    return render_page(
        request,
        "reviews/turn.html",
        context,
        fragment="reviews/partials/_review.html",
        status=status,
        push_url=push_url,
    )


def found_turn(turns: QuerySet[Turn], turn_id: int) -> Turn:
    try:
        return turns.get(pk=turn_id)
    except Turn.DoesNotExist:
        raise Http404 from None


def _names(
    request: TenantRequest, turn: Turn, findings: list[Finding], decisions: list[ReviewDecision]
) -> dict[int, str]:
    """Names of everyone the page mentions, in one query, or in none when it is only the reader."""
    me = request.user
    ids = {turn.assignee_id, *(f.labelled_by_id for f in findings), *(d.actor_id for d in decisions)}
    others = {pk for pk in ids if pk is not None} - {me.pk}
    names = {user.pk: user.display_name for user in User.objects.filter(pk__in=others)} if others else {}
    return {**names, me.pk: me.display_name}


def _current(findings: list[Finding], asked: str) -> Finding | None:
    """The claim asked for, else the first that has no label, else the first."""
    if not findings:
        return None
    if asked.isdecimal() and len(asked) < 6:
        for finding in findings:
            if finding.position == int(asked) - 1:
                return finding
    return next((f for f in findings if not f.label), findings[0])


def reviewers_of(request: TenantRequest) -> list[Membership]:
    members = Membership.objects.for_tenant(request.tenant).select_related("user").order_by("user__username")
    return [m for m in members if m.may(Role.REVIEWER)]


def show_end_of_list(request: TenantRequest) -> HttpResponse:
    may_review = request.membership.may(Role.REVIEWER)
    context = {
        "page": "queue",
        "query": query_of(request),
        "last": review.last_undoable(tenant=request.tenant, actor=request.user) if may_review else None,
    }
    return render_page(
        request, "reviews/end_of_list.html", context, fragment="reviews/partials/_end_of_list.html"
    )


def url_name(request: TenantRequest) -> str:
    match = request.resolver_match
    return str(match.url_name) if match else ""
