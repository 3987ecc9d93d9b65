"""Memory assertions: what each found of a turn, and how many passed a day. Never what they looked at."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviews.models.fields import JsonText
from reviews.models.scoping import TenantModel
from reviews.models.turns import Turn


class AssertionResult(TenantModel):
    """The verdict of one assertion of a suite on a turn.

    ``evidence`` counts what was looked at, ``digests`` name what leaked. ``agent`` and ``occurred_at`` are
    the turn's, so that lists of failures need no other table.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="assertion_results", db_index=False)
    suite = models.CharField(max_length=60)
    position = models.PositiveSmallIntegerField()
    assertion = models.CharField(max_length=70)
    passed = models.BooleanField()
    reason = models.CharField(max_length=500)
    evidence = JsonText(null=True)
    digests = JsonText(null=True)
    agent = models.CharField(max_length=200, default="", blank=True)
    occurred_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["turn", "suite", "position"], name="assertion_once"),
        ]
        indexes = [
            # Failures by time, for every combination of filters that the page offers.
            *(
                models.Index(
                    fields=["tenant", *filters, "occurred_at", "turn"],
                    name=name,
                    condition=Q(passed=False),
                )
                for name, filters in (
                    ("assertion_failed", ()),
                    ("assertion_failed_suite", ("suite",)),
                    ("assertion_failed_one", ("suite", "assertion")),
                    ("assertion_failed_agent", ("agent",)),
                    ("assertion_failed_agent_suite", ("agent", "suite")),
                    ("assertion_failed_agent_one", ("agent", "suite", "assertion")),
                )
            ),
        ]

    def __str__(self) -> str:
        return f"{self.suite}: {self.assertion} {'passed' if self.passed else 'failed'}"


class AssertionCount(TenantModel):
    """How often an assertion passed or failed on the turns of an agent on a day (UTC)."""

    day = models.DateField()
    suite = models.CharField(max_length=60)
    assertion = models.CharField(max_length=70)
    agent = models.CharField(max_length=200, default="", blank=True)
    passed = models.BooleanField()
    count = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "day", "suite", "assertion", "agent", "passed"], name="assertioncount_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.suite}: {self.assertion} on {self.day}: {self.count}"
