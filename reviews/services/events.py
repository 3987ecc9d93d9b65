"""Taking in what a runtime says it found in a draft, and did about it (``FabricationDetectedEvent``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from django.utils import timezone

from reviews.core.fabrication import FabricationFinding, left_strip_length
from reviews.core.outcome import FabricationOutcome
from reviews.core.profiles import profile_of
from reviews.formats.record import TurnRecord
from reviews.formats.symfonic_event import EventFinding, FabricationEvent
from reviews.models import Finding, Tenant, Turn, TurnPayload
from reviews.models.bulk import reserve_ids
from reviews.models.turns import AnalysisState, Source
from reviews.services.counting import Counts, Tally, day_of
from reviews.services.intake import Accepted, Status, insert_turns, until_stored
from reviews.services.judge import STRONG_ACTIONS, Judgement, snippet_of
from reviews.services.rows import PreparedTurn, event_hash, prepare

_KEY_LENGTH: int = Finding._meta.get_field("key").max_length or 0
_PATTERN_LENGTH: int = Finding._meta.get_field("pattern_kind").max_length or 0


def accept_event(*, tenant: Tenant, event: FabricationEvent) -> Accepted:
    """Take in one event; see ``accept_events``."""
    return accept_events(tenant=tenant, events=[event])[0]


def accept_events(*, tenant: Tenant, events: Sequence[FabricationEvent]) -> list[Accepted]:
    """Take in events in one transaction; one answer an event, in order.

    The event of a turn we have is attached to it, and what the runtime did to the draft becomes the turn's
    outcome. Without such a turn, one is made of the event alone; the turn itself may follow and fills it in.
    A turn holds one event: the same again is a duplicate, another one a conflict.
    """
    if not events:
        return []
    return until_stored(lambda: _store(tenant, events))


def external_id_of(event: FabricationEvent) -> str:
    """The id of the turn that the event tells of; a run without an id gets one from the event's content."""
    return event.run_id if event.run_id.strip() else f"event-{event_hash(event).hex()}"


def _store(tenant: Tenant, events: Sequence[FabricationEvent]) -> list[Accepted]:
    known = _known(tenant, {external_id_of(event) for event in events})
    now = timezone.now()
    fresh: dict[str, PreparedTurn] = {}
    answers: list[tuple[Status, str]] = []
    attached: dict[str, FabricationEvent] = {}
    for event in events:
        external_id = external_id_of(event)
        held = attached.get(external_id)
        if held is None and external_id in known:
            held = _event_of(known[external_id])
        if held is not None:
            answers.append((Status.DUPLICATE if held == event else Status.CONFLICT, external_id))
            continue
        attached[external_id] = event
        if external_id not in known:
            fresh[external_id] = _prepare(tenant, external_id, event, now)
        answers.append((Status.ACCEPTED, external_id))
    counts: Counts = Counter()
    for external_id, event in attached.items():
        if external_id in known:
            counts.update(_attach(known[external_id], event))
    ids = {external_id: payload.turn_id for external_id, payload in known.items()}
    if fresh:
        ids.update(zip(fresh, reserve_ids(Turn, len(fresh)), strict=True))
    insert_turns(tenant, [(ids[external_id], p) for external_id, p in fresh.items()], Tally(names=counts))
    return [
        Accepted(status, external_id, ids[external_id], status is Status.ACCEPTED and external_id in fresh)
        for status, external_id in answers
    ]


def _known(tenant: Tenant, external_ids: set[str]) -> dict[str, TurnPayload]:
    """The stored turns with these ids, locked in an order that all writers share, with their events."""
    # The lock comes first, by itself: what the payload says is read once nobody else can change it.
    turns = {
        turn.pk: turn
        for turn in Turn.objects.for_tenant(tenant)
        .filter(external_id__in=external_ids)
        .order_by("id")
        .select_for_update()
    }
    payloads = TurnPayload.objects.for_tenant(tenant).only("tenant_id", "runtime_event")
    found = {}
    for payload in payloads.filter(turn_id__in=turns) if turns else ():
        payload.turn = turns[payload.turn_id]
        found[payload.turn.external_id] = payload
    return found


def _event_of(payload: TurnPayload) -> FabricationEvent | None:
    return msgspec.convert(payload.runtime_event, FabricationEvent | None)


def _attach(payload: TurnPayload, event: FabricationEvent) -> Counts:
    """Note the event on the turn; returns what that changes in the counters.

    A turn that is being analysed goes back in line: its worker has read the turn without the event, and
    finds its claim gone. One that is still waiting gets the runtime's outcome when its turn comes.
    """
    counts: Counts = Counter()
    turn = payload.turn
    payload.runtime_event = msgspec.to_builtins(event)
    payload.save(update_fields=["runtime_event"])
    if event.action_taken not in STRONG_ACTIONS:
        return counts
    changes: dict[str, Any] = {}
    if turn.analysis_state == AnalysisState.CLAIMED:
        changes |= {
            "analysis_state": AnalysisState.PENDING,
            "claim": "",
            "lease_until": None,
            "attempts": max(0, turn.attempts - 1),
        }
    if turn.outcome != event.action_taken:
        # Only an analysed turn with findings stands in these counters (``counting.turn_names``).
        if turn.analysed_at is not None and turn.kinds:
            day = day_of(turn.occurred_at)
            counts[day, f"outcome:{turn.outcome}"] -= 1
            counts[day, f"outcome:{event.action_taken}"] += 1
        changes["outcome"] = event.action_taken
    if changes:
        Turn.objects.for_tenant(turn.tenant_id).filter(pk=turn.pk).update(**changes)
    return counts


def _prepare(tenant: Tenant, external_id: str, event: FabricationEvent, now: Any) -> PreparedTurn:
    """A turn of which only the event is known: its draft is the preview, its findings the runtime's."""
    draft = event.original_draft_preview
    offset = left_strip_length(draft)
    findings = tuple(_finding(found, len(draft) - offset) for found in event.findings)
    outcome = FabricationOutcome(
        findings=findings,
        action_taken=event.action_taken,  # type: ignore[arg-type]  # the decoder has checked it
        replacement_draft=event.replacement_preview,
        forced_critic_verdict=None,
        max_finding_confidence=max((found.confidence for found in findings), default=0.0),
        refuse_threshold=event.refuse_threshold,
        mode=event.mode,  # type: ignore[arg-type]  # the decoder has checked it
    )
    judgement = Judgement(
        intent=None,
        outcome=outcome,
        draft_offset=offset,
        snippet=snippet_of(draft, findings, offset),
        tools_note="",
        profile=profile_of(findings, None),
    )
    return prepare(
        TurnRecord(external_id=external_id, draft=draft),
        tenant_id=tenant.pk,
        source=Source.EVENT.value,
        received_at=now,
        judgement=judgement,
        runtime_event=event,
    )


def _finding(found: EventFinding, length: int) -> FabricationFinding:
    """The runtime's finding in our columns; the event beside it keeps every value as it came.

    Spans count in the whole draft, of which the preview holds the first ``length`` characters: a claim
    further on is left with an empty span at the preview's end.
    """
    start, end = found.span
    return FabricationFinding(
        identifier=found.identifier,
        kind=found.kind,  # type: ignore[arg-type]  # the decoder has checked it
        severity=found.severity,  # type: ignore[arg-type]  # the decoder has checked it
        reason=found.reason,
        key=None if found.key is None else found.key[:_KEY_LENGTH],
        pattern_kind=found.pattern_kind[:_PATTERN_LENGTH],
        confidence=found.confidence,
        span=(min(start, length), min(end, length)),
    )
