"""HammerBench dialogues: a call is a message of its own (role ``function call``); no call has a result."""

from __future__ import annotations

from collections.abc import Iterator

from reviews.formats.chat import Chat, cut_turns, read_tools
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.typed import describe

__all__ = ["read_hammerbench"]


def read_hammerbench(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of one dialogue with their numbers from 1. It ends on a call, so its last turn has no draft.

    Raises ``RecordError`` for a document of another shape.
    """
    document = parse_transcript(raw)
    if not isinstance(document, dict):
        raise RecordError("", f"found {describe(document)}, expected an object with messages")
    if not isinstance(messages := document.get("messages"), list):
        raise RecordError("/messages", f"found {describe(messages)}, expected a list of messages")
    return cut_turns(
        Chat(
            conversation_id=origin.conversation_id(document.get("id")),
            messages=messages,
            path=("messages",),
            tools=read_tools(document.get("tools")),
        )
    )
