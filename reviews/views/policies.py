"""One version of the policy: what it says, what it does, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.models import PolicyVersion
from reviews.models.policies import PolicyState
from reviews.models.tenants import Role
from reviews.policy_forms import NoteForm
from reviews.services import publishing
from reviews.services.errors import ConflictError, DomainError, ForbiddenError, InvalidError, NotFoundError
from reviews.services.judge import Policy
from reviews.services.policies import DEFAULTS, current_policy, policy_of, policy_version
from reviews.services.policy_evidence import evidence_json
from reviews.services.publishing import UNPUBLISHED, writers_of
from reviews.services.simulation import WINDOWS, last_days, simulate_policies
from reviews.setting_words import values_in_words
from reviews.views.policy_words import EvidenceTable, evidence_table, name_of, state_of, version_diff
from reviews.views.settings import MAX_DIGITS, manager_action, settings_page


@require_safe
@tenant_view()
def version_view(request: TenantRequest, number: int) -> HttpResponse:
    return show_version(request, number)


def address_of(request: TenantRequest, number: int) -> str:
    """The address of a version's page."""
    return reverse("reviews:policy-version", args=[request.tenant.slug, number])


@manager_action(address_of)
def publish(request: TenantRequest, number: int) -> HttpResponse:
    """Put a draft in force, unless another version was published since the page was made."""

    def act() -> tuple[int, str]:
        publishing.publish(
            tenant=request.tenant, actor=request.user, number=number, seen_current=_seen_current(request)
        )
        return number, "published"

    return _act(request, number, act)


@manager_action(address_of)
def discard(request: TenantRequest, number: int) -> HttpResponse:
    def act() -> tuple[int, str]:
        publishing.discard(tenant=request.tenant, actor=request.user, number=number)
        return number, "discarded"

    return _act(request, number, act)


@manager_action(address_of)
def start_shadow(request: TenantRequest, number: int) -> HttpResponse:
    def act() -> tuple[int, str]:
        publishing.start_shadow(tenant=request.tenant, actor=request.user, number=number)
        return number, "shadowed"

    return _act(request, number, act)


@manager_action(address_of)
def end_shadow(request: TenantRequest, number: int) -> HttpResponse:
    def act() -> tuple[int, str]:
        publishing.end_shadow(tenant=request.tenant, actor=request.user, number=number)
        return number, "ended"

    return _act(request, number, act)


@manager_action(address_of)
def roll_back(request: TenantRequest, number: int) -> HttpResponse:
    """Publish a copy of a version that was in force before, and go to the copy."""

    def act() -> tuple[int, str]:
        form = NoteForm(request.POST)
        if not form.is_valid():
            raise InvalidError(f"Note: {' '.join(map(str, form.errors['note']))}", fields={})
        copy = publishing.roll_back(
            tenant=request.tenant,
            actor=request.user,
            number=number,
            note=form.cleaned_data["note"],
            seen_current=_seen_current(request),
        )
        return copy.number, "rolled-back"

    return _act(request, number, act)


def show_version(
    request: TenantRequest, number: int, *, problem: str = "", is_stale: bool = False, status: int = 200
) -> HttpResponse:
    """The page of a version; ``problem`` says why an action on it was refused.

    ``is_stale``: because another version was put in force since the person looked.
    """
    version = found_version(request, number)
    policy, current = policy_of(version), current_policy(tenant=request.tenant)
    is_open = version.state in UNPUBLISHED
    against = compared_with(request, version, current)
    before = found_version(request, against) if against else None
    old = policy_of(before) if before else DEFAULTS
    evidence = _evidence(request, version, policy, current)
    second = current.settings.publish_needs_second_manager
    writers = writers_of(version) if second and is_open else set()
    context: dict[str, Any] = {
        "version": version,
        "state": state_of(version),
        "current": current.number,
        "against": against,
        "against_name": name_of(before),
        "diff": version_diff(before, version, old, policy),
        "version_name": f"Version {version.number}",
        "values": values_in_words(policy.settings),
        "evidence": evidence,
        "replaces_name": f"Version {evidence.replaces}" if evidence and evidence.replaces else "Defaults",
        "is_open": is_open,
        "is_in_shadow": version.state == PolicyState.SHADOW,
        "is_current": version.number == current.number,
        "other_in_shadow": current.shadow.number if current.shadow and current.shadow.id != version.pk else 0,
        "may_manage": request.membership.may(Role.MANAGER),
        "needs_another": _needs_another(request, version) if request.user.pk in writers else "",
        "second_manager": second,
        "note": request.POST.get("note", "") if problem else "",
        "problem": problem,
        "is_stale": is_stale,
    }
    return settings_page(request, "policy-versions", "reviews/policy/version.html", context, status=status)


def compared_with(request: TenantRequest, version: PolicyVersion, current: Policy) -> int:
    """The number of what a version is read against (0: the defaults).

    For a draft that is the version in force, for one that was in force what it took the place of, and for a
    draft that was set aside what it was edited from.
    """
    if version.state in UNPUBLISHED:
        return current.number
    if version.published_at is None:
        return version.based_on.number if version.based_on else 0
    if version.evidence:
        return int(version.evidence["replaces"])
    replaced = (
        PolicyVersion.objects.for_tenant(request.tenant)
        .filter(published_at__lt=version.published_at)
        .order_by("-published_at")
        .values_list("number", flat=True)
    )
    return replaced.first() or 0


def found_version(request: TenantRequest, number: int) -> PolicyVersion:
    try:
        return policy_version(tenant=request.tenant, number=number)
    except NotFoundError as error:
        raise Http404 from error


def _evidence(
    request: TenantRequest, version: PolicyVersion, policy: Policy, current: Policy
) -> EvidenceTable | None:
    """What was known when it was published; for a draft, what is predicted from today's numbers."""
    mode = policy.settings.fabrication_check_mode
    if version.state not in UNPUBLISHED:
        return evidence_table(version.evidence, mode=mode) if version.evidence else None
    found = simulate_policies(
        tenant=request.tenant,
        current=current,
        candidate=policy,
        window=last_days(WINDOWS[0], now=timezone.now()),
    )
    return evidence_table(evidence_json(found), mode=mode)


def _act(request: TenantRequest, number: int, act: Callable[[], tuple[int, str]]) -> HttpResponse:
    """Do it and go to the page of the version that ``act`` names, or say on this one why it was refused."""
    found_version(request, number)
    try:
        number, done = act()
    except DomainError as error:
        problem, is_stale = _problem(request, number, error)
        return show_version(request, number, problem=problem, is_stale=is_stale, status=_status_of(error))
    return redirect(f"{address_of(request, number)}?done={done}")


def _problem(request: TenantRequest, number: int, error: DomainError) -> tuple[str, bool]:
    """Why something was refused, and whether because another version was put in force meanwhile."""
    version = found_version(request, number)
    if isinstance(error, ForbiddenError):
        return _needs_another(request, version), False
    if isinstance(error, ConflictError):
        if "current" in error.details:
            return error.message, True
        if version.state not in UNPUBLISHED:
            verb = "is" if version.state == PolicyState.PUBLISHED else "was"
            word = state_of(version).word.removeprefix("was ")
            return f"Version {number} {verb} {word}; nothing was changed.", False
    return error.message, False


def _needs_another(request: TenantRequest, version: PolicyVersion) -> str:
    wrote = (
        "this version" if version.author_id == request.user.pk else "a draft that this version was made from"
    )
    return f"You wrote {wrote}; another manager has to publish it."


def _status_of(error: DomainError) -> int:
    if isinstance(error, ForbiddenError):
        return 403
    return 409 if isinstance(error, ConflictError) else 422


def _seen_current(request: TenantRequest) -> int:
    seen = request.POST.get("seen_current", "")
    if not seen.isdecimal() or len(seen) > MAX_DIGITS:
        raise InvalidError("The form is not complete; look at the page again.", fields={})
    return int(seen)
