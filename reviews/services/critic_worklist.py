"""Where the critic and reviewers differ: a list to read and learn from, newest decision first.

It has the turns that ``critic_numbers.agreements`` counts off the diagonal of its tables, whatever the day.
A turn stands here once, at the newest decision that differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import groupby
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet

from reviews.models import CriticVerdict, Tenant, Turn
from reviews.models.critic import Origin
from reviews.services.critic_numbers import APPROVE, CAUTION_OF, WANTED_OF
from reviews.services.errors import InvalidError
from reviews.services.queue import PAGE_SIZE, SCAN_LIMIT, decode_cursor, encode_cursor

#: It approved what a reviewer found fabricated; it asked for caution where the reviewer found nothing; a
#: reviewer judged its verdict and gave another.
MISSED: Final = "missed"
NEEDLESS: Final = "needless"
OVERRULED: Final = "overruled"
SIDES: Final = (MISSED, NEEDLESS, OVERRULED)


@dataclass(frozen=True)
class Disagreement:
    """A turn about which the critic and reviewers differ.

    ``said`` is what the critic answered; ``verdict`` differs from it only when ``forced``. ``turn_verdict``
    is the reviewers' word on the turn and ``human`` that on the critic's verdict, with ``reason`` and
    ``blind``; each "" when not given. ``who`` and ``when`` are those of the newest word that differs; ``who``
    is "" when the person is gone. ``sides`` are all on which they differ.
    """

    turn_id: int
    external_id: str
    agent: str
    occurred_at: datetime
    snippet: str
    snippet_start: int
    snippet_end: int
    origin: str
    gate_reason: str
    model: str
    said: str
    verdict: str
    forced: bool
    turn_verdict: str
    human: str
    reason: str
    blind: bool
    sides: tuple[str, ...]
    who: str
    when: datetime


@dataclass(frozen=True)
class WorklistPage:
    """One page. ``cursor`` leads on when there may be more; ``looked_at`` is set when the limit of decisions
    looked at ended it."""

    rows: list[Disagreement]
    cursor: str
    looked_at: int = 0


def worklist_page(
    *, tenant: Tenant, side: str = "", origin: str = "", cursor: str = "", size: int = PAGE_SIZE
) -> WorklistPage:
    """One page of the disagreements on a side ("" for all) with either critic ("" for both).

    At most ``SCAN_LIMIT`` decisions are looked at, in a few queries, and one more query reads the rows.

    Raises:
        InvalidError: no such side or origin, or the cursor is not one of this list.
    """
    wrong = {}
    if side not in ("", *SIDES):
        wrong["side"] = f"Must be one of {', '.join(SIDES)}."
    if origin not in ("", *Origin.values):
        wrong["origin"] = f"Must be one of {', '.join(Origin.values)}."
    if wrong:
        raise InvalidError("There is no such list.", fields=wrong)
    order = f"differ:{side}:{origin}"
    wanted = (side,) if side else SIDES
    after = decode_cursor(cursor, order) if cursor else None
    found: list[Place] = []
    looked_at = 0
    reached = after
    # Decisions of one moment on one turn are one place: a cursor cannot stand between them.
    for place, decisions in groupby(_decisions(tenant, wanted, after), key=_place):
        if reached is not None and looked_at >= SCAN_LIMIT:
            return WorklistPage(_rows(tenant, found), encode_cursor(order, *reached), looked_at)
        here = [_stands_here(decision, wanted, origin) for decision in decisions]
        if any(here):
            if len(found) == size:
                return WorklistPage(_rows(tenant, found), encode_cursor(order, *found[-1]))
            found.append(place)
        looked_at += len(here)
        reached = place
    return WorklistPage(_rows(tenant, found), "")


# -- Decisions in order, of which those that differ are picked out

#: When a decision was made, and the turn's id.
Place = tuple[datetime, int]


class _Decision(NamedTuple):
    """A word on a turn, or on its verdict, given ``at``; and the other word, if there is one."""

    at: datetime
    turn_id: int
    origin: str | None
    said: str | None
    turn_verdict: str
    decided_at: datetime | None
    human: str | None
    human_at: datetime | None


def _place(decision: _Decision) -> Place:
    return decision.at, decision.turn_id


def _differing(said: str | None, turn_verdict: str, human: str | None) -> tuple[str, ...]:
    """The sides on which reviewers differ from what the critic said; none when it said nothing."""
    if not said:
        return ()
    sides = []
    wants = WANTED_OF.get(turn_verdict)
    if wants is not None and wants != CAUTION_OF[said]:
        sides.append(MISSED if said == APPROVE else NEEDLESS)
    if human and human != said:
        sides.append(OVERRULED)
    return tuple(sides)


def _last_differing(
    sides: tuple[str, ...], decided_at: datetime | None, human_at: datetime | None
) -> datetime | None:
    """When the newest of the words that differ was given."""
    moments = [human_at if side == OVERRULED else decided_at for side in sides]
    return max((moment for moment in moments if moment is not None), default=None)


def _stands_here(decision: _Decision, wanted: tuple[str, ...], origin: str) -> bool:
    """Whether the list has the turn at this decision, and not at a newer one or not at all."""
    if origin and decision.origin != origin:
        return False
    sides = _differing(decision.said, decision.turn_verdict, decision.human)
    sought = tuple(side for side in sides if side in wanted)
    return _last_differing(sought, decision.decided_at, decision.human_at) == decision.at


def _decisions(tenant: Tenant, wanted: tuple[str, ...], after: Place | None) -> Iterator[_Decision]:
    """Words on turns and words on verdicts, as far as the sides need them, newest first."""
    streams = []
    if MISSED in wanted or NEEDLESS in wanted:
        turns = Turn.objects.for_tenant(tenant).filter(~Q(critic=""), ~Q(verdict=""))
        columns = ("decided_at", "id", "critic_verdict__origin", "critic_verdict__said", "verdict",
                   "decided_at", "critic_verdict__human", "critic_verdict__human_at")  # fmt: skip
        streams.append(_walk(turns, columns, after))
    if OVERRULED in wanted:
        verdicts = CriticVerdict.objects.for_tenant(tenant).filter(~Q(human=""))
        columns = ("human_at", "turn_id", "origin", "said", "turn__verdict",
                   "turn__decided_at", "human", "human_at")  # fmt: skip
        streams.append(_walk(verdicts, columns, after))
    return merge(*streams, key=_place, reverse=True)


def _walk(rows: QuerySet[Any], columns: tuple[str, ...], after: Place | None) -> Iterator[_Decision]:
    """The rows in the order of the first two columns, newest first, from behind a place; in chunks."""
    when, key = columns[:2]
    rows = rows.filter(**{f"{when}__isnull": False}).order_by(f"-{when}", f"-{key}")
    step = 250
    while True:
        if after is None:
            found = list(rows.values_list(*columns)[:step])
        else:
            # Two ranges of the index, as in the queue: the same moment, then the earlier ones.
            found = list(rows.filter(**{when: after[0], f"{key}__lt": after[1]}).values_list(*columns)[:step])
            if len(found) < step:
                earlier = rows.filter(**{f"{when}__lt": after[0]})
                found += earlier.values_list(*columns)[: step - len(found)]
        yield from map(_Decision._make, found)
        if len(found) < step:
            return
        after, step = (found[-1][0], found[-1][1]), 1000


# -- The rows of a page

_SHOWN: Final = (
    "origin", "gate_reason", "model", "said", "verdict", "forced", "human", "human_reason", "human_blind",
    "human_at", "human_by__username", "human_by__first_name", "human_by__last_name",
    "turn__external_id", "turn__agent", "turn__occurred_at", "turn__snippet", "turn__snippet_start",
    "turn__snippet_end", "turn__verdict", "turn__decided_at", "turn__decided_by__username",
    "turn__decided_by__first_name", "turn__decided_by__last_name",
)  # fmt: skip


def _rows(tenant: Tenant, places: list[Place]) -> list[Disagreement]:
    verdicts = (
        CriticVerdict.objects.for_tenant(tenant)
        .select_related("human_by", "turn__decided_by")
        .only(*_SHOWN)
        .in_bulk([turn_id for _, turn_id in places])
    )
    return [_row(verdicts[turn_id], when) for when, turn_id in places if turn_id in verdicts]


def _row(verdict: CriticVerdict, when: datetime) -> Disagreement:
    turn = verdict.turn
    sides = _differing(verdict.said, turn.verdict, verdict.human)
    overruled = OVERRULED in sides and verdict.human_at == when
    person = verdict.human_by if overruled else turn.decided_by
    return Disagreement(
        turn_id=turn.pk,
        external_id=turn.external_id,
        agent=turn.agent,
        occurred_at=turn.occurred_at,
        snippet=turn.snippet,
        snippet_start=turn.snippet_start,
        snippet_end=turn.snippet_end,
        origin=verdict.origin,
        gate_reason=verdict.gate_reason,
        model=verdict.model,
        said=verdict.said,
        verdict=verdict.verdict,
        forced=verdict.forced,
        turn_verdict=turn.verdict,
        human=verdict.human,
        reason=verdict.human_reason,
        blind=verdict.human_blind,
        sides=sides,
        who=person.display_name if person else "",
        when=when,
    )
