"""Writing many rows at once, several times faster than through model instances.

One prepared statement is run over all rows, twenty at a time. (COPY would be faster still on PostgreSQL, but
is not allowed under row-level security.) Values are given in the form the column stores (``to_db_time`` for
times), in the order of the named columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from django.db import connection, models

#: Rows a statement on SQLite. Every statement sets up the lists of values in the CHECK constraints anew,
#: which takes as long as the insert itself; with twenty rows a statement it no longer shows.
ROWS_PER_STATEMENT = 20


@cache
def on_postgresql() -> bool:
    return connection.vendor == "postgresql"


@lru_cache(maxsize=64)  # all turns of a batch are received at the same moment
def to_db_time(moment: datetime | None) -> Any:
    """The stored form of an aware time: SQLite keeps UTC text as Django writes it."""
    if moment is None or on_postgresql():
        return moment
    return str(moment.astimezone(UTC).replace(tzinfo=None))


def reserve_ids(model: type[models.Model], count: int) -> range | list[int]:
    """Primary keys for ``count`` new rows, so that children can be written without asking for them.

    Must be called inside the transaction that inserts: on SQLite its write lock is what makes them ours.
    """
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if on_postgresql():
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [table, count]
            )
            return [row[0] for row in cursor.fetchall()]
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        row = cursor.fetchone()
    first = (row[0] if row else 0) + 1
    return range(first, first + count)


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert ``rows``; columns are database column names. Raises IntegrityError as any insert does."""
    table = model._meta.db_table
    names = ", ".join(f'"{name}"' for name in columns)
    mark = "%s" if on_postgresql() else "?"
    # The driver's own cursor, since Django's would rewrite the placeholders of every row on SQLite; so the
    # driver's errors are turned into Django's here.
    with connection.wrap_database_errors, connection.cursor() as cursor:
        driver = cursor.cursor if on_postgresql() else cursor.connection
        insert = f'INSERT INTO "{table}" ({names}) VALUES '  # noqa: S608  (our own names)
        marks = f"({', '.join([mark] * len(columns))})"
        whole = len(rows) - len(rows) % ROWS_PER_STATEMENT
        driver.executemany(
            insert + ", ".join([marks] * ROWS_PER_STATEMENT),
            (
                tuple(chain.from_iterable(rows[start : start + ROWS_PER_STATEMENT]))
                for start in range(0, whole, ROWS_PER_STATEMENT)
            ),
        )
        driver.executemany(insert + marks, rows[whole:])


def update_rows(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]], key: str = "id"
) -> None:
    """Set ``columns`` of many rows; each of ``rows`` holds their values and, last, the row's key."""
    assignments = ", ".join(f'"{name}" = %s' for name in columns)
    with connection.cursor() as cursor:
        cursor.executemany(
            f'UPDATE "{model._meta.db_table}" SET {assignments} WHERE "{key}" = %s',  # noqa: S608
            rows,
        )


def upsert_counts(model: type[models.Model], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Add to a table of counts: rows of (tenant_id, *columns, amount), unique together but for the amount.

    Sorted here, so that writers never deadlock.
    """
    table = model._meta.db_table
    names = ", ".join(["tenant_id", *columns])
    marks = ", ".join(["%s"] * (len(columns) + 2))
    with connection.cursor() as cursor:
        cursor.executemany(
            f'INSERT INTO "{table}" ({names}, count) VALUES ({marks}) '  # noqa: S608  (our own names)
            f'ON CONFLICT ({names}) DO UPDATE SET count = "{table}".count + excluded.count',
            sorted(rows),
        )
