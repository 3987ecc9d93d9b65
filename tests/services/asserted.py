"""Suites, and turns with evidence for them: as they are published, and as bare rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from reviews.models import AssertionResult, Tenant, Turn
from reviews.services.publishing import publish_settings
from tests.factories import make_record

#: No finding, so nothing but an assertion brings it before reviewers.
PLAIN = "The shop opens at nine on weekdays."
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

EXCLUDES = {"type": "prompt_recall_excludes", "label": "no cards", "fragments": ["4111"]}
CONTAINS = {"type": "prompt_recall_contains", "fragments": ["vegan"]}
LEAK = {"prompt_recall": "card 4111 1111, vegan"}
CLEAN = {"prompt_recall": "vegan"}


def suite_of(name: str = "privacy", *assertions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": name, "assertions": list(assertions) or [EXCLUDES], **fields}


def publish(tenant: Tenant, *suites: dict[str, Any], **values: Any) -> int:
    """Put a policy with these suites in force; its number. Nothing is sampled unless asked."""
    values = {"audit_sample_rate": 0, **values, "assertion_suites": list(suites)}
    return publish_settings(tenant=tenant, author=None, values=values).number


def results(turn: Turn) -> list[tuple[str, str, bool]]:
    rows = AssertionResult.objects.for_tenant(turn.tenant_id).filter(turn=turn).order_by("suite", "position")
    return list(rows.values_list("suite", "assertion", "passed"))


def make_failing(
    tenant: Tenant,
    *,
    agent: str = "bot",
    at: datetime = NOON,
    failed: tuple[tuple[str, str], ...] = (("privacy", "no cards"),),
    passed: tuple[tuple[str, str], ...] = (),
) -> Turn:
    """A bare turn with results of (suite, assertion)."""
    record = make_record(PLAIN)
    turn = Turn.objects.across_tenants().create(
        tenant=tenant, external_id=record.external_id, content_hash=b"x", source="turn", agent=agent,
        occurred_at=at, received_at=at, analysis_state="done", analysed_at=at, assertions="failed",
    )  # fmt: skip
    positions: dict[str, int] = {}
    rows = [(*about, ok) for group, ok in ((failed, False), (passed, True)) for about in group]
    for suite, assertion, ok in rows:
        positions[suite] = positions.get(suite, -1) + 1
        AssertionResult.objects.across_tenants().create(
            tenant=tenant, turn=turn, suite=suite, position=positions[suite], assertion=assertion, passed=ok,
            reason="1 fragment reached the model.", evidence={"leaked": 1}, digests=["abc"], agent=agent,
            occurred_at=at,
        )  # fmt: skip
    return turn
