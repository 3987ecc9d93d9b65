"""Policy versions: a tenant's settings at a moment, never changed afterwards."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.fields import JsonText
from reviews.models.scoping import TenantModel
from reviews.models.tenants import User
from reviews.models.turns import ActionTaken, Turn


class PolicyState(models.TextChoices):
    DRAFT = "draft", "Draft"
    SHADOW = "shadow", "Shadow"
    PUBLISHED = "published", "Published"
    SUPERSEDED = "superseded", "Superseded"


class Calibration(TenantModel):
    """What a tenant's labels said of the detector's confidences at a moment. Never changed.

    ``content`` is a ``CalibrationTable``, ``quality`` how well it did on labels it had not seen (null when
    there were too few), ``labels`` how many it was fitted on.
    """

    number = models.PositiveIntegerField()
    fitted_at = models.DateTimeField(default=timezone.now)
    labels = models.PositiveIntegerField()
    content = JsonText()
    quality = JsonText(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "number"], name="calibration_number_once"),
        ]

    def __str__(self) -> str:
        return f"calibration {self.number}"


class PolicyVersion(TenantModel):
    """One version of a tenant's settings. Only its state moves; what it says stays as it was written.

    ``superseded`` is the end of every version: of one that was in force (``published_at`` is set), and of a
    draft that was discarded or replaced by an edited one. ``calibration`` is the fit that its thresholds read
    when they read calibrated confidences. ``evidence`` is what was known when it was published.
    """

    number = models.PositiveIntegerField()
    author = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    note = models.CharField(max_length=500, default="", blank=True)
    based_on = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    settings = JsonText(null=True)
    evidence = JsonText(null=True)
    state = models.CharField(max_length=10, choices=PolicyState, default=PolicyState.DRAFT)
    created_at = models.DateTimeField(default=timezone.now)
    calibration = models.ForeignKey(
        Calibration, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    shadow_since = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    published_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    superseded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "number"], name="policy_number_once"),
            models.UniqueConstraint(
                fields=["tenant"], condition=Q(state="published"), name="policy_one_published"
            ),
            models.UniqueConstraint(fields=["tenant"], condition=Q(state="shadow"), name="policy_one_shadow"),
            models.CheckConstraint(condition=Q(state__in=PolicyState.values), name="policy_state_known"),
            models.CheckConstraint(
                condition=~Q(state="published") | Q(published_at__isnull=False), name="policy_published_when"
            ),
        ]

    def __str__(self) -> str:
        return f"policy {self.number}"


class ShadowOutcome(TenantModel):
    """What a policy in shadow would have done with a turn, where it or the one in force did anything."""

    policy_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+", db_index=False)
    outcome = models.CharField(max_length=15, choices=ActionTaken)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["turn", "policy_version"], name="shadow_outcome_once"),
        ]
        indexes = [
            models.Index(fields=["tenant", "policy_version", "outcome", "id"], name="shadow_outcome_list"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} for turn {self.turn_id}"


class RuleKind(models.TextChoices):
    TOOL_FRAGMENT = "tool_fragment", "Tool that grounds a verb"
    IGNORED_KEY = "ignored_key", "Key to ignore"
    IGNORED_VALUE = "ignored_value", "Values to ignore"


class SuggestionState(models.TextChoices):
    OPEN = "open", "Open"
    ACCEPTED = "accepted", "Accepted"
    DISMISSED = "dismissed", "Dismissed"
    WITHDRAWN = "withdrawn", "No longer supported"


class GroundingSuggestion(TenantModel):
    """A rule that would have grounded what reviewers call false alarms.

    ``agree`` and ``against`` count the labels it rests on; ``silences`` the findings it would have dropped in
    the history looked at, ``silences_true`` those of them that reviewers call fabricated, ``looked_at`` all
    findings of that history. ``turns`` are ids of examples.
    """

    rule = models.CharField(max_length=13, choices=RuleKind)
    subject = models.CharField(max_length=32, default="", blank=True)
    value = models.CharField(max_length=200)
    agree = models.PositiveIntegerField()
    against = models.PositiveIntegerField()
    silences = models.PositiveIntegerField(default=0)
    silences_true = models.PositiveIntegerField(default=0)
    looked_at = models.PositiveIntegerField(default=0)
    turns = JsonText()
    state = models.CharField(max_length=9, choices=SuggestionState, default=SuggestionState.OPEN)
    found_at = models.DateTimeField(default=timezone.now)
    decided_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    accepted_into = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "rule", "subject", "value"], name="suggestion_once"),
            models.CheckConstraint(condition=Q(state__in=SuggestionState.values), name="suggestion_state"),
            models.CheckConstraint(condition=Q(rule__in=RuleKind.values), name="suggestion_rule"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.subject} {self.value}"
