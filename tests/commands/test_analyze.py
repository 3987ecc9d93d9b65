"""``manage.py analyze``: stored turns once more, by the detector of the policy in force."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from reviews.models import Turn
from reviews.services.publishing import publish_settings
from tests.factories import make_tenant, make_turn

DRAFT = "I've cancelled your order for you."


@pytest.fixture
def acme(db):
    return make_tenant()


def publish(tenant, profile):
    publish_settings(
        tenant=tenant, author=None, values={"audit_sample_rate": 0, "detection_profile": profile}
    )


def test_turns_are_judged_by_the_detector_in_force(acme, capsys):
    turn = make_turn(acme, DRAFT)
    assert turn.finding_count == 0
    publish(acme, "evidence")
    call_command("analyze", tenant="acme", profile="evidence", wait=True)
    assert "1 turns looked at: 1 changed, 1 applied, 0 left, 0 skipped, 0 broken" in capsys.readouterr().out
    turn.refresh_from_db()
    assert (turn.finding_count, turn.policy_version.number) == (1, 2)
    publish(acme, "reference")
    call_command("analyze", tenant="acme", wait=True, json=True)
    job = json.loads(capsys.readouterr().out)
    assert (job["state"], job["parameters"]["version"], job["result"]["changed"]) == ("done", 3, 1)
    assert Turn.objects.for_tenant(acme).get().finding_count == 0


def test_another_detector_than_that_in_force_has_to_be_published_first(acme):
    with pytest.raises(CommandError, match="Version 1, in force, judges by the reference profile"):
        call_command("analyze", tenant="acme", profile="evidence", wait=True)


def test_only_turns_since_a_day(acme, capsys):
    make_turn(acme, DRAFT)
    publish(acme, "evidence")
    call_command("analyze", tenant="acme", since="2999-01-01", wait=True)
    assert "0 turns looked at" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Must be a date"):
        call_command("analyze", tenant="acme", since="yesterday", wait=True)
