"""Tenants and who belongs to them. A tenant always keeps an owner."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from reviews.models import Membership, Tenant, User
from reviews.models.tenants import Role
from reviews.services import audit, publishing
from reviews.services.errors import ConflictError, InvalidError, NotFoundError

NAME_LENGTH = 100
SLUG_LENGTH = 50
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")


class LastOwnerError(ConflictError):
    """The change would leave a tenant without an owner."""

    code = "last_owner"


def create_tenant(
    *,
    name: str,
    slug: str,
    owner: User,
    values: Mapping[str, Any] | None = None,
    at: datetime | None = None,
) -> Tenant:
    """A new tenant with the default policy, or these settings, as version 1 and one member, its owner.

    Raises:
        InvalidError: with ``details['fields']`` naming each wrong value.
        ConflictError: the short name is taken.
    """
    name = name.strip()
    problems = {}
    if not 0 < len(name) <= NAME_LENGTH:
        problems["name"] = f"Must have 1 to {NAME_LENGTH} characters."
    if len(slug) > SLUG_LENGTH or not _SLUG.fullmatch(slug):
        problems["slug"] = (
            f"Must have 1 to {SLUG_LENGTH} small letters a to z, digits and hyphens, no hyphen at either end."
        )
    if problems:
        raise InvalidError("This tenant cannot be made.", fields=problems)
    at = at or timezone.now()
    with transaction.atomic():
        try:
            with transaction.atomic():
                tenant = Tenant.objects.create(name=name, slug=slug, created_at=at)
        except IntegrityError as error:
            raise ConflictError(f"There is a tenant {slug!r} already.", slug=slug) from error
        audit.record_event(
            tenant=tenant,
            actor=owner,
            action="tenant.created",
            object_type="tenant",
            object_id=tenant.pk,
            data={"name": name, "slug": slug},
            at=at,
        )
        add_member(tenant=tenant, author=owner, user=owner, role=Role.OWNER, at=at)
        publishing.publish_settings(tenant=tenant, author=owner, values=values or {}, note="Defaults", at=at)
    return tenant


def add_member(
    *, tenant: Tenant, author: User | None, user: User, role: str, at: datetime | None = None
) -> Membership:
    """Make ``user`` a member.

    Raises:
        InvalidError: no such role.
        ConflictError: the person is a member already.
    """
    role = _known(role)
    at = at or timezone.now()
    with transaction.atomic():
        member = Membership(tenant=tenant, user=user, role=role, created_at=at)
        try:
            with transaction.atomic():
                member.save(force_insert=True)
        except IntegrityError as error:
            raise ConflictError(f"{user.display_name} is a member already.") from error
        _record(member, author, "member.added", {"role": role.value}, at)
    return member


def change_role(*, tenant: Tenant, author: User | None, user_id: int, role: str) -> Membership:
    """Give a member another role; the same role again changes nothing and is not recorded.

    Raises:
        InvalidError: no such role.
        NotFoundError: no such member here.
        LastOwnerError: the only owner would become something less.
    """
    role = _known(role)
    with transaction.atomic():
        member = _lock_member(tenant, user_id)
        before = member.role
        if before != role:
            if before == Role.OWNER:
                _keep_an_owner(member)
            member.role = role
            member.save(update_fields=["role"])
            _record(member, author, "member.role_changed", {"before": before, "role": role.value})
    return member


def remove_member(*, tenant: Tenant, author: User | None, user_id: int) -> None:
    """End a membership. The account and what the person decided stay.

    Raises:
        NotFoundError: no such member here.
        LastOwnerError: the only owner would go.
    """
    with transaction.atomic():
        member = _lock_member(tenant, user_id)
        if member.role == Role.OWNER:
            _keep_an_owner(member)
        _record(member, author, "member.removed", {"role": member.role})
        member.delete()


def _known(role: str) -> Role:
    try:
        return Role(role)
    except ValueError:
        raise InvalidError(
            "There is no such role.", fields={"role": f"Must be one of {', '.join(Role.values)}."}
        ) from None


def _lock_member(tenant: Tenant, user_id: int) -> Membership:
    """The membership, while nobody else changes any of this tenant.

    The tenant's row is the lock: two owners who demote each other do so one after the other.
    """
    Tenant.objects.select_for_update().get(pk=tenant.pk)
    member = Membership.objects.for_tenant(tenant).select_related("user").filter(user__id=user_id).first()
    if member is None:
        raise NotFoundError("There is no such member.")
    return member


def _keep_an_owner(member: Membership) -> None:
    owners = Membership.objects.for_tenant(member.tenant_id).filter(role=Role.OWNER)
    if not owners.exclude(pk=member.pk).exists():
        raise LastOwnerError(
            f"{member.user.display_name} is the only owner. Make somebody else an owner first."
        )


def _record(
    member: Membership,
    author: User | None,
    action: str,
    data: dict[str, str],
    at: datetime | None = None,
) -> None:
    audit.record_event(
        tenant=member.tenant,
        actor=author,
        action=action,
        object_type="member",
        object_id=member.user_id,
        data={"username": member.user.username, **data},
        at=at,
    )
