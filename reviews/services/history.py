"""What a conversation held before a turn, for senders that give a conversation's id and nothing more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from reviews.formats.record import ToolCall, TurnRecord
from reviews.models import Turn

#: Of a conversation the newest turns before this one, with their calls, are looked at.
TURNS_BEFORE: Final = 50
CALLS_BEFORE: Final = 200
#: Turns read for a batch, the newest: what one batch may cost, whatever the conversations in it.
TURNS_READ: Final = 2_000


class _Earlier(NamedTuple):
    at: datetime
    turn_id: int
    user_message: str
    calls: list[ToolCall]


def with_history(*, tenant_id: int, records: Sequence[tuple[int | None, TurnRecord]]) -> list[TurnRecord]:
    """The records, with calls and user messages of earlier turns of the conversation that are stored here.

    ``records`` come with their turn's id, None for one that is not stored. What a sender says itself stands.
    One query, or none where no record needs it.
    """
    lacking = {
        record.conversation_id
        for _, record in records
        if record.conversation_id and not record.earlier_calls and not record.earlier_user_messages
    }
    before = _conversations(tenant_id, lacking) if lacking else {}
    return [_filled(turn_id, record, before.get(record.conversation_id, [])) for turn_id, record in records]


def _conversations(tenant_id: int, names: set[str]) -> dict[str, list[_Earlier]]:
    """The turns of conversations, newest first."""
    rows = (
        Turn.objects.for_tenant(tenant_id)
        .filter(conversation_id__in=names)
        .exclude(conversation_id="")
        .order_by("-occurred_at", "-id")
        .values_list("conversation_id", "occurred_at", "id", "payload__user_message", "payload__tool_calls")
    )
    found: defaultdict[str, list[_Earlier]] = defaultdict(list)
    for name, at, turn_id, said, calls in rows[:TURNS_READ]:
        if len(found[name]) <= TURNS_BEFORE:
            found[name].append(_Earlier(at, turn_id, said, msgspec.convert(calls or [], list[ToolCall])))
    return found


def _filled(turn_id: int | None, record: TurnRecord, turns: Sequence[_Earlier]) -> TurnRecord:
    if record.earlier_calls or record.earlier_user_messages:
        return record
    earlier = [turn for turn in reversed(turns) if _is_before(turn, turn_id, record.occurred_at)]
    if not earlier:
        return record
    calls = [call for turn in earlier for call in turn.calls]
    return msgspec.structs.replace(
        record,
        earlier_calls=calls[-CALLS_BEFORE:],
        earlier_user_messages=[turn.user_message for turn in earlier if turn.user_message],
    )


def _is_before(turn: _Earlier, turn_id: int | None, at: datetime | None) -> bool:
    """Turns of one moment follow each other by their ids; a turn without a time happens now."""
    if turn.turn_id == turn_id:
        return False
    if at is None or turn.at < at:
        return True
    return turn.at == at and (turn_id is None or turn.turn_id < turn_id)
