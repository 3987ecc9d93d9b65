"""The agent runtime of a tenant: where it is, how to be let in, and asking it something."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
from django.db import transaction
from django.utils import timezone

from reviews.models import Runtime, Tenant, User
from reviews.models.runtimes import Delivery, DeliveryState
from reviews.models.tenants import Role
from reviews.services import audit, outbound
from reviews.services.approvals import members_who_may
from reviews.services.errors import ForbiddenError, InvalidError, NotFoundError
from reviews.services.locking import lock_tenant
from reviews.services.outbound import Answer, OutboundError, RefusedError, check_url, is_header_value
from reviews.services.sealing import UnsealError, seal, unseal

MAX_AUTH_LENGTH = 8000
MAX_ERROR_LENGTH = 500
_MAX_URL_LENGTH = 500
_MAX_TENANT_LENGTH = 200
_UNDELIVERED = (DeliveryState.WAITING, DeliveryState.DEAD)


def set_runtime(
    *,
    tenant: Tenant,
    actor: User | None,
    base_url: str,
    runtime_tenant: str,
    auth: str | None,
    is_active: bool = True,
) -> Runtime:
    """Say where the tenant's agents run; messages that wait are tried at once, as if for the first time.

    ``base_url`` is what stands before ``/procedures``. ``auth`` becomes the Authorization header: None keeps
    the one there is, "" means none. Where the host changes it has to be given again, so that nobody has a
    secret they were never shown sent to a machine of their own.

    Raises:
        InvalidError: with ``details['fields']`` naming each wrong value.
        ForbiddenError: the actor manages nothing here (any more).
    """
    base_url, problems = _base(base_url)
    runtime_tenant = runtime_tenant.strip()
    if not is_header_value(runtime_tenant) or len(runtime_tenant) > _MAX_TENANT_LENGTH:
        problems["runtime_tenant"] = (
            f"The runtime's name for this tenant: 1 to {_MAX_TENANT_LENGTH} ASCII characters."
        )
    auth = None if auth is None else auth.strip()
    if auth and not (is_header_value(auth) and len(auth) <= MAX_AUTH_LENGTH):
        problems["auth"] = f"At most {MAX_AUTH_LENGTH:,} ASCII characters on one line."
    if problems:
        raise InvalidError("This runtime cannot be kept.", fields=problems)
    now = timezone.now()
    with transaction.atomic():
        lock_tenant(tenant.pk)
        check_role(tenant=tenant, actor=actor, role=Role.MANAGER)
        runtime = runtime_of(tenant=tenant) or Runtime(tenant=tenant)
        moved = (runtime.base_url, runtime.runtime_tenant) != (base_url, runtime_tenant)
        if auth is None and runtime.auth_sealed and _origin(runtime.base_url) != _origin(base_url):
            raise InvalidError(
                "This runtime cannot be kept.",
                fields={"auth": "The host has changed: enter the authorization again, or remove it."},
            )
        runtime.base_url, runtime.runtime_tenant, runtime.is_active = base_url, runtime_tenant, is_active
        if auth is not None:
            runtime.auth_sealed = seal(auth) if auth else b""
        runtime.changed_by, runtime.changed_at, runtime.last_error = actor, now, ""
        runtime.save()
        waiting = Delivery.objects.for_tenant(tenant).filter(state=DeliveryState.WAITING)
        waiting.update(next_at=now, attempts=0)
        if moved:
            # What is on its way just now goes to the old place: its claim ends, and it is sent once more.
            waiting.update(claim="", lease_until=None)
        audit.record_event(
            tenant=tenant,
            actor=actor,
            action="runtime.changed",
            object_type="runtime",
            object_id=runtime.pk,
            data={
                "base_url": base_url,
                "runtime_tenant": runtime_tenant,
                "is_active": is_active,
                "authorization": "kept" if auth is None else "set" if auth else "none",
            },
        )
    return runtime


def remove_runtime(*, tenant: Tenant, actor: User | None) -> None:
    """Forget the runtime and its authorization; what has not arrived there is no longer sent.

    Raises:
        NotFoundError: there is none.
        ForbiddenError: the actor manages nothing here (any more).
    """
    with transaction.atomic():
        lock_tenant(tenant.pk)
        check_role(tenant=tenant, actor=actor, role=Role.MANAGER)
        runtime = lock_runtime(tenant=tenant)
        if runtime is None:
            raise NotFoundError("There is no runtime here.")
        left = Delivery.objects.for_tenant(tenant).filter(state__in=_UNDELIVERED)
        dropped = left.update(state=DeliveryState.DROPPED, claim="", lease_until=None)
        audit.record_event(
            tenant=tenant,
            actor=actor,
            action="runtime.removed",
            object_type="runtime",
            object_id=runtime.pk,
            data={"base_url": runtime.base_url, "dropped": dropped},
        )
        runtime.delete()


def runtime_of(*, tenant: Tenant | int) -> Runtime | None:
    """The tenant's runtime, if it has one."""
    return Runtime.objects.for_tenant(tenant).first()


def lock_runtime(*, tenant: Tenant | int) -> Runtime | None:
    """The tenant's runtime, its row locked: taken first by whoever changes several messages at once."""
    return next(iter(Runtime.objects.for_tenant(tenant).select_for_update()), None)


def check_role(*, tenant: Tenant, actor: User | None, role: Role) -> None:
    """Raises ForbiddenError unless the actor has the role here; None, the command line, may do everything."""
    if actor is not None and not members_who_may(tenant=tenant, role=role, user_ids=[actor.pk]):
        raise ForbiddenError(f"That takes a {role.label.lower()} of {tenant.name}.")


def procedure_path(runtime_id: str, *rest: str) -> str:
    """The path of a skill in the runtime, as one segment whatever its id."""
    return "/".join(["/procedures", quote(runtime_id, safe=""), *rest])


def ask(
    runtime: Runtime, method: str, path: str, *, json: Any = None, max_bytes: int = outbound.MAX_ANSWER_BYTES
) -> Answer:
    """Send the runtime one request. Call it outside any transaction; raises OutboundError."""
    headers = {"X-Tenant-ID": runtime.runtime_tenant}
    if runtime.auth_sealed:
        try:
            headers["Authorization"] = unseal(bytes(runtime.auth_sealed))
        except UnsealError:
            raise OutboundError(
                "The authorization was stored under another secret key; enter it again."
            ) from None
    return outbound.request(method, runtime.base_url + path, headers=headers, json=json, max_bytes=max_bytes)


def note_error(runtime: Runtime, error: str) -> None:
    """Keep why the runtime could not be used, or "" once it could. Nothing is written when it is the same."""
    said = error[:MAX_ERROR_LENGTH]
    same = Runtime.objects.for_tenant(runtime.tenant_id).filter(pk=runtime.pk, last_error=said)
    if not same.exists():
        Runtime.objects.for_tenant(runtime.tenant_id).filter(pk=runtime.pk).update(last_error=said)


def _base(url: str) -> tuple[str, dict[str, str]]:
    """The base URL without a slash at its end, and what is wrong with it."""
    try:
        checked = check_url(url)
    except RefusedError as error:
        return url, {"base_url": str(error)}
    if "?" in checked or "#" in checked:
        return url, {"base_url": "The address must end with its path: no question mark, no number sign."}
    base = checked.rstrip("/")
    if len(base) > _MAX_URL_LENGTH:
        return url, {"base_url": f"At most {_MAX_URL_LENGTH} characters."}
    return base, {}


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = httpx.URL(url)
    return parts.scheme, parts.host, parts.port
