"""Reported fabrications: one turn per document, with what is known to be made up in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviews.formats.errors import RecordError, pointer
from reviews.formats.exchange import as_text
from reviews.formats.lenient import parse_arguments, parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import ToolCall, TurnRecord
from reviews.formats.turns import UNNAMED_TOOL
from reviews.formats.typed import describe

__all__ = ["read_reports"]

_KEPT = ("source", "why", "expected")


def read_reports(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turn of one report; where it comes from and what is expected of a detector go into ``attributes``.
    ``ok`` and ``error`` of a call are kept where the report states them.

    Raises ``RecordError`` for a document of another shape.
    """
    document = parse_transcript(raw)
    if not isinstance(document, dict):
        raise RecordError("", f"found {describe(document)}, expected an object with draft")
    if not isinstance(draft := document.get("draft"), str):
        raise RecordError("/draft", f"found {describe(draft)}, expected a string")
    calls = document.get("tool_calls") or []
    if not isinstance(calls, list):
        raise RecordError("/tool_calls", f"found {describe(calls)}, expected a list")
    yield (
        1,
        TurnRecord(
            external_id=origin.conversation_id(document.get("id")),
            draft=draft,
            user_message=as_text(document.get("user_message")),
            hydrated_context=as_text(document.get("hydrated_context")),
            tool_calls=[_call(index, call) for index, call in enumerate(calls)],
            attributes={key: document[key] for key in _KEPT if document.get(key) is not None},
        ),
    )


def _call(index: int, call: Any) -> ToolCall:
    if not isinstance(call, dict):
        raise RecordError(
            pointer(("tool_calls", index)), f"found {describe(call)}, expected an object with name"
        )
    ok, error = call.get("ok"), call.get("error")
    return ToolCall(
        name=as_text(call.get("name")).strip() or UNNAMED_TOOL,
        args=parse_arguments(call.get("args")),
        result=call.get("result"),
        ok=ok if isinstance(ok, bool) else False if isinstance(error, str) and error else None,
        error=as_text(error) or None,
    )
