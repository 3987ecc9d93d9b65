"""OpenAI chat completions: logged conversations, and recorded requests with their replies.

One document is a bare list of messages; an object with ``messages``; or an object with ``request`` (holding
``messages``) and ``response`` (a completion, or ``{"string": …}`` with the raw text of a streamed one).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from reviews.formats.chat import Chat, cut_turns, read_time, read_tools
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.sse import join_stream
from reviews.formats.typed import describe

__all__ = ["openai_turns", "read_openai_chat"]

_EXPECTED = "a list of messages, or an object with messages, or one with request and response"


def read_openai_chat(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of one document with their numbers from 1; of a recorded request none from before the first
    user message, as it may begin in the middle of a turn whose beginning nobody recorded.

    Raises ``RecordError`` for a document of another shape or of another provider's format.
    """
    return openai_turns(parse_transcript(raw), origin)


def openai_turns(
    document: Any, origin: LineOrigin, *, keep_headless: bool = False
) -> Iterator[tuple[int, TurnRecord]]:
    """As ``read_openai_chat``, of a parsed document."""
    if isinstance(document, list):
        document = {"messages": document}
        return cut_turns(_conversation(document, origin, ()))
    if not isinstance(document, dict):
        raise RecordError("", f"found {describe(document)}, expected {_EXPECTED}")
    if document.get("format", "openai") != "openai":
        raise RecordError("/format", f'found {describe(document["format"])}, expected "openai"')
    if "messages" in document:
        return cut_turns(_conversation(document, origin, ("messages",)))
    if "request" in document:
        return cut_turns(_exchange(document, origin), keep_headless=keep_headless)
    raise RecordError("", f"found neither messages nor request, expected {_EXPECTED}")


def _conversation(document: dict[str, Any], origin: LineOrigin, path: tuple[str, ...]) -> Chat:
    return Chat(
        conversation_id=origin.conversation_id(document.get("id")),
        messages=_messages(document, path),
        path=path,
        tools=read_tools(document.get("tools") or document.get("functions")),
        agent=_text(document.get("agent")),
        model=_text(document.get("model")),
        occurred_at=_first_time(document, "timestamp", "created_at", "created"),
    )


def _exchange(document: dict[str, Any], origin: LineOrigin) -> Chat:
    request = document["request"]
    if not isinstance(request, dict):
        raise RecordError("/request", f"found {describe(request)}, expected an object with messages")
    messages = _messages(request, ("request", "messages"))
    response = document.get("response")
    status = document.get("status")
    if not isinstance(response, dict) or (isinstance(status, int) and status >= 400):
        response = {}
    reply, model, when = _reply(response)
    return Chat(
        conversation_id=origin.conversation_id(document.get("id")),
        messages=[*messages, reply] if reply else messages,
        path=("request", "messages"),
        tools=read_tools(request.get("tools") or request.get("functions")),
        agent=_text(document.get("agent")),
        # The reply names the version that really answered.
        model=model or _text(request.get("model")),
        occurred_at=_first_time(document, "timestamp", "created_at") or when,
    )


def _reply(response: dict[str, Any]) -> tuple[dict[str, Any] | None, str, datetime | None]:
    """Message, model and time of a reply; no message when the provider answered with an error."""
    if isinstance(streamed := response.get("string"), str):
        joined = join_stream(streamed)
        return joined.message(), joined.model, None
    model, when = _text(response.get("model")), read_time(response.get("created"))
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        return None, model, when
    return {"role": "assistant", **message}, model, when


def _messages(holder: dict[str, Any], path: tuple[str, ...]) -> list[Any]:
    messages = holder.get("messages")
    if not isinstance(messages, list):
        raise RecordError(
            "".join(f"/{step}" for step in path), f"found {describe(messages)}, expected a list"
        )
    return messages


def _first_time(document: dict[str, Any], *keys: str) -> datetime | None:
    return next((when for key in keys if (when := read_time(document.get(key)))), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
