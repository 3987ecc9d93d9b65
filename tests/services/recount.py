"""What the kept counts must say, counted again from the rows themselves."""

from __future__ import annotations

from collections import Counter
from datetime import UTC

from reviews.core.profiles import Profile, profile_of
from reviews.models import AssertionCount, AssertionResult, DailyCount, GateCount, ProfileCount, Tenant, Turn
from reviews.models.turns import AnalysisState, Source


def assert_counts_hold(tenant: Tenant) -> None:
    """Every kept count of profiles, gates, the critic, the audit sample and memory assertions equals a count
    over the turns."""
    profiles: Counter = Counter()
    gates: Counter = Counter()
    audits: Counter = Counter()
    critics: Counter = Counter()
    turns = (
        Turn.objects.for_tenant(tenant)
        .filter(analysis_state=AnalysisState.DONE)
        .select_related("payload", "profile")
        .prefetch_related("findings")
    )
    for turn in turns:
        day = turn.occurred_at.astimezone(UTC).date()
        calls = turn.payload.tool_calls or []
        names = None if turn.source == Source.EVENT else [call["name"] for call in calls]
        expected = profile_of(list(turn.findings.all()), names)
        stored = Profile.from_json(turn.profile.content) if turn.profile else None
        assert stored == expected, turn.external_id
        if turn.profile_id is not None:
            profiles[day, turn.profile_id, turn.verdict] += 1
        if turn.gate_confidence is not None:
            gates[
                day, turn.gate_confidence, turn.gate_sensitive, turn.gate_trivial, turn.finding_count > 0
            ] += 1
        for name in (f"gate:{turn.gate_reason}", f"critic:{turn.critic}"):
            if not name.endswith(":"):
                critics[day, name] += 1
        if turn.audit_rate is not None:
            assert not turn.finding_count
            for what in ("sampled", turn.verdict):
                if what:
                    audits[day, f"audit:{round(turn.audit_rate * 1000)}:{what}"] += 1
    assert _kept(ProfileCount, tenant, "day", "profile_id", "verdict") == profiles
    assert _kept(GateCount, tenant, "day", "confidence", "sensitive", "trivial", "flagged") == gates
    for prefix in ("gate:", "critic:"):
        found = DailyCount.objects.for_tenant(tenant).filter(name__startswith=prefix).exclude(count=0)
        kept = {(row.day, row.name): row.count for row in found}
        assert kept == {key: count for key, count in critics.items() if key[1].startswith(prefix)}
    found = DailyCount.objects.for_tenant(tenant).filter(name__startswith="audit:", count__gt=0)
    assert {(row.day, row.name): row.count for row in found} == audits
    _assert_assertions_hold(tenant)


def _assert_assertions_hold(tenant: Tenant) -> None:
    """Each result is counted once, and each turn stands as its results say."""
    expected: Counter = Counter()
    outcomes: dict[int, set[bool]] = {}
    for row in AssertionResult.objects.for_tenant(tenant).select_related("turn"):
        assert (row.agent, row.occurred_at) == (row.turn.agent, row.turn.occurred_at)
        day = row.turn.occurred_at.astimezone(UTC).date()
        expected[day, row.suite, row.assertion, row.agent, row.passed] += 1
        outcomes.setdefault(row.turn_id, set()).add(row.passed)
    assert _kept(AssertionCount, tenant, "day", "suite", "assertion", "agent", "passed") == expected
    for turn in Turn.objects.for_tenant(tenant):
        found = outcomes.get(turn.pk)
        assert bool(turn.assertions) == bool(found), turn.external_id
        if found:
            assert (turn.assertions == "passed") == (found == {True}), turn.external_id


def _kept(model: type, tenant: Tenant, *key: str) -> dict:
    rows = list(model.objects.for_tenant(tenant).values_list(*key, "count"))
    assert all(count >= 0 for *_, count in rows)
    return {tuple(rest): count for *rest, count in rows if count}
