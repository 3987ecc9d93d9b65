"""The page of one turn, or the fragment of it that HTMX gets: everything around a claim in one context."""

from __future__ import annotations

from typing import Any

import msgspec
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone

from reviews.access import TenantRequest
from reviews.htmx import render_page
from reviews.models import Finding, Membership, ReviewDecision, Turn, User
from reviews.models.critic import Verdict
from reviews.models.tenants import Role
from reviews.models.turns import AnalysisState, AssertionStanding, ReviewState
from reviews.services import review
from reviews.services.analysis import stored_record
from reviews.services.assertion_worklist import results_of
from reviews.services.evidence import call_views, claim_evidence
from reviews.services.history import with_history
from reviews.views.ages import age
from reviews.views.assertion_words import suite_results
from reviews.views.claims import claim_row, history_of, turn_choices, verdict_name
from reviews.views.critic_panel import (
    HIDDEN_CONFLICT,
    Panel,
    about_critic,
    critic_panel,
    is_blind,
    not_asked,
    verdict_of,
    without_verdict,
)
from reviews.views.draft import draft_runs
from reviews.views.grounding import grounded_claims, held_of
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
        .select_related("payload", "policy_version")
        .defer("policy_version__settings", "policy_version__evidence"),
        turn_id,
    )
    said = verdict_of(turn, tenant)
    critic = critic_panel(request, turn, said, version=turn.version)
    hidden = critic is not None and critic.state == "hidden"
    findings = review.in_order(turn.findings.all())
    decisions = list(turn.decisions.order_by("-version")[:HISTORY_LENGTH]) if turn.version else []
    names = _names(request, turn, findings, decisions)
    current = _current(findings, request.GET.get("claim", ""))
    payload = turn.payload
    whole = "whole" in request.GET
    may_review = request.membership.may(Role.REVIEWER)
    if last is None and may_review:
        last = review.last_undoable(tenant=tenant, actor=request.user)
    history = history_of(decisions, findings, names, request.membership)
    if hidden:
        history = without_verdict(history, decisions)
        if status == 409 and decisions and about_critic(decisions[0]):
            problem = HIDDEN_CONFLICT
    # What a runtime's critic said before verdicts had a row of their own.
    earlier_critic = payload.critic if said is None and payload.critic else None
    if earlier_critic and not turn.verdict and is_blind(tenant):
        earlier_critic = None
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
        "earlier": call_views(_earlier_calls(turn), whole=whole),
        "held": held_of(current) if current else None,
        "grounded": grounded_claims(payload.claims),
        "verdict": verdict_name(turn.verdict, has_findings=bool(findings)) if turn.verdict else "",
        "audit_rate": "" if turn.audit_rate is None else f"{turn.audit_rate * 100:g} %",
        "turn_choices": turn_choices(turn, bool(findings)) if len(findings) != 1 else [],
        "assignee": names.get(turn.assignee_id or 0, ""),
        "waiting": turn.analysis_state in (AnalysisState.PENDING, AnalysisState.CLAIMED),
        "failed": turn.analysis_state == AnalysisState.FAILED,
        "may_review": may_review,
        "reviewers": reviewers_of(request) if may_review and "assign" in request.GET else None,
        "suites": suite_results(results_of(tenant=tenant, turn_id=turn.pk)) if turn.assertions else [],
        "critic": critic,
        "not_asked": not_asked(turn),
        "earlier_critic": earlier_critic,
        "whole_turn_why": _whole_turn_why(turn, bool(findings), critic),
        "answer": payload.corrected_answer or (critic.revised if critic else "") or payload.draft,
        "history": history,
        "query": query_of(request),
        "last": last,
        "age": age(turn.occurred_at, timezone.now()),
        "problem": problem,
        # What was typed into the form that was refused, by the form's name, so that it is not lost.
        "typed": {url_name(request): request.POST.get("text", "")} if problem else {},
        "overruling": _overruling(request) if problem else None,
    }
    return render_page(
        request,
        "reviews/turn.html",
        context,
        fragment="reviews/partials/_review.html",
        status=status,
        push_url=push_url,
    )


def show_critic(request: TenantRequest, turn_id: int, *, seen: str, version: int | None) -> HttpResponse:
    """What the critic says by now, for a page that waits for it; 204 when that is what it has ``seen``.

    ``version`` is the turn's version on that page: a decision made there is about what is shown there.
    """
    turns = Turn.objects.for_tenant(request.tenant).only("tenant_id", "version", "verdict", "critic")
    turn = found_turn(turns, turn_id)
    said = verdict_of(turn, request.tenant)
    critic = critic_panel(request, turn, said, version=turn.version if version is None else version)
    if critic is None or critic.seen == seen:
        return HttpResponse(status=204)
    context = {
        "critic": critic,
        "at": reverse("reviews:turn", args=[request.tenant.slug, turn.pk]),
        "query": query_of(request),
        "is_piece": True,
    }
    return render_page(request, "reviews/turn.html", context, fragment="reviews/partials/_critic.html")


def _earlier_calls(turn: Turn) -> list[dict[str, Any]]:
    """Calls of earlier turns of the conversation: those that came with the turn, else those stored here."""
    payload = turn.payload
    if payload.earlier_calls or not turn.conversation_id:
        return payload.earlier_calls or []
    (record,) = with_history(tenant_id=turn.tenant_id, records=[(turn.pk, stored_record(turn, payload))])
    calls: list[dict[str, Any]] = msgspec.to_builtins(record.earlier_calls)
    return calls


def _whole_turn_why(turn: Turn, has_findings: bool, critic: Panel | None) -> str:
    """Why a turn on which nothing was flagged waits for a reviewer; empty for others."""
    if has_findings:
        return ""
    is_open = turn.review_state == ReviewState.OPEN
    if is_open and critic is not None and critic.verdict in (Verdict.REVISE, Verdict.REFUSE):
        return critic.verdict
    if turn.assertions == AssertionStanding.FLAGGED:
        return "assertion"
    if turn.audit_rate is not None:
        return "audit"
    return "other" if is_open else ""


def _overruling(request: TenantRequest) -> dict[str, str] | None:
    """What was typed into the form that overrules the critic, when that was refused."""
    if url_name(request) != "judge-critic" or "reason" not in request.POST:
        return None
    return {name: request.POST.get(name, "") for name in ("verdict", "reason")}


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
