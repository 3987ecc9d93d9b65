"""Members: all see them, owners change them; a first password is shown once; an owner always stays."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.models import AuditEvent, Membership, User
from reviews.models.tenants import Role
from tests.factories import make_member
from tests.views.counting import asked

pytestmark = pytest.mark.django_db

URL = "/t/acme/settings/members/"


@pytest.fixture
def olga(tenant, client):
    user = make_member(tenant, Role.OWNER, "olga")
    client.force_login(user)
    return user


def roles_of(tenant):
    return dict(Membership.objects.for_tenant(tenant).values_list("user__username", "role"))


def test_anonymous_goes_to_login(client, tenant):
    for response in (
        client.get(URL),
        client.post(URL),
        client.post(f"{URL}1/role"),
        client.post(f"{URL}1/remove"),
    ):
        assert response.status_code == 302
        assert response["Location"].startswith("/login/")


def test_a_foreign_tenant_is_404(client, olga, other_tenant):
    stranger = make_member(other_tenant, Role.REVIEWER, "stranger")
    base = "/t/globex/settings/members/"
    assert client.get(base).status_code == 404
    assert client.post(base, {"username": "olga", "role": "owner"}).status_code == 404
    assert client.post(f"{base}{stranger.pk}/remove").status_code == 404
    assert client.post(f"{base}{stranger.pk}/role", {"role": "viewer"}).status_code == 404
    # Neither through one's own tenant.
    assert client.post(f"{URL}{stranger.pk}/remove").status_code == 404
    assert client.post(f"{URL}{stranger.pk}/role", {"role": "viewer"}).status_code == 404
    assert roles_of(other_tenant) == {"stranger": "reviewer"}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.MANAGER])
def test_lower_roles_see_the_list_and_change_nothing(client, tenant, role):
    user = make_member(tenant, role, "somebody")
    client.force_login(user)
    html = client.get(URL).content.decode()
    assert "Somebody" in html
    assert "Add a person" not in html
    assert "Remove" not in html
    assert client.post(URL, {"username": "friend", "role": "owner"}).status_code == 403
    assert client.post(f"{URL}{user.pk}/role", {"role": "owner"}).status_code == 403
    assert client.post(f"{URL}{user.pk}/remove").status_code == 403
    assert roles_of(tenant) == {"somebody": role}


@pytest.mark.parametrize("action", ["role", "remove"])
def test_get_changes_nothing(client, olga, action):
    assert client.get(f"{URL}{olga.pk}/{action}").status_code == 405


def test_a_new_name_becomes_an_account_whose_password_is_shown_once(client, tenant, olga):
    response = client.post(URL, {"username": "nina", "role": "reviewer"})
    assert response.status_code == 201
    password = re.search(r'id="secret">([^<]+)<', response.content.decode())[1]
    assert len(password) == 16
    assert User.objects.get(username="nina").check_password(password)
    assert roles_of(tenant)["nina"] == "reviewer"
    assert response["Cache-Control"] == "no-store"
    assert password not in str(dict(client.session))
    assert password not in client.get(URL).content.decode()
    assert not any(password in event.data for event in AuditEvent.objects.for_tenant(tenant))
    client.logout()
    assert client.login(username="nina", password=password)


def test_an_existing_person_is_added_without_a_password(client, tenant, other_tenant, olga):
    rita = make_member(other_tenant, Role.REVIEWER, "rita")
    response = client.post(URL, {"username": "Rita", "role": "viewer"})
    assert response.status_code == 302
    assert roles_of(tenant)["rita"] == "viewer"
    rita.refresh_from_db()
    assert rita.check_password("rita")
    assert roles_of(other_tenant) == {"rita": "reviewer"}


def test_adding_a_member_again_is_a_conflict(client, tenant, olga):
    response = client.post(URL, {"username": "olga", "role": "viewer"})
    assert response.status_code == 409
    assert "is a member already" in response.content.decode()
    assert roles_of(tenant) == {"olga": "owner"}


@pytest.mark.parametrize(
    "fields",
    [
        {"username": "", "role": "viewer"},
        {"username": "two words", "role": "viewer"},
        {"username": "x" * 151, "role": "viewer"},
        {"username": "nul\x00", "role": "viewer"},
        {"username": "nina", "role": "king"},
        {"username": "nina"},
    ],
)
def test_what_cannot_be_used_is_422_and_makes_nobody(client, tenant, olga, fields):
    response = client.post(URL, fields)
    assert response.status_code == 422
    assert 'aria-invalid="true"' in response.content.decode()
    assert User.objects.count() == 1


def test_an_owner_changes_a_role(client, tenant, olga):
    rita = make_member(tenant, Role.REVIEWER, "rita")
    response = client.post(f"{URL}{rita.pk}/role", {"role": "manager"})
    assert response["Location"] == URL + "?done=role"
    assert roles_of(tenant)["rita"] == "manager"
    assert client.post(f"{URL}{rita.pk}/role", {"role": "king"}).status_code == 422


def test_an_owner_removes_a_member(client, tenant, olga):
    rita = make_member(tenant, Role.REVIEWER, "rita")
    response = client.post(f"{URL}{rita.pk}/remove")
    assert response["Location"] == URL + "?done=removed"
    assert roles_of(tenant) == {"olga": "owner"}
    assert User.objects.filter(username="rita").exists()
    client.force_login(rita)
    assert client.get(URL).status_code == 404


def test_the_last_owner_stays(client, tenant, olga):
    for response in (
        client.post(f"{URL}{olga.pk}/role", {"role": "viewer"}),
        client.post(f"{URL}{olga.pk}/remove"),
    ):
        assert response.status_code == 409
        assert "Olga is the only owner." in response.content.decode()
    assert roles_of(tenant) == {"olga": "owner"}


def test_an_owner_who_leaves_goes_home(client, tenant, olga):
    make_member(tenant, Role.OWNER, "otto")
    assert client.post(f"{URL}{olga.pk}/remove")["Location"] == "/"
    assert client.get("/").status_code == 200


def test_costs_the_same_with_many_members(client, tenant, olga):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(URL).status_code == 200
        return asked(captured)

    few = queries()
    for _ in range(15):
        make_member(tenant)
    assert queries() == few <= 4
