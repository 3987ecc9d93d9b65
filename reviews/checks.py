"""System checks: wrong combinations of settings, said at start instead of found at night."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.database)
def sqlite_is_fixed(**_: Any) -> list[CheckMessage]:
    """The SQLite in use must carry the fix for the WAL-reset race."""
    uses_sqlite = settings.DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
    if not uses_sqlite or settings.SQLITE_IS_FIXED:
        return []
    return [
        Warning(
            "This SQLite is older than 3.51.3 and can lose a committed write when its WAL is reset.",
            hint="Install the pysqlite3 package, or use PostgreSQL through DATABASE_URL.",
            id="reviews.W001",
        )
    ]
