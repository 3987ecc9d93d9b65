"""Profiles of flagged turns as rows, and turns that have none yet."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from django.db import transaction

from reviews.core.profiles import Profile, profile_of
from reviews.models import ConfidenceProfile, Finding, Turn, TurnPayload
from reviews.models.bulk import on_postgresql, update_rows
from reviews.models.turns import AnalysisState, Source
from reviews.services.counting import Tally, add_tally, day_of

FILL_SIZE = 500


def profile_ids(*, tenant_id: int, profiles: Iterable[Profile]) -> dict[Profile | None, int]:
    """Ids of a tenant's profiles, made where they are new. Call inside the transaction that uses them."""
    by_digest = {profile.digest: profile for profile in profiles}
    if not by_digest:
        return {}
    found = _ids(tenant_id, by_digest)
    if len(found) < len(by_digest):
        missing = sorted(digest for digest, profile in by_digest.items() if profile not in found)
        ConfidenceProfile.objects.across_tenants().bulk_create(
            [
                ConfidenceProfile(tenant_id=tenant_id, digest=digest, content=by_digest[digest].to_json())
                for digest in missing
            ],
            ignore_conflicts=True,
        )
        found = _ids(tenant_id, by_digest)
    return found


def _ids(tenant_id: int, by_digest: dict[bytes, Profile]) -> dict[Profile | None, int]:
    rows = ConfidenceProfile.objects.for_tenant(tenant_id).filter(digest__in=list(by_digest))
    return {by_digest[bytes(digest)]: pk for pk, digest in rows.values_list("id", "digest")}


def fill_missing(*, seconds: float = 0.0) -> int:
    """Give flagged turns stored before there were profiles theirs, one batch or as many as the time allows.

    Returns how many, 0 when none is left.
    """
    until = time.monotonic() + seconds
    filled = batch = _fill_batch()
    while batch and time.monotonic() < until:
        batch = _fill_batch()
        filled += batch
    return filled


def _fill_batch() -> int:
    """One transaction, of one tenant: whoever counts for several takes all profiles before all counts."""
    with transaction.atomic():
        rows = (
            Turn.objects.across_tenants()
            .filter(profile__isnull=True, finding_count__gt=0, analysis_state=AnalysisState.DONE)
            .order_by("id")
        )
        first = rows.values_list("tenant_id", flat=True).first()
        if first is None:
            return 0
        if on_postgresql():
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        found = rows.only("tenant_id", "source", "occurred_at", "verdict")[:FILL_SIZE]
        turns = [turn for turn in found if turn.tenant_id == first]
        ids = [turn.pk for turn in turns]
        findings: dict[int, list[Finding]] = {}
        for finding in Finding.objects.for_tenant(first).filter(turn_id__in=ids):
            findings.setdefault(finding.turn_id, []).append(finding)
        calls = dict(
            TurnPayload.objects.for_tenant(first).filter(turn_id__in=ids).values_list("turn_id", "tool_calls")
        )
        _fill(first, turns, findings, calls)
    return len(turns)


def _fill(
    tenant_id: int, turns: list[Turn], findings: dict[int, list[Finding]], calls: dict[int, Any]
) -> None:
    profiles = {
        turn.pk: profile_of(findings.get(turn.pk, []), _names(turn, calls.get(turn.pk))) for turn in turns
    }
    ids = profile_ids(tenant_id=tenant_id, profiles={p for p in profiles.values() if p})
    tally = Tally()
    for turn in turns:
        tally.profiles[day_of(turn.occurred_at), ids[profiles[turn.pk]], turn.verdict] += 1
    update_rows(Turn, ["profile_id"], [[ids[profiles[turn.pk]], turn.pk] for turn in turns])
    add_tally(tenant_id=tenant_id, tally=tally)


def _names(turn: Turn, calls: Any) -> list[str] | None:
    if turn.source == Source.EVENT:
        return None
    return [call["name"] for call in calls or []]
