"""The critic: what it said of a turn, what it cost, and how a tenant's model is doing."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.fields import JsonText
from reviews.models.jobs import Job
from reviews.models.policies import PolicyVersion
from reviews.models.scoping import TenantModel
from reviews.models.tenants import User
from reviews.models.turns import Turn


class Verdict(models.TextChoices):
    """What is to become of a draft."""

    APPROVE = "approve", "Approve"
    REVISE = "revise", "Revise"
    REFUSE = "refuse", "Refuse"


class Cause(models.TextChoices):
    """Why a verdict is ``approve`` though nobody approved."""

    TIMEOUT = "timeout", "The model took too long"
    MALFORMED = "malformed", "The reply was not what was asked for"
    TRUNCATED = "truncated", "The reply ended too soon"
    REFUSED = "refused", "The model refused to answer"
    TOO_LARGE = "too_large", "The reply was too large"
    OVER_BUDGET = "over_budget", "The day’s budget was used up"
    NO_MODEL = "no_model", "No model is set up"
    SWITCHED_OFF = "switched_off", "The critic was switched off meanwhile"
    UNAVAILABLE = "unavailable", "The model could not be reached"
    RATE_LIMITED = "rate_limited", "The model took no more requests"
    REJECTED = "rejected", "The model’s server rejected the request"
    FAILED = "failed", "The call broke off"


class Origin(models.TextChoices):
    OURS = "ours", "Asked by Symfonic Review"
    RUNTIME = "runtime", "Recorded by the agent’s runtime"


class CallState(models.TextChoices):
    WAITING = "waiting", "Waiting for the model"
    DONE = "done", "Done"


class CriticVerdict(TenantModel):
    """The critic's verdict on a turn for which its gate fired, or that came along with the turn.

    While ``state`` is ``waiting`` the call is still to be made: by whoever holds the ``claim`` until
    ``lease_until``, not before ``next_at``. ``said`` is what the model answered; ``verdict`` differs from it
    only when ``forced`` (fabrication mode ``revise``). With a ``cause`` the verdict is degraded: nobody read
    the draft; while it waits, the cause is that of the last attempt. ``confidence`` and ``threshold`` are
    what the gate compared, in whole thousandths. ``latency_ms`` is in milliseconds, ``cost`` in the currency
    of MODEL_PRICES; None when not known.

    ``human`` is a reviewer's word on the same question; ``human_blind`` tells whether it was given without
    the critic's verdict in sight.
    """

    turn = models.OneToOneField(
        Turn, on_delete=models.CASCADE, primary_key=True, related_name="critic_verdict"
    )
    origin = models.CharField(max_length=7, choices=Origin, default=Origin.OURS)
    policy_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    gate_reason = models.CharField(max_length=24, default="", blank=True)
    confidence = models.PositiveSmallIntegerField(null=True)
    threshold = models.PositiveSmallIntegerField(null=True)
    sensitive_tag = models.CharField(max_length=200, default="", blank=True)

    state = models.CharField(max_length=7, choices=CallState, default=CallState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now)
    claim = models.CharField(max_length=32, default="", blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    reserved = models.PositiveIntegerField(default=0, help_text="Tokens set aside for the call under way.")
    reserved_on = models.DateField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True, blank=True)

    verdict = models.CharField(max_length=7, choices=Verdict, default="", blank=True)
    said = models.CharField(max_length=7, choices=Verdict, default="", blank=True)
    forced = models.BooleanField(default=False)
    cause = models.CharField(max_length=12, choices=Cause, default="", blank=True)
    detail = models.CharField(max_length=500, default="", blank=True)
    revised_draft = models.TextField(default="", blank=True)
    refusal_message = models.TextField(default="", blank=True)
    matched_preferences = JsonText(null=True)
    rules = JsonText(null=True)
    model = models.CharField(max_length=200, default="", blank=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    cost = models.FloatField(null=True)
    latency_ms = models.FloatField(null=True)

    human = models.CharField(max_length=7, choices=Verdict, default="", blank=True)
    human_reason = models.TextField(default="", blank=True)
    human_blind = models.BooleanField(default=False)
    human_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    human_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(origin__in=Origin.values), name="critic_origin_known"),
            models.CheckConstraint(
                condition=Q(verdict__in=["", *Verdict.values]), name="critic_verdict_known"
            ),
            models.CheckConstraint(condition=Q(said__in=["", *Verdict.values]), name="critic_said_known"),
            models.CheckConstraint(condition=Q(cause__in=["", *Cause.values]), name="critic_cause_known"),
            models.CheckConstraint(condition=Q(human__in=["", *Verdict.values]), name="critic_human_known"),
            models.CheckConstraint(
                condition=Q(state="waiting", verdict="") | (Q(state="done") & ~Q(verdict="")),
                name="critic_done_has_verdict",
            ),
            models.CheckConstraint(
                condition=Q(cause="") | Q(said="", verdict__in=["", "approve"]) | Q(said="", forced=True),
                name="critic_degraded_approves",
            ),
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__lte=1000), name="critic_confidence_range"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "next_at"], name="critic_waiting", condition=Q(state="waiting")),
            models.Index(
                fields=["tenant", "lease_until"],
                name="critic_claimed",
                condition=Q(state="waiting") & ~Q(claim=""),
            ),
            models.Index(fields=["tenant", "human_at", "turn"], name="critic_human", condition=~Q(human="")),
        ]

    def __str__(self) -> str:
        return f"{self.verdict or self.state} for turn {self.turn_id}"

    @property
    def degraded(self) -> bool:
        return self.cause != "" and self.state == CallState.DONE


class ModelUse(TenantModel):
    """What a tenant's calls to the model came to on a day (UTC), for one purpose.

    ``reserved`` are tokens of calls under way: as many as they may use at most. A call is made only when
    calls and tokens, the reserved ones among them, stay within the day's budget.
    """

    day = models.DateField()
    purpose = models.CharField(max_length=12)
    calls = models.PositiveBigIntegerField(default=0)
    tokens_in = models.PositiveBigIntegerField(default=0)
    tokens_out = models.PositiveBigIntegerField(default=0)
    reserved = models.PositiveBigIntegerField(default=0)
    cost = models.FloatField(default=0.0)
    latency_ms = models.FloatField(default=0.0, help_text="Of all answered calls together.")
    answered = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "day", "purpose"], name="modeluse_once"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} on {self.day}: {self.calls} calls"


class CriticCircuit(TenantModel):
    """Whether a tenant's calls reach the model. Too many failures in a row open it: no call until
    ``open_until``, then one at a time until one succeeds."""

    failures = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField(null=True, blank=True)
    open_until = models.DateTimeField(null=True, blank=True)
    times_open = models.PositiveSmallIntegerField(default=0, help_text="In a row, without a success between.")
    last_cause = models.CharField(max_length=12, default="", blank=True)
    last_detail = models.CharField(max_length=500, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant"], name="circuit_one_a_tenant"),
        ]

    def __str__(self) -> str:
        return "open" if self.open_until else "closed"


class TrialVerdict(TenantModel):
    """What one variant of the critic said of one turn in a trial. The turn itself is left as it was.

    ``label`` is the reviewer's word on the turn when the trial asked; ``variant`` is 0 or 1.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="trial_verdicts", db_index=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+", db_index=False)
    variant = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=11, default="", blank=True)
    verdict = models.CharField(max_length=7, choices=Verdict)
    cause = models.CharField(max_length=12, choices=Cause, default="", blank=True)
    detail = models.CharField(max_length=500, default="", blank=True)
    text = models.TextField(default="", blank=True, help_text="The revised draft or the refusal.")
    matched_preferences = JsonText(null=True)
    model = models.CharField(max_length=200, default="", blank=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    cost = models.FloatField(null=True)
    latency_ms = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "turn", "variant"], name="trialverdict_once"),
            models.CheckConstraint(condition=Q(verdict__in=Verdict.values), name="trialverdict_known"),
            models.CheckConstraint(condition=Q(cause__in=["", *Cause.values]), name="trialverdict_cause"),
        ]
        indexes = [models.Index(fields=["job", "id"], name="trialverdict_job")]

    def __str__(self) -> str:
        return f"{self.verdict} for turn {self.turn_id} in job {self.job_id}"
