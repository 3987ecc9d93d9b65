"""Telling the format of a file from its first documents, by the names of their fields."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from reviews.formats.documents import DocumentFile
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_transcript

__all__ = ["LOOKED_AT", "RULES", "recognise_document", "recognise_file"]

LOOKED_AT = 20
"""Documents that are looked at; what is not JSON among them is passed over."""

_GENERAL = "openai-chat"
_CALL_ROLES = ("function call", "function_call")


def recognise_file(path: Path | str) -> str:
    """The name of the file's format.

    All of the first documents must be of one format, except that bare chat messages, which several formats
    share, are taken for those of the others. Raises ``RecordError`` when no rule fits or two formats are
    mixed, and ``OSError`` when the file cannot be opened.
    """
    found: set[str] = set()
    with DocumentFile(Path(path)) as documents:
        for _line, raw in islice(documents, LOOKED_AT):
            try:
                name = recognise_document(parse_transcript(raw))
            except RecordError:
                continue
            if name:
                found.add(name)
    special = sorted(found - {_GENERAL}) or sorted(found)
    if len(special) == 1:
        return special[0]
    if special:
        raise RecordError("", f"found documents of {' and '.join(special)}, expected one format in a file")
    tried = "; ".join(f"{name} ({what})" for name, what, _rule in RULES)
    raise RecordError("", f"found no format that fits the first documents; tried {tried}")


def recognise_document(document: Any) -> str | None:
    """The format of one parsed document: the first rule that fits it."""
    if isinstance(document, list):
        document = {"messages": document}
    if not isinstance(document, dict):
        return None
    return next((name for name, _what, fits in RULES if fits(document)), None)


def _body(document: dict[str, Any]) -> dict[str, Any]:
    """What was sent to the provider: ``request``, or the document itself."""
    request = document.get("request")
    return request if isinstance(request, dict) else document


def _messages(document: dict[str, Any]) -> list[dict[str, Any]]:
    messages = _body(document).get("messages")
    return [item for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []


def _is_provider_wire(document: dict[str, Any]) -> bool:
    return isinstance(document.get("format"), str) and isinstance(document.get("request"), dict)


def _is_anthropic(document: dict[str, Any]) -> bool:
    if not (messages := _messages(document)):
        return False
    response = document.get("response")
    if isinstance(response, dict) and response.get("type") == "message":
        return True
    if "system" in _body(document):
        return True
    blocks = (
        block for item in messages if isinstance(item.get("content"), list) for block in item["content"]
    )
    return any(
        isinstance(block, dict) and str(block.get("type")).endswith(("tool_use", "tool_result"))
        for block in blocks
    )


def _has(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda document: all(name in document for name in names)


def _has_list(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda document: any(isinstance(document.get(name), list) for name in names)


RULES: tuple[tuple[str, str, Callable[[dict[str, Any]], bool]], ...] = (
    ("native", "external_id and draft", _has("external_id", "draft")),
    ("provider-wire", "format and request", _is_provider_wire),
    ("tau-bench", "traj", _has_list("traj")),
    ("swe-agent", "history", _has_list("history")),
    ("otel-genai", "spans or resourceSpans", _has_list("spans", "resourceSpans", "resource_spans")),
    ("reports", "draft and expected", _has("draft", "expected")),
    ("gemini", "contents", lambda document: "contents" in _body(document)),
    ("responses", "input", lambda document: "input" in _body(document)),
    (
        "tau2",
        "messages, one with requestor, or a termination_reason",
        lambda document: (
            bool(found := _messages(document))
            and ("termination_reason" in document or any("requestor" in item for item in found))
        ),
    ),
    (
        "hammerbench",
        "messages, one with the role function call",
        lambda document: any(item.get("role") in _CALL_ROLES for item in _messages(document)),
    ),
    ("anthropic", "messages with system, tool_use or tool_result", _is_anthropic),
    (
        _GENERAL,
        "messages with roles",
        lambda document: any("role" in item for item in _messages(document)),
    ),
)
"""Format, what it is told by (in words), and the test; the first that fits counts."""
