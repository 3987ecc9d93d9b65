"""The life of a policy version: written as a draft, tried in shadow, published, superseded.

    draft <-> shadow -> published -> superseded
    draft or shadow -> superseded (discarded, or replaced by an edited draft)

What a version says never changes. An edited draft is a new version, and rolling back publishes a copy, so
numbers tell the order in which things were said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from reviews.core.settings import SettingsError, TenantSettings, parse_settings
from reviews.models import Calibration, PolicyVersion, Tenant, User
from reviews.models.policies import PolicyState
from reviews.services import audit
from reviews.services.errors import ConflictError, ForbiddenError, InvalidError
from reviews.services.judge import Policy
from reviews.services.locking import lock_tenant
from reviews.services.policies import (
    current_policy,
    current_version,
    latest_calibration,
    policy_of,
    policy_version,
)
from reviews.services.policy_evidence import gather_evidence, shadow_json

UNPUBLISHED = (PolicyState.DRAFT, PolicyState.SHADOW)
MAX_NOTE_LENGTH: int = PolicyVersion._meta.get_field("note").max_length or 0


def save_draft(
    *,
    tenant: Tenant,
    author: User | None,
    values: Mapping[str, Any],
    based_on: int,
    note: str = "",
    at: datetime | None = None,
) -> PolicyVersion:
    """Write settings down as a draft. ``based_on`` is the number of the version they were edited from.

    A draft edited becomes superseded by the new one; a version in shadow or in force goes on as it is.

    Raises:
        InvalidError: with ``details['fields']`` naming each wrong setting, or when nothing was changed.
        NotFoundError: no version ``based_on`` (0, the defaults, always exists).
        ConflictError: the draft that was edited has been replaced or discarded meanwhile.
    """
    settings = _parsed(values)
    at = at or timezone.now()
    with transaction.atomic():
        lock_tenant(tenant.pk)
        base = policy_version(tenant=tenant, number=based_on) if based_on else None
        calibration = latest_calibration(tenant=tenant)
        if base is not None and base.state == PolicyState.SUPERSEDED and base.published_at is None:
            raise ConflictError(f"Draft {based_on} has been replaced or discarded since you opened it.")
        if base is not None and base.calibration == calibration and policy_of(base).settings == settings:
            raise InvalidError(f"Nothing differs from version {based_on}.", fields={})
        version = _written(tenant, author, settings, note, base=base, at=at)
        if base is not None and base.state == PolicyState.DRAFT:
            _move(base, PolicyState.SUPERSEDED, superseded_at=at)
        _log(tenant, author, "policy.drafted", version, at, settings=version.settings, note=note)
    return version


def discard(*, tenant: Tenant, actor: User, number: int) -> PolicyVersion:
    """Give up a draft, also one in shadow. It stays in the history.

    Raises:
        NotFoundError: no such version.
        ConflictError: it is no draft (any more).
    """
    with transaction.atomic():
        lock_tenant(tenant.pk)
        version = _unpublished(tenant, number)
        _move(version, PolicyState.SUPERSEDED, superseded_at=timezone.now())
        _log(tenant, actor, "policy.discarded", version)
    return version


def start_shadow(*, tenant: Tenant, actor: User, number: int) -> PolicyVersion:
    """Have a draft judge each new turn beside the policy in force, without effect. One version at a time.

    Raises as ``discard``; ConflictError also when another version is in shadow.
    """
    with transaction.atomic():
        lock_tenant(tenant.pk)
        version = _unpublished(tenant, number)
        if version.state == PolicyState.SHADOW:
            raise ConflictError(f"Version {number} is in shadow already.")
        other = PolicyVersion.objects.for_tenant(tenant).filter(state=PolicyState.SHADOW).first()
        if other is not None:
            raise ConflictError(f"Version {other.number} is in shadow already; end that first.")
        _move(version, PolicyState.SHADOW, shadow_since=timezone.now())
        _log(tenant, actor, "policy.shadowed", version)
    return version


def end_shadow(*, tenant: Tenant, actor: User, number: int) -> PolicyVersion:
    """Make a version in shadow a plain draft again. Raises as ``discard``."""
    with transaction.atomic():
        lock_tenant(tenant.pk)
        version = policy_version(tenant=tenant, number=number)
        if version.state != PolicyState.SHADOW:
            raise ConflictError(f"Version {number} is not in shadow.")
        _move(version, PolicyState.DRAFT)
        _log(tenant, actor, "policy.shadow_ended", version)
    return version


def publish(
    *,
    tenant: Tenant,
    actor: User | None,
    number: int,
    seen_current: int | None = None,
    at: datetime | None = None,
) -> PolicyVersion:
    """Put a draft in force; the version in force until then is superseded.

    ``seen_current`` is the number of the version that the actor saw in force. What is known at this moment
    (labels, predicted effect) is kept with the version.

    Raises:
        NotFoundError: no such version.
        ConflictError: it is no draft (any more), or another version was published since.
        ForbiddenError: the policy in force asks for a second manager, and the actor wrote this version or a
            draft that it goes back to.
    """
    at = at or timezone.now()
    draft = policy_of(policy_version(tenant=tenant, number=number))
    # Gathered before the lock is taken, since it reads a lot; the checks below hold for it all the same.
    before = current_policy(tenant=tenant)
    evidence = gather_evidence(tenant=tenant, current=before, candidate=draft, at=at)
    if before.shadow is not None and before.shadow.number == number:
        evidence["shadow"] = shadow_json(tenant=tenant)
    with transaction.atomic():
        lock_tenant(tenant.pk)
        current = current_version(tenant=tenant)
        _check_seen(current, before.number, seen_current)
        version = _unpublished(tenant, number)
        if before.settings.publish_needs_second_manager and actor is not None:
            _check_second(version, actor)
        _put_in_force(version, current, actor=actor, evidence=evidence, at=at)
        _log(tenant, actor, "policy.published", version, at, settings=version.settings, note=version.note)
    return version


def roll_back(
    *, tenant: Tenant, actor: User, number: int, note: str = "", seen_current: int | None = None
) -> PolicyVersion:
    """Publish a copy of a version that was in force before, under the next number.

    It was published once, so no second manager is asked for; but whether one is asked for in future stays
    as it is now, so that nobody switches that off alone.

    Raises:
        NotFoundError: no such version.
        ConflictError: another version was published since ``seen_current``, or this one is in force.
        InvalidError: the version was never in force.
    """
    now = timezone.now()
    source = policy_version(tenant=tenant, number=number)
    if source.published_at is None:
        raise InvalidError(f"Version {number} was never in force; publish it instead.", fields={})
    before, old = current_policy(tenant=tenant), policy_of(source)
    settings = replace(
        old.settings, publish_needs_second_manager=before.settings.publish_needs_second_manager
    )
    candidate = Policy(None, 0, settings, old.calibration)
    evidence = gather_evidence(tenant=tenant, current=before, candidate=candidate, at=now)
    with transaction.atomic():
        lock_tenant(tenant.pk)
        current = current_version(tenant=tenant)
        _check_seen(current, before.number, seen_current)
        if current is not None and current.number == number:
            raise ConflictError(f"Version {number} is in force already.")
        note = note or f"Back to version {number}."
        version = _written(tenant, actor, settings, note, base=source, calibration=source.calibration, at=now)
        _put_in_force(version, current, actor=actor, evidence=evidence, at=now)
        _log(
            tenant,
            actor,
            "policy.rolled_back",
            version,
            now,
            settings=version.settings,
            note=version.note,
            copy_of=number,
        )
    return version


def publish_settings(
    *,
    tenant: Tenant,
    author: User | None,
    values: Mapping[str, Any],
    note: str = "",
    at: datetime | None = None,
) -> PolicyVersion:
    """Write settings down on top of the version in force and publish them. Raises as the two steps."""
    with transaction.atomic():
        lock_tenant(tenant.pk)
        draft = _written(
            tenant,
            author,
            _parsed(values),
            note,
            base=current_version(tenant=tenant),
            at=at or timezone.now(),
        )
        return publish(tenant=tenant, actor=author, number=draft.number, at=at)


def writers_of(version: PolicyVersion) -> set[int]:
    """Who wrote what a version says: its author, and those of the drafts it was made from, back to a version
    that was in force. One query.
    """
    drafts, _ = _way_back(version)
    return {author for author in (version.author_id, *drafts) if author is not None}


def published_base(version: PolicyVersion) -> int | None:
    """The id of the version once in force that a draft goes back to; None for the defaults. One query."""
    return _way_back(version)[1]


def _way_back(version: PolicyVersion) -> tuple[list[int | None], int | None]:
    """The authors of the drafts that a version was made from, and the id of what they were made from."""
    drafts = PolicyVersion.objects.for_tenant(version.tenant_id).filter(published_at__isnull=True)
    made_from = {pk: rest for pk, *rest in drafts.values_list("id", "based_on_id", "author_id")}
    authors: list[int | None] = []
    base = version.based_on_id
    while base in made_from:
        base, author = made_from[base]
        authors.append(author)
    return authors, base


# -- Inside a transaction


def _parsed(values: Mapping[str, Any]) -> TenantSettings:
    try:
        return parse_settings(values)
    except SettingsError as error:
        raise InvalidError("Some settings cannot be used.", fields=error.problems) from error


def _written(
    tenant: Tenant,
    author: User | None,
    settings: TenantSettings,
    note: str,
    *,
    base: PolicyVersion | None,
    at: datetime,
    calibration: Calibration | None = None,
) -> PolicyVersion:
    """A new draft under the next number; it reads the newest calibration unless told otherwise."""
    if len(note) > MAX_NOTE_LENGTH:
        raise InvalidError("The note is too long.", fields={"note": f"At most {MAX_NOTE_LENGTH} characters."})
    last = PolicyVersion.objects.for_tenant(tenant).aggregate(last=Max("number"))["last"] or 0
    version = PolicyVersion(
        tenant=tenant,
        number=last + 1,
        author=author,
        note=note,
        based_on=base,
        settings=settings.to_json(),
        calibration=calibration or latest_calibration(tenant=tenant),
        state=PolicyState.DRAFT,
        created_at=at,
    )
    version.save(force_insert=True)
    return version


def _unpublished(tenant: Tenant, number: int) -> PolicyVersion:
    version = policy_version(tenant=tenant, number=number)
    if version.state not in UNPUBLISHED:
        raise ConflictError(f"Version {number} is {PolicyState(version.state).label.lower()}, not a draft.")
    return version


def _check_second(version: PolicyVersion, actor: User) -> None:
    if actor.pk in writers_of(version):
        raise ForbiddenError(
            "Here a second manager publishes: somebody who wrote no part of what is to be published."
        )


def _check_seen(current: PolicyVersion | None, judged_by: int, seen: int | None) -> None:
    """That in force is still what this was judged against, and what the actor saw."""
    number = current.number if current is not None else 0
    if number != judged_by or seen not in (None, number):
        raise ConflictError(f"Version {number} was published meanwhile; nothing was changed.", current=number)


def _put_in_force(
    version: PolicyVersion,
    current: PolicyVersion | None,
    *,
    actor: User | None,
    evidence: dict[str, Any],
    at: datetime,
) -> None:
    if current is not None:
        _move(current, PolicyState.SUPERSEDED, superseded_at=at)
    _move(version, PolicyState.PUBLISHED, published_at=at, published_by=actor, evidence=evidence)


def _move(version: PolicyVersion, state: PolicyState, **values: Any) -> None:
    for name, value in values.items():
        setattr(version, name, value)
    version.state = state
    version.save(update_fields=["state", *values])


def _log(
    tenant: Tenant,
    actor: User | None,
    action: str,
    version: PolicyVersion,
    at: datetime | None = None,
    **data: Any,
) -> None:
    audit.record_event(
        tenant=tenant,
        actor=actor,
        action=action,
        object_type="policy",
        object_id=version.number,
        data=data,
        at=at or timezone.now(),
    )
