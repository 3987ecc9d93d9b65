"""The queue: a filtered list of turns, a page at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from reviews.access import TenantRequest, memberships_of, tenant_view
from reviews.htmx import render_page, wants_fragment
from reviews.models import AgentName, Membership, Turn, User
from reviews.models.tenants import Role
from reviews.models.turns import ActionTaken, AnalysisState, AssertionStanding, CriticStanding, Kind, Severity
from reviews.services import queue
from reviews.services.errors import InvalidError
from reviews.views.ages import age
from reviews.views.claims import verdict_name
from reviews.views.critic_panel import is_blind
from reviews.views.texts import visible

FILTERS = (
    "state",
    "kind",
    "severity",
    "confidence",
    "agent",
    "outcome",
    "assignee",
    "age",
    "text",
    "sample",
    "assertions",
    "critic",
    "order",
)
STATE_NAMES = {
    "open": "Open",
    "decided": "Decided",
    "all": "All turns",
    "clean": "Not flagged",
    "failed": "Analysis failed",
}
ORDER_NAMES = {"priority": "Confidence", "newest": "Newest", "oldest": "Oldest"}
AGE_NAMES = {"1h": "last hour", "24h": "last day", "7d": "last 7 days", "30d": "last 30 days"}
KIND_NAMES = dict(Kind.choices)
#: How a turn stands with the critic: in the filter, and (in lower case) on a row that it should be said of.
CRITIC_NAMES: dict[str, str] = {
    CriticStanding.REFUSE: "Refuse",
    CriticStanding.REVISE: "Revise",
    CriticStanding.DEGRADED: "Not read",
    CriticStanding.WAITING: "Waiting",
    CriticStanding.APPROVE: "Approve",
}
CRITIC_TAGS: dict[str, str] = {
    CriticStanding.REFUSE: "bad",
    CriticStanding.REVISE: "warn",
    CriticStanding.DEGRADED: "warn",
    CriticStanding.WAITING: "",
}
HIGH_CONFIDENCE = 0.8


class Row(NamedTuple):
    """A turn as the list shows it: everything ready to print, so that the template only prints."""

    pk: int
    url: str
    confidence: str
    high: bool
    kinds: str
    critic: str
    critic_class: str
    is_sample: bool
    is_failed_assertion: bool
    agent: str
    before: str
    claim: str
    after: str
    tools: str
    state: str
    state_class: str
    age: str
    moment: str


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Straight to the first tenant's queue; a person without any is told so."""
    memberships = memberships_of(request.user)  # type: ignore[arg-type]
    if memberships:
        return redirect("reviews:overview", memberships[0].tenant.slug)
    return render_page(request, "reviews/no_tenant.html", {})


@require_safe
@tenant_view()
def queue_view(request: TenantRequest) -> HttpResponse:
    """The list. HTMX gets the list alone, or with a cursor the rows that follow."""
    cursor = request.GET.get("cursor", "")
    wanted, wrong = filter_from(request)
    query = query_of(request)
    problem = ""
    try:
        page = queue.queue_page(tenant=request.tenant, wanted=wanted, cursor=cursor)
    except InvalidError as error:
        wrong, problem = error.details["fields"], error.message
        page = queue.QueuePage([], "")
    status = 422 if wrong else 200
    people = _people(request, page.turns)
    is_piece = bool(cursor) and wants_fragment(request)
    # A page asks, since its filters depend on it; a piece only where there is something to hide.
    may_hide = any(turn.critic and not turn.verdict for turn in page.turns)
    blind = is_blind(request.tenant) if may_hide or not wants_fragment(request) else False
    now = timezone.now()
    base = reverse("reviews:turn", args=[request.tenant.slug, 0])[:-2]
    context: dict[str, Any] = {
        "rows": [_row(turn, base, query, now, people, blind=blind) for turn in page.turns],
        "more": _more(query, page.cursor) if page.cursor else "",
        "looked_at": page.looked_at,
        "wrong": wrong,
        "problem": problem,
    }
    if is_piece:
        return render_page(
            request, "reviews/queue.html", context, fragment="reviews/partials/_rows.html", status=status
        )
    count, capped = queue.capped_count(tenant=request.tenant, wanted=wanted)
    context |= {
        "page": "queue",
        "wanted": wanted,
        "count": f"{count:,}{'+' if capped else ''}",
        "state_name": STATE_NAMES[wanted.state].lower(),
        "filtered": not wanted.is_plain,
        "blind": blind,
        "critic_left_out": bool(request.GET.get("critic")) and not wanted.critic and not wrong,
        "only_sample": wanted.sample and replace(wanted, sample=False).is_plain,
        "choices": _choices(request, wanted),
    }
    return render_page(
        request, "reviews/queue.html", context, fragment="reviews/partials/_list.html", status=status
    )


def filter_from(request: TenantRequest) -> tuple[queue.QueueFilter, dict[str, str]]:
    """The filter in the address, and what is wrong with it; a wrong filter falls back to the plain queue.

    In blind review the critic's part of it counts among decided turns only: elsewhere it would tell verdicts.
    """
    values = {name: request.GET[name] for name in FILTERS if name in request.GET}
    try:
        wanted = queue.parse_filter(values, me=request.user.pk)
    except InvalidError as error:
        return queue.QueueFilter(), error.details["fields"]
    if wanted.critic and wanted.state != "decided" and is_blind(request.tenant):
        wanted = replace(wanted, critic="")
    return wanted, {}


def query_of(request: HttpRequest) -> str:
    """The filter part of the address, as it came, without paging."""
    return urlencode({name: request.GET[name] for name in FILTERS if request.GET.get(name)})


def _more(query: str, cursor: str) -> str:
    return "?" + "&".join(filter(None, [query, urlencode({"cursor": cursor})]))


def _row(turn: Turn, base: str, query: str, now: Any, people: dict[int, str], *, blind: bool) -> Row:
    """``blind``: nothing is said of the critic before the turn is decided."""
    critic = turn.critic if turn.critic in CRITIC_TAGS and (turn.verdict or not blind) else ""
    state, state_class = _state(turn, people)
    kinds = turn.kind_list
    names = KIND_NAMES[kinds[0]] if kinds else ""
    return Row(
        pk=turn.pk,
        url=f"{base}{turn.pk}/" + (f"?{query}" if query else ""),
        confidence=f"{turn.max_confidence:.2f}".lstrip("0") if kinds else "–",
        high=turn.max_confidence >= HIGH_CONFIDENCE,
        kinds=f"{names} +{len(kinds) - 1}" if len(kinds) > 1 else names,
        critic=CRITIC_NAMES[critic].lower() if critic else "",
        critic_class=CRITIC_TAGS.get(critic, ""),
        is_sample=turn.audit_rate is not None,
        is_failed_assertion=turn.assertions == AssertionStanding.FLAGGED,
        agent=visible(turn.agent),
        before=visible(turn.snippet[: turn.snippet_start]),
        claim=visible(turn.snippet[turn.snippet_start : turn.snippet_end]),
        after=visible(turn.snippet[turn.snippet_end :]),
        tools=visible(turn.tools_note),
        state=state,
        state_class=state_class,
        age=age(turn.occurred_at, now),
        moment=f"{turn.occurred_at:%Y-%m-%d %H:%M} UTC",
    )


def _state(turn: Turn, people: dict[int, str]) -> tuple[str, str]:
    """The word at the end of a row: what matters most about where the turn stands."""
    if turn.analysis_state != AnalysisState.DONE:
        return AnalysisState(turn.analysis_state).label, "warn"
    if turn.verdict:
        return verdict_name(turn.verdict, has_findings=bool(turn.kinds)), turn.verdict
    if turn.assignee_id:
        return people.get(turn.assignee_id, "assigned"), ""
    if turn.outcome in (ActionTaken.REFUSE_REPLACED, ActionTaken.REVISE_FORCED):
        return ActionTaken(turn.outcome).label, turn.outcome
    return "", ""


def _people(request: TenantRequest, turns: list[Turn]) -> dict[int, str]:
    ids = {turn.assignee_id for turn in turns if turn.assignee_id}
    if not ids:
        return {}
    return {user.pk: user.display_name for user in User.objects.filter(pk__in=ids)}


def _choices(request: TenantRequest, wanted: queue.QueueFilter) -> dict[str, Any]:
    """What each filter offers, with the chosen value marked."""
    agents = list(
        AgentName.objects.for_tenant(request.tenant).order_by("name").values_list("name", flat=True)[:200]
    )
    reviewers = [
        m
        for m in Membership.objects.for_tenant(request.tenant)
        .select_related("user")
        .order_by("user__username")
        if m.may(Role.REVIEWER)
    ]
    me = request.user.pk
    return {
        "state": _options(STATE_NAMES, wanted.state),
        "kind": _options({"": "any", **KIND_NAMES}, wanted.kind),
        "severity": _options(
            {"": "any", **{s.name.lower(): s.label for s in reversed(Severity) if s}},
            Severity(wanted.severity).name.lower() if wanted.severity else "",
        ),
        "agent": _options({"": "any", **{name: visible(name) for name in agents}}, wanted.agent),
        "outcome": _options({"": "any", **dict(ActionTaken.choices[1:])}, wanted.outcome),
        "assignee": _options(
            {
                "": "anyone",
                "me": "me",
                **{str(m.user_id): m.user.display_name for m in reviewers if m.user_id != me},
            },
            "me" if wanted.assignee == me else str(wanted.assignee or ""),
        ),
        "age": _options({"": "any", **AGE_NAMES}, wanted.age),
        "critic": _options({"": "any", **CRITIC_NAMES}, wanted.critic),
        "order": _options(ORDER_NAMES, wanted.order),
    }


def _options(names: dict[str, str], chosen: str) -> list[tuple[str, str, bool]]:
    return [(value, name, value == chosen) for value, name in names.items()]
