"""The second wall between tenants: row-level security on PostgreSQL.

Every table of a tenant has a policy that shows a connection only the rows of the tenant in its setting
``reviews.tenant``. Jobs that serve all tenants run with ``*``; a request for one tenant is confined to it,
so that even a query that forgot its tenant finds nothing of another. Without the setting there are no rows at
all. SQLite has no such thing and relies on the first wall (``reviews.models.scoping``) alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection

from reviews.models.bulk import on_postgresql

EVERYTHING = "*"


@contextmanager
def confined(tenant_id: int) -> Iterator[None]:
    """Confine this connection to one tenant's rows for the duration of the block."""
    confine(str(tenant_id))
    try:
        yield
    finally:
        release()


def release() -> None:
    """End the confinement; a connection on which that fails is closed, so that no request inherits it."""
    try:
        confine(EVERYTHING)
    except DatabaseError:
        connection.close()


def confine(setting: str) -> None:
    """Set what the connection may see: a tenant's id, or ``EVERYTHING``. Nothing happens on SQLite."""
    if on_postgresql():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('reviews.tenant', %s, false)", [setting])
