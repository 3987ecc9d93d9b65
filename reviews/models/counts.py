"""Counts a day, kept as things happen, so that no page counts rows."""

from __future__ import annotations

from django.db import models

from reviews.models.scoping import TenantModel


class DailyCount(TenantModel):
    """How often something happened on a day (UTC).

    Names: ``turns``, ``flagged``, ``outcome:<action>``, ``kind:<kind>``, ``label:<kind>:<label>``,
    ``failed``. Turn counts stand on the day the turn occurred, labels on the day of the decision.
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
