"""The audit log: a hash chain per tenant, so that a changed or missing row shows."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from reviews.models.scoping import TenantModel
from reviews.models.tenants import User


class AuditHead(TenantModel):
    """The end of a tenant's chain. Its row lock puts writers in line, and it tells when the tail was cut."""

    sequence = models.PositiveBigIntegerField(default=0)
    digest = models.BinaryField(max_length=32, default=b"")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant"], name="audithead_once")]

    def __str__(self) -> str:
        return f"head {self.sequence}"


class AuditEvent(TenantModel):
    """Who did what, when. ``data`` is canonical JSON text and part of what the digest covers."""

    sequence = models.PositiveBigIntegerField()
    at = models.DateTimeField(default=timezone.now)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    actor_name = models.CharField(max_length=150, default="", blank=True)
    action = models.CharField(max_length=50)
    object_type = models.CharField(max_length=30, default="", blank=True)
    object_id = models.CharField(max_length=200, default="", blank=True)
    data = models.TextField(default="{}")
    digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "sequence"], name="audit_sequence_once")]
        indexes = [
            models.Index(fields=["tenant", "object_type", "object_id", "sequence"], name="audit_object"),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.action}"
