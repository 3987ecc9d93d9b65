"""What became of the turns: counted while they pass, told as a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Counters", "Refusal", "Tally"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The last turn that the server would not take: which, where in it, and why.

    ``message`` may quote the turn, so it is left out of the ``repr`` and never logged.
    """

    external_id: str
    pointer: str
    message: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """A moment's numbers of one client in one process. Once the client rests,

        recorded + adopted == sent + duplicates + conflicts + refused + dropped + waiting

    Attributes:
        recorded: Turns given to ``record()``, those it dropped included.
        adopted: Turns found in spill files that processes before this one left.
        sent: Turns the server has stored.
        duplicates: Turns the server had already: an earlier answer was lost.
        conflicts: Turns whose id holds other content on the server, which was not changed.
        refused: Turns the server did not take; ``last_refusal`` tells why.
        dropped: Turns that are lost: no room, or no spill to keep them when the client was closed.
        waiting: Turns in memory or in this client's spill files, not answered yet.
        waiting_bytes: What those in memory take, their keeping included.
        spilled: Turns written to the spill.
        replayed: Turns answered by the server after they had been in the spill.
        reworded: Turns with a value that JSON or the server cannot hold, which was turned into text.
        retries: Requests that had to be repeated.
        last_error: The last trouble in a few words, without content of a turn; "" when there was none.
        last_refusal: The last turn refused.
    """

    recorded: int = 0
    adopted: int = 0
    sent: int = 0
    duplicates: int = 0
    conflicts: int = 0
    refused: int = 0
    dropped: int = 0
    waiting: int = 0
    waiting_bytes: int = 0
    spilled: int = 0
    replayed: int = 0
    reworded: int = 0
    retries: int = 0
    last_error: str = ""
    last_refusal: Refusal | None = None


@dataclass(slots=True)
class Tally:
    """The numbers that the sender's thread alone writes."""

    adopted: int = 0
    sent: int = 0
    duplicates: int = 0
    conflicts: int = 0
    refused: int = 0
    dropped: int = 0
    spilled: int = 0
    replayed: int = 0
    reworded: int = 0
    retries: int = 0
    last_error: str = ""
    last_refusal: Refusal | None = None
