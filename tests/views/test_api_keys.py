"""API keys: managers only; the secret is on the page that answers its making and nowhere else."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.models import ApiKey, AuditEvent
from reviews.models.tenants import Role
from reviews.services.keys import create_key, find_key
from tests.factories import make_member
from tests.views.counting import asked

pytestmark = pytest.mark.django_db

URL = "/t/acme/settings/api-keys/"


@pytest.fixture
def max_(tenant, client):
    user = make_member(tenant, Role.MANAGER, "max")
    client.force_login(user)
    return user


def make_key(tenant, name="crawler"):
    return create_key(tenant=tenant, author=None, name=name, scopes=["ingest"])


def test_anonymous_goes_to_login(client, tenant):
    for response in (client.get(URL), client.post(URL), client.post(f"{URL}1/revoke")):
        assert response.status_code == 302
        assert response["Location"].startswith("/login/")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_lower_roles_may_not_even_look(client, tenant, role):
    key = make_key(tenant)
    client.force_login(make_member(tenant, role))
    assert client.get(URL).status_code == 403
    assert client.post(URL, {"name": "x", "scopes": "ingest"}).status_code == 403
    assert client.post(f"{URL}{key.key.pk}/revoke").status_code == 403
    assert find_key(key.secret) is not None


def test_a_foreign_tenant_and_its_keys_are_404(client, max_, other_tenant):
    key = make_key(other_tenant)
    assert client.get("/t/globex/settings/api-keys/").status_code == 404
    assert client.post(f"/t/globex/settings/api-keys/{key.key.pk}/revoke").status_code == 404
    assert client.post(f"{URL}{key.key.pk}/revoke").status_code == 404
    assert find_key(key.secret) is not None
    assert "crawler" not in client.get(URL).content.decode()


def test_the_secret_is_shown_once(client, tenant, max_):
    response = client.post(URL, {"name": "Invoices", "scopes": ["ingest", "read"]})
    assert response.status_code == 201
    secret = re.search(r'id="secret">(sr_[^<]+)<', response.content.decode())[1]
    key = find_key(secret)
    assert (key.name, key.scope_list, key.expires_at) == ("Invoices", ["ingest", "read"], None)
    assert (key.tenant, key.created_by) == (tenant, max_)
    assert response["Cache-Control"] == "no-store"
    assert secret not in str(dict(client.session))
    listed = client.get(URL).content.decode()
    assert secret not in listed
    assert f"sr_{key.prefix}…" in listed
    assert not any(secret in event.data for event in AuditEvent.objects.for_tenant(tenant))


def test_a_key_lives_until_the_end_of_its_last_day(client, tenant, max_):
    day = timezone.localdate() + timedelta(days=30)
    client.post(URL, {"name": "Short", "scopes": ["ingest"], "expires_on": day.isoformat()})
    expires = timezone.localtime(ApiKey.objects.for_tenant(tenant).get().expires_at)
    assert (expires.date(), expires.hour, expires.minute) == (day, 23, 59)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "", "scopes": ["ingest"]}, "name"),
        ({"name": "x" * 101, "scopes": ["ingest"]}, "name"),
        ({"name": "a\x00b", "scopes": ["ingest"]}, "name"),
        ({"name": "x"}, "scopes"),
        ({"name": "x", "scopes": ["admin"]}, "scopes"),
        ({"name": "x", "scopes": ["ingest"], "expires_on": "soon"}, "expires_on"),
        ({"name": "x", "scopes": ["ingest"], "expires_on": "2020-01-01"}, "expires_on"),
        ({"name": "x", "scopes": ["ingest"], "expires_on": "9999-12-31"}, "expires_on"),
    ],
)
def test_what_cannot_be_used_is_said_beside_its_field(client, tenant, max_, fields, field):
    response = client.post(URL, fields)
    assert response.status_code == 422
    assert f'id="id_{field}-error"' in response.content.decode()
    assert not ApiKey.objects.for_tenant(tenant).exists()


def test_a_refused_form_keeps_what_was_typed(client, max_):
    html = client.post(URL, {"name": "", "scopes": ["skills"], "expires_on": "2020-01-01"}).content.decode()
    assert 'value="skills" checked' in html
    assert 'value="ingest" checked' not in html
    assert 'value="2020-01-01"' in html


def test_revoking_refuses_the_key_at_once(client, tenant, max_):
    key = make_key(tenant)
    response = client.post(f"{URL}{key.key.pk}/revoke")
    assert response["Location"] == URL + "?done=revoked"
    assert find_key(key.secret) is None
    html = client.get(response["Location"]).content.decode()
    assert "Revoked. The key is refused from now on." in html
    assert "/revoke" not in html
    # Again changes nothing.
    revoked_at = ApiKey.objects.for_tenant(tenant).get().revoked_at
    client.post(f"{URL}{key.key.pk}/revoke")
    assert ApiKey.objects.for_tenant(tenant).get().revoked_at == revoked_at


def test_revoking_needs_a_post(client, tenant, max_):
    assert client.get(f"{URL}{make_key(tenant).key.pk}/revoke").status_code == 405


def test_states_are_said_in_words(client, tenant, max_):
    old = make_key(tenant, "old")
    ApiKey.objects.for_tenant(tenant).filter(pk=old.key.pk).update(
        expires_at=timezone.now() - timedelta(days=1)
    )
    assert ">expired<" in client.get(URL).content.decode()


def test_costs_the_same_with_many_keys(client, tenant, max_):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(URL).status_code == 200
        return asked(captured)

    make_key(tenant)
    few = queries()
    for _ in range(15):
        make_key(tenant)
    assert queries() == few <= 4
