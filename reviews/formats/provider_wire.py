"""Recorded calls of several providers in one file: each line names its ``format``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reviews.formats.anthropic import anthropic_turns
from reviews.formats.errors import RecordError
from reviews.formats.gemini import gemini_turns
from reviews.formats.lenient import parse_transcript
from reviews.formats.openai_chat import openai_turns
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.responses import responses_turns
from reviews.formats.typed import describe

__all__ = ["WIRES", "read_provider_wire"]

WIRES: dict[str, Callable[..., Iterator[tuple[int, TurnRecord]]]] = {
    "anthropic": anthropic_turns,
    "gemini": gemini_turns,
    "openai": openai_turns,
    "responses": responses_turns,
}


def read_provider_wire(
    raw: bytes, origin: LineOrigin, *, keep_headless: bool = False
) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of one recorded call with their numbers from 1: ``format``, ``request`` and ``response``, and
    ``status`` where it is known. What the request holds from before the first user message is left out unless
    ``keep_headless``.

    Raises ``RecordError`` for a document of another shape or an unknown format.
    """
    document: Any = parse_transcript(raw)
    if not isinstance(document, dict):
        raise RecordError("", f"found {describe(document)}, expected an object with format and request")
    name = document.get("format")
    if not isinstance(name, str) or name not in WIRES:
        raise RecordError("/format", f"found {describe(name)}, expected one of {', '.join(WIRES)}")
    if not isinstance(request := document.get("request"), dict):
        raise RecordError("/request", f"found {describe(request)}, expected an object")
    return WIRES[name](document, origin, keep_headless=keep_headless)
