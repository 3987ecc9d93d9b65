"""The policy in force, and any other version as the engines read it."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import lru_cache

from reviews.core.calibration import CalibrationTable
from reviews.core.settings import TenantSettings, read_settings
from reviews.models import Calibration, PolicyVersion, Tenant
from reviews.models.policies import PolicyState
from reviews.services.errors import NotFoundError
from reviews.services.judge import Policy

logger = logging.getLogger(__name__)

DEFAULTS = Policy(None, 0, TenantSettings())


def current_policy(*, tenant: Tenant | int) -> Policy:
    """The policy in force, with the version in its shadow; defaults (number 0) where none was published yet.

    One query, and more only for versions this process has not read before.
    """
    rows = (
        PolicyVersion.objects.for_tenant(tenant)
        .filter(state__in=[PolicyState.PUBLISHED, PolicyState.SHADOW])
        .values_list("state", "id", "number", "created_at", "calibration_id")
    )
    found = {state: _policy(*rest) for state, *rest in rows}
    shadow = found.get(PolicyState.SHADOW)
    current = found.get(PolicyState.PUBLISHED, DEFAULTS)
    if shadow is None:
        return current
    return Policy(current.id, current.number, current.settings, current.calibration, shadow)


def policy_of(version: PolicyVersion) -> Policy:
    """A version as the engines read it."""
    return _policy(version.pk, version.number, version.created_at, version.calibration_id)


def policy_version(*, tenant: Tenant, number: int) -> PolicyVersion:
    """One version. Raises NotFoundError."""
    found = (
        PolicyVersion.objects.for_tenant(tenant)
        .filter(number=number)
        .select_related("author", "published_by", "based_on", "calibration")
        .first()
    )
    if found is None:
        raise NotFoundError(f"There is no version {number} of this policy.")
    return found


def current_version(*, tenant: Tenant) -> PolicyVersion | None:
    """The version in force; None where nothing was published yet. One query."""
    return PolicyVersion.objects.for_tenant(tenant).filter(state=PolicyState.PUBLISHED).first()


def unpublished_versions(*, tenant: Tenant | int, limit: int = 50) -> list[PolicyVersion]:
    """The newest drafts, the one in shadow among them, newest first."""
    return list(
        PolicyVersion.objects.for_tenant(tenant)
        .filter(state__in=[PolicyState.DRAFT, PolicyState.SHADOW])
        .select_related("author")
        .defer("evidence")
        .order_by("-number")[:limit]
    )


def latest_calibration(*, tenant: Tenant) -> Calibration | None:
    """The newest fit on the tenant's labels, if there is one."""
    return Calibration.objects.for_tenant(tenant).order_by("-number").first()


def calibration_table(calibration: Calibration) -> CalibrationTable:
    """What a stored fit says."""
    return _table(calibration.pk, calibration.fitted_at)


@lru_cache(maxsize=1000)
def _policy(version_id: int, number: int, created_at: datetime, calibration_id: int | None) -> Policy:
    """Versions never change, so a version once read need not be read again.

    The time is part of the key because a database that is restored under a running process, or rolls back on
    SQLite, gives the same id to another version.
    """
    version = (
        PolicyVersion.objects.across_tenants()
        .select_related("calibration")
        .only("settings", "calibration__fitted_at")
        .get(pk=version_id)
    )
    table = calibration_table(version.calibration) if version.calibration else None
    settings, unknown = read_settings(version.settings)
    if unknown:
        logger.warning("settings of a newer release", extra={"version": version_id, "names": unknown})
    return Policy(version_id, number, settings, table)


@lru_cache(maxsize=200)
def _table(calibration_id: int, fitted_at: datetime) -> CalibrationTable:
    stored = Calibration.objects.across_tenants().only("content").get(pk=calibration_id)
    return CalibrationTable.from_json(stored.content)
