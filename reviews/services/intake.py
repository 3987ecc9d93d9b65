"""Taking turns in: a turn is accepted when its row is committed, and once per tenant and external id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone

from reviews.formats.record import TurnRecord
from reviews.models import AgentName, AssertionResult, CriticVerdict, Finding, Tenant, Turn, TurnPayload
from reviews.models.bulk import insert_rows, reserve_ids, update_rows
from reviews.models.turns import AnalysisState, CriticStanding, Source
from reviews.services.assertion_rows import ASSERTION_COLUMNS
from reviews.services.counting import Tally, add_tally, day_of
from reviews.services.critic_rows import CRITIC_COLUMNS
from reviews.services.history import with_history
from reviews.services.judge import Judgement, Policy, judge
from reviews.services.policies import current_policy
from reviews.services.profiles import profile_ids
from reviews.services.rows import (
    CONTENT_COLUMNS,
    FINDING_COLUMNS,
    PAYLOAD_COLUMNS,
    TURN_COLUMNS,
    PreparedTurn,
    prepare,
)
from reviews.services.shadow import record_shadow

T = TypeVar("T")

#: How often an insert is tried when other processes take its external ids in between. Each try sees what
#: the last one collided with, so it takes at most one more for each id that somebody else commits meanwhile:
#: a batch beside a sender of single turns or events may need many.
INSERT_TRIES = 1_000


class Status(StrEnum):
    """What became of a turn that was sent."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"


class Accepted(NamedTuple):
    """Answer for one turn; ``turn_id`` is the stored turn's id, also for duplicates and conflicts.

    ``analysed`` tells of a turn accepted just now whether it was stored with its findings, ``critic_waits``
    whether the critic is to be asked about it.
    """

    status: Status
    external_id: str
    turn_id: int
    analysed: bool = False
    critic_waits: bool = False


class Checked(NamedTuple):
    """Answer of an inline check."""

    accepted: Accepted
    judgement: Judgement
    policy: Policy


def accept_turns(
    *, tenant: Tenant, records: Sequence[TurnRecord], source: Source = Source.TURN
) -> list[Accepted]:
    """Store turns as pending; one answer a record, in order. Analysis comes later (``services.analysis``)."""
    received_at = timezone.now()
    prepared = [
        prepare(record, tenant_id=tenant.pk, source=source.value, received_at=received_at)
        for record in records
    ]
    return store_prepared(tenant=tenant, prepared=prepared)


def check_turn(*, tenant: Tenant, record: TurnRecord) -> Checked:
    """Judge a draft now by the tenant's settings, and store the turn as analysed.

    The judgement is returned for a duplicate as well (a client that retries needs its answer); for a
    conflict it is that of the draft just sent, while the stored turn stays as it was.
    """
    policy = current_policy(tenant=tenant)
    told = record
    if policy.settings.detection_profile != "reference":
        (told,) = with_history(tenant_id=tenant.pk, records=[(None, record)])
    judgement = judge(told, policy)
    prepared = prepare(
        record,
        tenant_id=tenant.pk,
        source=Source.CHECK.value,
        received_at=timezone.now(),
        judgement=judgement,
        policy=policy,
    )
    return Checked(store_prepared(tenant=tenant, prepared=[prepared])[0], judgement, policy)


def store_prepared(*, tenant: Tenant, prepared: Sequence[PreparedTurn]) -> list[Accepted]:
    """Insert prepared turns in one transaction, leaving out what is there already."""
    return until_stored(lambda: _store(tenant, prepared))


def until_stored(work: Callable[[], T]) -> T:
    """Run ``work`` in a transaction, again when another process was quicker with one of its external ids."""
    for attempt in range(INSERT_TRIES):
        try:
            with transaction.atomic():
                return work()
        except IntegrityError:
            # PostgreSQL only: another process committed one of these external ids after we looked.
            if attempt == INSERT_TRIES - 1:
                raise
    raise AssertionError("unreachable")


def _store(tenant: Tenant, prepared: Sequence[PreparedTurn]) -> list[Accepted]:
    turns = Turn.objects.for_tenant(tenant)
    known: dict[str, tuple[bytes, int, str]] = {
        external_id: (bytes(digest), turn_id, source)
        for external_id, digest, turn_id, source in turns.filter(
            external_id__in=[p.external_id for p in prepared]
        ).values_list("external_id", "content_hash", "id", "source")
    }
    if stubs := [turn_id for _, turn_id, source in known.values() if source == Source.EVENT]:
        # Locked at once and before anything is inserted, in an order all writers share: no deadlock.
        list(turns.filter(id__in=stubs).order_by("id").select_for_update().values_list("id"))
    fresh: dict[str, PreparedTurn] = {}
    for p in prepared:
        if p.external_id not in known:
            # The same id twice in one batch: the first is stored, the second compared with it below.
            fresh.setdefault(p.external_id, p)
    ids = dict(zip(fresh, reserve_ids(Turn, len(fresh)) if fresh else (), strict=True))
    tally = Tally()
    answers = []
    for p in prepared:
        analysed = waits = False
        if p.external_id in known:
            digest, turn_id, source = known[p.external_id]
            if digest == p.content_hash:
                status = Status.DUPLICATE
            elif source == Source.EVENT:
                _complete(tenant, turn_id, p, tally)
                known[p.external_id] = (p.content_hash, turn_id, Source.TURN.value)
                status = Status.ACCEPTED
            else:
                status = Status.CONFLICT
        else:
            turn_id = ids[p.external_id]
            status = Status.ACCEPTED
            analysed = bool(p.counters)
            waits = p.critic == CriticStanding.WAITING
            # A second one in this batch is a duplicate or a conflict, never a completion.
            known[p.external_id] = (p.content_hash, turn_id, Source.TURN.value)
        answers.append(Accepted(status, p.external_id, turn_id, analysed, waits))
    insert_turns(tenant, [(ids[external_id], p) for external_id, p in fresh.items()], tally)
    # All names of the batch at once and in order: two batches with new agents never deadlock.
    remember_agents(tenant=tenant, names={p.agent for p in prepared if p.agent})
    return answers


def insert_turns(tenant: Tenant, turns: list[tuple[int, PreparedTurn]], tally: Tally) -> None:
    """Insert turns under ids of their own. ``tally`` holds what else is to be counted: all counters are
    written in one go, in an order that all writers share.
    """
    # All writers take the unique index in the same order, so two overlapping batches never deadlock.
    turns = sorted(turns, key=lambda turn: turn[1].external_id)
    profiles = profile_ids(tenant_id=tenant.pk, profiles={p.profile for _, p in turns if p.profile})
    if turns:
        insert_rows(Turn, TURN_COLUMNS, [(turn_id, *p.turn, profiles.get(p.profile)) for turn_id, p in turns])
        insert_rows(TurnPayload, PAYLOAD_COLUMNS, [(turn_id, *p.payload) for turn_id, p in turns])
    findings = [(turn_id, *row) for turn_id, p in turns for row in p.findings]
    if findings:
        insert_rows(Finding, FINDING_COLUMNS, findings)
    record_shadow(tenant_id=tenant.pk, turns=[(turn_id, p.shadowed) for turn_id, p in turns if p.shadowed])
    if verdicts := [(turn_id, *p.verdict) for turn_id, p in turns if p.verdict]:
        insert_rows(CriticVerdict, CRITIC_COLUMNS, verdicts)
    if assertions := [(turn_id, *row) for turn_id, p in turns for row in p.assertions]:
        insert_rows(AssertionResult, ASSERTION_COLUMNS, assertions)
    for _, p in turns:
        tally.assertions.update(p.assertion_keys)
        tally.add_turn(p.day, names=p.counters, profile_id=profiles.get(p.profile), gate=p.gate)
    add_tally(tenant_id=tenant.pk, tally=tally)


def remember_agents(*, tenant: Tenant, names: set[str]) -> None:
    """Note agents seen for the first time, for the filters to offer."""
    if not names:
        return
    seen = AgentName.objects.for_tenant(tenant).filter(name__in=names).values_list("name", flat=True)
    if new := names - set(seen):
        AgentName.objects.across_tenants().bulk_create(
            [AgentName(tenant=tenant, name=name) for name in sorted(new)], ignore_conflicts=True
        )


def _complete(tenant: Tenant, turn_id: int, p: PreparedTurn, tally: Tally) -> None:
    """Fill in a turn that was known only from a runtime's event, and have it analysed.

    A turn that a reviewer has decided already keeps its findings: the text is filled in, no more. Its
    profile, in which the tools were unknown, is given anew by the sweep.
    """
    values = dict(zip(TURN_COLUMNS[1:-1], p.turn, strict=True))
    turn = Turn.objects.for_tenant(tenant).select_for_update().get(pk=turn_id)
    if turn.source != Source.EVENT:
        raise IntegrityError("Another process has filled in this turn; compare with what it stored.")
    for name in ("conversation_id", "agent", "model"):
        setattr(turn, name, values[name])
    turn.content_hash = p.content_hash
    turn.source = values["source"]
    if turn.version == 0:
        turn.analysis_state = AnalysisState.PENDING
        turn.attempts = 0
    elif turn.profile_id is not None:
        tally.profiles[day_of(turn.occurred_at), turn.profile_id, turn.verdict] -= 1
        turn.profile_id = None
    turn.save(
        update_fields=[
            "conversation_id", "agent", "model", "content_hash", "source", "analysis_state", "attempts",
            "profile",
        ]
    )  # fmt: skip
    content = dict(zip(PAYLOAD_COLUMNS[1:], p.payload, strict=True))
    update_rows(
        TurnPayload, CONTENT_COLUMNS, [[*(content[name] for name in CONTENT_COLUMNS), turn_id]], key="turn_id"
    )
