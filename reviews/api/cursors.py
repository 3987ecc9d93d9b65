"""Where a page of turns ends: time and id of its last turn, packed into one opaque word.

It is checked, not signed: whoever makes one up only chooses where to start in what the key may read anyway.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_PACKED = struct.Struct(">qq")
_WORD_LENGTH = 22
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Position(NamedTuple):
    """A place in the order of ``(occurred_at, id)``."""

    occurred_at: datetime
    id: int


def encode(position: Position) -> str:
    packed = _PACKED.pack((position.occurred_at - _EPOCH) // _MICROSECOND, position.id)
    return urlsafe_b64encode(packed).decode().rstrip("=")


def decode(word: str) -> Position:
    """Raises ``ValueError`` for everything that ``encode`` has not made."""
    try:
        if len(word) != _WORD_LENGTH:
            raise ValueError(word)
        microseconds, turn_id = _PACKED.unpack(urlsafe_b64decode(word.encode("ascii") + b"=="))
        position = Position(_EPOCH + timedelta(microseconds=microseconds), turn_id)
    except (ValueError, OverflowError, struct.error):
        raise ValueError("Must be a next_cursor of an answer before, as it came.") from None
    # urlsafe_b64decode skips letters it does not know.
    if turn_id < 0 or not 1 < position.occurred_at.year < 9999 or encode(position) != word:
        raise ValueError("Must be a next_cursor of an answer before, as it came.")
    return position
