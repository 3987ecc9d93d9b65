"""Counts a day, kept as things happen, so that no page counts rows."""

from __future__ import annotations

from django.db import models

from reviews.models.fields import JsonText
from reviews.models.scoping import TenantModel


class DailyCount(TenantModel):
    """How often something happened on a day (UTC).

    Names: ``turns``, ``flagged``, ``outcome:<action>``, ``kind:<kind>``, ``label:<kind>:<label>``,
    ``failed``, and for the audit sample ``audit:<rate in thousandths>:sampled`` and ``…:<verdict>``.
    ``gate:<reason>`` counts turns by what the critic's gate decided, ``critic:<standing>`` by how they stand
    with the critic, ``cause:<cause>`` why it could not read them, ``latency:<bucket>`` answered calls.
    ``shadow:<version>:<our outcome>:<its outcome>`` compares the policy in force with one in shadow.
    Turn counts stand on the day the turn occurred, labels on the day of the decision.
    """

    day = models.DateField()
    name = models.CharField(max_length=60)
    count = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "day", "name"], name="dailycount_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.day}: {self.count}"


class ConfidenceProfile(TenantModel):
    """A profile that occurs among a tenant's flagged turns (``reviews.core.profiles``). Never changed."""

    digest = models.BinaryField(max_length=16)
    content = JsonText()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "digest"], name="profile_once"),
        ]

    def __str__(self) -> str:
        return f"profile {self.pk}"


class ProfileCount(TenantModel):
    """How many flagged turns of a day (UTC) have a profile and, when decided, which verdict ("" when not)."""

    day = models.DateField()
    profile = models.ForeignKey(ConfidenceProfile, on_delete=models.PROTECT, related_name="+", db_index=False)
    verdict = models.CharField(max_length=11, default="", blank=True)
    count = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "day", "profile", "verdict"], name="profilecount_once"),
        ]

    def __str__(self) -> str:
        return f"profile {self.profile_id} on {self.day}: {self.count}"


class GateCount(TenantModel):
    """How many turns of a day (UTC) the critic's gate would read with this confidence, in thousandths.

    ``trivial`` are plain acknowledgments, which a selective gate spares; ``flagged`` ones have findings, for
    which mode ``revise`` asks. Of turns analysed by an earlier release neither is known: both are false.
    """

    day = models.DateField()
    confidence = models.PositiveSmallIntegerField()
    sensitive = models.BooleanField()
    trivial = models.BooleanField(default=False)
    flagged = models.BooleanField(default=False)
    count = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "day", "confidence", "sensitive", "trivial", "flagged"],
                name="gatecount_once",
            ),
        ]

    def __str__(self) -> str:
        return f"confidence {self.confidence} on {self.day}: {self.count}"
