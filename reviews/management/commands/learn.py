"""``manage.py learn``: learn from a tenant's labels now instead of tonight."""

from __future__ import annotations

from typing import Any

from reviews.management.job_command import JobCommand
from reviews.models.jobs import JobKind


class Command(JobCommand):
    help = "Fits a calibration on a tenant's labels and looks for grounding rules, as happens every night."
    kind = JobKind.LEARN

    def describe(self, result: dict[str, Any]) -> str:
        number = result["calibration"]
        state = "new" if result["new_calibration"] else "unchanged"
        fitted = "no calibration yet" if number is None else f"calibration {number} ({state})"
        found = result["suggestions"]
        return (
            f"{result['labels']} labels: {fitted}; {found['open']} suggestions ({found['new']} new, "
            f"{found['withdrawn']} withdrawn), tried on {result['looked_at']} findings"
        )
