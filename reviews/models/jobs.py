"""Jobs: long work that people start, watch, pause and resume. The row is the truth, a message only a hint."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.fields import JsonText
from reviews.models.policies import PolicyVersion
from reviews.models.scoping import TenantModel
from reviews.models.tenants import User
from reviews.models.turns import Turn


class JobKind(models.TextChoices):
    LEARN = "learn", "Learn from labels"
    REJUDGE = "rejudge", "Judge again"
    EXTRACT = "extract", "Extract skills"
    REPLAY = "replay", "Replay a skill"
    PULL = "pull", "Pull drafts from the runtime"
    TRIAL = "trial", "Try the critic"


class JobState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Job(TenantModel):
    """One piece of work, done in steps. ``cursor`` is how far it is, in the job's own terms.

    A worker that runs a step holds a ``claim`` until ``lease_until``; when it dies another goes on from the
    cursor, which moves in the same transaction as the step's results.
    """

    kind = models.CharField(max_length=7, choices=JobKind)
    state = models.CharField(max_length=9, choices=JobState, default=JobState.WAITING)
    parameters = JsonText(null=True)
    cursor = JsonText(null=True)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(null=True)
    result = JsonText(null=True)
    error = models.TextField(default="", blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    claim = models.CharField(max_length=32, default="", blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    started_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=JobKind.values), name="job_kind_known"),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state_known"),
        ]
        indexes = [
            models.Index(fields=["tenant", "kind", "-id"], name="job_list"),
            models.Index(fields=["id"], name="job_to_do", condition=Q(state__in=["waiting", "running"])),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class RejudgedTurn(TenantModel):
    """A turn that a job judged otherwise than before: outcome, policy number and findings, before and after.

    ``applied`` is false when the turn was left as it stood, because a reviewer had worked on it.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="+", db_index=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+", db_index=False)
    policy_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    before = JsonText()
    after = JsonText()
    applied = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "turn"], name="rejudged_once"),
        ]

    def __str__(self) -> str:
        return f"turn {self.turn_id} by job {self.job_id}"
