"""Recorded provider calls: the bodies that were sent and received, of any provider."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from reviews.formats.chat import Path, read_time
from reviews.formats.errors import RecordError, pointer
from reviews.formats.origin import LineOrigin
from reviews.formats.record import ToolInfo, TurnRecord
from reviews.formats.sse import stream_chunks
from reviews.formats.turns import Conversation, TurnCutter
from reviews.formats.typed import describe

__all__ = ["Exchange", "as_text", "error_text", "read_exchange"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One call: ``request`` stands at ``path`` in ``document``; ``response`` is whatever was recorded, None
    when nothing was or the provider answered with an error."""

    document: dict[str, Any]
    request: dict[str, Any]
    response: Any
    path: Path

    @property
    def reply(self) -> dict[str, Any]:
        """The response when it is an object, else an empty one."""
        return self.response if isinstance(self.response, dict) else {}

    def events(self) -> Iterator[dict[str, Any]]:
        """The events of a streamed reply; none when it was not streamed."""
        if isinstance(text := self.reply.get("string"), str):
            yield from (chunk for chunk in stream_chunks(text) if isinstance(chunk, dict))

    def items(self, key: str) -> list[Any]:
        """A list of the request; raises ``RecordError`` for anything else."""
        if not isinstance(items := self.request.get(key), list):
            raise self.error((key,), items, "a list")
        return items

    def error(self, path: Path, found: Any, expected: str) -> RecordError:
        return RecordError(pointer((*self.path, *path)), f"found {describe(found)}, expected {expected}")

    def turns(
        self,
        cutter: TurnCutter,
        origin: LineOrigin,
        *,
        tools: list[ToolInfo],
        model: str,
        occurred_at: datetime | None = None,
        keep_headless: bool,
    ) -> Iterator[tuple[int, TurnRecord]]:
        """The turns of what the cutter was given, named after the document."""
        document = self.document
        times = (read_time(document.get(key)) for key in ("timestamp", "created_at"))
        conversation = Conversation(
            id=origin.conversation_id(document.get("id")),
            tools=tools,
            agent=as_text(document.get("agent")),
            model=model or as_text(self.request.get("model")),
            occurred_at=next((when for when in times if when), occurred_at),
        )
        return cutter.records(conversation, keep_headless=keep_headless)


def read_exchange(document: Any, *, wire: str, key: str) -> Exchange:
    """An object with ``request`` (holding ``key``) and ``response``, or a bare request.

    A recorded HTTP ``status`` of 400 or more makes the response an error, whatever it holds. Raises
    ``RecordError`` for another shape, and for a document whose ``format`` names another provider.
    """
    expected = f"an object with {key}, or one with request and response"
    if not isinstance(document, dict):
        raise RecordError("", f"found {describe(document)}, expected {expected}")
    if document.get("format", wire) != wire:
        raise RecordError("/format", f'found {describe(document["format"])}, expected "{wire}"')
    if "request" not in document:
        if key not in document:
            raise RecordError("", f"found neither {key} nor request, expected {expected}")
        return Exchange(document=document, request=document, response=None, path=())
    request, response, status = document["request"], document.get("response"), document.get("status")
    if not isinstance(request, dict):
        raise RecordError("/request", f"found {describe(request)}, expected an object with {key}")
    if isinstance(status, int) and status >= 400:
        response = None
    return Exchange(document=document, request=request, response=response, path=("request",))


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def error_text(problem: Any) -> str | None:
    """What an error field says: its text, its ``message``, else the whole of it as JSON."""
    if isinstance(problem, dict) and isinstance(message := problem.get("message"), str):
        problem = message
    if problem is None or isinstance(problem, str):
        return problem or None
    return msgspec.json.encode(problem).decode()
