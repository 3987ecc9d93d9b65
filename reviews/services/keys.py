"""Keys of agents' processes: making, revoking and finding them. The secret itself is never stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.utils import timezone

from reviews.models import ApiKey, Tenant, User
from reviews.models.tenants import Scope
from reviews.services import audit
from reviews.services.errors import InvalidError, NotFoundError

NAME_LENGTH = 100
PREFIX_LENGTH = 8
#: 32 random bytes, as URL-safe base64 without padding: 43 characters.
SECRET_BYTES = 32
#: How often a prefix that is taken already is drawn anew (36^8 of them, so once is rare).
PREFIX_TRIES = 5

_PREFIX_ALPHABET = string.ascii_lowercase + string.digits
_SHAPE = re.compile(r"sr_([a-z0-9]{8})_[A-Za-z0-9_-]{43}")
_NO_DIGEST = bytes(32)


class CreatedKey(NamedTuple):
    """A new key and its secret, which is shown this once and cannot be read again."""

    key: ApiKey
    secret: str


def create_key(
    *,
    tenant: Tenant,
    author: User | None,
    name: str,
    scopes: Iterable[str],
    expires_at: datetime | None = None,
) -> CreatedKey:
    """Make a key with the given scopes; without ``expires_at`` it lives until it is revoked.

    Raises:
        InvalidError: with ``details['fields']`` naming each wrong value.
    """
    name = name.strip()
    wanted = set(scopes)
    if problems := _problems(name, wanted, expires_at):
        raise InvalidError("This key cannot be made.", fields=problems)
    # In the order in which the scopes are declared, so that equal sets read equal.
    chosen = [scope.value for scope in Scope if scope.value in wanted]
    for attempt in range(PREFIX_TRIES):
        prefix = "".join(secrets.choice(_PREFIX_ALPHABET) for _ in range(PREFIX_LENGTH))
        secret = f"sr_{prefix}_{secrets.token_urlsafe(SECRET_BYTES)}"
        key = ApiKey(
            tenant=tenant,
            name=name,
            prefix=prefix,
            digest=digest_of(secret),
            scopes=" ".join(chosen),
            created_by=author,
            expires_at=expires_at,
        )
        try:
            with transaction.atomic():
                key.save(force_insert=True)
                audit.record_event(
                    tenant=tenant,
                    actor=author,
                    action="key.created",
                    object_type="key",
                    object_id=key.pk,
                    data={
                        "name": name,
                        "prefix": prefix,
                        "scopes": chosen,
                        "expires_at": expires_at.isoformat() if expires_at else None,
                    },
                )
        except IntegrityError:
            if attempt == PREFIX_TRIES - 1:
                raise
        else:
            return CreatedKey(key, secret)
    raise AssertionError("unreachable")


def revoke_key(*, tenant: Tenant, author: User | None, key_id: int) -> ApiKey:
    """Revoke a key at once. Revoking it again changes nothing and is not recorded a second time.

    Raises:
        NotFoundError: the tenant has no such key.
    """
    keys = ApiKey.objects.for_tenant(tenant)
    with transaction.atomic():
        won = keys.filter(pk=key_id, revoked_at=None).update(revoked_at=timezone.now())
        key = keys.filter(pk=key_id).first()
        if key is None:
            raise NotFoundError("There is no such key.")
        if won:
            audit.record_event(
                tenant=tenant,
                actor=author,
                action="key.revoked",
                object_type="key",
                object_id=key.pk,
                data={"name": key.name, "prefix": key.prefix},
            )
    return key


def find_key(secret: str) -> ApiKey | None:
    """The usable key with this secret, its tenant loaded too; None for any other text. One query.

    The digest is compared in constant time, and also when no key has the prefix.
    """
    shape = _SHAPE.fullmatch(secret)
    if shape is None:
        return None
    key = ApiKey.objects.across_tenants().select_related("tenant").filter(prefix=shape.group(1)).first()
    stored = bytes(key.digest) if key is not None else _NO_DIGEST
    same = hmac.compare_digest(stored, digest_of(secret))
    return key if key is not None and same and key.usable else None


def digest_of(secret: str) -> bytes:
    """What is stored of a secret. It has 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(secret.encode()).digest()


def _problems(name: str, scopes: set[str], expires_at: datetime | None) -> dict[str, str]:
    problems = {}
    if not name or len(name) > NAME_LENGTH or "\0" in name:
        problems["name"] = f"A key needs a name of 1 to {NAME_LENGTH} characters."
    if unknown := sorted(scopes - set(Scope.values)):
        problems["scopes"] = f"There is no scope {unknown[0]!r}; choose from {', '.join(Scope.values)}."
    elif not scopes:
        problems["scopes"] = "A key needs at least one scope."
    if expires_at is not None and timezone.is_naive(expires_at):
        problems["expires_at"] = "The time of expiry needs a time zone."
    elif expires_at is not None and expires_at <= timezone.now():
        problems["expires_at"] = "The time of expiry is over already."
    return problems
