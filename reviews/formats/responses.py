"""OpenAI Responses: recorded requests with their replies, whole or streamed, and bare requests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from reviews.formats.chat import Path, read_time, read_tools
from reviews.formats.content import content_text, joined_text, result_value, without_blobs
from reviews.formats.exchange import Exchange, as_text, error_text, read_exchange
from reviews.formats.lenient import parse_arguments, parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.turns import TurnCutter

__all__ = ["read_responses", "responses_turns"]

_ROLES = ("user", "assistant", "system", "developer")
_ENDINGS = frozenset({"response.completed", "response.incomplete", "response.failed"})
# What an item of a call holds beside what was asked for.
_FRAME_FIELDS = frozenset({"id", "type", "status", "name", "call_id", "server_label", "execution", "error"})
_RESULT_FIELDS = ("output", "outputs", "results", "result")


def read_responses(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of one document with their numbers from 1, but none from before the first user message: a
    request may begin in the middle of a turn whose beginning only the provider keeps.

    Raises ``RecordError`` for a document of another shape or of another provider's format.
    """
    return responses_turns(parse_transcript(raw), origin)


def responses_turns(
    document: Any, origin: LineOrigin, *, keep_headless: bool = False
) -> Iterator[tuple[int, TurnRecord]]:
    """As ``read_responses``, of a parsed document."""
    exchange = read_exchange(document, wire="responses", key="input")
    request = exchange.request
    given = request.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else exchange.items("input")
    output, model, when = _reply(exchange)
    cutter = TurnCutter()
    cutter.system(joined_text(request.get("instructions")))
    for index, item in enumerate(items):
        _add_item(cutter, exchange, item, ("input", index))
    for item in output:
        # Nothing in a reply is refused: what is no item is passed over.
        if isinstance(item, dict) and item.get("role", "assistant") in _ROLES:
            _add_item(cutter, exchange, item, ())
    return exchange.turns(
        cutter,
        origin,
        tools=read_tools(request.get("tools")),
        model=model,
        occurred_at=when,
        keep_headless=keep_headless,
    )


def _add_item(cutter: TurnCutter, exchange: Exchange, item: Any, path: Path) -> None:
    if not isinstance(item, dict):
        raise exchange.error(path, item, "an item object")
    kind = as_text(item.get("type")) or "message"
    cutter.begin()
    if kind == "message":
        _add_message(cutter, exchange, item, path)
    elif kind.endswith("_output"):
        _add_output(cutter, item, kind.removesuffix("_output"))
    elif kind in ("function_call", "custom_tool_call"):
        args = item.get("arguments", item.get("input"))
        cutter.call(item.get("name"), parse_arguments(args), item.get("call_id"))
    elif kind.endswith("_call"):
        _add_provider_call(cutter, item, kind.removesuffix("_call"))


def _add_message(cutter: TurnCutter, exchange: Exchange, item: dict[str, Any], path: Path) -> None:
    role, content = item.get("role"), item.get("content")
    if role == "assistant":
        cutter.piece(joined_text(content))
    elif role == "user":
        cutter.user(content)
    elif role in _ROLES:
        cutter.system(content_text(content))
    else:
        raise exchange.error((*path, "role"), role, f"one of {', '.join(_ROLES)}")


def _add_output(cutter: TurnCutter, item: dict[str, Any], kind: str) -> None:
    """``status`` tells whether the item is whole, only ``error`` whether the tool failed."""
    named = kind not in ("function_call", "custom_tool_call")
    problem = item.get("error")
    cutter.result(
        without_blobs(result_value(item.get("output", item.get("tools")))),
        item.get("call_id"),
        name=kind if named else None,
        ok=False if problem else None,
        error=error_text(problem) if problem else None,
    )


def _add_provider_call(cutter: TurnCutter, item: dict[str, Any], kind: str) -> None:
    """A call of a tool that the provider runs (or a client for it): the result stands in the item itself,
    unless an output item follows."""
    call_id = item.get("call_id") or item.get("id")
    asked = item.get("arguments", item.get("action"))
    if asked is None:
        asked = {k: v for k, v in item.items() if k not in _FRAME_FIELDS and k not in _RESULT_FIELDS}
    name = as_text(item.get("name")) or kind
    cutter.call(name, without_blobs(parse_arguments(asked)), call_id)
    result = next((item[key] for key in _RESULT_FIELDS if item.get(key) is not None), None)
    status, problem = item.get("status"), item.get("error")
    if problem or status == "failed":
        error = error_text(problem) or as_text(status) or None
        cutter.result(without_blobs(result), call_id, ok=False, error=error)
        return
    # Only a call that the provider itself runs has a status of its own: it may tell that the tool is done and
    # not what came of it.
    done = status == "completed" and item.get("call_id") is None and item.get("execution") is None
    if done or result is not None:
        cutter.result(without_blobs(result), call_id, ok=True if done else None)


def _reply(exchange: Exchange) -> tuple[list[Any], str, datetime | None]:
    """Output items, model and time; no items when the provider answered with an error."""
    reply = exchange.reply
    done: list[Any] = []
    for event in exchange.events():
        if event.get("type") == "response.output_item.done":
            done.append(event.get("item"))
        elif as_text(event.get("type")) in _ENDINGS and isinstance(whole := event.get("response"), dict):
            reply = whole
    output = reply.get("output")
    # A stream that broke off has told the items that were complete by then.
    items = output if isinstance(output, list) and output else done
    return items, as_text(reply.get("model")), read_time(reply.get("created_at"))
