"""A suggested grounding rule, as the learning job leaves it."""

from __future__ import annotations

from typing import Any

from reviews.models import GroundingSuggestion, Tenant
from reviews.models.policies import RuleKind


def make_suggestion(tenant: Tenant, **fields: Any) -> GroundingSuggestion:
    """Keyword arguments replace the fields of the usual one: tools with "get" ground "checked"."""
    usual = {
        "rule": RuleKind.TOOL_FRAGMENT,
        "subject": "checked",
        "value": "get",
        "agree": 30,
        "against": 1,
        "silences": 44,
        "silences_true": 1,
        "looked_at": 50_000,
        "turns": [1],
    }
    return GroundingSuggestion.objects.across_tenants().create(tenant=tenant, **{**usual, **fields})
