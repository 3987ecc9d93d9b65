"""Reading the audit log: a page at a time, newest first, and checking its end."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from reviews.models import AuditEvent, AuditHead, Tenant
from reviews.services.audit import digest_of

PAGE_SIZE = 50
#: Events looked at for one page when a filter has no index.
SCAN_LIMIT = 2_000
#: Events that the page checks; the whole chain is for ``manage.py verify_audit``.
TAIL = 500


@dataclass(frozen=True)
class AuditFilter:
    """What to show; empty means any."""

    action: str = ""
    object_type: str = ""
    object_id: str = ""


@dataclass(frozen=True)
class AuditPage:
    """``before`` leads on (None at the end); ``looked_at`` is set when the limit ended the page."""

    events: list[AuditEvent]
    before: int | None
    looked_at: int = 0


def audit_page(
    *, tenant: Tenant, wanted: AuditFilter, before: int | None = None, size: int = PAGE_SIZE
) -> AuditPage:
    """Events with a sequence below ``before``, newest first. One query, two when filters are scanned."""
    events = AuditEvent.objects.for_tenant(tenant).order_by("-sequence")
    if before is not None:
        events = events.filter(sequence__lt=before)
    if wanted.object_type and wanted.object_id and not wanted.action:
        events = events.filter(object_type=wanted.object_type, object_id=wanted.object_id)
    elif wanted != AuditFilter():
        return _scan(tenant, events, wanted, size)
    found = list(events[: size + 1])
    return AuditPage(found[:size], found[size - 1].sequence if len(found) > size else None)


def _scan(tenant: Tenant, rows: QuerySet[AuditEvent], wanted: AuditFilter, size: int) -> AuditPage:
    """Filter the next rows here: the order has an index, these filters have none in that order."""
    looked = list(rows.values_list("sequence", "action", "object_type", "object_id")[:SCAN_LIMIT])
    matching = [
        sequence
        for sequence, action, object_type, object_id in looked
        if wanted.action in ("", action)
        and wanted.object_type in ("", object_type)
        and wanted.object_id in ("", object_id)
    ]
    shown = matching[:size]
    events = list(AuditEvent.objects.for_tenant(tenant).filter(sequence__in=shown).order_by("-sequence"))
    if len(matching) > size:
        return AuditPage(events, shown[-1])
    if len(looked) == SCAN_LIMIT:
        return AuditPage(events, looked[-1][0], looked_at=SCAN_LIMIT)
    return AuditPage(events, None)


@dataclass(frozen=True)
class TailCheck:
    """The checked stretch of the chain (0 and 0 when there are no events), and what is wrong with it."""

    first: int
    last: int
    problems: list[str]


def verify_tail(*, tenant: Tenant, count: int = TAIL) -> TailCheck:
    """Check the newest ``count`` events against the digests before them and the head. Two queries.

    Says nothing of what lies before them, except that the first one checked follows from its predecessor.
    """
    head = AuditHead.objects.for_tenant(tenant).first()
    events = AuditEvent.objects.for_tenant(tenant).order_by("-sequence")
    if head is not None:
        # Events written after the head was read are not its business.
        events = events.filter(sequence__lte=head.sequence)
    found = list(events[: count + 1])
    checked, earlier = found[:count], found[count:]
    end = head.sequence if head else 0
    if not checked:
        return TailCheck(0, 0, [f"The head says {end}, but there are no events."] if end else [])
    problems = []
    if checked[0].sequence != end:
        problems.append(f"The log ends at event {checked[0].sequence}, its head says {end}.")
    elif head is not None and bytes(head.digest) != bytes(checked[0].digest):
        problems.append("The head does not belong to the last event.")
    previous, at = (bytes(earlier[0].digest), earlier[0].sequence) if earlier else (b"", 0)
    for event in reversed(checked):
        if event.sequence != at + 1:
            problems.append(f"Events {at + 1} to {event.sequence - 1} are missing.")
        elif digest_of(event, previous) != bytes(event.digest):
            problems.append(f"Event {event.sequence} ({event.action}) is not as it was written.")
        previous, at = bytes(event.digest), event.sequence
    return TailCheck(checked[-1].sequence, checked[0].sequence, problems)
