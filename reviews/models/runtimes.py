"""The agent runtime of a tenant, and what is on its way there."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.fields import JsonText
from reviews.models.scoping import TenantModel
from reviews.models.skills import Skill
from reviews.models.tenants import User


class Runtime(TenantModel):
    """Where a tenant's agents run: the base of its HTTP surface and how to be let in.

    ``auth_sealed`` is the value of the Authorization header, encrypted (``reviews.services.sealing``).
    """

    base_url = models.URLField(max_length=500)
    runtime_tenant = models.CharField(max_length=200, help_text="Sent as X-Tenant-ID.")
    auth_sealed = models.BinaryField(default=b"", blank=True)
    is_active = models.BooleanField(default=True)
    changed_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    changed_at = models.DateTimeField(default=timezone.now)
    pulled_at = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant"], name="runtime_one_a_tenant"),
        ]

    def __str__(self) -> str:
        return self.base_url


class DeliveryAction(models.TextChoices):
    APPROVE = "approve", "Approve"
    REJECT = "reject", "Reject"
    PATCH = "patch", "Edit"


class DeliveryState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    DEAD = "dead", "Given up"
    DROPPED = "dropped", "No longer needed"


class Delivery(TenantModel):
    """One message to a runtime: written in the transaction of the decision it tells of, sent afterwards.

    Messages about one skill are sent in the order of their ids, each at least once; a later one waits for the
    earlier. ``dead`` ones have used up their attempts and are sent again when somebody asks for it.
    """

    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    action = models.CharField(max_length=7, choices=DeliveryAction)
    body = JsonText(null=True)
    state = models.CharField(max_length=9, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now)
    claim = models.CharField(max_length=32, default="", blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, default="", blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(action__in=DeliveryAction.values), name="delivery_action"),
            models.CheckConstraint(condition=Q(state__in=DeliveryState.values), name="delivery_state"),
        ]
        indexes = [
            models.Index(fields=["next_at", "id"], name="delivery_due", condition=Q(state="waiting")),
            models.Index(fields=["skill", "id"], name="delivery_skill"),
            models.Index(fields=["tenant", "state", "id"], name="delivery_state_list"),
        ]

    def __str__(self) -> str:
        return f"{self.action} of skill {self.skill_id}"
