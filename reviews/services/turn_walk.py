"""Walking over a tenant's stored turns, the newest first, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Substr

from reviews.core.episodes import ToolUse
from reviews.models import Turn, TurnPayload

#: Characters read of a message or a draft: a rule is about what is said at its beginning, and one turn may
#: hold megabytes.
TEXT_CHARACTERS: Final = 4_000
#: Bytes of a call's arguments or its result that are read as JSON; of a longer one the beginning is kept.
VALUE_BYTES: Final = 2_000

#: What a failed call counts as whose source says no more.
FAILED_WITHOUT_WORDS: Final = "failed"


class Place(NamedTuple):
    """A turn's place in the order of time."""

    occurred_at: datetime
    id: int


class Told(NamedTuple):
    """What is read of a turn. ``draft`` and ``attributes`` are empty unless they were asked for."""

    user_message: str
    draft: str
    calls: tuple[ToolUse, ...]
    attributes: dict[str, Any]


class _Call(msgspec.Struct):
    """A stored call; its values stay unread."""

    name: str
    args: msgspec.Raw = msgspec.Raw(b"null")
    result: msgspec.Raw = msgspec.Raw(b"null")
    ok: bool | None = None
    error: str | None = None


class _Outcome(msgspec.Struct):
    """The same without its values, which may be long."""

    name: str
    ok: bool | None = None
    error: str | None = None


_calls = msgspec.json.Decoder(list[_Call])
_outcomes = msgspec.json.Decoder(list[_Outcome])


def turns_before(
    *, tenant_id: int, after: Place | None, limit: int, since: datetime | None = None
) -> list[Place]:
    """The next turns behind a place, the newest first; those that occurred at ``since`` or later."""
    turns: QuerySet[Turn, tuple[Any, ...]] = (
        Turn.objects.for_tenant(tenant_id).order_by("-occurred_at", "-id").values_list("occurred_at", "id")
    )
    if since is not None:
        turns = turns.filter(occurred_at__gte=since)
    if after is None:
        return [Place(*row) for row in turns[:limit]]
    # Two ranges of the index; as one condition SQLite would read from the start of the equal times.
    found = list(turns.filter(occurred_at=after.occurred_at, id__lt=after.id)[:limit])
    found += turns.filter(occurred_at__lt=after.occurred_at)[: limit - len(found)]
    return [Place(*row) for row in found]


def told_of(
    *,
    tenant_id: int,
    turn_ids: Sequence[int],
    with_draft: bool = False,
    with_values: bool = False,
    with_attributes: bool = False,
) -> dict[int, Told]:
    """What these turns tell, by id. ``with_values``: with the arguments and results of the calls."""
    payloads = TurnPayload.objects.for_tenant(tenant_id).filter(turn_id__in=turn_ids)
    # The calls as the text they are kept as: decoding them whole would take longer than all the rest.
    columns: dict[str, Any] = {
        "said": Substr("user_message", 1, TEXT_CHARACTERS),
        "made": Cast("tool_calls", TextField()),
    }
    if with_draft:
        columns["answer"] = Substr("draft", 1, TEXT_CHARACTERS)
    if with_attributes:
        columns["marks"] = Cast("attributes", TextField())
    found = {}
    for row in payloads.annotate(**columns).values("turn_id", *columns).iterator(chunk_size=200):
        marks = row.get("marks")
        found[row["turn_id"]] = Told(
            user_message=row["said"],
            draft=row.get("answer", ""),
            calls=_calls_of(row["made"], with_values=with_values),
            attributes=msgspec.json.decode(marks) if marks else {},
        )
    return found


def failed(call: ToolUse) -> bool:
    return call.error is not None


def _calls_of(stored: str | None, *, with_values: bool) -> tuple[ToolUse, ...]:
    if not stored:
        return ()
    if with_values:
        return tuple(
            ToolUse(call.name, _value(call.args), _value(call.result), _error(call))
            for call in _calls.decode(stored)
        )
    return tuple(ToolUse(call.name, error=_error(call)) for call in _outcomes.decode(stored))


def _error(call: _Call | _Outcome) -> str | None:
    if call.error:
        return call.error[:TEXT_CHARACTERS]
    return FAILED_WITHOUT_WORDS if call.ok is False else None


def _value(raw: msgspec.Raw) -> Any:
    """The value, or the beginning of its text when it is long."""
    held = bytes(raw)
    if len(held) <= VALUE_BYTES:
        return msgspec.json.decode(held)
    return held[:VALUE_BYTES].decode(errors="ignore")
