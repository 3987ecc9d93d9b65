"""tau-bench runs: one conversation per document, its OpenAI chat messages under ``traj``."""

from __future__ import annotations

from collections.abc import Iterator

from reviews.formats.chat import Chat, cut_turns
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_transcript
from reviews.formats.origin import LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.typed import describe

__all__ = ["read_tau_bench"]

_KEPT = ("task_id", "trial", "reward")


def read_tau_bench(raw: bytes, origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    """The turns of one run with their numbers from 1; task, trial and reward go into ``attributes``.

    Raises ``RecordError`` for a document of another shape.
    """
    document = parse_transcript(raw)
    if not isinstance(document, dict):
        raise RecordError("", f"found {describe(document)}, expected an object with traj")
    if not isinstance(messages := document.get("traj"), list):
        raise RecordError("/traj", f"found {describe(messages)}, expected a list of messages")
    return cut_turns(
        Chat(
            conversation_id=origin.conversation_id(document.get("id")),
            messages=messages,
            path=("traj",),
            attributes={key: document[key] for key in _KEPT if document.get(key) is not None},
        )
    )
