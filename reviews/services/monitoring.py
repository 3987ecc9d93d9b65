"""The state of analysis over all tenants, for a monitor: numbers only, no names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from reviews.models import Turn
from reviews.models.turns import AnalysisState

#: Counting ends here. Each state has an index of its own, so this is the most that is read.
COUNT_LIMIT = 10_000


@dataclass(frozen=True)
class AnalysisLine:
    """Turns by where they stand, each counted up to ``COUNT_LIMIT``, and the age of the line's head."""

    pending: int
    claimed: int
    failed: int
    oldest_pending_seconds: float


def analysis_line(*, now: datetime | None = None) -> AnalysisLine:
    """Four queries, each over a bounded stretch of one index."""
    turns = Turn.objects.across_tenants()
    pending = turns.filter(analysis_state=AnalysisState.PENDING).order_by("id")
    oldest = pending.values_list("received_at", flat=True).first()
    age = ((now or timezone.now()) - oldest).total_seconds() if oldest else 0.0
    return AnalysisLine(
        pending=_counted(pending),
        claimed=_counted(turns.filter(analysis_state=AnalysisState.CLAIMED).order_by("lease_until")),
        failed=_counted(turns.filter(analysis_state=AnalysisState.FAILED).order_by("tenant_id", "id")),
        oldest_pending_seconds=max(age, 0.0),
    )


def _counted(rows: QuerySet[Turn]) -> int:
    return len(rows.values_list("id", flat=True)[:COUNT_LIMIT])
