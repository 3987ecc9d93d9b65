"""Spans as plain objects or as OTLP/JSON, brought to one shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reviews.formats.chat import read_time
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_arguments
from reviews.formats.typed import describe

__all__ = ["Span", "spans_of"]

# Where a value cannot hold structure, instrumentations write it as JSON text.
_STRUCTURED = frozenset(
    {
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.tool.definitions",
    }
)
_FAILED = (2, "ERROR", "STATUS_CODE_ERROR")
_GOOD = (1, "OK", "STATUS_CODE_OK")


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One span. ``ok`` is its status, None when unset; ``error`` says what went wrong."""

    trace: str
    attributes: dict[str, Any]
    occurred_at: datetime | None
    ok: bool | None
    error: str | None


def spans_of(document: Any) -> list[Span]:
    """The spans of a document in its order: ``spans``, or ``resourceSpans`` of an OTLP/JSON export.

    Raises ``RecordError`` for a document of another shape.
    """
    if isinstance(document, dict):
        if isinstance(spans := document.get("spans"), list):
            return [_span(span) for span in spans if isinstance(span, dict)]
        if isinstance(document.get("resourceSpans", document.get("resource_spans")), list):
            return [_span(span) for span in _exported(document)]
    raise RecordError("", f"found {describe(document)}, expected an object with spans or resourceSpans")


def _exported(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in _objects(document, "resourceSpans", "resource_spans"):
        for scope in _objects(resource, "scopeSpans", "scope_spans"):
            yield from _objects(scope, "spans", "spans")


def _objects(holder: dict[str, Any], camel: str, snake: str) -> Iterator[dict[str, Any]]:
    items = holder.get(camel, holder.get(snake))
    yield from (item for item in (items if isinstance(items, list) else []) if isinstance(item, dict))


def _span(span: dict[str, Any]) -> Span:
    attributes = _attributes(span.get("attributes"))
    status = span.get("status")
    code = status.get("code") if isinstance(status, dict) else status
    kind = attributes.get("error.type")
    failed = code in _FAILED or kind is not None
    message = status.get("message") if isinstance(status, dict) else None
    return Span(
        trace=str(span.get("traceId") or span.get("trace_id") or ""),
        attributes=attributes,
        occurred_at=_time(span),
        ok=False if failed else True if code in _GOOD else None,
        error=next((text for text in (message, kind) if isinstance(text, str) and text), None)
        if failed
        else None,
    )


def _attributes(given: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(given, dict):
        found = dict(given)
    for item in given if isinstance(given, list) else []:
        if isinstance(item, dict) and isinstance(key := item.get("key"), str):
            found[key] = _value(item.get("value"))
    return {key: parse_arguments(value) if key in _STRUCTURED else value for key, value in found.items()}


def _value(value: Any) -> Any:
    """An OTLP value: an object whose one key names the type."""
    if not isinstance(value, dict):
        return value
    for key, inner in value.items():
        if key in ("arrayValue", "array_value"):
            return [_value(item) for item in _values(inner)]
        if key in ("kvlistValue", "kvlist_value"):
            return {
                item["key"]: _value(item.get("value"))
                for item in _values(inner)
                if isinstance(item, dict) and isinstance(item.get("key"), str)
            }
        return inner
    return None


def _values(holder: Any) -> list[Any]:
    values = holder.get("values") if isinstance(holder, dict) else None
    return values if isinstance(values, list) else []


def _time(span: dict[str, Any]) -> datetime | None:
    for key in ("endTimeUnixNano", "end_time_unix_nano", "startTimeUnixNano", "start_time_unix_nano"):
        nanoseconds = span.get(key)
        # 64-bit numbers are strings in OTLP/JSON.
        if isinstance(nanoseconds, str) and nanoseconds.isascii() and nanoseconds.isdigit():
            nanoseconds = int(nanoseconds[:20])
        if isinstance(nanoseconds, int) and nanoseconds > 0:
            return read_time(nanoseconds / 1e9)
    return next((when for key in ("end_time", "start_time") if (when := read_time(span.get(key)))), None)
