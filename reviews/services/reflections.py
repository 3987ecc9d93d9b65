"""Taking in what a runtime's own critic said of a draft (``ReflectionEvent``, or its recorded value)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from django.db.models import F
from django.utils import timezone

from reviews.core.fabrication import left_strip_length
from reviews.core.outcome import apply_fabrication_policy
from reviews.core.profiles import thousandths
from reviews.formats.record import CriticRecord, TurnRecord
from reviews.formats.reflection_event import ReflectionEvent
from reviews.models import CriticVerdict, Tenant, Turn, TurnPayload
from reviews.models.bulk import reserve_ids, update_rows
from reviews.models.critic import CallState, Origin
from reviews.models.fields import encode_json
from reviews.models.turns import AnalysisState, ReviewState, Source
from reviews.services.counting import Counts, Tally, day_of
from reviews.services.critic_rows import CAUTION, raised
from reviews.services.intake import Accepted, Status, insert_turns, until_stored
from reviews.services.judge import Judgement, snippet_of
from reviews.services.rows import TURN_COLUMNS, PreparedTurn, prepare

_TAG_LENGTH: int = CriticVerdict._meta.get_field("sensitive_tag").max_length or 0


class Reflected(NamedTuple):
    """Answer for one verdict. ``stands``: it is the turn's verdict, and not only kept beside our own."""

    accepted: Accepted
    stands: bool


class _Told(NamedTuple):
    """What is said in a verdict, in the columns and the precision in which it is kept."""

    verdict: str
    confidence: int | None
    sensitive_tag: str
    revised_draft: str
    refusal_message: str
    matched_preferences: list[str]
    latency_ms: float | None
    tokens_in: int | None = None
    tokens_out: int | None = None

    def repeats(self, other: _Told) -> bool:
        """Whether both say the same. A recorded value counts no tokens, an event may repeat it and does."""
        unknown = None in (*self[-2:], *other[-2:])
        return self[:-2] == other[:-2] and (unknown or self[-2:] == other[-2:])


@dataclass
class _Known:
    """A stored turn, locked, with what it holds: our row for the critic, and a verdict of the runtime's."""

    turn: Turn
    row: CriticVerdict | None
    told: _Told | None

    @property
    def is_free(self) -> bool:
        """Whether a runtime's verdict becomes the turn's: our own is not there, and nobody asks for it, or
        our critic could not read the draft."""
        row = self.row
        if row is None:
            return True
        waits = row.state == CallState.WAITING and not row.claim
        return row.origin == Origin.OURS and (waits or (row.degraded and not row.forced))

    @property
    def is_runtimes(self) -> bool:
        return self.row is not None and self.row.origin == Origin.RUNTIME

    def takes(self, told: _Told) -> bool:
        """Whether a verdict is news: none is held, or the same one only in the turn as it was sent."""
        return self.told is None or (self.row is None and self.told.repeats(told))


@dataclass
class _Changes:
    """What a batch writes about stored turns."""

    values: list[tuple[str | None, int]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)
    verdicts: list[CriticVerdict] = field(default_factory=list)
    counts: Counts = field(default_factory=Counter)


def accept_reflection(*, tenant: Tenant, event: ReflectionEvent) -> Reflected:
    """Take in one verdict; see ``accept_reflections``."""
    return accept_reflections(tenant=tenant, events=[event])[0]


def accept_reflections(*, tenant: Tenant, events: Sequence[ReflectionEvent]) -> list[Reflected]:
    """Take in verdicts in one transaction; one answer each, in order.

    The verdict is attached to its turn, in place of our own critic's when that has not been asked yet. One
    that was asked keeps the turn, and the runtime's is kept beside it. Without the turn, one is made of the
    event alone; the turn itself may follow and fills it in. A turn holds one verdict of a runtime: the same
    again is a duplicate, another one a conflict.
    """
    if not events:
        return []
    return until_stored(lambda: _store(tenant, events))


def external_id_of(event: ReflectionEvent) -> str:
    """The id of the turn that was judged; a run without an id gets one from the event's content."""
    return event.sent_id if event.sent_id.strip() else f"reflection-{_hash(event).hex()}"


def _store(tenant: Tenant, events: Sequence[ReflectionEvent]) -> list[Reflected]:
    known = _known(tenant, {external_id_of(event) for event in events})
    attached, answers = _answers(known, events)
    now = timezone.now()
    changes = _Changes()
    for external_id, event in attached.items():
        if external_id in known:
            _attach(changes, known[external_id], event, now)
    _write(tenant, changes)
    ids = {external_id: here.turn.pk for external_id, here in known.items()}
    fresh = {external_id: event for external_id, event in attached.items() if external_id not in known}
    if fresh:
        ids.update(zip(fresh, reserve_ids(Turn, len(fresh)), strict=True))
    stubs = [(ids[external_id], _prepare(tenant, external_id, e, now)) for external_id, e in fresh.items()]
    insert_turns(tenant, stubs, Tally(names=changes.counts))
    rows = [_row(tenant.pk, ids[external_id], _told(event), now) for external_id, event in fresh.items()]
    CriticVerdict.objects.across_tenants().bulk_create([*changes.verdicts, *rows])
    return [
        Reflected(Accepted(status, external_id, ids[external_id]), stands)
        for status, external_id, stands in answers
    ]


def _answers(
    known: dict[str, _Known], events: Sequence[ReflectionEvent]
) -> tuple[dict[str, ReflectionEvent], list[tuple[Status, str, bool]]]:
    """The verdicts that are news, by their turn's id; and of each verdict: status, that id, does it stand."""
    attached: dict[str, ReflectionEvent] = {}
    answers = []
    for event in events:
        external_id, told = external_id_of(event), _told(event)
        here = known.get(external_id)
        stands = here is None or here.is_free
        if external_id in attached:
            held: _Told | None = _told(attached[external_id])
        elif here is None or here.takes(told):
            attached[external_id], held = event, None
        else:
            held, stands = here.told, here.is_runtimes
        if held is None:
            answers.append((Status.ACCEPTED, external_id, stands))
        elif held.repeats(told):
            answers.append((Status.DUPLICATE, external_id, stands))
        else:
            answers.append((Status.CONFLICT, external_id, False))
    return attached, answers


def _known(tenant: Tenant, external_ids: set[str]) -> dict[str, _Known]:
    """The stored turns with these ids, they and their rows for the critic locked as all writers do."""
    turns = {
        turn.pk: turn
        for turn in Turn.objects.for_tenant(tenant)
        .filter(external_id__in=external_ids)
        .order_by("id")
        .select_for_update(no_key=True, of=("self",))
    }
    if not turns:
        return {}
    rows = {
        row.turn_id: row
        for row in CriticVerdict.objects.for_tenant(tenant)
        .filter(turn_id__in=turns)
        .order_by("turn_id")
        .select_for_update(of=("self",))
    }
    values = TurnPayload.objects.for_tenant(tenant).filter(turn_id__in=turns).values_list("turn_id", "critic")
    found = {}
    for turn_id, value in values:
        row, recorded = rows.get(turn_id), msgspec.convert(value, CriticRecord | None)
        told = _told_by_record(recorded) if recorded is not None else None
        if row is not None and row.origin == Origin.RUNTIME:
            # The turn that filled in a stub has brought a payload of its own.
            told = _told_by_row(row)
        found[turns[turn_id].external_id] = _Known(turns[turn_id], row, told)
    return found


def _told(event: ReflectionEvent) -> _Told:
    said = _told_by_record(event.record())
    return said._replace(tokens_in=event.reflection_tokens_in, tokens_out=event.reflection_tokens_out)


def _told_by_record(record: CriticRecord) -> _Told:
    confidence = record.confidence_before
    return _Told(
        record.verdict,
        None if confidence is None else thousandths(confidence),
        (record.sensitive_tag_hit or "")[:_TAG_LENGTH],
        record.revised_draft or "",
        record.refusal_message or "",
        list(record.matched_preferences),
        record.reflection_latency_ms,
    )


def _told_by_row(row: CriticVerdict) -> _Told:
    told = _Told._make(getattr(row, name) for name in _Told._fields)
    return told._replace(matched_preferences=row.matched_preferences or [])


def _row(tenant_id: int, turn_id: int, told: _Told, now: datetime) -> CriticVerdict:
    return CriticVerdict(
        tenant_id=tenant_id,
        turn_id=turn_id,
        origin=Origin.RUNTIME,
        state=CallState.DONE,
        next_at=now,
        created_at=now,
        answered_at=now,
        said=told.verdict,
        **told._asdict(),
    )


def _attach(changes: _Changes, here: _Known, event: ReflectionEvent, now: datetime) -> None:
    """Note the verdict on a stored turn, and what that changes in the queue and in the counters.

    A turn that waits for analysis is counted, and takes its place in the queue, when its turn comes.
    """
    turn, told = here.turn, _told(event)
    changes.values.append((encode_json(event.record()), turn.pk))
    if not here.is_free:
        return
    if here.row is not None:
        changes.replaced.append(turn.pk)
    changes.verdicts.append(_row(turn.tenant_id, turn.pk, told, now))
    changes.turns.append(turn)
    if turn.analysed_at is not None:
        day = day_of(turn.occurred_at)
        if turn.critic:
            changes.counts[day, f"critic:{turn.critic}"] -= 1
        if here.row is not None and here.row.degraded:
            changes.counts[day, f"cause:{here.row.cause}"] -= 1
        changes.counts[day, f"critic:{told.verdict}"] += 1
        turn.priority = raised(turn.priority, told.verdict)
        if told.verdict in CAUTION and turn.review_state == ReviewState.NONE:
            turn.review_state = ReviewState.OPEN
    turn.critic = told.verdict


def _write(tenant: Tenant, changes: _Changes) -> None:
    """Write all but the new rows and the counters, which come last, together with those of new turns."""
    if changes.values:
        update_rows(TurnPayload, ("critic",), changes.values, key="turn_id")
    if changes.replaced:
        CriticVerdict.objects.for_tenant(tenant).filter(turn_id__in=changes.replaced).delete()
    if not changes.turns:
        return
    update_rows(
        Turn,
        ("critic", "priority", "review_state"),
        [(str(turn.critic), turn.priority, str(turn.review_state), turn.pk) for turn in changes.turns],
    )
    # A turn that is being analysed goes back in line: its worker has read it without the verdict, and finds
    # its claim gone.
    if claimed := [turn.pk for turn in changes.turns if turn.analysis_state == AnalysisState.CLAIMED]:
        Turn.objects.for_tenant(tenant).filter(pk__in=claimed).update(
            analysis_state=AnalysisState.PENDING, claim="", lease_until=None, attempts=F("attempts") - 1
        )


def _prepare(tenant: Tenant, external_id: str, event: ReflectionEvent, now: datetime) -> PreparedTurn:
    """A turn of which only the verdict is known, and the draft it is about: nothing was looked for in it."""
    draft = event.original_draft or ""
    offset = left_strip_length(draft)
    judgement = Judgement(
        intent=None,
        outcome=apply_fabrication_policy(findings=[], mode="off", draft=draft),
        draft_offset=offset,
        snippet=snippet_of(draft, (), offset),
        tools_note="",
        profile=None,
    )
    prepared = prepare(
        TurnRecord(external_id=external_id, draft=draft, critic=event.record()),
        tenant_id=tenant.pk,
        source=Source.EVENT.value,
        received_at=now,
        judgement=judgement,
    )
    values = dict(zip(TURN_COLUMNS[1:-1], prepared.turn, strict=True))
    values |= {
        # Never that of a turn's own content: the turn that follows is to fill this one in.
        "content_hash": _hash(event),
        "critic": event.verdict,
        "priority": raised(judgement.priority, event.verdict),
        "review_state": str(ReviewState.OPEN if event.verdict in CAUTION else ReviewState.NONE),
    }
    return prepared._replace(
        content_hash=values["content_hash"],
        turn=tuple(values.values()),
        counters=[*prepared.counters, f"critic:{event.verdict}"],
    )


def _hash(event: ReflectionEvent) -> bytes:
    """16 bytes that are equal for equal events, and never those of a turn's own content."""
    encoded = msgspec.json.encode(event, order="deterministic")
    return blake2b(encoded, digest_size=16, person=b"reflection").digest()
