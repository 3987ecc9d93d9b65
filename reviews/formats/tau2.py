"""tau2-bench simulations: one conversation per document, with the customer's simulated side in it.

The assistant greets first, so the first turn has no user message. Calls carry their arguments as objects;
``requestor`` tells whose call a result answers: what the simulated customer runs is nothing the agent did.
The last user message ends in a stop mark and is never answered.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviews.formats.chat import Chat, cut_turns
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.typed import describe

__all__ = ["read_tau2"]

_KEPT = ("task_id", "trial", "termination_reason")


def read_tau2(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of one simulation with their numbers from 1; task, trial and how it ended go into
    ``attributes``.

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
            attributes={key: document[key] for key in _KEPT if document.get(key) is not None},
        )
    )
