"""How the database means to find the rows of a service's queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection


def plans(explain: str, act: Callable[[], Any], *, tables: tuple[str, ...] = ("",)) -> list[str]:
    """The plan of each statement of ``act`` that names one of the tables, a step a line."""
    statements = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if any(table in sql for table in tables):
            statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        act()
    found = []
    with connection.cursor() as cursor:
        for sql, params in statements:
            cursor.execute(f"{explain} {sql}", params)
            found.append("\n".join(str(row[-1]) for row in cursor.fetchall()))
    return found
