"""Suggested grounding rules: found by the learning job, accepted into a draft or dismissed by a manager."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from reviews.core.learning import Suggestion
from reviews.models import GroundingSuggestion, PolicyVersion, Tenant, User
from reviews.models.policies import PolicyState, RuleKind, SuggestionState
from reviews.services import audit
from reviews.services.errors import ConflictError, NotFoundError
from reviews.services.locking import lock_tenant
from reviews.services.policies import current_version, policy_version, unpublished_versions
from reviews.services.publishing import published_base, save_draft

#: A dismissed suggestion comes back when so many times as many labels speak for it as when it was dismissed.
COMES_BACK_AT = 2
#: The longest value that is kept, as long as a pattern may be.
MAX_VALUE_LENGTH = 200


class Refreshed(NamedTuple):
    """What a search for rules changed: ``new`` ones or ones that came back, and how many are ``open`` now."""

    new: int
    open: int
    withdrawn: int


def open_suggestions(*, tenant: Tenant) -> list[GroundingSuggestion]:
    """Suggestions to decide on, those with the most support first."""
    rows = GroundingSuggestion.objects.for_tenant(tenant).filter(state=SuggestionState.OPEN)
    return list(rows.order_by("-agree", "against", "id"))


def accept_suggestion(
    *, tenant: Tenant, actor: User, suggestion_id: int, based_on: int | None = None
) -> PolicyVersion:
    """Write the rule into a draft: that made from version ``based_on``, which the actor was looking at.

    Without it, from the newest draft that goes back to the version in force, or from that version. Nothing is
    published. Returns the draft, or the version that has the rule already.

    Raises:
        NotFoundError: no such suggestion here, or no such version.
        ConflictError: it has been decided or withdrawn meanwhile, or that draft has been replaced.
        InvalidError: the draft has no room for another rule of its kind.
    """
    now = timezone.now()
    with transaction.atomic():
        # The lock under which a policy changes, so that the draft is still the newest when it is written to.
        lock_tenant(tenant.pk)
        suggestion = _decide(tenant, actor, suggestion_id, SuggestionState.ACCEPTED, now)
        base = _base(tenant)
        if based_on is not None:
            base = policy_version(tenant=tenant, number=based_on) if based_on else None
        before = (base.settings if base else None) or {}
        values = _with_rule(before, suggestion)
        if base is not None and values == before and base.state != PolicyState.SUPERSEDED:
            version = base
        else:
            version = save_draft(
                tenant=tenant,
                author=actor,
                values=values,
                based_on=base.number if base else 0,
                note=note_of(suggestion),
                at=now,
            )
        suggestion.accepted_into = version
        suggestion.save(update_fields=["accepted_into"])
        _log(tenant, actor, "suggestion.accepted", suggestion, now, policy=version.number)
    return version


def dismiss_suggestion(*, tenant: Tenant, actor: User, suggestion_id: int) -> GroundingSuggestion:
    """Decide against a rule. It comes back only when twice as many labels speak for it.

    Raises:
        NotFoundError: no such suggestion here.
        ConflictError: it has been decided or withdrawn meanwhile.
    """
    now = timezone.now()
    with transaction.atomic():
        suggestion = _decide(tenant, actor, suggestion_id, SuggestionState.DISMISSED, now)
        _log(tenant, actor, "suggestion.dismissed", suggestion, now)
    return suggestion


def refresh_suggestions(*, tenant_id: int, found: Iterable[Suggestion], at: datetime) -> Refreshed:
    """Bring the stored suggestions in line with what was found just now. Call inside a transaction.

    Open ones get the new numbers, or are withdrawn when they were not found. Accepted ones stay accepted as
    long as a draft holds the rule; found again without one (rules in force are not looked for), they are open
    again. A
    dismissed one keeps the numbers it was dismissed with, and is opened again only when twice as many labels
    speak for it. A withdrawn one that is found again is opened again.
    """
    lock_tenant(tenant_id)
    rows = GroundingSuggestion.objects.for_tenant(tenant_id)
    known = {(row.rule, row.subject, row.value): row for row in rows.select_for_update().order_by("id")}
    drafts = [version.settings or {} for version in unpublished_versions(tenant=tenant_id)]
    supported: set[int] = set()
    new = 0
    for suggestion in found:
        if len(suggestion.value) > MAX_VALUE_LENGTH:
            continue
        numbers: dict[str, Any] = {
            "agree": suggestion.agree, "against": suggestion.against, "turns": list(suggestion.turns),
        }  # fmt: skip
        row = known.get((suggestion.rule, suggestion.subject, suggestion.value))
        if row is None:
            row = GroundingSuggestion(
                tenant_id=tenant_id,
                rule=suggestion.rule,
                subject=suggestion.subject,
                value=suggestion.value,
                found_at=at,
                **numbers,
            )
            row.save(force_insert=True)
            new += 1
        elif row.state == SuggestionState.OPEN:
            rows.filter(pk=row.pk).update(**numbers)
        elif (
            row.state == SuggestionState.WITHDRAWN
            or (row.state == SuggestionState.ACCEPTED and not _is_drafted(drafts, row))
            or (row.state == SuggestionState.DISMISSED and suggestion.agree >= COMES_BACK_AT * row.agree)
        ):
            rows.filter(pk=row.pk).update(
                state=SuggestionState.OPEN, found_at=at, decided_by=None, decided_at=None, **numbers
            )
            new += 1
        supported.add(row.pk)
    still_open = rows.filter(state=SuggestionState.OPEN)
    withdrawn = still_open.exclude(pk__in=supported).update(state=SuggestionState.WITHDRAWN)
    return Refreshed(new, still_open.count(), withdrawn)


def note_of(suggestion: GroundingSuggestion) -> str:
    """Which rule, and what it rests on, for the draft's note."""
    subject, value = suggestion.subject, suggestion.value
    rules = {
        RuleKind.TOOL_FRAGMENT: f"Tools named like “{value}” ground “{subject}”",
        RuleKind.IGNORED_KEY: f"The key “{value}” names no identifier",
        RuleKind.IGNORED_VALUE: f"Identifiers that match “{value}” need no grounding",
    }
    return (
        f"{rules[RuleKind(suggestion.rule)]}: false alarms for it: {suggestion.agree}, "
        f"fabrications against it: {suggestion.against}."
    )


# -- Inside a transaction


def _decide(
    tenant: Tenant, actor: User, suggestion_id: int, state: SuggestionState, at: datetime
) -> GroundingSuggestion:
    """Compare and set: of two who decide at the same moment one wins, and the other is told."""
    rows = GroundingSuggestion.objects.for_tenant(tenant).filter(pk=suggestion_id)
    won = rows.filter(state=SuggestionState.OPEN).update(state=state, decided_by=actor, decided_at=at)
    suggestion = rows.select_related("decided_by").first()
    if suggestion is None:
        raise NotFoundError("There is no such suggestion.")
    if not won:
        by = f" by {suggestion.decided_by.display_name}" if suggestion.decided_by else ""
        label = SuggestionState(suggestion.state).label.lower()
        raise ConflictError(f"This suggestion is {label}{by}; nothing was changed.")
    return suggestion


def _base(tenant: Tenant) -> PolicyVersion | None:
    """The newest draft when it goes back to the version in force, else that version, else None (defaults).

    A draft that was left lying while others were published would take their changes back.
    """
    current = current_version(tenant=tenant)
    drafts = unpublished_versions(tenant=tenant)
    if drafts and published_base(drafts[0]) == (current.pk if current else None):
        return drafts[0]
    return current


def _is_drafted(drafts: list[dict[str, Any]], suggestion: GroundingSuggestion) -> bool:
    return any(_with_rule(settings, suggestion) == settings for settings in drafts)


def _with_rule(settings: dict[str, Any], suggestion: GroundingSuggestion) -> dict[str, Any]:
    if suggestion.rule == RuleKind.TOOL_FRAGMENT:
        fragments = settings.get("grounding_tool_fragments", {})
        of_verb = _with(fragments.get(suggestion.subject, []), suggestion.value)
        return {**settings, "grounding_tool_fragments": {**fragments, suggestion.subject: of_verb}}
    name = "ignored_keys" if suggestion.rule == RuleKind.IGNORED_KEY else "ignored_value_patterns"
    return {**settings, name: _with(settings.get(name, []), suggestion.value)}


def _with(values: list[str], value: str) -> list[str]:
    return values if value in values else [*values, value]


def _log(
    tenant: Tenant, actor: User, action: str, suggestion: GroundingSuggestion, at: datetime, **data: Any
) -> None:
    audit.record_event(
        tenant=tenant,
        actor=actor,
        action=action,
        object_type="suggestion",
        object_id=suggestion.pk,
        data={
            "rule": suggestion.rule,
            "subject": suggestion.subject,
            "value": suggestion.value,
            "agree": suggestion.agree,
            "against": suggestion.against,
            **data,
        },
        at=at,
    )
