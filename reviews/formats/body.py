"""One HTTP body with one turn or many: the good rows as records, the bad ones as errors with their index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reviews.formats.errors import RecordError
from reviews.formats.limits import BODY_BYTES, BODY_ROWS
from reviews.formats.native import decode_turn
from reviews.formats.record import TurnRecord
from reviews.formats.split import split_array, split_lines
from reviews.formats.strict import looks_clean

__all__ = ["NDJSON_TYPES", "Row", "RowError", "decode_turns", "split_body"]

NDJSON_TYPES = frozenset(
    {
        "application/jsonl",
        "application/jsonlines",
        "application/ndjson",
        "application/x-jsonlines",
        "application/x-ndjson",
    }
)


@dataclass(frozen=True, slots=True)
class RowError:
    """A row that was refused: ``index`` from 0 among the rows of the body, ``line`` from 1 in NDJSON only,
    ``pointer`` inside the row, and a message."""

    index: int
    pointer: str
    message: str
    line: int | None = None


Row = TurnRecord | RowError


def decode_turns(raw: bytes, content_type: str) -> list[Row]:
    """Every row of the body in its order: item ``i`` is the record of row ``i`` or the error that refused it.

    The body is one turn object, a JSON list of them, or NDJSON (by ``content_type``, else by its looks).
    Raises ``RecordError`` when the body as a whole cannot be taken: over ``BODY_BYTES`` or ``BODY_ROWS``,
    empty, or a JSON list that is malformed. A body of one object never raises for what is in the object.
    """
    rows: list[Row] = []
    for index, (line, document) in enumerate(split_body(raw, content_type)):
        try:
            rows.append(decode_turn(document))
        except RecordError as error:
            rows.append(RowError(index, error.pointer, error.message, line))
    return rows


def split_body(raw: bytes, content_type: str) -> list[tuple[int | None, bytes]]:
    """The body's rows as raw JSON, each with its line number when the body is NDJSON; same errors."""
    if len(raw) > BODY_BYTES:
        raise RecordError("", f"found {len(raw)} bytes, expected at most {BODY_BYTES} in one body")
    body = raw.strip(b" \t\r\n")
    if not body:
        raise RecordError("", "found an empty body, expected a turn, a list of turns or NDJSON")
    if _is_ndjson(body, content_type):
        return _limited(split_lines(raw))
    if body.startswith(b"["):
        # The untrimmed body, so that an offset in an error is the sender's own.
        return [(None, item) for item in split_array(raw, BODY_ROWS)]
    return [(None, body)]


def _limited(lines: Iterator[tuple[int, bytes]]) -> list[tuple[int | None, bytes]]:
    rows: list[tuple[int | None, bytes]] = []
    for line, document in lines:
        if len(rows) == BODY_ROWS:
            raise RecordError(
                "", f"found more than {BODY_ROWS} rows, expected at most {BODY_ROWS} in one body"
            )
        rows.append((line, document))
    return rows


def _is_ndjson(body: bytes, content_type: str) -> bool:
    if content_type.partition(";")[0].strip().lower() in NDJSON_TYPES:
        return True
    # Lines sent as plain JSON: the first line alone is an object, and something follows it. A pretty-printed
    # object or list never has a complete object on its first line.
    first, newline, _rest = body.partition(b"\n")
    if not newline or not first.startswith(b"{"):
        return False
    if looks_clean(first):
        return True
    # A malformed first row must not make one error of all the good rows after it.
    return _seems_closed(first) and not looks_clean(body)


def _seems_closed(line: bytes) -> bool:
    """A guess: brackets inside strings are counted too, so it only decides how errors are reported."""
    balanced = line.count(b"{") == line.count(b"}") and line.count(b"[") == line.count(b"]")
    return balanced and line.rstrip().endswith(b"}")
