"""Gemini ``generateContent``: recorded requests with their replies, whole or streamed, and bare requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviews.formats.chat import Path, read_time, read_tools
from reviews.formats.content import content_text, joined_text, without_blobs
from reviews.formats.exchange import Exchange, as_text, error_text, read_exchange
from reviews.formats.lenient import parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.turns import TurnCutter

__all__ = ["gemini_turns", "read_gemini"]

_ROLES = ("user", "model", "function", "tool", "system")
_CODE_TOOL = "code_execution"


def read_gemini(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of one document with their numbers from 1, but none from before the first user message: a
    request may begin in the middle of a turn whose beginning nobody recorded.

    Raises ``RecordError`` for a document of another shape or of another provider's format.
    """
    return gemini_turns(parse_transcript(raw), origin)


def gemini_turns(
    document: Any, origin: LineOrigin, *, keep_headless: bool = False
) -> Iterator[tuple[int, TurnRecord]]:
    """As ``read_gemini``, of a parsed document."""
    exchange = read_exchange(document, wire="gemini", key="contents")
    request = exchange.request
    cutter = TurnCutter()
    instruction = _either(request, "systemInstruction", "system_instruction")
    cutter.system(joined_text(instruction.get("parts") if isinstance(instruction, dict) else instruction))
    contents = request.get("contents")
    if isinstance(contents, str | dict):
        contents = [contents]
    if not isinstance(contents, list):
        raise exchange.error(("contents",), contents, "a list")
    for index, content in enumerate(contents):
        _add_content(cutter, exchange, content, ("contents", index))
    chunks = _chunks(exchange)
    cutter.begin()
    for chunk in chunks:
        for part in _answer_parts(chunk):
            _add_part(cutter, "model", part, [])
    return exchange.turns(
        cutter,
        origin,
        tools=read_tools(list(_declared(request.get("tools")))),
        model=next((model for chunk in chunks if (model := as_text(chunk.get("modelVersion")))), ""),
        occurred_at=next((when for chunk in chunks if (when := read_time(chunk.get("createTime")))), None),
        keep_headless=keep_headless,
    )


def _add_content(cutter: TurnCutter, exchange: Exchange, content: Any, path: Path) -> None:
    if isinstance(content, str):
        content = {"parts": [{"text": content}]}
    if not isinstance(content, dict):
        raise exchange.error(path, content, "a content object")
    role = content.get("role") or "user"
    if role not in _ROLES:
        raise exchange.error((*path, "role"), role, f"one of {', '.join(_ROLES)}")
    cutter.begin()
    spoken: list[dict[str, Any]] = []
    for part in _parts(content):
        _add_part(cutter, role, part, spoken)
    # A content that holds nothing but results says nothing.
    if spoken and role == "system":
        cutter.system(content_text(spoken))
    elif spoken:
        cutter.user(spoken)


def _add_part(cutter: TurnCutter, role: str, part: dict[str, Any], spoken: list[dict[str, Any]]) -> None:
    if part.get("thought"):
        return
    if isinstance(call := _either(part, "functionCall", "function_call"), dict):
        cutter.call(call.get("name"), call.get("args"), call.get("id"))
    elif isinstance(answer := _either(part, "functionResponse", "function_response"), dict):
        _add_response(cutter, answer)
    elif isinstance(code := _either(part, "executableCode", "executable_code"), dict):
        cutter.call(_CODE_TOOL, {k: v for k, v in code.items() if k != "id"}, code.get("id"))
    elif isinstance(outcome := _either(part, "codeExecutionResult", "code_execution_result"), dict):
        _add_outcome(cutter, outcome)
    elif isinstance(call := _either(part, "toolCall", "tool_call"), dict):
        # A tool that Google runs itself.
        cutter.call(_kind(call), call.get("args"), call.get("id"))
    elif isinstance(answer := _either(part, "toolResponse", "tool_response"), dict):
        cutter.result(without_blobs(answer.get("response")), answer.get("id"), name=_kind(answer))
    elif role == "model":
        cutter.piece(
            as_text(part.get("text")) or ("[image]" if _either(part, "inlineData", "inline_data") else "")
        )
    elif isinstance(text := part.get("text"), str):
        spoken.append({"type": "text", "text": text})
    elif any(_either(part, *names) for names in (("inlineData", "inline_data"), ("fileData", "file_data"))):
        spoken.append({"type": "file"})


def _add_response(cutter: TurnCutter, answer: dict[str, Any]) -> None:
    """The API names two keys of a response: ``error`` tells a failure, ``output`` a result; others are the
    function's own and tell neither."""
    response = answer.get("response")
    problem = response.get("error") if isinstance(response, dict) else None
    cutter.result(
        without_blobs(response),
        answer.get("id"),
        name=answer.get("name"),
        ok=False if problem else None,
        error=error_text(problem) if problem else None,
    )


def _add_outcome(cutter: TurnCutter, outcome: dict[str, Any]) -> None:
    word = outcome.get("outcome")
    known = word if word in ("OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED") else None
    failed = known is not None and known != "OUTCOME_OK"
    cutter.result(
        {key: value for key, value in outcome.items() if key != "id"},
        outcome.get("id"),
        name=_CODE_TOOL,
        ok=None if known is None else not failed,
        error=(as_text(outcome.get("output")) or known) if failed else None,
    )


def _chunks(exchange: Exchange) -> list[dict[str, Any]]:
    """The reply, or the pieces it was streamed in, as events or as a list."""
    if streamed := list(exchange.events()):
        return streamed
    given = exchange.response if isinstance(exchange.response, list) else [exchange.response]
    return [chunk for chunk in given if isinstance(chunk, dict)]


def _answer_parts(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    """Of several candidates the first."""
    candidates = chunk.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    content = first.get("content") if isinstance(first, dict) else None
    return _parts(content) if isinstance(content, dict) else []


def _parts(content: dict[str, Any]) -> list[dict[str, Any]]:
    parts = content.get("parts")
    if isinstance(parts, dict):
        return [parts]
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _declared(tools: Any) -> Iterator[Any]:
    """Declared functions; a tool that Google runs itself is named by its key."""
    for group in tools if isinstance(tools, list) else []:
        for key, value in group.items() if isinstance(group, dict) else ():
            if key in ("functionDeclarations", "function_declarations"):
                yield from value if isinstance(value, list) else []
            else:
                yield {"name": key}


def _kind(call: dict[str, Any]) -> str:
    return as_text(_either(call, "toolType", "tool_type")).lower()


def _either(holder: dict[str, Any], camel: str, snake: str) -> Any:
    """REST writes names in camel case, the Python library in snake case."""
    value = holder.get(camel)
    return holder.get(snake) if value is None else value
