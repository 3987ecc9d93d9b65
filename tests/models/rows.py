"""At least one row in every table of a tenant."""

from __future__ import annotations

from reviews.models import ApiKey, Calibration, GroundingSuggestion, Job, RejudgedTurn, Tenant
from reviews.models.tenants import Role
from reviews.services import publishing, review
from tests.factories import make_member, make_turn


def fill_every_table(tenant: Tenant) -> None:
    """A labelled finding, a decision and its undo, a note, three policy versions (in force, in shadow, gone),
    a calibration, a suggestion, a job with its results, a key, and what follows from them."""
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
    calibration = Calibration.objects.across_tenants().create(
        tenant=tenant, number=1, labels=2, content={"kinds": {}, "groups": []}
    )
    publishing.publish_settings(tenant=tenant, author=rita, values={"fabrication_check_mode": "refuse"})
    shadow = publishing.save_draft(tenant=tenant, author=rita, values={}, based_on=2)
    publishing.start_shadow(tenant=tenant, actor=rita, number=shadow.number)
    make_turn(tenant)
    GroundingSuggestion.objects.across_tenants().create(
        tenant=tenant, rule="ignored_key", value="service", agree=3, against=0, turns=[turn.pk]
    )
    job = Job.objects.across_tenants().create(tenant=tenant, kind="rejudge", parameters={"version": 2})
    RejudgedTurn.objects.across_tenants().create(
        tenant=tenant,
        job=job,
        turn=turn,
        before={"outcome": "observed"},
        after={"outcome": "none"},
        applied=True,
    )
    assert shadow.calibration_id == calibration.pk
    ApiKey.objects.across_tenants().create(
        tenant=tenant, name="bot", prefix=f"k-{tenant.slug}", digest=b"\0" * 32, scopes="ingest"
    )
