"""The history of the policy: all versions, and the difference of any two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.models import PolicyVersion
from reviews.models.tenants import Role
from reviews.services.errors import DomainError, InvalidError, NotFoundError
from reviews.services.policies import (
    DEFAULTS,
    current_policy,
    policy_of,
    policy_version,
)
from reviews.services.publishing import UNPUBLISHED
from reviews.views.policies import compared_with
from reviews.views.policy_words import State, name_of, state_of, version_diff
from reviews.views.settings import MAX_DIGITS, settings_page

PAGE_SIZE = 50
#: Unpublished versions listed, and versions offered for comparison, newest first. Older ones are compared by
#: their links in the history.
OFFERED = 200


class Row(NamedTuple):
    """A version in the list. ``compare`` is the address of its difference from the one before it."""

    version: PolicyVersion
    state: State
    url: str
    compare: str
    before: str


@require_safe
@tenant_view()
def versions(request: TenantRequest) -> HttpResponse:
    """Unpublished versions on top, then the history, newest first, a page at a time."""
    current = current_policy(tenant=request.tenant)
    before = request.GET.get("before", "")
    older_than = int(before) if before.isdecimal() and len(before) <= MAX_DIGITS else None
    listed = (
        PolicyVersion.objects.for_tenant(request.tenant)
        .select_related("author", "published_by", "based_on")
        .only(
            "number", "state", "note", "created_at", "shadow_since", "published_at", "superseded_at",
            "author__username", "author__first_name", "author__last_name", "based_on__number",
            "published_by__username", "published_by__first_name", "published_by__last_name",
        )
        .annotate(replaced=_replaced(request))
        .order_by("-number")
    )  # fmt: skip
    history = listed.exclude(state__in=UNPUBLISHED)
    if older_than is not None:
        history = history.filter(number__lt=older_than)
    found = list(history[: PAGE_SIZE + 1])
    drafts = list(listed.filter(state__in=UNPUBLISHED)[:OFFERED]) if older_than is None else []
    context = {
        "drafts": [_row(request, draft, current.number) for draft in drafts],
        "rows": [_row(request, version, _before(version)) for version in found[:PAGE_SIZE]],
        "older": f"?before={found[PAGE_SIZE - 1].number}" if len(found) > PAGE_SIZE else "",
        "is_first": older_than is None,
        "may_manage": request.membership.may(Role.MANAGER),
    }
    return settings_page(request, "policy-versions", "reviews/policy/versions.html", context)


def _replaced(request: TenantRequest) -> Subquery:
    """The number of the version that was in force just before a published one."""
    earlier = PolicyVersion.objects.for_tenant(request.tenant).filter(
        published_at__lt=OuterRef("published_at")
    )
    return Subquery(earlier.order_by("-published_at").values("number")[:1])


def _before(version: PolicyVersion) -> int:
    """What a version is compared with: what it replaced, or for a draft what it was edited from."""
    if version.published_at is not None:
        return version.replaced or 0  # type: ignore[attr-defined]  # annotated
    return version.based_on.number if version.based_on else 0


def _row(request: TenantRequest, version: PolicyVersion, before: int) -> Row:
    slug = request.tenant.slug
    return Row(
        version,
        state_of(version),
        reverse("reviews:policy-version", args=[slug, version.number]),
        reverse("reviews:policy-compare", args=[slug]) + f"?from={before}&to={version.number}",
        str(before) if before else "the defaults",
    )


class Side(NamedTuple):
    """One of two versions to compare (None: the defaults), and what else may be chosen in its place."""

    version: PolicyVersion | None
    name: str
    state: State | None
    choices: list[tuple[int, str, bool]]


@require_safe
@tenant_view()
def compare(request: TenantRequest) -> HttpResponse:
    """The difference between ``?from=`` and ``?to=``; 0 names the defaults.

    Without ``to`` that is the newest version, and without ``from`` what the other one takes the place of, or
    took.
    """
    offered = _offered(request)
    first, second = request.GET.get("from") or "", request.GET.get("to") or ""
    if not second:
        others = [version.number for version in offered if str(version.number) != first]
        second = str(others[0] if others else 0)
    context: dict[str, Any] = {}
    status = 200
    try:
        after = _chosen(request, second)
        first = first or str(_replaced_by(request, after))
        before = _chosen(request, first)
    except DomainError as error:
        before = after = None
        context["problem"] = error.message
        status = 404 if isinstance(error, NotFoundError) else 422
    else:
        old, new = (policy_of(version) if version else DEFAULTS for version in (before, after))
        context["diff"] = version_diff(before, after, old, new)
    context["before"] = _side(offered, before, first)
    context["after"] = _side(offered, after, second)
    return settings_page(request, "policy-versions", "reviews/policy/compare.html", context, status=status)


def _replaced_by(request: TenantRequest, version: PolicyVersion | None) -> int:
    """The number of what a version (None: the defaults) is compared with when nobody says."""
    current = current_policy(tenant=request.tenant)
    return compared_with(request, version, current) if version else current.number


def _offered(request: TenantRequest) -> list[PolicyVersion]:
    versions = PolicyVersion.objects.for_tenant(request.tenant).only("number", "state", "published_at")
    return list(versions.order_by("-number")[:OFFERED])


def _chosen(request: TenantRequest, text: str) -> PolicyVersion | None:
    """The version of this number. Raises InvalidError and NotFoundError."""
    if not text.isdecimal() or len(text) > MAX_DIGITS:
        raise InvalidError("Choose versions by their numbers; 0 stands for the defaults.", fields={})
    return policy_version(tenant=request.tenant, number=int(text)) if int(text) else None


def _side(offered: Sequence[PolicyVersion], version: PolicyVersion | None, chosen: str) -> Side:
    """A version too old to be offered is, when it is the one chosen."""
    more = [version] if version is not None and version not in offered else []
    named = [(each.number, f"{each.number}, {state_of(each).word}") for each in [*offered, *more]]
    return Side(
        version,
        name_of(version),
        state_of(version) if version else None,
        [(number, name, str(number) == chosen) for number, name in [*named, (0, "defaults")]],
    )
