"""SWE-agent trajectories: the whole work on one task is one turn.

The user message is the last one before the agent's first step; demonstrations and instructions before it are
context. Each ``action`` is a call, the message after it its result, and ``thought`` is what the agent says;
the last one is the draft. Terminal output is kept as it was, with its escape sequences and line ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviews.formats.content import joined_text
from reviews.formats.errors import RecordError, pointer
from reviews.formats.lenient import parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.turns import UNNAMED_TOOL, Conversation, TurnCutter
from reviews.formats.typed import describe

__all__ = ["read_swe_agent"]

_RESULT_ROLES = ("user", "tool")


def read_swe_agent(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The one turn of a trajectory.

    Raises ``RecordError`` for a document of another shape, and for one without any step of the agent.
    """
    document = parse_transcript(raw)
    if not isinstance(document, dict):
        raise RecordError("", f"found {describe(document)}, expected an object with history")
    if not isinstance(history := document.get("history"), list):
        raise RecordError("/history", f"found {describe(history)}, expected a list of messages")
    for index, message in enumerate(history):
        if not isinstance(message, dict):
            raise RecordError(
                pointer(("history", index)), f"found {describe(message)}, expected a message object"
            )
    roles = [message.get("role") for message in history]
    if "assistant" not in roles:
        raise RecordError("/history", "found no message of the assistant, expected at least one step")
    first = roles.index("assistant")
    asked = max((index for index in range(first) if roles[index] == "user"), default=-1)
    cutter = TurnCutter()
    for index in range(first):
        if index != asked:
            cutter.system(joined_text(history[index].get("content")))
    cutter.user(joined_text(history[asked].get("content")) if asked >= 0 else "")
    _add_steps(cutter, history, first)
    names = (document.get(key) for key in ("id", "instance_id", "source_path"))
    name = next((name for name in names if name), None)
    return cutter.records(Conversation(id=origin.conversation_id(name)))


def _add_steps(cutter: TurnCutter, history: list[dict[str, Any]], first: int) -> None:
    awaited = False
    for message in history[first:]:
        cutter.begin()
        if message.get("role") == "assistant":
            cutter.answer(joined_text(message.get("thought")))
            action = message.get("action")
            awaited = isinstance(action, str) and action != ""
            if awaited:
                cutter.call(_command(action), {"command": action})
        elif awaited and message.get("role") in _RESULT_ROLES:
            cutter.result(joined_text(message.get("content")))
            awaited = False


def _command(action: Any) -> str:
    words = str(action).split(maxsplit=1)
    return words[0][:200] if words else UNNAMED_TOOL
