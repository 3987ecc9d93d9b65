"""Policy versions: a tenant's settings at a moment, never changed afterwards."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.fields import JsonText
from reviews.models.scoping import TenantModel
from reviews.models.tenants import User


class PolicyState(models.TextChoices):
    DRAFT = "draft", "Draft"
    SHADOW = "shadow", "Shadow"
    PUBLISHED = "published", "Published"
    SUPERSEDED = "superseded", "Superseded"


class PolicyVersion(TenantModel):
    """One version of a tenant's settings. Only ``state`` moves; the settings themselves stay as published."""

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
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "number"], name="policy_number_once"),
            models.UniqueConstraint(
                fields=["tenant"], condition=Q(state="published"), name="policy_one_published"
            ),
            models.CheckConstraint(condition=Q(state__in=PolicyState.values), name="policy_state_known"),
        ]

    def __str__(self) -> str:
        return f"policy {self.number}"
