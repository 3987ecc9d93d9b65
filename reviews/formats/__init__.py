"""Readers and writers of outside formats, to and from one ``TurnRecord``.

HTTP bodies: ``decode_turns`` and ``decode_event``, strict. Files: ``open_turns``, which repairs what nobody
can send again. Everything refused is a ``RecordError`` with a JSON pointer.
"""

from __future__ import annotations

from reviews.formats.body import RowError, decode_turns
from reviews.formats.errors import RecordError
from reviews.formats.native import content_hash, decode_turn, encode_turn
from reviews.formats.readers import AUTO, FORMATS, TurnFile, TurnLine, open_native_lines, open_turns
from reviews.formats.record import CriticRecord, IntentRecord, ToolCall, ToolInfo, TurnRecord
from reviews.formats.strict import parse_strict
from reviews.formats.symfonic_event import FabricationEvent, decode_event

__all__ = [
    "AUTO",
    "FORMATS",
    "CriticRecord",
    "FabricationEvent",
    "IntentRecord",
    "RecordError",
    "RowError",
    "ToolCall",
    "ToolInfo",
    "TurnFile",
    "TurnLine",
    "TurnRecord",
    "content_hash",
    "decode_event",
    "decode_turn",
    "decode_turns",
    "encode_turn",
    "open_native_lines",
    "open_turns",
    "parse_strict",
]
