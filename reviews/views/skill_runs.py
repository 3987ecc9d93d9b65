"""The newest run of learning skills in words: what it looked at, what it brought, what it cost."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils import timezone

from reviews.models import Job, Tenant
from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs
from reviews.views.ages import ago
from reviews.views.skill_words import counted
from reviews.views.texts import visible


class Run(NamedTuple):
    """``state`` with ``css`` is a word for what is not plain success. ``percent`` is None while unknown."""

    words: str
    state: str = ""
    css: str = ""
    active: bool = False
    percent: int | None = None
    finished: bool = False

    @property
    def seen(self) -> str:
        """A fingerprint of what is shown, so that the same is not sent again."""
        return hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:16]


def latest_run(*, tenant: Tenant) -> Run:
    """One query."""
    job = jobs.latest_job(tenant=tenant, kind=JobKind.EXTRACT)
    if job is None:
        return Run("Nothing has been learned yet.")
    if job.state in jobs.ACTIVE:
        words = "Waiting for a worker." if job.state == JobState.WAITING else "Learning from the turns."
        percent = min(100, job.done * 100 // job.total) if job.total else None
        return Run(words, active=True, percent=percent)
    when = _when(job)
    if job.state == JobState.FAILED:
        return Run(f"The last run broke off {when}; no draft was lost.", "failed", "bad", finished=True)
    if job.state != JobState.DONE:
        return Run(f"{when}.", JobState(job.state).label.lower(), "warn")
    return _done(job.result or {}, when)


def _when(job: Job) -> str:
    by = f" by {job.started_by.display_name}" if job.started_by else ""
    return f"{ago(job.ended_at or job.created_at, timezone.now())}{by}"


def _done(result: Mapping[str, Any], when: str) -> Run:
    """The outcome, the counts and the cost, as one or two sentences."""
    outcome = result["outcome"]
    said = [f"Learned {when} from {counted(result['scanned'], 'turn')}: {_brought(result)}."]
    cost = _cost(result)
    if cost:
        said.append(cost)
    if outcome in ("found", "nothing"):
        return Run(" ".join(said), finished=True)
    trouble = f"{result['words']}. {visible(result['detail'])}".strip()
    return Run(" ".join([trouble, *said]), "no drafts", "warn", finished=True)


def _brought(result: Mapping[str, Any]) -> str:
    parts = [counted(result["kept"], "new draft")]
    if result["folded"]:
        parts.append(f"{result['folded']:,} folded into others")
    if result["came_back"]:
        parts.append(f"{result['came_back']:,} came back")
    if result["unchanged"]:
        parts.append(f"{result['unchanged']:,} known already")
    dropped = result["emitted"] - sum(result[name] for name in ("kept", "folded", "came_back", "unchanged"))
    if dropped > 0:
        parts.append(f"{dropped:,} not kept (incomplete, or more than a run may bring)")
    return ", ".join(parts)


def _cost(result: Mapping[str, Any]) -> str:
    """What the model took; nothing is said where none was asked."""
    if not result["model"]:
        return ""
    tokens = result["tokens_in"], result["tokens_out"]
    took = f"{sum(tokens):,} tokens of " if None not in tokens else ""
    price = f", at a cost of {result['cost']:.4f}" if result["cost"] else ""
    return f"It took {took}{visible(result['model'])}{price}."
