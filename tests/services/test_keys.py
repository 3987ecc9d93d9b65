from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from reviews.models import ApiKey, AuditEvent
from reviews.services import keys
from reviews.services.errors import InvalidError, NotFoundError
from reviews.services.keys import create_key, find_key, revoke_key
from tests.factories import make_member


def _make(tenant, **fields):
    fields = {"author": None, "name": "bot", "scopes": ["ingest"], **fields}
    return create_key(tenant=tenant, **fields)


def test_only_the_digest_of_the_secret_is_kept(tenant):
    olga = make_member(tenant, username="olga")
    key, secret = _make(tenant, author=olga, scopes=["read", "ingest", "read"])
    assert re.fullmatch(r"sr_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", secret)
    stored = ApiKey.objects.for_tenant(tenant).get()
    assert secret[3:11] == stored.prefix
    assert bytes(stored.digest) == hashlib.sha256(secret.encode()).digest()
    assert stored.scope_list == ["ingest", "read"]
    assert (stored.pk, stored.name, stored.created_by) == (key.pk, "bot", olga)
    tail = secret[12:]
    assert not any(tail in str(value) for value in vars(stored).values())


def test_a_key_is_found_by_its_secret_with_one_query(tenant, django_assert_num_queries):
    key, secret = _make(tenant)
    with django_assert_num_queries(1):
        found = find_key(secret)
        assert found is not None
        assert (found.pk, found.tenant.slug) == (key.pk, "acme")


def test_text_that_is_no_secret_costs_no_query(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        for text in ("", "sr_", "sr_aaaaaaaa_short", "x" * 55, "sr_aaaaaaaa_" + "\n" * 43):
            assert find_key(text) is None
        assert find_key("sr_aaaaaaaa_" + "a" * 43 + "\n") is None


def test_secrets_do_not_repeat(tenant):
    assert len({_make(tenant).secret for _ in range(20)}) == 20


def test_a_wrong_secret_finds_nothing(tenant):
    _key, secret = _make(tenant)
    other = _make(tenant).secret
    assert find_key(secret[:12] + other[12:]) is None


def test_a_key_ends_when_it_expires(tenant):
    key, secret = _make(tenant, expires_at=timezone.now() + timedelta(hours=1))
    assert find_key(secret) is not None
    ApiKey.objects.for_tenant(tenant).filter(pk=key.pk).update(expires_at=timezone.now())
    assert find_key(secret) is None


def test_revoking_ends_a_key_at_once_and_once(tenant):
    key, secret = _make(tenant)
    olga = make_member(tenant, username="olga")
    revoked = revoke_key(tenant=tenant, author=olga, key_id=key.pk)
    assert find_key(secret) is None
    again = revoke_key(tenant=tenant, author=olga, key_id=key.pk)
    assert again.revoked_at == revoked.revoked_at
    assert AuditEvent.objects.for_tenant(tenant).filter(action="key.revoked").count() == 1


def test_a_foreign_key_cannot_be_revoked(tenant, other_tenant):
    key, secret = _make(tenant)
    with pytest.raises(NotFoundError):
        revoke_key(tenant=other_tenant, author=None, key_id=key.pk)
    assert find_key(secret) is not None


def test_the_audit_log_tells_who_made_and_revoked_what_but_no_secret(tenant):
    olga = make_member(tenant, username="olga")
    key, secret = _make(tenant, author=olga, scopes=["policy"])
    revoke_key(tenant=tenant, author=olga, key_id=key.pk)
    made, revoked = AuditEvent.objects.for_tenant(tenant).filter(object_type="key").order_by("sequence")
    assert (made.action, made.actor, made.object_id) == ("key.created", olga, str(key.pk))
    assert (revoked.action, revoked.actor_name) == ("key.revoked", "olga")
    assert key.prefix in made.data
    assert '"scopes":["policy"]' in made.data
    assert secret[12:] not in made.data + revoked.data


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\0"}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["ingest", "everything"]}, "scopes"),
        ({"expires_at": datetime(2020, 1, 1)}, "expires_at"),  # noqa: DTZ001  (the point)
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "expires_at"),
    ],
)
def test_wrong_values_are_named(tenant, fields, named):
    with pytest.raises(InvalidError) as refused:
        _make(tenant, **fields)
    assert list(refused.value.details["fields"]) == [named]
    assert not ApiKey.objects.for_tenant(tenant).exists()


def test_a_prefix_that_is_taken_is_drawn_anew(tenant, monkeypatch):
    taken = _make(tenant).key.prefix
    letters = iter([*taken, *"fresh123"])
    monkeypatch.setattr(keys.secrets, "choice", lambda _: next(letters))
    assert _make(tenant).key.prefix == "fresh123"
