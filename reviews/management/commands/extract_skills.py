"""``manage.py extract_skills``: look for skills in a tenant's turns now instead of tonight."""

from __future__ import annotations

from typing import Any

from reviews.management.job_command import JobCommand
from reviews.models.jobs import JobKind


class Command(JobCommand):
    help = "Extracts drafts of skills from a tenant's newest turns by its policy, as happens every night."
    kind = JobKind.EXTRACT

    def describe(self, result: dict[str, Any]) -> str:
        counts = ", ".join(
            f"{result[name]} {name.replace('_', ' ')}" for name in ("kept", "folded", "came_back")
        )
        cost = "" if result["cost"] is None else f", cost {result['cost']:.4f}"
        return (
            f"{result['words']} ({result['extractor']}): {result['scanned']} episodes scanned, "
            f"{result['emitted']} emitted, {counts}{cost}. {result['detail']}"
        )
