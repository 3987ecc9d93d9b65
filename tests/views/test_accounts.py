"""Logging in and out, preferences, and what HTMX gets when the session is gone."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from reviews.models.tenants import Role
from tests.factories import make_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(tenant):
    return make_member(tenant, Role.REVIEWER, "rita")


def test_login_leads_to_where_the_person_wanted_to_go(client, rita):
    response = client.post("/login/", {"username": "rita", "password": "rita", "next": "/t/acme/queue/"})
    assert response.status_code == 302
    assert response.headers["Location"] == "/t/acme/queue/"


def test_login_never_leads_elsewhere(client, rita):
    form = {"username": "rita", "password": "rita", "next": "https://evil.example/"}
    assert client.post("/login/", form).headers["Location"] == "/"


def test_logout_ends_the_session(client, rita):
    client.force_login(rita)
    client.post("/logout/")
    assert client.get("/t/acme/queue/").status_code == 302


def test_htmx_without_a_session_goes_to_the_login_as_a_page(client, tenant):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/t/acme/queue/?kind=kv"}
    response = client.get("/t/acme/queue/", headers=headers)
    assert response.status_code == 200
    assert response.headers["HX-Redirect"] == "/login/?next=%2Ft%2Facme%2Fqueue%2F%3Fkind%3Dkv"


def test_the_filter_survives_a_login_in_between(client, tenant, rita):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/t/acme/queue/?state=all&kind=kv"}
    login = client.get("/t/acme/queue/", headers=headers).headers["HX-Redirect"]
    wanted = parse_qs(urlsplit(login).query)["next"][0]
    form = {"username": "rita", "password": "rita", "next": wanted}
    assert client.post("/login/", form).headers["Location"] == "/t/acme/queue/?state=all&kind=kv"


def test_home_leads_to_the_first_tenant(client, rita):
    client.force_login(rita)
    assert client.get("/").headers["Location"] == "/t/acme/"


def test_a_person_without_a_tenant_is_told_so(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("nobody"))
    assert "No tenant yet" in client.get("/").content.decode()


def test_preferences_are_kept(client, rita):
    client.force_login(rita)
    client.post("/account/", {"theme": "dark"})
    rita.refresh_from_db()
    assert (rita.theme, rita.shortcuts) == ("dark", False)
    assert 'data-theme="dark"' in client.get("/account/").content.decode()
    client.post("/account/", {"theme": "<x>", "shortcuts": "on"})
    rita.refresh_from_db()
    assert (rita.theme, rita.shortcuts) == ("dark", True)


def test_a_password_is_changed_with_the_old_one_only(client, rita):
    client.force_login(rita)
    new = {"new_password1": "an-entirely-new-one", "new_password2": "an-entirely-new-one"}
    assert client.post("/account/password/", {"old_password": "wrong", **new}).status_code == 422
    assert client.post("/account/password/", {"old_password": "rita", **new}).status_code == 302
    rita.refresh_from_db()
    assert rita.check_password("an-entirely-new-one")


def test_pages_are_never_stored_and_run_nothing_inline(client, rita):
    client.force_login(rita)
    response = client.get("/t/acme/queue/")
    assert response.headers["Cache-Control"] == "no-store"
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    html = response.content.decode()
    for inline in ("<style", " style=", "onclick=", "javascript:"):
        assert inline not in html
