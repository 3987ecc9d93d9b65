"""Decisions: what each reviewer did, in order, never changed afterwards."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.fields import JsonText
from reviews.models.findings import Finding
from reviews.models.scoping import TenantModel
from reviews.models.tenants import User
from reviews.models.turns import Label, Turn


class DecisionAction(models.TextChoices):
    LABEL = "label", "labelled a claim"
    DECIDE = "decide", "decided the turn"
    NOTE = "note", "left a note"
    CORRECT = "correct", "wrote a corrected answer"
    ASSIGN = "assign", "assigned"
    CRITIC = "critic", "judged the critic"
    UNDO = "undo", "undid"


class ReviewDecision(TenantModel):
    """One thing a reviewer did to a turn. Append-only: an undo is a decision of its own.

    ``before`` is what the decision changed, as it stood before, so that an undo can put it back.
    ``version`` is the turn's version after the decision; the reviewer saw ``version - 1``.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="decisions", db_index=False)
    finding = models.ForeignKey(
        Finding, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    actor = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    action = models.CharField(max_length=7, choices=DecisionAction)
    value = models.CharField(max_length=200, default="", blank=True)
    text = models.TextField(default="", blank=True)
    before = JsonText(null=True)
    version = models.PositiveIntegerField()
    spent_seconds = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    undoes = models.OneToOneField(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="undone_by"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["turn", "version"], name="decision_one_per_version"),
            models.CheckConstraint(
                condition=Q(action="undo", undoes__isnull=False)
                | (~Q(action="undo") & Q(undoes__isnull=True)),
                name="decision_undo_names_target",
            ),
            models.CheckConstraint(
                condition=Q(action__in=DecisionAction.values), name="decision_action_known"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "actor", "created_at"], name="decision_actor_time"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_id} {self.summary}"

    @property
    def summary(self) -> str:
        """What was done, to stand behind a name: "labelled claim 2 as false alarm"."""
        words = {
            DecisionAction.LABEL: self._labelled,
            DecisionAction.DECIDE: self._decided,
            DecisionAction.ASSIGN: self._assigned,
            DecisionAction.CRITIC: self._judged_critic,
            DecisionAction.UNDO: self._undid,
        }.get(DecisionAction(self.action))
        return words() if words else DecisionAction(self.action).label

    def _labelled(self) -> str:
        claim = f" {self.finding.position + 1}" if self.finding else ""
        return f"labelled claim{claim} as {Label(self.value).label.lower()}"

    def _decided(self) -> str:
        if self.value == Label.FALSE_ALARM and not (self.before or {}).get("findings"):
            # Where nothing was flagged there was no alarm.
            return "found nothing wrong with the turn"
        return f"decided the turn as {Label(self.value).label.lower()}"

    def _assigned(self) -> str:
        return f"assigned the turn to {self.value}" if self.value else "took the turn from its reviewer"

    def _judged_critic(self) -> str:
        agrees = self.value == (self.before or {}).get("critic")
        return f"{'agreed with' if agrees else 'overruled'} the critic: {self.value}"

    def _undid(self) -> str:
        return f"undid: {self.undoes.summary}" if self.undoes else DecisionAction.UNDO.label
