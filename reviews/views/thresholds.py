"""Thresholds: move them, see at once what they would have done, and save them as a draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.core.settings import parse_settings
from reviews.core.settings_diff import settings_diff
from reviews.htmx import render_page, wants_fragment
from reviews.models import Calibration, PolicyVersion
from reviews.models.policies import PolicyState
from reviews.models.tenants import Role
from reviews.models.turns import Label
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.judge import Policy
from reviews.services.policies import (
    DEFAULTS,
    calibration_table,
    current_policy,
    policy_of,
    policy_version,
    unpublished_versions,
)
from reviews.services.publishing import UNPUBLISHED, save_draft
from reviews.services.simulation import (
    FlippedTurn,
    Simulation,
    last_days,
    simulate_policies,
)
from reviews.setting_words import SETTINGS
from reviews.threshold_forms import FIELD_OF, DraftForm, ThresholdForm
from reviews.views.learning import learned
from reviews.views.settings import require_role
from reviews.views.texts import visible
from reviews.views.threshold_charts import curve_chart, histogram_chart
from reviews.views.threshold_numbers import numbers_of

PAGE = "reviews/thresholds.html"
RESULT = "reviews/thresholds/_result.html"

#: What a redirect says with ``?done=``: only these sentences, never text from the address.
DONE = {
    "saved": "Saved as a draft. Nothing changes for the agents until it is published.",
    "accepted": "The rule is in {edited} now. Nothing changes for the agents until it is published.",
    "dismissed": "Dismissed. It is not suggested again.",
    "learning": "Learning from the labels has started.",
}
#: Drafts named on top of the page beside the one edited; the others are behind a link.
OTHERS_SHOWN = 3
#: Settings that change which findings there are. Past turns cannot tell what they would do.
NOT_SIMULATED = (
    "identifier_keys",
    "tool_trigger_keywords",
    "grounding_tool_fragments",
    "ignored_keys",
    "ignored_value_patterns",
)


@dataclass(frozen=True)
class Trial:
    """What a request is about: the policy in force, the version that is edited, and what is tried on it.

    ``version`` is None when the defaults are edited, which are number 0. ``drafts`` are the newest ones, as
    many as the page may need.
    """

    current: Policy
    edited: Policy
    version: PolicyVersion | None
    drafts: list[PolicyVersion]
    calibration: Calibration | None
    form: ThresholdForm

    @cached_property
    def candidate(self) -> Policy:
        """The policy that the form describes, as a draft saved now would be. The form must be valid."""
        settings = parse_settings(self.edited.settings.to_json() | self.form.values)
        table = calibration_table(self.calibration) if self.calibration is not None else None
        return Policy(None, self.edited.number, settings, table)

    @property
    def is_draft(self) -> bool:
        return self.version is not None and self.version.state in UNPUBLISHED

    @property
    def is_given_up(self) -> bool:
        """Replaced or discarded, so that nothing can be saved on top of it."""
        version = self.version
        return (
            version is not None and version.state == PolicyState.SUPERSEDED and version.published_at is None
        )

    @property
    def name(self) -> str:
        """What is edited."""
        if self.version is None:
            return "the defaults"
        return f"{'draft' if self.version.state == PolicyState.DRAFT else 'version'} {self.version.number}"

    @property
    def note(self) -> str:
        return str(self.form.data.get("note", ""))

    @property
    def tried(self) -> dict[str, str]:
        """What was typed: every field that says something else than the version edited, and the note."""
        initial = self.form.initial_from(self.edited.settings)
        typed = {name: str(self.form.data.get(name, "")) for name in initial}
        moved = {name: value for name, value in typed.items() if value != initial[name]}
        return moved | ({"note": self.note} if self.note else {})

    @property
    def query(self) -> str:
        """What is tried, as an address has it."""
        return urlencode({"version": self.edited.number, **self.tried})


@require_http_methods(["GET", "HEAD", "POST"])
@tenant_view()
def thresholds(request: TenantRequest) -> HttpResponse:
    """The page, with whatever the address tries; POST saves that as a draft."""
    if request.method == "POST":
        return _save(request)
    trial = trial_of(request, request.GET)
    return show_thresholds(request, trial, status=200 if trial.form.is_valid() else 422)


@require_safe
@tenant_view()
def simulate(request: TenantRequest) -> HttpResponse:
    """The result alone, for HTMX; everybody else is sent to the page."""
    if not wants_fragment(request):
        return redirect(f"{address_of(request)}?{request.GET.urlencode()}")
    trial = trial_of(request, request.GET, with_drafts=False)
    context = _result(request, trial)
    status = 200 if trial.form.is_valid() else 422
    response = render_page(request, PAGE, context, fragment=RESULT, status=status)
    if status == 200:
        # So that reloading, or coming back from a turn, finds what was tried.
        response.headers["HX-Replace-Url"] = f"{address_of(request)}?{trial.query}"
    return response


def _save(request: TenantRequest) -> HttpResponse:
    require_role(request, Role.MANAGER)
    trial = trial_of(request, request.POST, form_class=DraftForm)
    form = trial.form
    if not form.is_valid():
        return show_thresholds(request, trial, status=422)
    try:
        draft = save_draft(
            tenant=request.tenant,
            author=request.user,
            values=trial.edited.settings.to_json() | form.values,
            based_on=form.cleaned_data["version"],
            note=form.cleaned_data["note"],
        )
    except InvalidError as error:
        problems = error.details["fields"]
        form.add_problems(problems) if problems else form.add_error(None, error.message)
        return show_thresholds(request, trial, status=422)
    except ConflictError as error:
        return show_conflict(request, trial, error)
    return done(
        request, "saved", version=draft.number, days=form["days"].value(), target=form["target"].value()
    )


def show_conflict(request: TenantRequest, trial: Trial, error: ConflictError) -> HttpResponse:
    """Put what was typed onto the version that is edited now, so that saving again is a decision."""
    typed = {name: value for name, value in request.POST.items() if name != "version"}
    newest = trial_of(request, typed)
    context: dict[str, Any] = {"conflict": error.message}
    if trial.form.is_valid():
        context["theirs"] = [
            (newest.form[FIELD_OF[change.path]].label, "–" if change.before is None else f"{change.before}")
            for change in settings_diff(newest.edited.settings, trial.candidate.settings)
            if change.path in FIELD_OF
        ]
    return show_thresholds(request, newest, context, status=409)


def done(request: TenantRequest, what: str, **query: Any) -> HttpResponse:
    """Back to the page, which says what was done."""
    return redirect(f"{address_of(request)}?{urlencode({'done': what, **query})}")


def trial_of(
    request: TenantRequest,
    values: Mapping[str, Any],
    *,
    form_class: type[ThresholdForm] = ThresholdForm,
    with_drafts: bool = True,
) -> Trial:
    """Read what is tried. Fields that ``values`` leaves out are those of the version edited.

    That is the one named in ``version``, else the newest unpublished one, else the one in force. Raises
    Http404 for a version that is not there.
    """
    current = current_policy(tenant=request.tenant)
    # The one edited, those shown beside it, and one that tells whether there are more.
    drafts = unpublished_versions(tenant=request.tenant, limit=OTHERS_SHOWN + 2) if with_drafts else []
    version = _version(request, values.get("version"), current, drafts)
    edited = DEFAULTS if version is None else policy_of(version)
    initial = form_class.initial_from(edited.settings)
    data = {**initial, **{name: values[name] for name in initial if name in values}}
    data |= {"note": values.get("note", ""), "version": values.get("version", "")}
    calibration = Calibration.objects.for_tenant(request.tenant).defer("content").order_by("-number").first()
    return Trial(current, edited, version, drafts, calibration, form_class(data))


def _version(
    request: TenantRequest, wanted: Any, current: Policy, drafts: list[PolicyVersion]
) -> PolicyVersion | None:
    if wanted in (None, ""):
        if drafts:
            return drafts[0]
        wanted = str(current.number)
    if not (wanted.isascii() and wanted.isdecimal() and len(wanted) < 10):
        raise Http404
    if int(wanted) == 0:
        return None
    try:
        return policy_version(tenant=request.tenant, number=int(wanted))
    except NotFoundError as error:
        raise Http404 from error


# -- The page


def show_thresholds(
    request: TenantRequest, trial: Trial, more: Mapping[str, Any] | None = None, *, status: int = 200
) -> HttpResponse:
    """The whole page, whatever a request has led to."""
    others, more_drafts = _others(request, trial)
    context = {
        "page": "thresholds",
        "in_force": _in_force(request),
        "edited": trial.edited,
        "edited_name": trial.name,
        "version": trial.version,
        "is_draft": trial.is_draft,
        "is_given_up": trial.is_given_up,
        "others": others,
        "more_drafts": more_drafts,
        "may_save": request.membership.may(Role.MANAGER),
        "form": trial.form,
        "note": trial.note,
        "done": DONE.get(request.GET.get("done", ""), "").format(edited=trial.name),
        **learned(request, trial.calibration),
        **_result(request, trial),
        **(more or {}),
    }
    return render_page(request, PAGE, context, status=status)


def _others(request: TenantRequest, trial: Trial) -> tuple[list[PolicyVersion], int]:
    """The newest drafts beside the one edited, and how many more there are. At most one query."""
    beside = [draft for draft in trial.drafts if trial.version is None or draft.pk != trial.version.pk]
    if len(beside) <= OTHERS_SHOWN:
        return beside, 0
    all_drafts = PolicyVersion.objects.for_tenant(request.tenant).filter(state__in=UNPUBLISHED).count()
    return beside[:OTHERS_SHOWN], all_drafts - trial.is_draft - OTHERS_SHOWN


def _in_force(request: TenantRequest) -> PolicyVersion | None:
    return (
        PolicyVersion.objects.for_tenant(request.tenant)
        .filter(state=PolicyState.PUBLISHED)
        .select_related("published_by")
        .defer("settings", "evidence")
        .first()
    )


class FlipRow(NamedTuple):
    """A turn that changes fate, ready to print; ``distance`` is empty on the threshold itself."""

    url: str
    distance: str
    before: str
    claim: str
    after: str
    agent: str
    verdict: str
    verdict_name: str


class Flips(NamedTuple):
    """One direction: how many turns, and those shown, which are the nearest to the threshold."""

    turns: int
    rows: list[FlipRow]

    @property
    def is_cut(self) -> bool:
        return len(self.rows) < self.turns


class Unsimulated(NamedTuple):
    """What the version edited changes beside what is tried: labels of settings."""

    name: str
    labels: list[str]
    number: int
    is_draft: bool
    is_in_shadow: bool


def _result(request: TenantRequest, trial: Trial) -> dict[str, Any]:
    """What the result says; without numbers when something typed cannot be used."""
    common = {
        "query": trial.query,
        "form": trial.form,
        "current": trial.current,
        "calibration": trial.calibration,
    }
    if not trial.form.is_valid():
        return {**common, "wrong": trial.form.wrong}
    typed = trial.form.cleaned_data
    found = simulate_policies(
        tenant=request.tenant,
        current=trial.current,
        candidate=trial.candidate,
        window=last_days(typed["days"]),
    )
    if not found.totals.turns:
        return {**common, "days": typed["days"]}
    context: dict[str, Any] = {
        **common,
        "days": typed["days"],
        "numbers": numbers_of(found, typed["target"]),
        "labelled": sum(found.labelled[label.value] for label in Label),
        "is_same": trial.candidate.settings == trial.current.settings and not _reads_older_fit(trial),
        "refuses": typed["mode"] == "refuse",
        "older_fit": _reads_older_fit(trial),
        "unsimulated": _unsimulated(trial),
    }
    if found.totals.flagged:
        context |= {
            "histogram": histogram_chart(found),
            "curve": curve_chart(found),
            "flips": _flips(request, found),
        }
    return context


def _reads_older_fit(trial: Trial) -> bool:
    """Whether the policy in force reads calibrated confidences that have been learned anew since."""
    reads = trial.current.settings.fabrication_confidence_source == "calibrated"
    return reads and trial.current.calibration != trial.candidate.calibration


def _unsimulated(trial: Trial) -> Unsimulated | None:
    old, new = trial.current.settings, trial.edited.settings
    labels = [SETTINGS[name].label for name in NOT_SIMULATED if getattr(old, name) != getattr(new, name)]
    if not labels:
        return None
    version = trial.version
    return Unsimulated(
        trial.name,
        labels,
        trial.edited.number,
        trial.is_draft,
        version is not None and version.state == PolicyState.SHADOW,
    )


def _flips(request: TenantRequest, found: Simulation) -> dict[str, Any]:
    turns = found.flipped_turns()
    base = reverse("reviews:turn", args=[request.tenant.slug, 0])[:-2]
    then_refused = sum(flip.turns for flip in found.flips if not flip.refused_now)
    then_let_through = sum(flip.turns for flip in found.flips if flip.refused_now)
    return {
        "total": then_refused + then_let_through,
        "refused": Flips(then_refused, [_flip(turn, base) for turn in turns if not turn.refused_now]),
        "let_through": Flips(then_let_through, [_flip(turn, base) for turn in turns if turn.refused_now]),
    }


def _flip(flipped: FlippedTurn, base: str) -> FlipRow:
    turn = flipped.turn
    return FlipRow(
        url=f"{base}{turn.pk}/",
        distance=f"{flipped.distance / 1000:.3f}".lstrip("0") if flipped.distance else "",
        before=visible(turn.snippet[: turn.snippet_start]),
        claim=visible(turn.snippet[turn.snippet_start : turn.snippet_end]),
        after=visible(turn.snippet[turn.snippet_end :]),
        agent=visible(turn.agent),
        verdict=turn.verdict,
        verdict_name=Label(turn.verdict).label if turn.verdict else "",
    )


def address_of(request: TenantRequest, *_: Any) -> str:
    """The page's address, whatever on it a request is about."""
    return reverse("reviews:thresholds", args=[request.tenant.slug])
