"""The audit log: who did what, newest first, and whether its end is as it was written."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from reviews.access import TenantRequest, tenant_view
from reviews.models import AuditEvent
from reviews.models.decisions import DecisionAction
from reviews.models.tenants import Role
from reviews.services import audit_pages
from reviews.services.audit_pages import AuditFilter, TailCheck
from reviews.views.settings import settings_page
from reviews.views.texts import visible

#: What the log may hold, in words. An action without words is shown as it is named.
ACTIONS = {
    "tenant.created": "tenant created",
    "policy.published": "settings published",
    "member.added": "member added",
    "member.role_changed": "role changed",
    "member.removed": "member removed",
    "key.created": "API key made",
    "key.revoked": "API key revoked",
    **{f"turn.{action.value}": action.label for action in DecisionAction},
}
OBJECT_TYPES = ("turn", "policy", "member", "key", "tenant")
#: Longer data is cut here; the export and the database have all of it.
DATA_LENGTH = 2_000


class Row(NamedTuple):
    """An event as the page prints it."""

    sequence: int
    at: Any
    actor: str
    action: str
    subject: str
    url: str
    data: list[tuple[str, str]]
    digest: str


@require_safe
@tenant_view(Role.MANAGER)
def audit_log(request: TenantRequest) -> HttpResponse:
    """A page of events. ``?verify=1`` checks the newest 500 as well."""
    wanted = AuditFilter(
        *(request.GET.get(name, "")[:200].replace("\0", "") for name in ("action", "type", "id"))
    )
    page = audit_pages.audit_page(
        tenant=request.tenant, wanted=wanted, before=_number(request.GET.get("before", ""))
    )
    check = audit_pages.verify_tail(tenant=request.tenant) if request.GET.get("verify") == "1" else None
    query = {"action": wanted.action, "type": wanted.object_type, "id": wanted.object_id}
    query = {name: value for name, value in query.items() if value}
    context: dict[str, Any] = {
        "rows": [_row(event, request.tenant.slug) for event in page.events],
        "older": "?" + urlencode({**query, "before": page.before}) if page.before else "",
        "is_first": "before" not in request.GET,
        "looked_at": page.looked_at,
        "wanted": wanted,
        "filter": query,
        "actions": [(name, words, name == wanted.action) for name, words in ACTIONS.items()],
        "types": [(name, name == wanted.object_type) for name in OBJECT_TYPES],
        "check": _said(check) if check else "",
        "problems": check.problems if check else [],
        "tail": audit_pages.TAIL,
    }
    return settings_page(request, "audit", "reviews/settings/audit_log.html", context)


def _row(event: AuditEvent, slug: str) -> Row:
    subject = f"{event.object_type} {event.object_id}".strip()
    is_turn = event.object_type == "turn" and event.object_id.isdecimal()
    return Row(
        event.sequence,
        event.at,
        event.actor_name or "the system",
        ACTIONS.get(event.action, event.action),
        visible(subject),
        reverse("reviews:turn", args=[slug, event.object_id]) if is_turn else "",
        _pairs(event.data),
        bytes(event.digest).hex()[:12],
    )


def _pairs(data: str) -> list[tuple[str, str]]:
    """The event's data as names and values; text that is not an object is shown as it stands."""
    try:
        values = json.loads(data)
        if not isinstance(values, dict):
            raise ValueError
    except (ValueError, RecursionError):
        return [("data", visible(data[:DATA_LENGTH]))]
    pairs = []
    for name, value in values.items():
        text = _text(value)
        if value not in (None, "", {}, []):
            cut = text[:DATA_LENGTH] + ("…" if len(text) > DATA_LENGTH else "")
            pairs.append((visible(name), visible(cut)))
    return pairs


def _text(value: Any) -> str:
    """Text as it is, an object as one line for each of its names, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(f"{name}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
    return json.dumps(value, ensure_ascii=False)


def _said(check: TailCheck) -> str:
    if check.problems:
        return f"The log is not as it was written: {len(check.problems)} problems."
    if not check.last:
        return "There is nothing to verify yet."
    return f"Verified: events {check.first:,} to {check.last:,} are as they were written."


def _number(value: str) -> int | None:
    return int(value) if value.isdecimal() and value.isascii() and len(value) <= 18 else None
