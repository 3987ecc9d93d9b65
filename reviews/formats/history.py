"""What earlier turns of a conversation leave to a later one: their calls and what the user said."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from reviews.formats.limits import TURN_BYTES
from reviews.formats.record import ToolCall, TurnRecord

__all__ = ["HISTORY_CALLS", "HISTORY_MESSAGES", "History"]

#: The attribute that tells how many calls and user messages of the history were left out.
LEFT_OUT = "history_left_out"
HISTORY_CALLS = 200
HISTORY_MESSAGES = 200
_CALL_BYTES = 1024 * 1024
_MESSAGE_BYTES = 512 * 1024
# Names of fields, commas, and the count of what was left out.
_FRAME_BYTES = 1024

T = TypeVar("T")


class _Newest(Generic[T]):
    """The newest items within a number and a size; counts those that made way."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._items: deque[tuple[T, int]] = deque()
        self._most = most
        self._most_bytes = most_bytes
        self.bytes = 0
        self.left_out = 0

    def add(self, item: T) -> None:
        size = len(msgspec.json.encode(item)) + 1
        self._items.append((item, size))
        self.bytes += size
        while len(self._items) > self._most or self.bytes > self._most_bytes:
            self.bytes -= self._items.popleft()[1]
            self.left_out += 1

    def within(self, room: int) -> tuple[list[T], int]:
        """The newest that fit into ``room`` bytes, oldest first, and the bytes they take."""
        if self.bytes <= room:
            return [item for item, _size in self._items], self.bytes
        kept: deque[T] = deque()
        taken = 0
        for item, size in reversed(self._items):
            if taken + size > room:
                break
            taken += size
            kept.appendleft(item)
        return list(kept), taken

    def __len__(self) -> int:
        return len(self._items)


@dataclass(slots=True, init=False)
class History:
    """Grows turn by turn; ``complete`` puts it into the next one.

    At most the newest 200 calls (1 MiB) and 200 user messages (512 KiB), and no more than leaves the turn
    within 4 MiB; messages come before calls. What is left out is counted in the turn's ``attributes`` under
    ``history_left_out``, as ``calls`` and ``user_messages``.
    """

    _calls: _Newest[ToolCall]
    _messages: _Newest[str]

    def __init__(self) -> None:
        self._calls = _Newest(HISTORY_CALLS, _CALL_BYTES)
        self._messages = _Newest(HISTORY_MESSAGES, _MESSAGE_BYTES)

    def complete(self, record: TurnRecord) -> TurnRecord:
        """``record`` with what was added so far."""
        if not (self._calls or self._messages or self._calls.left_out or self._messages.left_out):
            return record
        room = TURN_BYTES - _FRAME_BYTES - len(msgspec.json.encode(record))
        messages, taken = self._messages.within(room)
        calls, _taken = self._calls.within(room - taken)
        return msgspec.structs.replace(
            record,
            earlier_calls=calls,
            earlier_user_messages=messages,
            attributes=record.attributes | self._left_out(len(calls), len(messages)),
        )

    def add(self, record: TurnRecord) -> None:
        for call in record.tool_calls:
            self._calls.add(call)
        if record.user_message.strip():
            self._messages.add(record.user_message)

    def _left_out(self, calls: int, messages: int) -> dict[str, Any]:
        counts = {
            "calls": self._calls.left_out + len(self._calls) - calls,
            "user_messages": self._messages.left_out + len(self._messages) - messages,
        }
        return {LEFT_OUT: counts} if any(counts.values()) else {}
