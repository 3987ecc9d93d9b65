"""Error pages: in the product's clothes, without a word about any tenant."""

from __future__ import annotations

import pytest
from django.core.exceptions import SuspiciousOperation
from django.test import Client, RequestFactory

from reviews.models import User
from reviews.models.tenants import Role
from reviews.views import errors, help
from tests.factories import make_member, make_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def vera(tenant, client):
    user = make_member(tenant, Role.VIEWER, "vera")
    client.force_login(user)
    return user


def test_missing_foreign_and_unknown_are_the_same_page(client, vera, other_tenant):
    turn = make_turn(other_tenant)
    pages = [
        client.get(address)
        for address in (
            "/nowhere",
            "/t/nobody/",
            "/t/globex/",
            f"/t/globex/turns/{turn.pk}/",
            f"/t/acme/turns/{turn.pk}/",
            "/t/acme/turns/987654/",
            "/t/acme/nothing/",
        )
    ]
    assert {page.status_code for page in pages} == {404}
    assert len({page.content for page in pages}) == 1
    body = pages[0].content.decode()
    assert "There is nothing here" in body
    assert "Acme" not in body
    assert "Globex" not in body
    assert "csrf" not in body.lower().replace('"x-csrftoken": ""', "")


def test_an_unknown_address_is_404_for_anonymous_people_too(client):
    assert client.get("/nowhere").status_code == 404


def test_a_missing_role_is_named(client, vera):
    response = client.get("/t/acme/settings/audit/")
    body = response.content.decode()
    assert response.status_code == 403
    assert "This needs the role manager." in body
    assert "Acme" not in body


def test_a_form_without_its_token_is_refused_kindly(tenant):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_member(tenant, Role.OWNER))
    response = client.post("/t/acme/settings/members/", {"username": "nina", "role": "owner"})
    assert response.status_code == 403
    assert "This form was too old" in response.content.decode()
    assert not User.objects.filter(username="nina").exists()


def test_an_unreadable_request_is_400(client, vera, monkeypatch):
    def refuse(*_):
        raise SuspiciousOperation("secret detail")

    monkeypatch.setattr(help, "memberships_of", refuse)
    response = client.get("/help/")
    assert response.status_code == 400
    assert "That request could not be read" in response.content.decode()
    assert "secret detail" not in response.content.decode()


def test_a_host_that_is_not_ours_is_400(client, vera):
    response = client.get("/help/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert b"evil.example" not in response.content


def test_our_own_failure_says_nothing_of_its_cause(client, vera, monkeypatch):
    def fail(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(help, "memberships_of", fail)
    client.raise_request_exception = False
    response = client.get("/help/")
    assert response.status_code == 500
    assert "Something went wrong on our side" in response.content.decode()
    assert "secret detail" not in response.content.decode()


def test_the_page_for_our_own_failure_needs_no_database(django_assert_num_queries):
    class Nobody:
        path = "/"

        @property
        def user(self):
            raise AssertionError("asked for the person")

    with django_assert_num_queries(0):
        assert errors.failed(Nobody()).status_code == 500


def test_an_address_of_the_api_gets_json():
    request = RequestFactory().get("/api/v1/turns")
    response = errors.failed(request)
    assert response["Content-Type"] == "application/json"
    assert response.status_code == 500


def test_error_pages_keep_the_persons_appearance(client, vera):
    vera.theme = "dark"
    vera.save()
    assert 'data-theme="dark"' in client.get("/nowhere").content.decode()


@pytest.mark.parametrize("address", ["/nowhere", "/t/acme/settings/audit/"])
def test_error_pages_carry_the_security_headers(client, vera, address):
    response = client.get(address)
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response["Cache-Control"] == "no-store"
