"""The audit log: managers only, newest first, filtered, paged by sequence, and its end verified."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.models import AuditEvent, AuditHead
from reviews.models.tenants import Role
from reviews.services import audit_pages
from reviews.services.audit import record_event
from reviews.services.audit_pages import AuditFilter, audit_page, verify_tail
from tests.factories import make_member
from tests.views.counting import asked

pytestmark = pytest.mark.django_db

URL = "/t/acme/settings/audit/"


@pytest.fixture
def max_(tenant, client):
    user = make_member(tenant, Role.MANAGER, "max")
    client.force_login(user)
    return user


def record(tenant, count=1, action="key.created", object_type="key", object_id=1, **data):
    for _ in range(count):
        record_event(
            tenant=tenant, actor=None, action=action, object_type=object_type, object_id=object_id, data=data
        )


def numbers(response):
    return [row.sequence for row in response.context["rows"]]


def test_anonymous_goes_to_login(client, tenant):
    assert client.get(URL)["Location"].startswith("/login/")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_lower_roles_may_not_look(client, tenant, role):
    client.force_login(make_member(tenant, role))
    assert client.get(URL).status_code == 403


def test_a_foreign_tenant_is_404(client, max_, other_tenant):
    assert client.get("/t/globex/settings/audit/").status_code == 404


def test_post_is_not_allowed(client, max_):
    assert client.post(URL).status_code == 405


def test_newest_first_and_only_ours(client, tenant, other_tenant, max_):
    record(tenant, 2)
    record(other_tenant, 5, secret="elsewhere")
    response = client.get(URL)
    assert numbers(response) == [3, 2, 1]
    assert "elsewhere" not in response.content.decode()


def test_pages_lead_to_the_first_event(client, tenant, max_):
    record(tenant, 119)
    seen, address = [], ""
    while True:
        response = client.get(URL + address)
        seen += numbers(response)
        address = response.context["older"]
        if not address:
            break
    assert seen == list(range(120, 0, -1))


def test_filters_narrow_and_carry_over_to_older_pages(client, tenant, max_):
    for n in range(60):
        record(tenant, action="key.revoked", object_id=n)
        record(tenant, action="key.created", object_id=n)
    response = client.get(URL + "?action=key.revoked")
    assert len(numbers(response)) == 50
    assert response.context["older"].startswith("?action=key.revoked&before=")
    rest = client.get(URL + response.context["older"])
    assert len(numbers(rest)) == 10
    assert not rest.context["older"]
    assert len(numbers(client.get(URL + "?type=key&id=7"))) == 2
    assert len(numbers(client.get(URL + "?type=key&id=7&action=key.created"))) == 1
    assert len(numbers(client.get(URL + "?type=policy"))) == 1
    assert numbers(client.get(URL + "?id=nothing")) == []


def test_a_scan_ends_at_its_limit_and_can_go_on(tenant, monkeypatch):
    monkeypatch.setattr(audit_pages, "SCAN_LIMIT", 10)
    record(tenant, 25)
    page = audit_page(tenant=tenant, wanted=AuditFilter(action="policy.published"))
    assert (page.events, page.before, page.looked_at) == ([], 17, 10)
    page = audit_page(tenant=tenant, wanted=AuditFilter(action="policy.published"), before=7)
    assert [event.sequence for event in page.events] == [1]
    assert page.before is None


@pytest.mark.parametrize("before", ["x", "-1", "9" * 30, "١٢", ""])
def test_a_place_that_is_none_begins_at_the_newest(client, tenant, max_, before):
    record(tenant, 2)
    assert numbers(client.get(URL, {"before": before})) == [3, 2, 1]


def test_data_is_escaped_and_invisible_characters_show(client, tenant, max_):
    record(tenant, name="<script>x</script>\u202eevil", keys=["a"])
    html = client.get(URL).content.decode()
    assert "<script>x" not in html
    assert "⟨RLO⟩" in html


def test_an_intact_tail_is_verified(client, tenant, max_):
    record(tenant, 4)
    assert (
        "Verified: events 1 to 5 are as they were written." in client.get(URL + "?verify=1").content.decode()
    )
    assert "Verified" not in client.get(URL).content.decode()


def test_verifying_starts_from_the_event_before_the_tail(tenant):
    record(tenant, 9)
    check = verify_tail(tenant=tenant, count=4)
    assert (check.first, check.last, check.problems) == (7, 10, [])


def test_a_changed_event_is_named(client, tenant, max_):
    record(tenant, 4)
    AuditEvent.objects.for_tenant(tenant).filter(sequence=3).update(data='{"name":"other"}')
    html = client.get(URL + "?verify=1").content.decode()
    assert "Event 3 (key.created) is not as it was written." in html
    assert "notice bad" in html


def test_missing_events_and_a_cut_tail_show(tenant):
    record(tenant, 5)
    events = AuditEvent.objects.for_tenant(tenant)
    events.filter(sequence__in=[2, 3]).delete()
    assert verify_tail(tenant=tenant).problems == ["Events 2 to 3 are missing."]
    events.filter(sequence=6).delete()
    assert "The log ends at event 5, its head says 6." in verify_tail(tenant=tenant).problems
    events.all().delete()
    assert verify_tail(tenant=tenant).problems == ["The head says 6, but there are no events."]


def test_a_forged_last_event_does_not_fit_the_head(tenant):
    record(tenant, 2)
    AuditHead.objects.for_tenant(tenant).update(digest=b"0" * 32)
    assert verify_tail(tenant=tenant).problems == ["The head does not belong to the last event."]


def test_a_tenant_without_events_has_nothing_to_verify(client, tenant, max_):
    AuditEvent.objects.for_tenant(tenant).delete()
    AuditHead.objects.for_tenant(tenant).delete()
    html = client.get(URL + "?verify=1").content.decode()
    assert "There is nothing to verify yet." in html
    assert "Nothing has happened yet" in html


def test_costs_the_same_with_many_events(client, tenant, max_):
    def queries(address=URL):
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return asked(captured)

    record(tenant)
    few = queries(), queries(URL + "?action=key.created&verify=1")
    record(tenant, 60)
    assert (queries(), queries(URL + "?action=key.created&verify=1")) == few
    assert few == (4, 7)
