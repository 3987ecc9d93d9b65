from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from reviews.models import ApiKey
from reviews.services.keys import create_key, revoke_key

from .conftest import ApiClient

POLICY = "/api/v1/policy"


def _refused(response, message: str) -> None:
    assert response.status_code == 401
    assert response.json() == {"code": "not_authenticated", "message": message}
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="api"'


def test_no_key_is_401(db):
    _refused(ApiClient().get(POLICY), "Authentication credentials were not provided.")


def test_a_bearer_key_is_accepted(api):
    assert api.get(POLICY).status_code == 200


def test_the_scheme_is_read_in_any_case(tenant):
    secret = create_key(tenant=tenant, author=None, name="k", scopes=["policy"]).secret
    assert ApiClient().get(POLICY, headers={"authorization": f"bearer  {secret} "}).status_code == 200


def test_the_key_header_is_accepted(tenant):
    secret = create_key(tenant=tenant, author=None, name="k", scopes=["policy"]).secret
    assert ApiClient().get(POLICY, headers={"x-api-key": secret}).status_code == 200


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "x",
        "sr_abcdefgh_" + "a" * 43,
        "sr_abcdefgh_" + "a" * 44,
        "sr_ABCDEFGH_" + "a" * 43,
        "sr_abcdefgh_" + "é" * 43,
        "\x00" * 55,
        "a" * 20_000,
    ],
)
def test_a_wrong_key_is_401(db, secret):
    _refused(ApiClient().get(POLICY, headers={"x-api-key": secret}), "This API key is not valid.")


def test_the_right_prefix_with_a_wrong_secret_is_401(tenant):
    secret = create_key(tenant=tenant, author=None, name="k", scopes=["policy"]).secret
    wrong = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    _refused(ApiClient(wrong).get(POLICY), "This API key is not valid.")


def test_another_scheme_is_401(db):
    response = ApiClient().get(POLICY, headers={"authorization": "Basic YTpi"})
    assert response.status_code == 401
    assert "Bearer" in response.json()["message"]


def test_a_revoked_key_stops_at_once(tenant):
    key, secret = create_key(tenant=tenant, author=None, name="k", scopes=["policy"])
    client = ApiClient(secret)
    assert client.get(POLICY).status_code == 200
    revoke_key(tenant=tenant, author=None, key_id=key.pk)
    _refused(client.get(POLICY), "This API key is not valid.")


def test_an_expired_key_is_401(tenant):
    key, secret = create_key(tenant=tenant, author=None, name="k", scopes=["policy"])
    ApiKey.objects.for_tenant(tenant).filter(pk=key.pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    _refused(ApiClient(secret).get(POLICY), "This API key is not valid.")


def test_a_session_is_not_a_key(tenant):
    from tests.factories import make_member

    client = ApiClient()
    client.force_login(make_member(tenant))
    assert client.get(POLICY).status_code == 401
