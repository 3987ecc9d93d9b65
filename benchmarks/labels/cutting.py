"""The files of real transcripts cut into the turns that labels refer to.

A turn is ``(source, conversation, turn)``: the file's stem, the 0-based line of the file, and the 0-based
turn within that line, counted over all turns of the conversation, draft or not. ``docs/labelling.md`` states
the rules; the readers of ``reviews.formats`` do the cutting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from reviews.formats import FORMATS
from reviews.formats.origin import FileOrigin, LineOrigin
from reviews.formats.provider_wire import read_provider_wire
from reviews.formats.record import TurnRecord

__all__ = ["SOURCES", "SourceTurn", "read_source"]

_READERS: dict[str, Callable[[bytes, LineOrigin], Iterable[tuple[int, TurnRecord]]]] = {
    "tau_bench_airline": FORMATS["tau-bench"],
    "tau2_sim_es_en": FORMATS["tau2"],
    # Labels count the turns before the first user message, which an import leaves out.
    "provider_wire": partial(read_provider_wire, keep_headless=True),
    "hammerbench_zh": FORMATS["hammerbench"],
    "swe_agent_traj": FORMATS["swe-agent"],
    "otel_genai_examples": FORMATS["otel-genai"],
    "reports": FORMATS["reports"],
}
SOURCES = tuple(_READERS)


@dataclass(frozen=True, kw_only=True)
class SourceTurn:
    """One turn with its address; ``record.draft`` is "" when the agent said nothing."""

    source: str
    conversation: int
    turn: int
    record: TurnRecord

    @property
    def id(self) -> str:
        return f"{self.source}:{self.conversation}:{self.turn}"


def read_source(folder: Path, source: str) -> Iterator[SourceTurn]:
    """All turns of one file in order; raises ``KeyError`` for a file not among ``SOURCES``."""
    read = _READERS[source]
    origin = FileOrigin(source)
    # Not splitlines: JSON strings may hold other line ends such as U+2028.
    lines = (folder / f"{source}.jsonl").read_bytes().split(b"\n")
    for conversation, raw in enumerate(line for line in lines if line.strip()):
        for number, record in read(raw, LineOrigin(origin, conversation + 1)):
            yield SourceTurn(source=source, conversation=conversation, turn=number - 1, record=record)
