"""Turns that failed a memory assertion: a list to read, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from django.db.models import QuerySet

from reviews.core.assertion_suites import MAX_ASSERTIONS, MAX_SUITES
from reviews.models import AssertionResult, Tenant, Turn
from reviews.services.assertion_numbers import AssertionFilter
from reviews.services.queue import decode_cursor, encode_cursor

PAGE_SIZE: Final = 25
#: No turn has more results, so with one more than that there is always a whole turn.
_MOST_OF_A_TURN: Final = MAX_SUITES * MAX_ASSERTIONS


@dataclass(frozen=True)
class FailingTurn:
    """A turn and which of the assertions that were sought it failed."""

    turn: Turn
    failed: list[AssertionResult]


@dataclass(frozen=True)
class FailingPage:
    """One page; ``cursor`` leads on when there are more."""

    rows: list[FailingTurn]
    cursor: str


def results_of(*, tenant: Tenant, turn_id: int) -> list[AssertionResult]:
    """What the assertions found of a turn, by suite and in their order."""
    rows = AssertionResult.objects.for_tenant(tenant).filter(turn_id=turn_id)
    return list(rows.order_by("suite", "position"))


def failing_turns(
    *,
    tenant: Tenant,
    about: AssertionFilter = AssertionFilter(),  # noqa: B008  (frozen)
    cursor: str = "",
    size: int = PAGE_SIZE,
) -> FailingPage:
    """One page of failing turns. Two queries.

    Raises:
        InvalidError: the cursor is not one of this list.
    """
    order = f"failing:{about.suite}:{about.assertion}:{about.agent}"
    rows = AssertionResult.objects.for_tenant(tenant).filter(passed=False, **about.fields)
    most = size + _MOST_OF_A_TURN + 1
    found = _from(rows, decode_cursor(cursor, order) if cursor else None, most)
    groups = [list(group) for _, group in groupby(found, key=lambda row: row.turn_id)]
    if len(found) == most:
        # The last turn may have more failures than were read.
        del groups[-1]
    shown = groups[:size]
    more = len(groups) > size or len(found) == most
    last = shown[-1][-1] if shown else None
    return FailingPage(
        rows=_with_turns(tenant, shown),
        cursor=encode_cursor(order, last.occurred_at, last.turn_id) if more and last else "",
    )


def _from(
    rows: QuerySet[AssertionResult], after: tuple[datetime, int] | None, most: int
) -> list[AssertionResult]:
    rows = rows.order_by("-occurred_at", "-turn_id")
    if after is None:
        return list(rows[:most])
    # Two ranges of the index, as in the queue: the same moment, then the earlier ones.
    found = list(rows.filter(occurred_at=after[0], turn_id__lt=after[1])[:most])
    if len(found) < most:
        found += rows.filter(occurred_at__lt=after[0])[: most - len(found)]
    return found


def _with_turns(tenant: Tenant, groups: Iterable[list[AssertionResult]]) -> list[FailingTurn]:
    groups = list(groups)
    turns = Turn.objects.for_tenant(tenant).in_bulk([group[0].turn_id for group in groups])
    return [
        FailingTurn(turns[group[0].turn_id], sorted(group, key=lambda row: (row.suite, row.position)))
        for group in groups
        if group[0].turn_id in turns
    ]
