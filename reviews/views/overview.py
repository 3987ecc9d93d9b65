"""Overview: what needs somebody now, and how the agents and the reviewers are doing."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRefresh

from reviews.access import TenantRequest, tenant_view
from reviews.htmx import render_page, wants_fragment
from reviews.models.tenants import Role
from reviews.models.turns import Kind
from reviews.services import overview
from reviews.services.overview import Count, Figures, Speed
from reviews.services.policies import policy_of
from reviews.services.shadow import shadow_report
from reviews.views.ages import age
from reviews.views.charts import precision_range, rate_chart
from reviews.views.estimates import ShadowWords, shadow_words

#: What the page of a tenant without turns says it has seen.
NOTHING_SEEN = "nothing"
KIND_NAMES = dict(Kind.choices)


class Figure(NamedTuple):
    """A number with what it counts, and where it leads; ``css`` marks one that needs somebody."""

    name: str
    value: str
    label: str
    url: str
    css: str = ""


@require_safe
@tenant_view()
def overview_view(request: TenantRequest) -> HttpResponse:
    """The page. HTMX, which polls, gets the figures alone, and only when they read differently."""
    if wants_fragment(request):
        return _poll(request)
    shown = _figures(request)
    history = overview.history(tenant=request.tenant)
    context: dict[str, Any] = {"page": "overview", "figures": shown, "seen": _fingerprint(shown)}
    if history.is_empty and not overview.has_turns(tenant=request.tenant):
        context |= {
            "first_steps": True,
            "seen": NOTHING_SEEN,
            "address": request.build_absolute_uri("/api/v1/turns"),
            "may_make_keys": request.membership.may(Role.MANAGER),
        }
        return render_page(request, "reviews/overview.html", context)
    since = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    context |= {
        "chart": rate_chart(history.days),
        "ranges": [precision_range(KIND_NAMES[Kind(p.kind)], p) for p in history.precision],
        "mine": _speed(overview.my_speed(tenant=request.tenant, user=request.user, since=since)),
        "shadow": _shadow(request),
        "team": _speed(overview.team_speed(tenant=request.tenant)),
        "may_review": request.membership.may(Role.REVIEWER),
    }
    return render_page(request, "reviews/overview.html", context)


def _poll(request: TenantRequest) -> HttpResponse:
    seen = request.GET.get("seen", "")
    if seen == NOTHING_SEEN:
        has_turns = overview.has_turns(tenant=request.tenant)
        return HttpResponseClientRefresh() if has_turns else HttpResponse(status=204)
    shown = _figures(request)
    fingerprint = _fingerprint(shown)
    if fingerprint == seen:
        return HttpResponse(status=204)
    context = {"figures": shown, "seen": fingerprint}
    return render_page(request, "reviews/overview.html", context, fragment="reviews/partials/_figures.html")


def _figures(request: TenantRequest) -> list[Figure]:
    found = overview.figures(tenant=request.tenant, user=request.user)
    queue = reverse("reviews:queue", args=[request.tenant.slug])
    now = timezone.now()
    return [
        Figure("open", _number(found.open), "open in the queue", queue),
        Figure("oldest", _age(found.oldest_open, now), "oldest open turn", f"{queue}?order=oldest"),
        Figure("mine", _number(found.mine), "assigned to you", f"{queue}?assignee=me"),
        Figure(
            "failed",
            _number(found.failed),
            "could not be analysed",
            f"{queue}?state=failed",
            "bad" if found.failed.value else "",
        ),
        *_skill_figures(request),
        *_critic_figures(request, now),
        Figure("waiting", _number(found.waiting), _waiting_label(found, now), "", _waiting_css(found, now)),
    ]


def _skill_figures(request: TenantRequest) -> list[Figure]:
    """Shown only when there is something to do: not every tenant has skills."""
    found = overview.skill_figures(tenant=request.tenant)
    slug = request.tenant.slug
    shown = []
    if found.drafts.value:
        label = "draft skill waits" if found.drafts.value == 1 else "draft skills wait"
        shown.append(Figure("drafts", _number(found.drafts), label, reverse("reviews:skills", args=[slug])))
    if found.given_up.value:
        may_open = request.membership.may(Role.MANAGER)
        url = reverse("reviews:runtime", args=[slug]) if may_open else ""
        label = "not delivered to the runtime"
        shown.append(Figure("undelivered", _number(found.given_up), label, url, "bad"))
    return shown


def _critic_figures(request: TenantRequest, now: datetime) -> list[Figure]:
    """Shown only where the critic is asked."""
    found = overview.critic_figures(tenant=request.tenant, now=now)
    if found is None:
        return []
    url = reverse("reviews:critic", args=[request.tenant.slug])
    if found.out_of_reach:
        return [Figure("critic", "–", "the critic’s model is out of reach", url, "bad")]
    label = "critic calls today"
    if found.gated:
        label += f", for {found.fired:,} of {found.gated:,} turns"
    if found.cost:
        label += f", cost {found.cost:.2f}"
    return [Figure("critic", f"{found.calls:,}", label, url)]


def _waiting_label(found: Figures, now: datetime) -> str:
    if found.oldest_waiting is None:
        return "waiting for analysis"
    return f"waiting for analysis, oldest {_age(found.oldest_waiting, now)}"


def _waiting_css(found: Figures, now: datetime) -> str:
    """A line whose head has not moved for a minute: no worker runs, or not enough of them."""
    oldest = found.oldest_waiting
    return "warn" if oldest is not None and (now - oldest).total_seconds() > 60 else ""


def _fingerprint(shown: list[Figure]) -> str:
    """Of what the person sees, so that an age that reads the same is not sent again."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


class Shadow(NamedTuple):
    """The version in shadow, and how it does."""

    number: int
    url: str
    since: datetime | None
    words: ShadowWords


def _shadow(request: TenantRequest) -> Shadow | None:
    report = shadow_report(tenant=request.tenant)
    if report is None:
        return None
    number = report.version.number
    words = shadow_words(
        turns=report.turns,
        agree=report.agree,
        extra=report.extra,
        fewer=report.fewer,
        precision=report.precision,
        mode=policy_of(report.version).settings.fabrication_check_mode,
    )
    url = reverse("reviews:policy-version", args=[request.tenant.slug, number])
    return Shadow(number, url, report.version.shadow_since, words)


def _number(count: Count) -> str:
    return f"{count.value:,}{'+' if count.capped else ''}"


def _age(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "–"
    said = age(moment, now)
    return "under 1 min" if said == "now" else said


def _speed(speed: Speed) -> dict[str, str]:
    seconds = speed.seconds
    return {
        "decisions": _number(speed.decisions),
        "seconds": "" if seconds is None else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s",
    }
