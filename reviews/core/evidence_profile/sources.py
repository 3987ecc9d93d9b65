"""The texts and calls that can bear a claim out, each under its name.

The assistant's own text is none of them. A call's arguments are the assistant's words too: they count only
when the call did not fail, and what a failed call answers counts only where it does not repeat those
arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reviews.core._needles import occurring
from reviews.core.evidence_profile.success import CallOutcome, call_outcome
from reviews.core.evidence_profile.tools import ToolKind, kind_of_call
from reviews.core.evidence_profile.turn import CallLike, EvidenceTurn, GroundingSource, RanCall, SourceKind

__all__ = ["SeenCall", "Sources", "printed"]

_EXCERPT: Final = 120
# From so many needles on an automaton finds out which of them are worth a search.
_FEW: Final = 12


def printed(value: Any) -> str:
    """A call's arguments or result as text, with letters unescaped; "" for what cannot be read."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return str(value)
    except Exception:  # any object may come from an agent's process
        return ""


class SeenCall:
    """A call with what is made of it. ``index`` is its place among the turn's calls, or the earlier ones.

    ``counts``: it did not fail, so its result and arguments can bear a claim out.
    """

    __slots__ = ("_result", "call", "counts", "earlier", "index", "kind", "name", "outcome")

    def __init__(
        self, call: CallLike, index: int, earlier: bool, outcome: CallOutcome, kind: ToolKind
    ) -> None:
        self.call = call
        self.index = index
        self.earlier = earlier
        self.outcome = outcome
        self.kind = kind
        self.name = call.name
        self.counts = not outcome.failed
        self._result: str | None = None

    @property
    def result(self) -> str:
        """The result as text."""
        if self._result is None:
            self._result = printed(self.call.result)
        return self._result

    def as_source(self, excerpt: str = "") -> GroundingSource:
        kind: SourceKind = "result_earlier" if self.earlier else "result_this_turn"
        return GroundingSource(kind, self.name, self.index, excerpt[:_EXCERPT])

    def as_ran(self) -> RanCall:
        return RanCall(self.name, self.outcome.state, self.earlier, self.outcome.why)


class Sources:
    """The evidence of one turn, read only as far as some claim needs it.

    ``checked`` are the sources that exist, in the order in which they are looked at.
    """

    def __init__(self, turn: EvidenceTurn) -> None:
        self._turn = turn
        self.user = turn.user_message if isinstance(turn.user_message, str) else ""
        self.context = turn.hydrated_context if isinstance(turn.hydrated_context, str) else ""
        self._calls: tuple[SeenCall, ...] | None = None
        self._earlier: tuple[SeenCall, ...] | None = None
        present: list[SourceKind] = []
        if turn.calls:
            present.append("result_this_turn")
        if turn.earlier_calls:
            present.append("result_earlier")
        if self.user:
            present.append("user_message")
        if self.context:
            present.append("hydrated_context")
        self.checked: tuple[SourceKind, ...] = tuple(present)

    @property
    def calls(self) -> tuple[SeenCall, ...]:
        """The calls of this turn."""
        if self._calls is None:
            self._calls = self._seen(self._turn.calls, earlier=False)
        return self._calls

    @property
    def earlier(self) -> tuple[SeenCall, ...]:
        """The calls of earlier turns, oldest first."""
        if self._earlier is None:
            self._earlier = self._seen(self._turn.earlier_calls, earlier=True)
        return self._earlier

    def _seen(self, calls: Sequence[CallLike], *, earlier: bool) -> tuple[SeenCall, ...]:
        if not calls:
            return ()
        descriptions = {tool.name: tool.description for tool in self._turn.tools}
        return tuple(
            SeenCall(
                call, index, earlier, call_outcome(call), kind_of_call(call, descriptions.get(call.name, ""))
            )
            for index, call in enumerate(calls)
            if isinstance(call.name, str)
        )

    @property
    def newest_first(self) -> tuple[SeenCall, ...]:
        """All calls, the latest first: this turn's, then the earlier ones."""
        return (*reversed(self.calls), *reversed(self.earlier))

    def locate(self, needles: set[str]) -> dict[str, GroundingSource]:
        """The source of each needle that occurs verbatim in some source; the first source counts."""
        found: dict[str, GroundingSource] = {}
        wanted = set(needles)
        for calls in (self.calls, self.earlier):
            if wanted and calls:
                self._locate_in_calls(calls, wanted, found)
        if wanted and self.user:
            self._locate_in_text("user_message", self.user, wanted, found)
        for message in reversed(self._turn.earlier_user_messages or ()):
            if wanted and isinstance(message, str) and message:
                self._locate_in_text("user_message", message, wanted, found)
        if wanted and self.context:
            self._locate_in_text("hydrated_context", self.context, wanted, found)
        return found

    @staticmethod
    def _locate_in_text(
        kind: SourceKind, text: str, wanted: set[str], found: dict[str, GroundingSource]
    ) -> None:
        for needle, at in _places(wanted, text):
            found[needle] = GroundingSource(kind, excerpt=_around(text, needle, at))
            wanted.discard(needle)

    @staticmethod
    def _locate_in_calls(
        calls: Sequence[SeenCall], wanted: set[str], found: dict[str, GroundingSource]
    ) -> None:
        for seen in calls:
            if not wanted:
                return
            arguments = printed(seen.call.args)
            second = arguments if seen.counts else seen.call.error or ""
            for text in (seen.result, second):
                if not text:
                    continue
                for needle, at in _places(wanted, text):
                    if seen.counts or needle not in arguments:
                        found[needle] = seen.as_source(_around(text, needle, at))
                        wanted.discard(needle)
                    # else the failed call only repeats what it was given


def _places(needles: set[str], text: str) -> list[tuple[str, int]]:
    """The needles in ``text`` and where each is."""
    if len(needles) > _FEW:
        needles = occurring(needles, [text])
    return [(needle, at) for needle in needles if (at := text.find(needle)) >= 0]


def _around(text: str, needle: str, at: int) -> str:
    return text[max(0, at - 40) : at + len(needle) + 60]
