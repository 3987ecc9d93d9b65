"""Clients of the API: each is a Django test client that sends a key."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from reviews.models import Tenant
from reviews.models.tenants import Scope
from reviews.services.keys import create_key


class ApiClient(Client):
    """Sends JSON with a key; ``secret`` "" sends none."""

    def __init__(self, secret: str = "") -> None:
        super().__init__(headers={"authorization": f"Bearer {secret}"} if secret else None)

    def send(self, path: str, body: Any, content_type: str = "application/json", **extra: Any) -> Any:
        raw = body if isinstance(body, bytes | str) else json.dumps(body)
        return self.post(path, raw, content_type=content_type, **extra)


@pytest.fixture
def client_for(db) -> Callable[..., ApiClient]:
    """Makes a client with a fresh key of a tenant; all scopes unless some are named."""

    def make(tenant: Tenant, *scopes: str) -> ApiClient:
        chosen = scopes or Scope.values
        return ApiClient(create_key(tenant=tenant, author=None, name="test", scopes=chosen).secret)

    return make


@pytest.fixture
def api(tenant, client_for) -> ApiClient:
    return client_for(tenant)


@pytest.fixture
def other_api(other_tenant, client_for) -> ApiClient:
    return client_for(other_tenant)


#: On PostgreSQL each request confines its connection to the key's tenant and ends that: two statements.
CONFINING = 2 if connection.vendor == "postgresql" else 0
