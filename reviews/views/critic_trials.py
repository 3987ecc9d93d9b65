"""Trials of the critic: told what they cost, started, watched, and read side by side."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings as django_settings
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.critic_forms import TrialForm
from reviews.htmx import render_page, wants_fragment
from reviews.models import Job, TrialVerdict
from reviews.models.critic import Verdict
from reviews.models.jobs import JobKind, JobState
from reviews.models.tenants import Role
from reviews.models.turns import Label
from reviews.services import critic_trials, jobs
from reviews.services.critic_trial_results import Outcome, Pair, latest_trials, trial_of, trial_result
from reviews.services.critic_trials import Variant
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.model_providers import model_names
from reviews.services.policies import current_policy, unpublished_versions
from reviews.tasks import hint_jobs
from reviews.views.ages import ago
from reviews.views.critic_words import VERDICT_WORDS, kappa_words, share_words
from reviews.views.skill_words import Tag, counted
from reviews.views.texts import visible


class TrialRow(NamedTuple):
    """A trial in the list."""

    url: str
    when: str
    words: str
    state: Tag


class Column(NamedTuple):
    """One variant: who was asked, and what came of it."""

    name: str
    detail: str
    mix: str
    precision: str
    recall: str
    kappa: str
    used: str


class Said(NamedTuple):
    """One variant's verdict on a turn; ``text`` is the revision or the refusal, or why there is none."""

    tag: Tag
    text: str


class PairRow(NamedTuple):
    url: str
    external_id: str
    snippet: str
    label: str
    said: list[Said]
    differs: bool


class Estimated(NamedTuple):
    words: str
    budget: int


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def start(request: TenantRequest) -> HttpResponse:
    """First shows what a trial would cost, then starts it with the budget that was agreed to."""
    if request.method != "POST":
        return redirect(f"{reverse('reviews:critic', args=[request.tenant.slug])}#trials")
    form = TrialForm(request.POST)
    estimated = None
    status = 422
    if form.is_valid():
        try:
            if "start" in request.POST and form.cleaned_data["budget"]:
                return _started(request, form)
            estimated, status = _estimate(request, form), 200
        except InvalidError as error:
            form.add_problems(error.details["fields"])
        except ConflictError as error:
            form.add_error(None, error.message)
            status = 409
    context = {**trials_context(request, form, estimated), "page": "critic"}
    return render_page(
        request, "reviews/critic/trials.html", context, fragment="reviews/critic/_trials.html", status=status
    )


@require_safe
@tenant_view()
def trial_view(request: TenantRequest, job_id: int) -> HttpResponse:
    """One trial; HTMX, which polls while it runs, gets it again when there is more to see."""
    job = _trial(request, job_id)
    seen = hashlib.sha256(f"{job.state} {job.done} {job.total}".encode()).hexdigest()[:16]
    if wants_fragment(request) and request.GET.get("seen") == seen:
        return HttpResponse(status=204)
    found = trial_result(job=job)
    rows = [_pair(request, pair) for pair in found.pairs]
    context: dict[str, Any] = {
        "page": "critic",
        "job": job,
        "seen": seen,
        "active": job.state in jobs.ACTIVE,
        "state": _state(job),
        "percent": min(100, job.done * 100 // job.total) if job.total else 0,
        "columns": [_column(job, n, outcome) for n, outcome in enumerate(found.outcomes)],
        "between": kappa_words(found.between) if found.between else "",
        "rows": [row for row in rows if row.differs] + [row for row in rows if not row.differs],
        "differing": sum(row.differs for row in rows),
        "labelled": job.parameters["source"] == "labelled",
        "may_manage": request.membership.may(Role.MANAGER),
        "broken": visible(job.error) if job.state == JobState.FAILED else "",
    }
    return render_page(request, "reviews/critic/trial.html", context, fragment="reviews/critic/_trial.html")


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view(Role.MANAGER)
def cancel(request: TenantRequest, job_id: int) -> HttpResponse:
    """End a trial; what was said so far stays."""
    job = _trial(request, job_id)
    if request.method == "POST":
        with suppress(ConflictError):  # it has ended by itself meanwhile, which is what was wanted
            jobs.cancel_job(tenant=request.tenant, actor=request.user, job_id=job.pk)
    return redirect("reviews:critic-trial", request.tenant.slug, job.pk)


def trials_context(
    request: TenantRequest, form: TrialForm | None = None, estimated: Estimated | None = None
) -> dict[str, Any]:
    """The section about trials, as the critic's page shows it, too."""
    current = current_policy(tenant=request.tenant).number
    drafts = unpublished_versions(tenant=request.tenant, limit=10)
    versions = [(current, f"version {current}, in force" if current else "the defaults")]
    versions += [
        (draft.number, f"version {draft.number}, {draft.get_state_display().lower()}") for draft in drafts
    ]
    wanted = request.GET.get("try", "")
    policy = next((number for number, _ in versions if str(number) == wanted), current)
    models = model_names(django_settings)
    initial = {
        "model_0": models[0] if models else "",
        "policy_0": policy,
        "model_1": (models[1:] or models or [""])[0],
        "policy_1": current,
        "source": "recent" if wanted else "labelled",
    }
    return {
        "trials": [_trial_row(request, job) for job in latest_trials(tenant=request.tenant)],
        "form": form or TrialForm(initial={**TrialForm.base_initial(), **initial}),
        "estimated": estimated,
        "models": models,
        "versions": versions,
        "may_manage": request.membership.may(Role.MANAGER),
    }


def _started(request: TenantRequest, form: TrialForm) -> HttpResponse:
    read = form.cleaned_data
    parameters = {
        "variants": form.variants(),
        "source": read["source"],
        "turns": read["turns"],
        "budget": read["budget"],
    }
    job = jobs.start_job(tenant=request.tenant, kind=JobKind.TRIAL, parameters=parameters, actor=request.user)
    hint_jobs()
    url = reverse("reviews:critic-trial", args=[request.tenant.slug, job.pk])
    if wants_fragment(request):
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return redirect(url)


def _estimate(request: TenantRequest, form: TrialForm) -> Estimated:
    read = form.cleaned_data
    found = critic_trials.estimate(
        tenant=request.tenant,
        variants=[Variant(**variant) for variant in form.variants()],
        source=read["source"],
        turns=read["turns"],
    )
    if not found.turns:
        raise InvalidError("There are no such turns yet.", fields={"source": "No turn to ask about."})
    cost = (
        "without a price" if found.cost is None else f"about {found.cost:.4f} in the currency of the prices"
    )
    words = (
        f"{counted(found.calls, 'call')} about {counted(found.turns, 'turn')}: some {found.tokens:,} tokens, "
        f"{found.most_tokens:,} at most; {cost}."
    )
    return Estimated(words, found.most_tokens)


def _trial(request: TenantRequest, job_id: int) -> Job:
    try:
        return trial_of(tenant=request.tenant, job_id=job_id)
    except NotFoundError as error:
        raise Http404 from error


def _trial_row(request: TenantRequest, job: Job) -> TrialRow:
    names = " and ".join(_name(Variant(**variant)) for variant in job.parameters["variants"])
    by = f" by {job.started_by.display_name}" if job.started_by else ""
    return TrialRow(
        url=reverse("reviews:critic-trial", args=[request.tenant.slug, job.pk]),
        when=f"{ago(job.created_at, timezone.now())}{by}",
        words=f"{names}, {counted(len(job.parameters['ids']), 'turn')}",
        state=_state(job),
    )


def _state(job: Job) -> Tag:
    if job.state == JobState.DONE:
        ended = (job.result or {}).get("ended")
        return Tag("ended at its budget", "warn") if ended == "budget" else Tag("done", "good")
    css = {JobState.FAILED: "bad", JobState.CANCELLED: "", JobState.PAUSED: "warn"}
    return Tag(JobState(job.state).label.lower(), css.get(JobState(job.state), "accent"))


def _name(variant: Variant) -> str:
    policy = f"version {variant.policy}" if variant.policy else "the defaults"
    return f"{visible(variant.model)} by {policy}{', own text' if variant.template else ''}"


def _column(job: Job, number: int, outcome: Outcome) -> Column:
    variant = Variant(**job.parameters["variants"][number])
    against = outcome.against_labels
    mix = f"{outcome.approve:,} approved, {outcome.revise:,} to revise, {outcome.refuse:,} to refuse"
    if outcome.degraded:
        mix += f", {outcome.degraded:,} not read"
    used = f"{outcome.tokens:,} tokens"
    if outcome.cost is not None:
        used += f", cost {outcome.cost:.4f}"
    if outcome.mean_latency_ms is not None:
        used += f", {outcome.mean_latency_ms / 1000:.1f} s an answer"
    return Column(
        name="AB"[number],
        detail=_name(variant),
        mix=mix,
        precision=share_words(against.precision),
        recall=share_words(against.recall),
        kappa=kappa_words(against.kappa),
        used=used,
    )


def _pair(request: TenantRequest, pair: Pair) -> PairRow:
    return PairRow(
        url=reverse("reviews:turn", args=[request.tenant.slug, pair.turn.pk]),
        external_id=visible(pair.turn.external_id),
        snippet=visible(pair.turn.snippet),
        label=Label(pair.label).label.lower() if pair.label else "",
        said=[_said(verdict) for verdict in pair.verdicts],
        differs=pair.differs,
    )


def _said(verdict: TrialVerdict | None) -> Said:
    if verdict is None:
        return Said(Tag("not asked"), "")
    if verdict.cause:
        return Said(Tag("not read", "warn"), visible(verdict.detail))
    return Said(VERDICT_WORDS[Verdict(verdict.verdict)], visible(verdict.text))
