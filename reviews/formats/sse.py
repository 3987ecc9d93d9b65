"""A streamed chat completion (server-sent events) put together to the message it carried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reviews.formats.content import content_text
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_transcript

__all__ = ["StreamedReply", "join_stream", "stream_chunks"]

_LINE_END = re.compile(r"\r\n|\n|\r")


class _Function:
    """Name and arguments of one call, growing piece by piece."""

    def __init__(self) -> None:
        self.id: Any = None
        self._name = ""
        self._arguments: list[str] = []

    def add(self, piece: Any) -> None:
        if isinstance(piece, dict):
            self._name = _text(piece.get("name")) or self._name
            self._arguments.append(_text(piece.get("arguments")))

    def joined(self) -> dict[str, Any]:
        return {"name": self._name, "arguments": "".join(self._arguments)}


class StreamedReply:
    """The assistant message of the first choice, and the model that named itself."""

    def __init__(self) -> None:
        self.model = ""
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int | str, _Function] = {}
        self._legacy: _Function | None = None

    def message(self) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": "".join(self._text) or None,
            "refusal": "".join(self._refusal) or None,
            "tool_calls": [{"id": call.id, "function": call.joined()} for call in self._calls.values()],
            "function_call": self._legacy.joined() if self._legacy else None,
        }

    def add(self, delta: dict[str, Any]) -> None:
        self._text.append(content_text(delta.get("content")))
        self._refusal.append(content_text(delta.get("refusal")))
        if isinstance(function := delta.get("function_call"), dict):
            self._legacy = self._legacy or _Function()
            self._legacy.add(function)
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else []:
            if isinstance(piece, dict):
                self._add_call(piece)

    def _add_call(self, piece: dict[str, Any]) -> None:
        # Some providers leave the index out: a new id then opens a call, no id continues the last one.
        key = piece.get("index")
        if not isinstance(key, int):
            key = _text(piece.get("id")) or next(reversed(self._calls), 0)
        call = self._calls.setdefault(key, _Function())
        call.id = piece.get("id") or call.id
        call.add(piece.get("function"))


def join_stream(text: str) -> StreamedReply:
    """Raises ``RecordError`` when a chunk is not JSON or the stream only reports an error."""
    reply = StreamedReply()
    problem: Any = None
    for chunk in stream_chunks(text):
        if not isinstance(chunk, dict):
            continue
        problem = problem or chunk.get("error")
        reply.model = reply.model or _text(chunk.get("model"))
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if (
                isinstance(choice, dict)
                and choice.get("index", 0) == 0
                and isinstance(choice.get("delta"), dict)
            ):
                reply.add(choice["delta"])
    message = reply.message()
    if problem and not (message["content"] or message["tool_calls"]):
        raise RecordError("/response/string", "found a stream that ends in an error, expected an answer")
    return reply


def stream_chunks(text: str) -> Iterator[Any]:
    """The JSON values of an event text one by one; raises ``RecordError`` for one that is not JSON."""
    # Not splitlines: it would also cut at separators that JSON text may hold, like U+2028.
    for line in _LINE_END.split(text):
        # Lines that start with a colon are comments, sent to keep the connection open.
        if line.startswith("data:"):
            data = line[5:].strip()
            if data and data != "[DONE]":
                try:
                    yield parse_transcript(data.encode("utf-8", "replace"))
                except RecordError as error:
                    raise RecordError("/response/string", f"found a chunk that is {error.message}") from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
