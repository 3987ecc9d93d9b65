"""Findings: what the detector flagged in a draft, and what a reviewer said of it."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from reviews.models.fields import JsonText
from reviews.models.scoping import TenantModel
from reviews.models.tenants import User
from reviews.models.turns import Kind, Label, Severity, Turn


class Finding(TenantModel):
    """One flagged claim. Spans are character offsets in the stripped draft (see ``Turn.draft_offset``)."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="findings", db_index=False)
    position = models.PositiveIntegerField()
    identifier = models.TextField()
    kind = models.CharField(max_length=24, choices=Kind)
    severity = models.PositiveSmallIntegerField(choices=Severity)
    reason = models.TextField()
    key = models.CharField(max_length=32, null=True, blank=True)  # noqa: DJ001  (None and "" differ in the seed)
    pattern_kind = models.CharField(max_length=24)
    confidence = models.FloatField()
    calibrated_confidence = models.FloatField(null=True, blank=True)
    span_start = models.PositiveIntegerField()
    span_end = models.PositiveIntegerField()
    grounded_sources = JsonText(null=True)
    evidence = JsonText(
        null=True, help_text="By the evidence profile: what ran, what it was held against, what is missing."
    )
    label = models.CharField(max_length=11, choices=Label, default="", blank=True)
    labelled_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    labelled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["turn", "position"], name="finding_position_once"),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1), name="finding_confidence"
            ),
            models.CheckConstraint(
                condition=Q(calibrated_confidence__isnull=True)
                | Q(calibrated_confidence__gte=0, calibrated_confidence__lte=1),
                name="finding_calibrated",
            ),
            models.CheckConstraint(condition=Q(span_start__lte=F("span_end")), name="finding_span_ordered"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="finding_kind_known"),
            models.CheckConstraint(condition=Q(label__in=["", *Label.values]), name="finding_label_known"),
        ]
        indexes = [
            # Labels are few beside findings; calibration reads only these.
            models.Index(fields=["tenant", "kind", "label"], name="finding_labelled", condition=~Q(label="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.identifier[:40]}"
