"""Counting what a page asks the database."""

from __future__ import annotations

from django.test.utils import CaptureQueriesContext


def asked(queries: CaptureQueriesContext) -> int:
    """Queries that read or write rows; putting up the second wall on PostgreSQL (set_config) is none."""
    return sum("set_config" not in query["sql"] for query in queries.captured_queries)
