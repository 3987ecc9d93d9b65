"""OpenTelemetry spans by the semantic conventions for generative AI: span objects, or an OTLP/JSON export.

The spans of one conversation (``gen_ai.conversation.id``, else the trace) belong together: the last one with
input messages tells the whole exchange, as each call of a model repeats what was said before. Of several
choices the first is the draft. A tool's own span tells what the messages leave out: result and failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviews.formats.chat import read_tools
from reviews.formats.content import content_text, without_blobs
from reviews.formats.errors import RecordError
from reviews.formats.exchange import as_text
from reviews.formats.lenient import parse_arguments, parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.otel_spans import Span, spans_of
from reviews.formats.record import TurnRecord
from reviews.formats.turns import Conversation, TurnCutter
from reviews.formats.typed import describe

__all__ = ["read_otel_genai"]

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_ROLES = ("system", "developer", "user", "assistant", "tool")
_MEDIA = ("uri", "file", "blob")
_MODALITIES = ("image", "audio", "video")


def read_otel_genai(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of all conversations of one document; their numbers run on from 1.

    Raises ``RecordError`` for a document of another shape or without any span that holds messages.
    """
    document = parse_transcript(raw)
    groups: dict[str, list[Span]] = {}
    for span in spans_of(document):
        groups.setdefault(as_text(span.attributes.get("gen_ai.conversation.id")) or span.trace, []).append(
            span
        )
    told = {key: spans for key, spans in groups.items() if any(_INPUT in span.attributes for span in spans)}
    if not told:
        raise RecordError("", f"found no span with {_INPUT}, expected at least one")
    given = document.get("id") if isinstance(document, dict) and len(told) == 1 else None
    number = 0
    for key, spans in told.items():
        named = as_text(spans[0].attributes.get("gen_ai.conversation.id")) or given or key
        for _own, record in _turns(spans, origin.conversation_id(named)):
            number += 1
            yield number, record


def _turns(spans: list[Span], conversation_id: str) -> Iterator[tuple[int, TurnRecord]]:
    last = [span for span in spans if _INPUT in span.attributes][-1]
    found = last.attributes
    tools = {
        call_id: span for span in spans if (call_id := as_text(span.attributes.get("gen_ai.tool.call.id")))
    }
    cutter = TurnCutter()
    instructions = found.get("gen_ai.system_instructions")
    if isinstance(instructions, str):
        cutter.system(instructions)
    elif isinstance(instructions, list):
        cutter.system(content_text([_part(part) for part in instructions if isinstance(part, dict)]))
    for message in [*_messages(found, _INPUT), *_messages(found, _OUTPUT)[:1]]:
        _add_message(cutter, message, tools)
    models = (as_text(found.get(f"gen_ai.{side}.model")) for side in ("response", "request"))
    return cutter.records(
        Conversation(
            id=conversation_id,
            tools=read_tools(found.get("gen_ai.tool.definitions")),
            agent=as_text(found.get("gen_ai.agent.name")),
            model=next((model for model in models if model), ""),
            occurred_at=last.occurred_at,
        )
    )


def _messages(attributes: dict[str, Any], name: str) -> list[dict[str, Any]]:
    messages = attributes.get(name, [])
    if not isinstance(messages, list):
        raise RecordError("", f"found {describe(messages)} as {name}, expected a list of messages")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
            raise RecordError("", f"found {describe(message)} in {name}, expected a message with parts")
        if message.get("role") not in _ROLES:
            role, known = describe(message.get("role")), ", ".join(_ROLES)
            raise RecordError("", f"found {role} as a role in {name}, expected one of {known}")
    return messages


def _add_message(cutter: TurnCutter, message: dict[str, Any], tools: dict[str, Span]) -> None:
    cutter.begin()
    role = message["role"]
    parts = [part for part in message["parts"] if isinstance(part, dict)]
    kinds = [as_text(part.get("type")) for part in parts]
    for part, kind in zip(parts, kinds, strict=True):
        if kind.endswith("tool_call_response"):
            _add_result(cutter, part, tools)
    spoken = [
        _part(part) for part, kind in zip(parts, kinds, strict=True) if kind == "text" or kind in _MEDIA
    ]
    if role == "assistant":
        cutter.answer(content_text(spoken))
    elif role == "user" and spoken:
        cutter.user(spoken)
    elif role != "tool":
        cutter.system(content_text(spoken))
    for part, kind in zip(parts, kinds, strict=True):
        if kind.endswith("tool_call"):
            _add_call(cutter, part, tools)


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """A part as chat messages hold it: text, or media by what it shows."""
    if part.get("type") not in _MEDIA:
        return {"type": "text", "text": as_text(part.get("content"))}
    modality = part.get("modality")
    return {"type": modality if modality in _MODALITIES else "file"}


def _add_call(cutter: TurnCutter, part: dict[str, Any], tools: dict[str, Span]) -> None:
    call_id = part.get("id")
    span = tools.get(as_text(call_id))
    args = part.get("arguments", part.get("server_tool_call"))
    if args is None and span:
        args = span.attributes.get("gen_ai.tool.call.arguments")
    cutter.call(part.get("name"), parse_arguments(args), call_id)


def _add_result(cutter: TurnCutter, part: dict[str, Any], tools: dict[str, Span]) -> None:
    call_id = part.get("id")
    span = tools.get(as_text(call_id))
    keys = ("response", "result", "server_tool_call_response")
    result = next((part[key] for key in keys if part.get(key) is not None), None)
    if result is None and span:
        result = span.attributes.get("gen_ai.tool.call.result")
    cutter.result(
        without_blobs(result),
        call_id,
        name=part.get("name"),
        ok=span.ok if span else None,
        error=span.error if span else None,
    )
