"""One turn while it happens: what is known of it so far, and the document that it ends as."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from math import inf
from typing import Any, Final

from reviews.client.handlers._messages import SeenCall
from reviews.client.handlers._values import plain, size_of, text_of

__all__ = ["MOST_TEXT", "OpenCall", "OpenTurn", "external_id_of"]

#: Characters of one text (draft, user's message, context), of the values of one call, and of all calls
#: together. What goes beyond is cut, and marked.
MOST_TEXT: Final = 400_000
MOST_CALL_TEXT: Final = 200_000
MOST_CALLS_TEXT: Final = 1_000_000
MOST_ERROR: Final = 2_000
MOST_CALLS: Final = 1_000
MOST_NAME: Final = 200
#: Of an id that gets a number behind it.
_MOST_BASE: Final = 180
#: What the intake takes, with room for the client's own fields.
MOST_BYTES: Final = 4 * 1024 * 1024 - 4_096
#: No document of fewer characters than this has too many bytes.
SURELY_FITS: Final = 600_000
#: Characters that are left of the values of calls, and of texts, in a turn that is still too large without
#: all that can be left out.
_SHORT_CALL, _SHORT_TEXT = 100, 100_000
_CALL_TEXTS: Final = ("args", "result", "error")


def external_id_of(run_id: str) -> str:
    """The id under which reviewers know a run: the run's own, or a digest of one that is too long."""
    name = text_of(run_id, 10 * MOST_NAME)
    return name if len(name) <= MOST_NAME else f"run-{sha256(name.encode()).hexdigest()}"


@dataclass
class OpenCall:
    """One tool call. Times are of ``time.perf_counter``; ``known`` fields are JSON values already."""

    id: str
    name: str = ""
    args: Any = None
    result: Any = None
    ok: bool | None = None
    error: str | None = None
    began: float | None = None
    duration_ms: float | None = None
    size: int = 0

    def document(self) -> dict[str, Any]:
        found = {
            "id": self.id,
            "name": self.name,
            "args": self.args,
            "result": self.result,
            "ok": self.ok,
            "error": self.error,
            "duration_ms": self.duration_ms,
        }
        return {name: value for name, value in found.items() if value is not None and value != ""}


@dataclass
class OpenTurn:
    """What is known of a turn. Methods may be called in any order, and again: the first word stands."""

    run_id: str
    user_message: str = ""
    context: list[str] = field(default_factory=list)
    model: str = ""
    conversation_id: str = ""
    agent: str = ""
    began_at: str = ""
    error: dict[str, str] | None = None
    intent: dict[str, Any] | None = None
    critic: dict[str, Any] | None = None
    activation: dict[str, Any] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, OpenCall] = field(default_factory=dict)
    earlier_calls: list[dict[str, Any]] = field(default_factory=list)
    #: The server has the turn already, by a check.
    stored: bool = False
    #: How often its draft was asked about before it went out.
    checks: int = 0
    calls_text: int = 0
    calls_left_out: int = 0

    # -- Facts

    def begin(self, user_message: str = "") -> None:
        self.began_at = self.began_at or datetime.now(UTC).isoformat()
        if user_message and not self.user_message:
            self.user_message = text_of(user_message, MOST_TEXT)

    def note_context(self, text: str) -> None:
        """Something that the model was shown; the same text counts once."""
        room = MOST_TEXT - sum(len(known) for known in self.context)
        text = text_of(text, room) if room > 0 else ""
        if text.strip() and text not in self.context:
            self.context.append(text)

    def note_error(self, kind: str, message: str) -> None:
        self.error = self.error or {"type": text_of(kind, MOST_NAME), "message": text_of(message, MOST_ERROR)}

    def note_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Things of the agent's own; the last word on each stands."""
        copied = plain(attributes, MOST_CALL_TEXT)
        self.attributes.update(copied if isinstance(copied, dict) else {})

    def call_began(self, call_id: str, name: str, args: Any, *, timed: bool = True) -> None:
        call = self._call(call_id)
        if call is None:
            self.calls_left_out += 1
            return
        call.name = call.name or text_of(name, MOST_NAME)
        if call.args is None:
            call.args = self._value(call, args)
        if timed and call.began is None and call.duration_ms is None:
            call.began = time.perf_counter()

    def call_ended(
        self,
        call_id: str,
        *,
        name: str = "",
        result: Any = None,
        ok: bool | None = None,
        error: str | None = None,
        duration_ms: float | None = None,
    ) -> None:
        call = self._call(call_id)
        if call is None:
            return
        call.name = call.name or text_of(name, MOST_NAME)
        if duration_ms is None and call.began is not None:
            duration_ms = (time.perf_counter() - call.began) * 1000
        if call.duration_ms is None and duration_ms is not None and 0 <= duration_ms < inf:
            call.duration_ms = round(duration_ms, 3)
        if result is not None and call.result is None:
            call.result = self._value(call, result)
        call.ok = ok if call.ok is None else call.ok
        if error is not None:
            call.error = call.error or text_of(error, MOST_ERROR)

    def calls_seen(self, calls: Iterable[SeenCall]) -> None:
        """Calls that messages tell of: those that no event told of, and what is missing of the others."""
        for seen in calls:
            if seen.id:
                self.call_began(seen.id, seen.name, seen.args, timed=False)
                failed = text_of(seen.result, MOST_ERROR) if seen.ok is False else None
                self.call_ended_quietly(seen, failed)

    def call_ended_quietly(self, seen: SeenCall, error: str | None) -> None:
        """As ``call_ended``, for an answer that says nothing about when it came."""
        call = self.calls.get(seen.id)
        if call is not None and seen.ok is not None:
            began, call.began = call.began, None
            self.call_ended(seen.id, result=seen.result, ok=seen.ok, error=error)
            call.began = began

    def earlier(self, calls: Iterable[SeenCall]) -> None:
        """Calls of earlier turns, which messages still tell of."""
        if not self.earlier_calls:
            found = [c for c in calls if c.name][-MOST_CALLS:]
            each = MOST_CALL_TEXT // max(1, len(found))
            for c in found:
                args, result = plain(c.args, each), plain(c.result, each)
                call = OpenCall(text_of(c.id, MOST_NAME), text_of(c.name, MOST_NAME), args, result, c.ok)
                self.earlier_calls.append(call.document())

    def _call(self, call_id: str) -> OpenCall | None:
        call = self.calls.get(call_id)
        if call is None:
            if len(self.calls) >= MOST_CALLS:
                return None
            call = self.calls[call_id] = OpenCall(text_of(call_id, MOST_NAME))
        return call

    def _value(self, call: OpenCall, value: Any) -> Any:
        room = min(MOST_CALL_TEXT - call.size, MOST_CALLS_TEXT - self.calls_text)
        copied = plain(value, max(0, room))
        if copied is not None:
            size = len(copied) if isinstance(copied, str) else len(repr(copied))
            call.size += size
            self.calls_text += size
        return copied

    # -- The end

    def document(self, *, draft: str, agent: str = "") -> dict[str, Any]:
        """The turn in the native format. ``external_id`` comes from the run's id; a draft that is asked about
        after another one is a turn of its own to the server, and so gets a number behind it.
        """
        external_id = external_id_of(self.run_id)
        if self.checks > 1:
            external_id = f"{external_id[:_MOST_BASE]}/{self.checks}"
        attributes = dict(self.attributes)
        if self.error:
            attributes["error"] = self.error
        if self.calls_left_out:
            attributes["calls_left_out"] = self.calls_left_out
        found: dict[str, Any] = {
            "external_id": external_id,
            "draft": text_of(draft, MOST_TEXT),
            "user_message": self.user_message,
            "hydrated_context": "\n\n".join(self.context),
            "tool_calls": [call.document() for call in self.calls.values() if call.name.strip()],
            "earlier_calls": self.earlier_calls,
            "conversation_id": text_of(self.conversation_id, MOST_NAME),
            "agent": text_of(self.agent or agent, MOST_NAME),
            "model": text_of(self.model, MOST_NAME),
            "occurred_at": self.began_at,
            "intent": self.intent,
            "critic": self.critic,
            "activation": self.activation,
            "attributes": attributes,
        }
        needed = ("external_id", "draft")
        return _fitting({name: value for name, value in found.items() if value or name in needed})


def _fitting(turn: dict[str, Any]) -> dict[str, Any]:
    """The turn within the intake's limit: what matters least to its review is left out first."""
    if sum(len(repr(value)) for value in turn.values()) <= SURELY_FITS or size_of(turn) <= MOST_BYTES:
        return turn
    attributes: dict[str, Any] = turn.get("attributes", {})
    dropped = []
    for name in ("earlier_calls", "activation", "attributes", "hydrated_context"):
        if turn.pop(name, None) is not None:
            dropped.append(name)
        turn["attributes"] = {"left_out": dropped} | {k: v for k, v in attributes.items() if k == "error"}
        if size_of(turn) <= MOST_BYTES:
            return turn
    for call in turn.get("tool_calls", ()):
        call.update({name: plain(call[name], _SHORT_CALL) for name in _CALL_TEXTS if name in call})
    turn["draft"], turn["user_message"] = (
        text_of(turn.get(name, ""), _SHORT_TEXT) for name in ("draft", "user_message")
    )
    return turn
