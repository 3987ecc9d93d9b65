"""Profiles of flagged turns as rows, and turns that have none yet."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from typing import Any

from django.db import transaction

from reviews.core.profiles import Profile, profile_of
from reviews.models import ConfidenceProfile, Finding, Turn, TurnPayload
from reviews.models.bulk import on_postgresql, update_rows
from reviews.models.turns import AnalysisState, Source
from reviews.services.counting import Tally, add_tally

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


def fill_missing(*, limit: int = FILL_SIZE) -> int:
    """Give flagged turns stored before there were profiles theirs. Returns how many, 0 when done."""
    with transaction.atomic():
        rows = (
            Turn.objects.across_tenants()
            .filter(profile__isnull=True, finding_count__gt=0, analysis_state=AnalysisState.DONE)
            .order_by("id")
        )
        if on_postgresql():
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        turns = list(rows.only("tenant_id", "source", "occurred_at", "verdict")[:limit])
        ids = [turn.pk for turn in turns]
        findings: dict[int, list[Finding]] = {}
        for finding in Finding.objects.across_tenants().filter(turn_id__in=ids):
            findings.setdefault(finding.turn_id, []).append(finding)
        calls = dict(
            TurnPayload.objects.across_tenants().filter(turn_id__in=ids).values_list("turn_id", "tool_calls")
        )
        for tenant_id in sorted({turn.tenant_id for turn in turns}):
            _fill(tenant_id, [t for t in turns if t.tenant_id == tenant_id], findings, calls)
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
        day = turn.occurred_at.astimezone(UTC).date()
        tally.profiles[day, ids[profiles[turn.pk]], turn.verdict] += 1
    update_rows(Turn, ["profile_id"], [[ids[profiles[turn.pk]], turn.pk] for turn in turns])
    add_tally(tenant_id=tenant_id, tally=tally)


def _names(turn: Turn, calls: Any) -> list[str] | None:
    if turn.source == Source.EVENT:
        return None
    return [call["name"] for call in calls or []]
