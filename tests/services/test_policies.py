"""One version of a tenant's settings is in force; publishing the next supersedes it."""

from __future__ import annotations

import json
from functools import partial

import pytest

from reviews.core.settings import TenantSettings
from reviews.models import AuditEvent, PolicyVersion, Tenant
from reviews.services.errors import InvalidError
from reviews.services.judge import Policy
from reviews.services.policies import current_policy
from reviews.services.publishing import publish_settings
from tests.factories import make_member, make_tenant


@pytest.fixture
def new(db):
    """A tenant that has not published anything. Made beside another, whose making empties the cache."""
    make_tenant(slug="another", fabrication_check_mode="off")
    return Tenant.objects.create(slug="new", name="New")


def publish(tenant, values=None, **more):
    return publish_settings(tenant=tenant, author=more.pop("author", None), values=values or {}, **more)


def versions(tenant):
    return list(PolicyVersion.objects.for_tenant(tenant).order_by("number").values_list("number", "state"))


def test_defaults_are_in_force_until_something_is_published(new):
    assert current_policy(tenant=new) == Policy(None, 0, TenantSettings())
    settings = current_policy(tenant=new.pk).settings
    assert (settings.fabrication_check_mode, settings.fabrication_refuse_min_confidence) == ("observe", 0.8)
    assert (settings.identifier_keys, dict(settings.tool_trigger_keywords)) == ((), {})


def test_published_settings_are_in_force(new):
    values = {
        "fabrication_check_mode": "refuse",
        "fabrication_refuse_min_confidence": 0.95,
        "identifier_keys": ["Parcel", "case_no"],
        "tool_trigger_keywords": {"deploy": ["ship", "roll out"]},
    }
    version = publish(new, values)
    policy = current_policy(tenant=new)
    assert (policy.id, policy.number) == (version.pk, 1)
    assert policy.settings == TenantSettings(
        "refuse",
        0.95,
        identifier_keys=("parcel", "case_no"),
        tool_trigger_keywords={"deploy": ("ship", "roll out")},
    )
    assert current_policy(tenant=new.pk) == policy


def test_versions_are_numbered_from_one_and_one_is_published(new, other_tenant):
    for _ in range(3):
        publish(new)
    assert versions(new) == [(1, "superseded"), (2, "superseded"), (3, "published")]
    assert versions(other_tenant) == [(1, "published")]
    assert current_policy(tenant=new).number == 3


def test_a_version_remembers_what_it_replaced_who_published_it_and_why(new):
    olga = make_member(new)
    first = publish(new)
    second = publish(new, author=olga, note="Fewer refusals.")
    assert (first.based_on, second.based_on) == (None, first)
    second.refresh_from_db()
    assert (second.author, second.note, second.state) == (olga, "Fewer refusals.", "published")
    assert second.published_at is not None


def test_what_was_published_stays_as_it_was(new):
    first = publish(new, {"fabrication_check_mode": "refuse"})
    publish(new, {"fabrication_check_mode": "off"})
    first.refresh_from_db()
    assert first.settings["fabrication_check_mode"] == "refuse"
    assert current_policy(tenant=new).settings.fabrication_check_mode == "off"


def test_settings_not_named_take_their_defaults_and_not_the_version_before(new):
    publish(new, {"fabrication_check_mode": "refuse", "identifier_keys": ["parcel"]})
    publish(new, {"fabrication_check_mode": "revise"})
    assert current_policy(tenant=new).settings == TenantSettings("revise")


def test_wrong_settings_are_all_named_and_nothing_is_published(new):
    publish(new)
    wrong = {
        "fabrication_check_mode": "loud",
        "fabrication_refuse_min_confidence": 2,
        "identifier_keys": ["ok", "not ok", 7],
        "tool_trigger_keywords": {"deploy": ["ship", ""]},
        "colour": "green",
    }
    with pytest.raises(InvalidError) as caught:
        publish(new, wrong)
    assert set(caught.value.details["fields"]) == {
        "fabrication_check_mode",
        "fabrication_refuse_min_confidence",
        "identifier_keys/1",
        "identifier_keys/2",
        "tool_trigger_keywords/deploy/1",
        "colour",
    }
    assert versions(new) == [(1, "published")]
    assert AuditEvent.objects.for_tenant(new).count() == 1


def test_every_publication_leaves_an_audit_event(new):
    olga = make_member(new, username="olga")
    publish(new, {"fabrication_check_mode": "refuse"}, author=olga, note="Start.")
    event = AuditEvent.objects.for_tenant(new).get()
    assert (event.action, event.object_type, event.object_id, event.actor_name) == (
        "policy.published",
        "policy",
        "1",
        "olga",
    )
    data = json.loads(event.data)
    assert data["note"] == "Start."
    assert data["settings"]["fabrication_check_mode"] == "refuse"


def test_the_policy_in_force_costs_one_query_once_it_is_known(new, django_assert_num_queries):
    publish(new)
    current_policy(tenant=new)
    with django_assert_num_queries(1):
        current_policy(tenant=new)


def test_each_tenant_has_its_own_policy(new, other_tenant):
    publish(new, {"fabrication_check_mode": "off"})
    assert current_policy(tenant=other_tenant).settings.fabrication_check_mode == "observe"


def test_managers_publishing_at_once_publish_one_after_the_other(in_threads, new):
    results = in_threads(*[partial(publish, new)] * 5)
    assert sorted(version.number for version in results) == [1, 2, 3, 4, 5]
    assert [state for _, state in versions(new)] == ["superseded"] * 4 + ["published"]
