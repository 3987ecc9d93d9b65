"""The settings in force, and changing them."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from reviews.core.settings import SettingsError, TenantSettings, parse_settings
from reviews.models import PolicyVersion, Tenant, User
from reviews.models.policies import PolicyState
from reviews.services import audit
from reviews.services.errors import ConflictError, InvalidError


class Policy(NamedTuple):
    """The published version of a tenant: its row's id, its number, and what it says."""

    id: int | None
    number: int
    settings: TenantSettings


def current_policy(*, tenant: Tenant | int) -> Policy:
    """The policy in force; defaults (number 0) for a tenant that has not published any. One query."""
    row = (
        PolicyVersion.objects.for_tenant(tenant)
        .filter(state=PolicyState.PUBLISHED)
        .values_list("id", "number", "published_at")
        .first()
    )
    if row is None:
        return Policy(None, 0, TenantSettings())
    version_id, number, published_at = row
    return Policy(version_id, number, _settings_of(version_id, published_at))


@lru_cache(maxsize=1000)
def _settings_of(version_id: int, published_at: datetime) -> TenantSettings:
    """Versions never change, so a version once read need not be read again.

    The time is part of the key because a database that is restored under a running process, or rolls back on
    SQLite, gives the same id to another version.
    """
    version = PolicyVersion.objects.across_tenants().only("settings").get(pk=version_id)
    return parse_settings(version.settings)


def publish_settings(
    *,
    tenant: Tenant,
    author: User | None,
    values: dict[str, Any],
    note: str = "",
    based_on: int | None = None,
    at: datetime | None = None,
) -> PolicyVersion:
    """Publish new settings as the next version; the version in force becomes superseded.

    ``based_on`` is the number the author was looking at; when another version has been published since,
    nothing is changed.

    Raises:
        InvalidError: with ``details['fields']`` naming each wrong setting.
        ConflictError: somebody published in between.
    """
    try:
        settings = parse_settings(values)
    except SettingsError as error:
        raise InvalidError("Some settings cannot be used.", fields=error.problems) from error
    at = at or timezone.now()
    with transaction.atomic():
        # The tenant's row is the lock: two managers publish one after the other.
        Tenant.objects.select_for_update().get(pk=tenant.pk)
        versions = PolicyVersion.objects.for_tenant(tenant)
        before = versions.filter(state=PolicyState.PUBLISHED).first()
        if based_on is not None and before is not None and before.number != based_on:
            raise ConflictError(
                f"Version {before.number} was published while you were editing version {based_on}.",
                current=before.number,
            )
        if before is not None:
            versions.filter(pk=before.pk).update(state=PolicyState.SUPERSEDED)
        number = (versions.aggregate(last=Max("number"))["last"] or 0) + 1
        version = PolicyVersion(
            tenant=tenant,
            number=number,
            author=author,
            note=note,
            based_on=before,
            settings=settings.to_json(),
            state=PolicyState.PUBLISHED,
            created_at=at,
            published_at=at,
        )
        version.save(force_insert=True)
        audit.record_event(
            tenant=tenant,
            actor=author,
            action="policy.published",
            object_type="policy",
            object_id=number,
            data={"settings": settings.to_json(), "note": note},
            at=at,
        )
    return version
