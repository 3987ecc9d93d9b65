"""The audit log: appending to a tenant's hash chain, and checking that it is whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from reviews.models import AuditEvent, AuditHead, Tenant, User


def record_event(
    *,
    tenant: Tenant,
    actor: User | None,
    action: str,
    object_type: str = "",
    object_id: str | int = "",
    data: dict[str, Any] | None = None,
    at: datetime | None = None,
) -> AuditEvent:
    """Append one event. Belongs inside the transaction of what it tells of, so that both stand or neither.

    The lock on the head puts concurrent writers of one tenant in line.
    """
    with transaction.atomic(savepoint=False):
        heads = AuditHead.objects.across_tenants().select_for_update()
        head = next(iter(heads.filter(tenant=tenant)), None)
        if head is None:
            AuditHead.objects.across_tenants().bulk_create([AuditHead(tenant=tenant)], ignore_conflicts=True)
            head = heads.get(tenant=tenant)
        event = AuditEvent(
            tenant=tenant,
            sequence=head.sequence + 1,
            at=at or timezone.now(),
            actor=actor,
            actor_name=actor.username if actor else "",
            action=action,
            object_type=object_type,
            object_id=str(object_id),
            data=json.dumps(data or {}, sort_keys=True, separators=(",", ":"), ensure_ascii=False),
        )
        event.digest = digest_of(event, bytes(head.digest))
        event.save(force_insert=True)
        AuditHead.objects.across_tenants().filter(pk=head.pk).update(
            sequence=event.sequence, digest=event.digest
        )
    return event


def digest_of(event: AuditEvent, previous: bytes) -> bytes:
    """SHA-256 over the previous digest and every field of the event."""
    fields = [
        event.tenant_id,
        event.sequence,
        event.at.astimezone(UTC).isoformat(timespec="microseconds"),
        event.actor_id,
        event.actor_name,
        event.action,
        event.object_type,
        event.object_id,
        event.data,
    ]
    return hashlib.sha256(previous + json.dumps(fields, ensure_ascii=False).encode()).digest()


def verify_chain(*, tenant: Tenant) -> Iterator[str]:
    """Walk a tenant's chain from its beginning; yield a sentence for everything that is not as written."""
    previous, expected = b"", 1
    for event in AuditEvent.objects.for_tenant(tenant).order_by("sequence").iterator(chunk_size=2000):
        if event.sequence != expected:
            yield f"{tenant.slug}: events {expected} to {event.sequence - 1} are missing"
        if digest_of(event, previous) != bytes(event.digest):
            yield f"{tenant.slug}: event {event.sequence} ({event.action}) is not as it was written"
        previous, expected = bytes(event.digest), event.sequence + 1
    head = AuditHead.objects.for_tenant(tenant).first()
    end = head.sequence if head else 0
    if end != expected - 1:
        yield f"{tenant.slug}: the chain ends at event {expected - 1}, its head says {end}"
    elif head and bytes(head.digest) != previous:
        yield f"{tenant.slug}: the head does not belong to the last event"
