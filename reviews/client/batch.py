"""One batch of turns as a request, and what the server said of each."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from reviews.client.transport import Answer

__all__ = ["RowAnswer", "Trouble", "body_of", "read_answer"]

_STATUSES: Final = frozenset({"accepted", "duplicate", "conflict", "invalid"})


class RowAnswer(NamedTuple):
    status: str
    external_id: str = ""
    pointer: str = ""
    message: str = ""


class Trouble(NamedTuple):
    """No turn was judged. ``split`` says that fewer at once may go; else the same may go later."""

    reason: str
    wait: float | None = None
    split: bool = False


def body_of(lines: Sequence[bytes], *, gzip_above: int) -> tuple[bytes, dict[str, str]]:
    """NDJSON with its headers, compressed when it has more bytes than ``gzip_above``."""
    body = b"\n".join(lines)
    headers = {"Content-Type": "application/x-ndjson"}
    if len(body) > gzip_above:
        body = gzip.compress(body, 1, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return body, headers


def read_answer(answer: Answer, rows: int) -> list[RowAnswer] | Trouble:
    """What became of each of the ``rows``, in their order; or why nothing is known of any."""
    if answer.status == 200:
        found = _rows(answer.json(), rows)
        return Trouble("the answer is none of the server's (status 200)") if found is None else found
    said = answer.json()
    if answer.status == 413 or (
        answer.status == 400 and isinstance(said, dict) and said.get("code") == "invalid"
    ):
        message = said.get("message") if isinstance(said, dict) else None
        return Trouble(str(message or "the body is too large"), split=True)
    return Trouble(_words(answer.status), answer.retry_after)


def _rows(said: Any, rows: int) -> list[RowAnswer] | None:
    results = said.get("results") if isinstance(said, dict) else None
    if not isinstance(results, list) or len(results) != rows:
        return None
    found = [_row(result, index) for index, result in enumerate(results)]
    return [row for row in found if row is not None] if None not in found else None


def _row(result: Any, index: int) -> RowAnswer | None:
    if (
        not isinstance(result, Mapping)
        or result.get("index") != index
        or result.get("status") not in _STATUSES
    ):
        return None
    texts = (str(result.get(name) or "") for name in ("status", "external_id", "pointer", "message"))
    return RowAnswer(*texts)


def _words(status: int) -> str:
    if status == 401:
        return "the key is not accepted (status 401)"
    if status == 403:
        return "the key lacks the scope (status 403)"
    if 300 <= status < 400:
        return f"the server is somewhere else (status {status}); is the url right?"
    if status in (404, 405):
        return f"no dashboard is there (status {status}); is the url right?"
    return f"the server answered with status {status}"
