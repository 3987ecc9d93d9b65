"""At least one row in every table of a tenant."""

from __future__ import annotations

from reviews.models import ApiKey, Tenant
from reviews.models.tenants import Role
from reviews.services import policies, review
from tests.factories import make_member, make_turn


def fill_every_table(tenant: Tenant) -> None:
    """A labelled finding, a decision and its undo, a note, two policy versions, a key, and what follows."""
    rita = make_member(tenant, Role.REVIEWER)
    turn = make_turn(tenant)
    for position in (0, 1):
        decided = review.label_finding(
            tenant=tenant,
            actor=rita,
            turn_id=turn.pk,
            position=position,
            label="fabricated",
            seen_version=position,
        )
    review.undo_decision(tenant=tenant, actor=rita, decision_id=decided.decision_id)
    review.add_note(tenant=tenant, actor=rita, turn_id=turn.pk, text="Look again.", seen_version=3)
    policies.publish_settings(tenant=tenant, author=rita, values={"fabrication_check_mode": "refuse"})
    ApiKey.objects.across_tenants().create(
        tenant=tenant, name="bot", prefix=f"k-{tenant.slug}", digest=b"\0" * 32, scopes="ingest"
    )
