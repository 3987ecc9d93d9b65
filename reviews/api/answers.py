"""How intake answers: one object for one document, counts and a line for each for a list of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework.response import Response

from reviews.formats.body import RowError
from reviews.formats.errors import RecordError
from reviews.services.intake import Accepted, Status

CONFLICT = "Another turn was sent with this id before; nothing was changed."
_HTTP_STATUS = {Status.ACCEPTED: 201, Status.DUPLICATE: 200, Status.CONFLICT: 409}


def answer(rows: list[Accepted | RowError], *, as_list: bool, conflict: str = CONFLICT) -> Response:
    """The answer for ``rows``; errors of a single document are raised as ``RecordError``.

    ``as_list`` is False only when the body was one document, sent by itself.
    """
    if as_list or len(rows) != 1:
        return Response(_batch(rows))
    (row,) = rows
    if isinstance(row, RowError):
        raise RecordError(row.pointer, row.message)
    body = _stored(row)
    if row.status is Status.CONFLICT:
        body |= {"code": "conflict", "message": conflict}
    return Response(body, status=_HTTP_STATUS[row.status])


def any_accepted(rows: Iterable[Accepted | RowError]) -> bool:
    return any(isinstance(row, Accepted) and row.status is Status.ACCEPTED for row in rows)


def _stored(row: Accepted) -> dict[str, Any]:
    return {"status": row.status.value, "id": row.turn_id, "external_id": row.external_id}


def _batch(rows: list[Accepted | RowError]) -> dict[str, Any]:
    counts = dict.fromkeys(("accepted", "duplicates", "conflicts", "invalid"), 0)
    names = {Status.ACCEPTED: "accepted", Status.DUPLICATE: "duplicates", Status.CONFLICT: "conflicts"}
    results: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        if isinstance(row, RowError):
            counts["invalid"] += 1
            refused = {"index": index, "status": "invalid", "pointer": row.pointer, "message": row.message}
            if row.line is not None:
                refused["line"] = row.line
            results.append(refused)
        else:
            counts[names[row.status]] += 1
            results.append({"index": index, **_stored(row)})
    return {**counts, "results": results}


def merged(decoded: list[Any], stored: Iterable[Accepted]) -> list[Accepted | RowError]:
    """Errors of decoding and answers of storing, in the order of the body."""
    answers = iter(stored)
    return [row if isinstance(row, RowError) else next(answers) for row in decoded]
