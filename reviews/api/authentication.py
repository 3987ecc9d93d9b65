"""Who is calling: an agent's process, by the secret of its key."""

from __future__ import annotations

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from reviews.models import ApiKey, Tenant
from reviews.services.keys import find_key


class ApiRequest(Request):
    """A request after authentication."""

    auth: ApiKey
    tenant: Tenant


class ApiKeyAuthentication(BaseAuthentication):
    """``Authorization: Bearer <secret>`` or ``X-API-Key: <secret>``.

    Sets ``request.auth`` to the key and ``request.tenant`` to its tenant. A key is nobody's account, so there
    is no ``request.user``. One query.
    """

    def authenticate(self, request: Request) -> tuple[None, ApiKey] | None:
        secret = _secret_of(request)
        if secret is None:
            return None
        key = find_key(secret)
        if key is None:
            # The same words for a wrong, a revoked and an expired key: a stranger learns nothing.
            raise AuthenticationFailed("This API key is not valid.")
        request.tenant = key.tenant  # type: ignore[attr-defined]
        return None, key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


def _secret_of(request: Request) -> str | None:
    header = request.headers.get("Authorization")
    if header is None:
        return request.headers.get("X-API-Key")
    scheme, _, secret = header.strip().partition(" ")
    if scheme.lower() != "bearer":
        raise AuthenticationFailed('Send the key as "Authorization: Bearer <key>" or as "X-API-Key: <key>".')
    return secret.strip()
