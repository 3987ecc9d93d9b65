"""The queue: filtered, ordered pages of turns by keyset, and what comes before and after a turn in them.

One of the filters is found through its own index; the others are looked at row by row, over at most
``SCAN_LIMIT`` rows a page, so that no combination can make a page slow. When the limit is reached the page
says so and offers to look further.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.utils import timezone

from reviews.models import Tenant, Turn, TurnPayload
from reviews.models.turns import (
    KIND_BITS,
    ActionTaken,
    AnalysisState,
    AssertionStanding,
    CriticStanding,
    ReviewState,
    Severity,
)
from reviews.services.errors import InvalidError
from reviews.services.judge import priority_of

PAGE_SIZE = 50
#: Rows looked at for one page when filters are combined; a few milliseconds' work on either database.
SCAN_LIMIT = 5_000
#: Text search reads the long text of every row it looks at.
TEXT_SCAN_LIMIT = 2_000
#: Counts above this are shown as "1,000+": a count must not cost more the more there is.
COUNT_LIMIT = 1_000

#: A place in an order: the sort column's value and the turn's id.
Key = tuple[Any, int]
#: The columns of ``_SCANNED``, for a test to look at.
Row = tuple[Any, ...]

#: States of flagged turns: the lists that priority orders and that each filter has an index for.
REVIEWED_STATES = ("open", "decided")
STATES = ("open", "decided", "all", "clean", "failed")
ORDERS = ("priority", "newest", "oldest")
SAMPLES = ("audit",)
ASSERTIONS = ("failed",)
AGES = {
    "1h": timedelta(hours=1),
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}


@dataclass(frozen=True)
class QueueFilter:
    """What the reviewer asked to see. Empty means any."""

    state: str = "open"
    kind: str = ""
    severity: int = 0
    min_confidence: float = 0.0
    agent: str = ""
    outcome: str = ""
    assignee: int | None = None
    age: str = ""
    text: str = ""
    #: How it stands with the critic.
    critic: str = ""
    #: Only turns that failed a memory assertion of a suite that puts its failures before reviewers.
    assertions: bool = False
    #: Only the audit sample: unflagged turns that were drawn at random.
    sample: bool = False
    order: str = "priority"

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the state narrows the list."""
        return replace(self, order="priority") == QueueFilter(state=self.state)


@dataclass(frozen=True)
class QueuePage:
    """One page. ``cursor`` leads on when there may be more; ``looked_at`` is set when the limit ended it."""

    turns: list[Turn]
    cursor: str
    looked_at: int = 0


#: Columns that a row of the list shows; the rest of the narrow row stays where it is.
ROW_COLUMNS = (
    "id", "external_id", "agent", "occurred_at", "kinds", "finding_count", "max_severity", "max_confidence",
    "outcome", "snippet", "snippet_start", "snippet_end", "tools_note", "priority",
    "review_state", "verdict", "assignee_id", "analysis_state", "decided_by_id", "version", "audit_rate",
    "critic", "assertions",
)  # fmt: skip


def queue_page(*, tenant: Tenant, wanted: QueueFilter, cursor: str = "", size: int = PAGE_SIZE) -> QueuePage:
    """One page of the queue, from the beginning or from a cursor. One query, or two behind a
    cursor; a combination of filters takes as many as it has to look through chunks.

    Raises:
        InvalidError: the cursor is not one of ours, or was made for another order.
    """
    return _page(tenant, wanted, decode_cursor(cursor, wanted.order) if cursor else None, size)


def _page(tenant: Tenant, wanted: QueueFilter, after: Key | None, size: int) -> QueuePage:
    search = _search_of(wanted)
    if not search.rest and not search.text:
        stretches = [rows.only(*ROW_COLUMNS) for rows in _sought(tenant, search)]
        turns = _walk(stretches, wanted.order, after, size + 1)
        return QueuePage(turns[:size], cursor_of(turns[size - 1], wanted.order) if len(turns) > size else "")
    scan = _Scan(tenant, wanted, search, after)
    ids = list(islice(scan, size + 1))
    by_id = Turn.objects.for_tenant(tenant).only(*ROW_COLUMNS).in_bulk(ids[:size])
    turns = [by_id[i] for i in ids[:size]]
    if len(ids) > size:
        return QueuePage(turns, cursor_of(turns[-1], wanted.order))
    if scan.stopped_at is not None:
        return QueuePage(turns, encode_cursor(wanted.order, *scan.stopped_at), looked_at=scan.looked_at)
    return QueuePage(turns, "")


def neighbour(*, tenant: Tenant, wanted: QueueFilter, turn: Turn, forward: bool = True) -> int | None:
    """The turn after (or before) ``turn`` in the filtered order, also when it no longer matches itself."""
    key: Key = (_sort_key(turn, wanted.order), turn.pk)
    return next(iter(_Scan(tenant, wanted, _search_of(wanted), key, forward=forward, chunk=1)), None)


def capped_count(*, tenant: Tenant, wanted: QueueFilter) -> tuple[int, bool]:
    """How many turns match, and whether there may be more: no further than either limit."""
    search = _search_of(wanted)
    if not search.rest and not search.text:
        count = 0
        for rows in _sought(tenant, search):
            if count <= COUNT_LIMIT:
                count += len(rows.values_list("id", flat=True)[: COUNT_LIMIT + 1 - count])
        return min(count, COUNT_LIMIT), count > COUNT_LIMIT
    scan = _Scan(tenant, wanted, search, None)
    count = sum(1 for _ in islice(scan, COUNT_LIMIT + 1))
    return min(count, COUNT_LIMIT), count > COUNT_LIMIT or scan.stopped_at is not None


# -- Looking at rows one by one

_SCANNED = ("id", "priority", "occurred_at", "kinds", "agent", "outcome", "max_severity", "max_confidence",
            "assignee_id", "analysis_state", "audit_rate", "critic", "assertions",
            "external_id", "conversation_id")  # fmt: skip
_FIELD = {name: n for n, name in enumerate(_SCANNED)}


class _Scan:
    """Ids of matching turns in order, over at most the scan limit of candidates.

    The tests run here rather than in SQL, because a planner that sees them prefers their index to the order
    and then reads all of a tenant's rows. After the iteration, ``stopped_at`` is the place where the limit
    ended it (None when the candidates themselves ended).
    """

    def __init__(
        self,
        tenant: Tenant,
        wanted: QueueFilter,
        search: _Search,
        after: Key | None,
        *,
        forward: bool = True,
        chunk: int = 250,
    ) -> None:
        self.tenant, self.wanted, self.search, self.after = tenant, wanted, search, after
        self.forward, self.chunk = forward, chunk
        self.limit = TEXT_SCAN_LIMIT if search.text else SCAN_LIMIT
        self.looked_at = 0
        self.stopped_at: Key | None = None

    def __iter__(self) -> Iterator[int]:
        order, place, step = self.wanted.order, self.after, self.chunk
        key_field = _FIELD[_column(order)]
        while self.looked_at < self.limit:
            step = min(step, self.limit - self.looked_at)
            stretches = [rows.values_list(*_SCANNED) for rows in _sought(self.tenant, self.search)]
            found = _walk(stretches, order, place, step, forward=self.forward)
            matching = [row for row in found if all(test(row) for test in self.search.rest)]
            if self.search.text:
                texts = self._with_text([row[0] for row in matching])
                text = self.search.text
                matching = [r for r in matching if r[0] in texts or text in (r[-2], r[-1])]
            self.looked_at += len(found)
            yield from (row[0] for row in matching)
            if len(found) < step:
                return
            place = (found[-1][key_field], found[-1][0])
            step = min(max(step * 2, 100), 1000)
        self.stopped_at = place

    def _with_text(self, ids: list[int]) -> set[int]:
        text = self.search.text
        payloads = TurnPayload.objects.for_tenant(self.tenant).filter(turn_id__in=ids)
        found = payloads.filter(Q(draft__icontains=text) | Q(user_message__icontains=text))
        return set(found.values_list("turn_id", flat=True))


# -- Conditions: one that an index finds, and the rest


class _Search(NamedTuple):
    """A filter taken apart: what an index seeks, the tests for each row, and the text to look for.

    ``seeks`` are stretches that follow each other in the order: mostly one.
    """

    seeks: list[Q]
    rest: list[Callable[[Row], bool]]
    text: str


#: Filters with an index of their own.
_SOUGHT = ("sample", "assertions", "critic", "assignee", "kind", "agent", "outcome", "severity")


class _Part(NamedTuple):
    name: str
    condition: Q
    test: Callable[[Row], bool]


def _sought(tenant: Tenant, search: _Search) -> list[QuerySet[Turn]]:
    return [Turn.objects.for_tenant(tenant).filter(seek) for seek in search.seeks]


def _search_of(wanted: QueueFilter) -> _Search:
    seeks = [_state_condition(wanted.state)]
    rest: list[Callable[[Row], bool]] = []
    by_priority = wanted.order == "priority"
    # The first filter with an index of its own in this order is sought; there is one seek, not two.
    sought = not (by_priority and wanted.state in REVIEWED_STATES)
    for part in _parts(wanted):
        if not sought and part.name in _SOUGHT:
            seeks = [seek & part.condition for seek in seeks]
            if part.name in ("agent", "outcome", "severity"):
                # As the partial index says, or it is not used. What neither was flagged nor troubles the
                # critic has no severity and no confidence, and comes last: its priority is 0.
                raised, others = seeks[0] & Q(priority__gt=0), seeks[0] & Q(priority=0)
                seeks = [raised] if wanted.severity or wanted.min_confidence else [raised, others]
            sought = True
        elif (
            (part.name == "confidence" and by_priority and wanted.state != "failed")
            or (part.name == "age" and not by_priority)
            or (part.name == "agent" and wanted.state == "all" and not by_priority)
        ):
            seeks = [seek & part.condition for seek in seeks]
        else:
            rest.append(part.test)
    return _Search(seeks, rest, wanted.text)


def _parts(wanted: QueueFilter) -> list[_Part]:
    """The filters in use, the ones that usually leave least first."""
    parts: list[_Part] = []
    if wanted.state == "clean":
        # What still waits for analysis is not clean; seldom many, so looked at row by row.
        state = _FIELD["analysis_state"]
        done = Q(analysis_state=AnalysisState.DONE)
        parts.append(_Part("analysed", done, lambda row: row[state] == AnalysisState.DONE))

    def equal(name: str, column: str, value: Any) -> None:
        field = _FIELD[column]
        parts.append(_Part(name, Q(**{column: value}), lambda row: row[field] == value))

    if wanted.sample:
        rate = _FIELD["audit_rate"]
        parts.append(_Part("sample", Q(audit_rate__isnull=False), lambda row: row[rate] is not None))
    if wanted.assertions:
        equal("assertions", "assertions", AssertionStanding.FLAGGED.value)
    if wanted.critic:
        equal("critic", "critic", wanted.critic)
    if wanted.assignee is not None:
        equal("assignee", "assignee_id", wanted.assignee)
    if wanted.kind:
        bit, kinds = KIND_BITS[wanted.kind], _FIELD["kinds"]
        parts.append(_Part("kind", Q(**{f"has_{wanted.kind}": True}), lambda row: bool(row[kinds] & bit)))
    if wanted.agent:
        equal("agent", "agent", wanted.agent)
    if wanted.outcome:
        equal("outcome", "outcome", wanted.outcome)
    if wanted.severity:
        equal("severity", "max_severity", wanted.severity)
    if wanted.min_confidence:
        least, confidence = wanted.min_confidence, _FIELD["max_confidence"]
        # The priority may be the critic's; a confidence is never above it.
        lowest = Q(priority__gte=priority_of(least, 0), max_confidence__gte=least)
        parts.append(_Part("confidence", lowest, lambda row: row[confidence] >= least))
    if wanted.age:
        since, occurred = timezone.now() - AGES[wanted.age], _FIELD["occurred_at"]
        parts.append(_Part("age", Q(occurred_at__gte=since), lambda row: row[occurred] >= since))
    return parts


def _state_condition(state: str) -> Q:
    if state == "failed":
        return Q(analysis_state=AnalysisState.FAILED)
    if state == "all":
        return Q()
    states = {"open": ReviewState.OPEN, "decided": ReviewState.DECIDED, "clean": ReviewState.NONE}
    return Q(review_state=states[state])


# -- Order and keyset


def _column(order: str) -> str:
    return "priority" if order == "priority" else "occurred_at"


def _walk(
    stretches: Sequence[QuerySet[Any, Any]],
    order: str,
    after: Key | None,
    most: int,
    *,
    forward: bool = True,
) -> list[Any]:
    """Up to ``most`` rows in order, from the beginning or from behind a place. Later stretches are read only
    when the ones before leave room."""
    found: list[Any] = []
    for rows in stretches if forward else reversed(stretches):
        if len(found) < most:
            found += _walk_one(rows, order, after, most - len(found), forward=forward)
    return found


def _walk_one(
    rows: QuerySet[Any, Any], order: str, after: Key | None, most: int, *, forward: bool
) -> list[Any]:
    """The same within one stretch.

    Rows behind a place are two ranges of the index: the same sort value and a further id, then the further
    sort values. One condition for both would be an OR, for which SQLite reads from the start of the equal
    values each time. The second query is made only when the first leaves room.
    """
    column = _column(order)
    falling = (order != "oldest") == forward
    sign, beyond = ("-", "lt") if falling else ("", "gt")
    rows = rows.order_by(f"{sign}{column}", f"{sign}id")
    if after is None:
        return list(rows[:most])
    value, turn_id = after
    found = list(rows.filter(**{column: value, f"id__{beyond}": turn_id})[:most])
    if len(found) < most:
        found += rows.filter(**{f"{column}__{beyond}": value})[: most - len(found)]
    return found


def _sort_key(turn: Turn, order: str) -> Any:
    return turn.priority if order == "priority" else turn.occurred_at


def cursor_of(turn: Turn, order: str) -> str:
    """An opaque mark of a turn's place in an order."""
    return encode_cursor(order, _sort_key(turn, order), turn.pk)


def encode_cursor(order: str, key: Any, turn_id: int) -> str:
    value = key.isoformat() if isinstance(key, datetime) else key
    return urlsafe_b64encode(json.dumps([order, value, turn_id]).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, order: str) -> Key:
    """The place that ``encode_cursor`` marked. Raises InvalidError for anything else."""
    try:
        made_for, value, turn_id = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if made_for != order or not isinstance(turn_id, int) or abs(turn_id) >= 2**63:
            raise ValueError
        if order == "priority":
            if not isinstance(value, int) or abs(value) >= 2**31:
                raise ValueError
            return value, turn_id
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError
        moment = moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise InvalidError(
            "The cursor is not valid.",
            fields={"cursor": "Use the cursor of the page before, with the same order."},
        ) from None
    return moment, turn_id


def parse_filter(values: dict[str, str], *, me: int | None = None) -> QueueFilter:
    """Read a filter from query parameters.

    Raises:
        InvalidError: ``details['fields']`` names each parameter that is wrong.
    """
    wrong: dict[str, str] = {}

    def one_of(name: str, allowed: Any, default: str) -> str:
        value = values.get(name, "") or default
        if value and value not in allowed:
            wrong[name] = f"Must be one of {', '.join(allowed)}."
            return default
        return value

    severity = one_of("severity", [s.name.lower() for s in Severity if s], "")
    confidence = 0.0
    try:
        confidence = float(values.get("confidence") or 0)
        if not 0 <= confidence <= 1:
            raise ValueError
    except ValueError:
        wrong["confidence"] = "Must be a number from 0 to 1."
        confidence = 0.0
    assignee = None
    if mine := values.get("assignee", ""):
        if mine == "me" and me is not None:
            assignee = me
        elif mine.isdecimal() and len(mine) < 18:
            assignee = int(mine)
        else:
            wrong["assignee"] = "Must be 'me' or a member's number."
    text = values.get("text", "").strip()
    if len(text) > 200 or "\0" in text:
        wrong["text"] = "At most 200 characters, and no NUL."
        text = ""
    found = QueueFilter(
        state=one_of("state", STATES, "open"),
        kind=one_of("kind", KIND_BITS, ""),
        severity=Severity[severity.upper()].value if severity else 0,
        min_confidence=confidence,
        agent=values.get("agent", "")[:200].replace("\0", ""),
        outcome=one_of("outcome", ActionTaken.values, ""),
        critic=one_of("critic", CriticStanding.values, ""),
        assignee=assignee,
        age=one_of("age", AGES, ""),
        text=text,
        assertions=bool(one_of("assertions", ASSERTIONS, "")),
        sample=bool(one_of("sample", SAMPLES, "")),
        order=one_of("order", ORDERS, "priority"),
    )
    if wrong:
        raise InvalidError("Some filters cannot be used.", fields=wrong)
    if found.order == "priority" and found.state not in REVIEWED_STATES:
        # Priority orders what was flagged; among all turns it means nothing and has no index.
        return replace(found, order="newest")
    return found
