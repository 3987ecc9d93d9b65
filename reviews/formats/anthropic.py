"""Anthropic Messages: recorded requests with their replies, whole or streamed, and bare requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviews.formats.chat import read_tools
from reviews.formats.content import content_text, joined_text, without_blobs
from reviews.formats.exchange import Exchange, as_text, read_exchange
from reviews.formats.lenient import parse_arguments, parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.turns import TurnCutter

__all__ = ["anthropic_turns", "read_anthropic"]

_ROLES = ("user", "assistant", "system")
_READABLE = frozenset({"text", "image", "document"})


def read_anthropic(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of one document with their numbers from 1, but none from before the first user message: a
    request may begin in the middle of a turn whose beginning nobody recorded.

    Raises ``RecordError`` for a document of another shape or of another provider's format.
    """
    return anthropic_turns(parse_transcript(raw), origin)


def anthropic_turns(
    document: Any, origin: LineOrigin, *, keep_headless: bool = False
) -> Iterator[tuple[int, TurnRecord]]:
    """As ``read_anthropic``, of a parsed document."""
    exchange = read_exchange(document, wire="anthropic", key="messages")
    cutter = TurnCutter()
    cutter.system(joined_text(exchange.request.get("system")))
    for index, message in enumerate(exchange.items("messages")):
        if not isinstance(message, dict):
            raise exchange.error(("messages", index), message, "a message object")
        role = message.get("role")
        if role not in _ROLES:
            raise exchange.error(("messages", index, "role"), role, f"one of {', '.join(_ROLES)}")
        _add_message(cutter, role, message.get("content"))
    content, model = _reply(exchange)
    _add_message(cutter, "assistant", content)
    return exchange.turns(
        cutter,
        origin,
        tools=read_tools(exchange.request.get("tools")),
        model=model,
        keep_headless=keep_headless,
    )


def _add_message(cutter: TurnCutter, role: str, content: Any) -> None:
    cutter.begin()
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    spoken: list[dict[str, Any]] = []
    for block in blocks if isinstance(blocks, list) else []:
        if not isinstance(block, dict):
            continue
        kind = as_text(block.get("type"))
        if kind.endswith("tool_result"):
            _add_result(cutter, block)
        elif kind.endswith("tool_use"):
            cutter.call(block.get("name"), block.get("input"), block.get("id"))
        elif role != "assistant":
            spoken.append(block)
        elif kind == "text":
            cutter.piece(as_text(block.get("text")))
    # A message that holds nothing but results says nothing.
    if spoken and role == "user":
        cutter.user(spoken)
    elif spoken:
        cutter.system(content_text(spoken))


def _add_result(cutter: TurnCutter, block: dict[str, Any]) -> None:
    content = block.get("content")
    result = _result(content)
    failed = block.get("is_error")
    ok, error = _outcome(content) if isinstance(content, dict) else (None, None)
    if isinstance(failed, bool):
        ok, error = not failed, (content_text(content) or None) if failed else None
    cutter.result(result, block.get("tool_use_id"), ok=ok, error=error)


def _outcome(content: dict[str, Any]) -> tuple[bool | None, str | None]:
    """Success and error of what a tool of the provider returned: its result is an object of a named type."""
    if as_text(content.get("type")).endswith("_error"):
        return False, as_text(content.get("error_message")) or as_text(content.get("error_code")) or None
    code = content.get("return_code")
    if not isinstance(code, int) or isinstance(code, bool):
        return None, None
    return code == 0, (as_text(content.get("stderr")) or f"return code {code}") if code else None


def _result(content: Any) -> Any:
    """A text result as text; what a tool of the provider returns stays the object it is."""
    if isinstance(content, list) and all(
        isinstance(part, dict) and as_text(part.get("type")) in _READABLE for part in content
    ):
        return content_text(content)
    return without_blobs(content)


def _reply(exchange: Exchange) -> tuple[Any, str]:
    """Content and model of the reply; no content when there was none or it is an error."""
    blocks: dict[Any, dict[str, Any]] = {}
    pieces: dict[Any, list[str]] = {}
    model = as_text(exchange.reply.get("model"))
    for event in exchange.events():
        index = event.get("index") if isinstance(event.get("index"), int) else 0
        block, delta, start = event.get("content_block"), event.get("delta"), event.get("message")
        if isinstance(start, dict):
            model = model or as_text(start.get("model"))
        if isinstance(block, dict):
            blocks[index], pieces[index] = block, [as_text(block.get("text"))]
        elif isinstance(delta, dict) and index in blocks:
            pieces[index].append(as_text(delta.get("text")) or as_text(delta.get("partial_json")))
    if not blocks:
        return exchange.reply.get("content"), model
    return [_joined(block, "".join(pieces[index])) for index, block in blocks.items()], model


def _joined(block: dict[str, Any], text: str) -> dict[str, Any]:
    if block.get("type") == "text":
        return {"type": "text", "text": text}
    return {**block, "input": parse_arguments(text)} if text else block
