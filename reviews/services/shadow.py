"""A draft in shadow: what it would do with each new turn, beside what the policy in force does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from reviews.core.estimates import Estimate, NotEnough, precision_of
from reviews.models import DailyCount, PolicyVersion, ShadowOutcome, Tenant
from reviews.models.bulk import insert_rows
from reviews.models.policies import PolicyState
from reviews.models.turns import ActionTaken, Label
from reviews.services.judge import Shadowed

#: Refusals of the version in shadow that are read for its precision, newest first.
READ_FOR_PRECISION = 5_000


@dataclass(frozen=True)
class ShadowReport:
    """How the version in shadow has done so far.

    Of ``turns`` judged by both, ``agree`` had the same outcome; ``extra`` only it would have refused,
    ``fewer`` only the policy in force did. ``precision``: of the turns it would have refused, as far as
    reviewers have decided them.
    """

    version: PolicyVersion
    turns: int
    agree: int
    extra: int
    fewer: int
    precision: Estimate | NotEnough


def shadow_report(*, tenant: Tenant) -> ShadowReport | None:
    """The version in shadow and how it compares; None without one. Three queries."""
    version = (
        PolicyVersion.objects.for_tenant(tenant)
        .filter(state=PolicyState.SHADOW)
        .select_related("author")
        .defer("settings", "evidence")
        .first()
    )
    if version is None:
        return None
    pairs: Counter[tuple[str, str]] = Counter()
    counted = DailyCount.objects.for_tenant(tenant).filter(name__startswith=f"shadow:{version.number}:")
    for name, count in counted.values_list("name", "count"):
        _, _, ours, theirs = name.split(":")
        pairs[ours, theirs] += count
    refused = ActionTaken.REFUSE_REPLACED.value
    verdicts = _verdicts(tenant, version)
    return ShadowReport(
        version=version,
        turns=sum(pairs.values()),
        agree=sum(count for (ours, theirs), count in pairs.items() if ours == theirs),
        extra=sum(count for (ours, theirs), count in pairs.items() if theirs == refused != ours),
        fewer=sum(count for (ours, theirs), count in pairs.items() if ours == refused != theirs),
        precision=precision_of(verdicts[Label.FABRICATED], verdicts[Label.FALSE_ALARM]),
    )


def _verdicts(tenant: Tenant, version: PolicyVersion) -> Counter[str]:
    """Reviewers' verdicts on the latest turns that the version would have refused."""
    latest = (
        ShadowOutcome.objects.for_tenant(tenant)
        .filter(policy_version=version, outcome=ActionTaken.REFUSE_REPLACED)
        .order_by("-id")
        .values("id")[:READ_FOR_PRECISION]
    )
    rows = ShadowOutcome.objects.for_tenant(tenant).filter(id__in=latest)
    return Counter(dict(rows.values_list("turn__verdict").annotate(count=Count("id"))))


def record_shadow(*, tenant_id: int, turns: Sequence[tuple[int, Shadowed]]) -> None:
    """Keep what a version in shadow says of turns where it or the one in force does anything at all."""
    rows = [
        (tenant_id, shadowed.version_id, turn_id, shadowed.theirs)
        for turn_id, shadowed in turns
        if shadowed.ours != "none" or shadowed.theirs != "none"
    ]
    if rows:
        insert_rows(ShadowOutcome, ("tenant_id", "policy_version_id", "turn_id", "outcome"), rows)
