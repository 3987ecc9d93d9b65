"""Pages of turns, newest first, at a cost that does not grow with the number of turns.

Agent or review state choose the index that is walked; everything else is looked at row by row, over at most
``SCAN_LIMIT`` rows a page. A page that ends there may be short, even empty, and still leads on.

The statement is written by hand: it starts a page at ``(occurred_at, id)`` in the way each database finds in
an index, and takes rows as they are, without a model instance for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import connection

from reviews.api.cursors import Position
from reviews.models import Tenant, Turn
from reviews.models.bulk import on_postgresql, to_db_time
from reviews.models.turns import KIND_BITS, Severity

#: Rows looked at for one page; a few milliseconds' work on either database.
SCAN_LIMIT = 5_000

COLUMNS = (
    "id",
    "external_id",
    "source",
    "conversation_id",
    "agent",
    "model",
    "occurred_at",
    "received_at",
    "analysis_state",
    "outcome",
    "intent",
    "finding_count",
    "kinds",
    "max_severity",
    "max_confidence",
    "snippet",
    "tools_note",
    "review_state",
    "verdict",
    "version",
)
_ID, _OCCURRED_AT = COLUMNS.index("id"), COLUMNS.index("occurred_at")
_TIMES = (_OCCURRED_AT, COLUMNS.index("received_at"))
_KINDS, _SEVERITY = COLUMNS.index("kinds"), COLUMNS.index("max_severity")
_TABLE = Turn._meta.db_table
_ORDER = "ORDER BY occurred_at DESC, id DESC"
_KIND_LISTS = {
    bits: [kind for kind, bit in KIND_BITS.items() if bits & bit] for bits in range(1 << len(KIND_BITS))
}
_SEVERITY_NAMES = [Severity(value).name.lower() for value in Severity.values]


@dataclass(frozen=True, kw_only=True)
class TurnFilter:
    """What the caller asked for; None means any."""

    agent: str | None = None
    review_state: str | None = None
    kind: str | None = None
    outcome: str | None = None
    external_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Page(NamedTuple):
    """Turns as JSON objects, and where the next page starts; None when this was the last."""

    turns: list[dict[str, Any]]
    end: Position | None


class _Condition(NamedTuple):
    sql: str
    values: tuple[Any, ...]


def read_page(*, tenant: Tenant, wanted: TurnFilter, after: Position | None, limit: int) -> Page:
    """Up to ``limit`` turns that come after ``after`` in the order newest first. One query."""
    walked, checked = _conditions(tenant, wanted)
    if checked:
        sql, values = _bounded(walked, checked, after, limit)
    else:
        sql, values = _direct(walked, after, limit)
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows = cursor.fetchall()
    scanned_to: Position | None = None
    # The last candidate comes along as a row of its own, marked in the column after the others.
    if rows and rows[-1][-1]:
        last = rows.pop()
        scanned_to = Position(_time(last[_OCCURRED_AT]), last[_ID])
    if len(rows) > limit:
        rows.pop()
        end = rows[-1]
        return Page([_turn(row) for row in rows], Position(_time(end[_OCCURRED_AT]), end[_ID]))
    return Page([_turn(row) for row in rows], scanned_to)


def _conditions(tenant: Tenant, wanted: TurnFilter) -> tuple[list[_Condition], list[_Condition]]:
    """Conditions that an index answers together with the order, and those that are checked row by row."""
    walked = [_Condition("tenant_id = %s", (tenant.pk,))]
    checked: list[_Condition] = []
    if wanted.external_id is not None:
        # One row at most, whatever else is asked.
        walked.append(_Condition("external_id = %s", (wanted.external_id,)))
    if wanted.agent is not None:
        walked.append(_Condition("agent = %s", (wanted.agent,)))
    if wanted.review_state is not None:
        state = _Condition("review_state = %s", (wanted.review_state,))
        (walked if wanted.agent is None else checked).append(state)
    if wanted.outcome is not None:
        checked.append(_Condition("outcome = %s", (wanted.outcome,)))
    if wanted.kind is not None:
        # No index has kinds by time; as an arithmetic test it cannot lure a planner to one by priority.
        checked.append(_Condition("(kinds & %s) <> 0", (KIND_BITS[wanted.kind],)))
    if wanted.since is not None:
        walked.append(_Condition("occurred_at >= %s", (to_db_time(wanted.since),)))
    if wanted.until is not None:
        walked.append(_Condition("occurred_at < %s", (to_db_time(wanted.until),)))
    return walked, checked


def _direct(walked: Sequence[_Condition], after: Position | None, limit: int) -> tuple[str, list[Any]]:
    columns = ", ".join(COLUMNS)
    sql, values = _walk(columns, walked, after, limit + 1)
    return f"SELECT {columns}, 0 FROM ({sql}) AS page {_ORDER}", values  # noqa: S608


def _bounded(
    walked: Sequence[_Condition], checked: Sequence[_Condition], after: Position | None, limit: int
) -> tuple[str, list[Any]]:
    """As ``_direct``, and a last, marked row for the end of the candidates when there are ``SCAN_LIMIT``."""
    candidates, values = _walk("id, occurred_at, review_state, outcome, kinds", walked, after, SCAN_LIMIT)
    places, same_values = _walk("id, occurred_at", walked, after, SCAN_LIMIT)
    blank = ", ".join(name if name in ("id", "occurred_at") else f"NULL AS {name}" for name in COLUMNS)
    tests = " AND ".join(condition.sql for condition in checked)
    sql = f"""
        SELECT {", ".join(COLUMNS)}, 0 AS mark FROM {_TABLE} WHERE id IN (
            SELECT id FROM ({candidates}) AS candidate WHERE {tests} {_ORDER} LIMIT {limit + 1})
        UNION ALL
        SELECT {blank}, 1 AS mark FROM (
            SELECT id, occurred_at FROM ({places}) AS place {_ORDER} LIMIT 1 OFFSET {SCAN_LIMIT - 1}) AS last
        ORDER BY mark, occurred_at DESC, id DESC"""  # noqa: S608
    return sql, [*values, *_values(checked), *same_values]


def _walk(
    columns: str, walked: Sequence[_Condition], after: Position | None, limit: int
) -> tuple[str, list[Any]]:
    """The next ``limit`` rows in the order of the index, without what ``checked`` leaves out."""
    if after is None:
        return _slice(columns, walked, limit), _values(walked)
    at, turn_id = to_db_time(after.occurred_at), after.id
    if on_postgresql():
        walked = [*walked, _Condition("(occurred_at, id) < (%s, %s)", (at, turn_id))]
        return _slice(columns, walked, limit), _values(walked)
    # SQLite finds no row value in an index that ends in the primary key: turns of the very same time, of
    # which an import may bring any number, are a range of their own.
    same = [*walked, _Condition("occurred_at = %s AND id < %s", (at, turn_id))]
    earlier = [*walked, _Condition("occurred_at < %s", (at,))]
    sql = (
        f"SELECT * FROM ({_slice(columns, same, limit)}) UNION ALL "  # noqa: S608
        f"SELECT * FROM ({_slice(columns, earlier, limit)}) {_ORDER} LIMIT {limit}"
    )
    return sql, [*_values(same), *_values(earlier)]


def _slice(columns: str, conditions: Sequence[_Condition], limit: int) -> str:
    tests = " AND ".join(condition.sql for condition in conditions)
    return f"SELECT {columns} FROM {_TABLE} WHERE {tests} {_ORDER} LIMIT {limit}"  # noqa: S608


def _values(conditions: Sequence[_Condition]) -> list[Any]:
    return [value for condition in conditions for value in condition.values]


def _time(stored: Any) -> datetime:
    """A time as the database hands it out: SQLite keeps UTC, and in a compound select gives its text."""
    moment: datetime = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _turn(row: tuple[Any, ...]) -> dict[str, Any]:
    values = list(row)
    for position in _TIMES:
        values[position] = _time(values[position])
    values[_KINDS] = _KIND_LISTS[values[_KINDS]]
    values[_SEVERITY] = _SEVERITY_NAMES[values[_SEVERITY]]
    # One value more than names: the mark falls off.
    return dict(zip(COLUMNS, values, strict=False))
