"""What reviewers' labels have taught, in words: suggested rules, and how good the calibration is."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from django.urls import reverse

from reviews.access import TenantRequest
from reviews.core.calibration import FEWEST_LABELS
from reviews.models import Calibration, GroundingSuggestion, Job
from reviews.models.jobs import JobKind, JobState
from reviews.models.policies import RuleKind
from reviews.services import jobs, suggestions
from reviews.services.learning import quality_of
from reviews.views.texts import visible
from reviews.views.threshold_charts import reliability_chart

EXAMPLES_SHOWN = 5


class SuggestionRow(NamedTuple):
    pk: int
    rule: str
    support: str
    examples: list[str]


class Learning(NamedTuple):
    """The newest learning job in words. ``percent`` is None as long as its extent is not known."""

    words: str
    css: str
    active: bool
    percent: int | None


def learned(request: TenantRequest, calibration: Calibration | None) -> dict[str, Any]:
    """What the sections about learning show. Two queries."""
    job = jobs.latest_job(tenant=request.tenant, kind=JobKind.LEARN)
    rows = [_row(request, found) for found in suggestions.open_suggestions(tenant=request.tenant)]
    learning = _learning(job)
    quality = quality_of(calibration) if calibration is not None else None
    shown = [rows, learning, calibration.pk if calibration is not None else None]
    return {
        "suggestions": rows,
        "learning": learning,
        "calibration": calibration,
        "quality": quality,
        "reliability": reliability_chart(quality) if quality else None,
        "fewest_labels": 2 * FEWEST_LABELS,
        "seen": hashlib.sha256(repr(shown).encode()).hexdigest()[:16],
    }


def _row(request: TenantRequest, found: GroundingSuggestion) -> SuggestionRow:
    labels = found.agree + found.against
    support = (
        f"{labels:,} {'label' if labels == 1 else 'labels'}, {found.agree:,} agree; "
        f"would have silenced {found.silences:,} of the last {found.looked_at:,} findings, "
        f"{found.silences_true:,} of them fabricated"
    )
    examples = [
        reverse("reviews:turn", args=[request.tenant.slug, turn_id])
        for turn_id in found.turns[:EXAMPLES_SHOWN]
    ]
    return SuggestionRow(found.pk, _rule(found), support, examples)


def _rule(found: GroundingSuggestion) -> str:
    subject, value = visible(found.subject), visible(found.value)
    if found.rule == RuleKind.TOOL_FRAGMENT:
        return f"“{subject}” is grounded by tools with “{value}” in their name"
    if found.rule == RuleKind.IGNORED_KEY:
        return f"“{value}” is no key of an identifier here"
    return f"Values like “{value}” are no identifiers here"


def _learning(job: Job | None) -> Learning:
    if job is None:
        return Learning("Nothing has been learned yet.", "", False, None)
    if job.state in jobs.ACTIVE:
        percent = min(100, job.done * 100 // job.total) if job.total else None
        words = "Waiting for a worker." if job.state == JobState.WAITING else "Learning from the labels."
        return Learning(words, "", True, percent)
    if job.state == JobState.FAILED:
        return Learning(
            "The last attempt to learn failed; what was learned before still holds.", "bad", False, None
        )
    if job.state == JobState.DONE:
        return Learning("", "", False, None)
    return Learning(f"Learning is {JobState(job.state).label.lower()}.", "warn", False, None)
