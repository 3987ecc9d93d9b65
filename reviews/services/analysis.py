"""Analysing pending turns: claim a batch, judge it outside any transaction, store what was found.

The database is the truth: a claim is a token and a lease on the row, so a worker that dies loses its
claim and another takes over; a worker that was only slow finds its token gone and stores nothing.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from reviews.formats.record import CriticRecord, IntentRecord, ToolCall, ToolInfo, TurnRecord
from reviews.models import AssertionResult, CriticVerdict, Finding, Turn, TurnPayload
from reviews.models.bulk import insert_rows, on_postgresql, update_rows
from reviews.models.turns import AnalysisState, ReviewState
from reviews.services.assertion_rows import ASSERTION_COLUMNS, assertion_keys, assertion_rows
from reviews.services.counting import Tally, add_counts, add_tally, day_of, stored_gate, turn_names
from reviews.services.critic_rows import CRITIC_COLUMNS, verdict_for
from reviews.services.history import with_history
from reviews.services.judge import Judgement, Policy, Shadowed, judge, with_runtime
from reviews.services.policies import current_policy
from reviews.services.profiles import profile_ids
from reviews.services.rows import (
    FINDING_COLUMNS,
    JUDGED_COLUMNS,
    claims_value,
    counters_of,
    finding_rows,
    judged_values,
)
from reviews.services.shadow import record_shadow

logger = logging.getLogger(__name__)

#: Turns claimed at once: large enough that a commit costs little a turn, small enough to be over in well
#: under a second.
BATCH_SIZE = 200
MAX_ATTEMPTS = 3


@dataclass
class Progress:
    """What a run of analysis got done."""

    analysed: int = 0
    failed: int = 0
    batches: int = 0


@dataclass
class _Batch:
    """A claimed batch on its way from the payloads to the rows."""

    token: str
    turns: list[Turn]
    judged: list[tuple[Turn, Judgement, Policy]] = field(default_factory=list)
    broken: dict[int, str] = field(default_factory=dict)


def analyse_pending(*, max_batches: int | None = None, seconds: float | None = None) -> Progress:
    """Analyse what is pending, all tenants, until nothing is left, ``max_batches`` are done, or time is up.

    At least one batch is done, and one that has been begun is finished. Safe to run in any number of
    processes at once.
    """
    progress = Progress()
    until = None if seconds is None else time.monotonic() + seconds
    while max_batches is None or progress.batches < max_batches:
        batch = _claim()
        if not batch.turns:
            break
        _judge(batch)
        _finish(batch)
        progress.batches += 1
        progress.analysed += len(batch.judged)
        progress.failed += len(batch.broken)
        if until is not None and time.monotonic() >= until:
            break
    if progress.batches:
        logger.info("analysed", extra=vars(progress))
    return progress


def release_expired() -> int:
    """Give back the turns whose worker is gone; those out of attempts become failed. Returns how many."""
    expired = Turn.objects.across_tenants().filter(
        analysis_state=AnalysisState.CLAIMED, lease_until__lt=timezone.now()
    )
    with transaction.atomic():
        if on_postgresql():
            # A slow worker may be storing its batch just now, or another sweep be here: theirs are left out.
            expired = expired.order_by("id").select_for_update(skip_locked=True, of=("self",))
        rows = list(expired.values("id", "tenant_id", "occurred_at", "attempts"))
        dead = [row for row in rows if row["attempts"] >= MAX_ATTEMPTS]
        turns, ids = Turn.objects.across_tenants(), [row["id"] for row in dead]
        if dead:
            turns.filter(id__in=ids).update(analysis_state=AnalysisState.FAILED, claim="", lease_until=None)
            TurnPayload.objects.across_tenants().filter(turn_id__in=ids).update(
                analysis_error=f"The worker stopped {MAX_ATTEMPTS} times while analysing this turn."
            )
            counts = Counter((row["tenant_id"], day_of(row["occurred_at"])) for row in dead)
            for (tenant_id, day), count in sorted(counts.items()):
                add_counts(tenant_id=tenant_id, counts={(day, "failed"): count})
        if alive := [row["id"] for row in rows if row["attempts"] < MAX_ATTEMPTS]:
            turns.filter(id__in=alive).update(
                analysis_state=AnalysisState.PENDING, claim="", lease_until=None
            )
    if rows:
        logger.warning("claims expired", extra={"released": len(alive), "failed": len(dead)})
    return len(rows)


def retry_failed(*, tenant_id: int, turn_ids: list[int]) -> int:
    """Put failed turns back in line with a fresh count of attempts. Returns how many.

    A turn that a reviewer has decided as it is stays decided.
    """
    return (
        Turn.objects.for_tenant(tenant_id)
        .filter(id__in=turn_ids, analysis_state=AnalysisState.FAILED)
        .exclude(review_state=ReviewState.DECIDED)
        .update(analysis_state=AnalysisState.PENDING, attempts=0)
    )


def has_pending() -> bool:
    """Whether any turn waits for analysis (one index probe)."""
    return Turn.objects.across_tenants().filter(analysis_state=AnalysisState.PENDING).exists()


def _claim() -> _Batch:
    """Claim the oldest pending turns.

    A turn that was already in a batch that died is claimed alone, so that one that kills its worker takes
    no other turn's attempts with it.
    """
    token = secrets.token_hex(8)
    with transaction.atomic():
        pending = Turn.objects.across_tenants().filter(analysis_state=AnalysisState.PENDING).order_by("id")
        if on_postgresql():
            pending = pending.select_for_update(skip_locked=True, of=("self",))
        chosen = list(pending[:1])
        if chosen and chosen[0].attempts == 0:
            chosen = [turn for turn in pending[:BATCH_SIZE] if turn.attempts == 0]
        until = timezone.now() + timedelta(seconds=settings.ANALYSIS_LEASE_SECONDS)
        if chosen:
            Turn.objects.across_tenants().filter(id__in=[turn.pk for turn in chosen]).update(
                analysis_state=AnalysisState.CLAIMED,
                attempts=chosen[0].attempts + 1,
                claim=token,
                lease_until=until,
            )
    return _Batch(token, chosen)


def _judge(batch: _Batch) -> None:
    payloads = TurnPayload.objects.across_tenants().in_bulk([turn.pk for turn in batch.turns])
    policies = {
        tenant_id: current_policy(tenant=tenant_id) for tenant_id in {t.tenant_id for t in batch.turns}
    }
    by_tenant: dict[int, list[Turn]] = {}
    for turn in batch.turns:
        by_tenant.setdefault(turn.tenant_id, []).append(turn)
    records: dict[int, TurnRecord] = {}
    for tenant_id, turns in by_tenant.items():
        records |= stored_records(policy=policies[tenant_id], turns=turns, payloads=payloads)
    for turn in batch.turns:
        policy = policies[turn.tenant_id]
        try:
            payload = payloads[turn.pk]
            record = records.get(turn.pk) or stored_record(turn, payload)
            judgement = judge(record, policy)
            judgement = with_runtime(judgement, payload.runtime_event)
        except Exception as error:
            # Whatever is wrong with one turn must not hold up the others; it is kept, counted and shown.
            logger.exception("analysis failed", extra={"turn": turn.pk, "tenant": turn.tenant_id})
            batch.broken[turn.pk] = f"{type(error).__name__}: {error}"
        else:
            batch.judged.append((turn, judgement, policy))


def _finish(batch: _Batch) -> None:
    now = timezone.now()
    with transaction.atomic():
        mine = Turn.objects.across_tenants().filter(
            claim=batch.token, analysis_state=AnalysisState.CLAIMED, id__in=[turn.pk for turn in batch.turns]
        )
        if on_postgresql():
            mine = mine.order_by("id").select_for_update(of=("self",))
        ours = set(mine.values_list("id", flat=True))
        batch.judged = [entry for entry in batch.judged if entry[0].pk in ours]
        by_tenant: dict[int, list[tuple[Turn, Judgement, Policy]]] = {}
        for entry in batch.judged:
            by_tenant.setdefault(entry[0].tenant_id, []).append(entry)
        tallies = {turn.tenant_id: Tally() for turn in batch.turns}
        for tenant_id, entries in sorted(by_tenant.items()):
            store_judgements(tenant_id=tenant_id, judged=entries, tally=tallies[tenant_id], at=now)
        for turn in batch.turns:
            if turn.pk in batch.broken and turn.pk in ours and _give_back(turn, batch.broken[turn.pk]):
                tallies[turn.tenant_id].names[day_of(turn.occurred_at), "failed"] += 1
        for tenant_id, tally in sorted(tallies.items()):
            add_tally(tenant_id=tenant_id, tally=tally)


def store_judgements(
    *, tenant_id: int, judged: Sequence[tuple[Turn, Judgement, Policy]], tally: Tally, at: datetime
) -> None:
    """Write what was found of turns of one tenant in place of what was known; note in ``tally`` what changes.

    Call with the turns' rows locked.
    """
    profiles = profile_ids(tenant_id=tenant_id, profiles={j.profile for _, j, _ in judged if j.profile})
    critics = _critics_now(tenant_id, [turn.pk for turn, _, _ in judged if turn.analysed_at is not None])
    rows: list[tuple[Any, ...]] = []
    findings: list[tuple[Any, ...]] = []
    shadowed: list[tuple[int, Shadowed]] = []
    verdicts: list[tuple[Any, ...]] = []
    assertions: list[tuple[Any, ...]] = []
    claims: list[tuple[Any, int]] = []
    for turn, judgement, policy in judged:
        is_new = turn.policy_version_id is None and turn.gate_confidence is None
        day, profile_id = day_of(turn.occurred_at), profiles.get(judgement.profile)
        if turn.analysed_at is not None:
            turn.critic = critics.get(turn.pk, turn.critic)
            _take_out(tally, turn)
        if is_new and judgement.shadowed is not None:
            # A version in shadow and the one in force meet each turn once, also one whose event came first.
            shadowed.append((turn.pk, judgement.shadowed))
        critic, causes = turn.critic, []
        if not critic and (is_new or judgement.recorded is not None):
            # Asked once, when the turn is new: a turn that is judged again keeps the verdict it has.
            verdict = verdict_for(judgement, policy, tenant_id=tenant_id, source=turn.source, at=at)
            if verdict is not None:
                critic, causes = verdict.standing, verdict.counters
                verdicts.append((turn.pk, *verdict.row))
        tally.add_turn(
            day,
            names=counters_of(judgement, is_new=is_new, critic=critic) + causes,
            profile_id=profile_id,
            gate=judgement.gate,
            verdict=turn.verdict,
        )
        values = judged_values(judgement, analysed_at=at, policy_version_id=policy.id, critic=critic)
        rows.append((*values, "", None, profile_id, turn.pk))
        if judgement.grounded or turn.analysed_at is not None:
            claims.append((claims_value(judgement), turn.pk))
        findings.extend((turn.pk, *row) for row in finding_rows(tenant_id, judgement))
        made, agent, when = judgement.assertions, turn.agent, turn.occurred_at
        tally.assertions.update(assertion_keys(made, day=day, agent=agent))
        made_rows = assertion_rows(made, tenant_id=tenant_id, agent=agent, occurred_at=when)
        assertions.extend((turn.pk, *row) for row in made_rows)
    if replaced := [turn.pk for turn, _, _ in judged if turn.analysed_at is not None]:
        _drop_assertions(tenant_id, replaced, tally)
        Finding.objects.for_tenant(tenant_id).filter(turn_id__in=replaced).delete()
    update_rows(Turn, (*JUDGED_COLUMNS, "claim", "lease_until", "profile_id"), rows)
    if claims:
        update_rows(TurnPayload, ("claims",), claims, key="turn_id")
    if findings:
        insert_rows(Finding, FINDING_COLUMNS, findings)
    if verdicts:
        insert_rows(CriticVerdict, CRITIC_COLUMNS, verdicts)
    if assertions:
        insert_rows(AssertionResult, ASSERTION_COLUMNS, assertions)
    record_shadow(tenant_id=tenant_id, turns=shadowed)


def _drop_assertions(tenant_id: int, turn_ids: list[int], tally: Tally) -> None:
    """Forget what assertions found of turns when they were last analysed."""
    rows = AssertionResult.objects.for_tenant(tenant_id).filter(turn_id__in=turn_ids)
    names = ("occurred_at", "suite", "assertion", "agent", "passed")
    for at, suite, assertion, agent, passed in rows.values_list(*names):
        tally.assertions[day_of(at), suite, assertion, agent, passed] -= 1
    rows.delete()


def _critics_now(tenant_id: int, turn_ids: list[int]) -> dict[int, str]:
    """How turns stand with the critic, whose answer may have come since they were read."""
    if not turn_ids:
        return {}
    return dict(Turn.objects.for_tenant(tenant_id).filter(id__in=turn_ids).values_list("id", "critic"))


def _take_out(tally: Tally, turn: Turn) -> None:
    """Undo what the turn was counted as when it was last analysed."""
    names = turn_names(
        outcome=turn.outcome,
        kinds=turn.kinds,
        audit_rate=turn.audit_rate,
        verdict=turn.verdict,
        gate_reason=turn.gate_reason,
        critic=turn.critic,
    )
    tally.add_turn(
        day_of(turn.occurred_at),
        names=names,
        profile_id=turn.profile_id,
        gate=stored_gate(turn),
        verdict=turn.verdict,
        times=-1,
    )


def _give_back(turn: Turn, error: str) -> bool:
    """After an error: another attempt, or (True) the dead-letter state when they are used up."""
    spent = turn.attempts + 1 >= MAX_ATTEMPTS
    Turn.objects.across_tenants().filter(pk=turn.pk).update(
        analysis_state=AnalysisState.FAILED if spent else AnalysisState.PENDING, claim="", lease_until=None
    )
    TurnPayload.objects.across_tenants().filter(turn_id=turn.pk).update(analysis_error=error[:2000])
    return spent


def stored_records(
    *, policy: Policy, turns: Sequence[Turn], payloads: Mapping[int, TurnPayload]
) -> dict[int, TurnRecord]:
    """The records that stored turns of one tenant came from, by the turns' ids, with what their conversations
    held before as far as the policy's detector reads it. One that cannot be read is left out."""
    found: list[tuple[int, TurnRecord]] = []
    for turn in turns:
        try:
            found.append((turn.pk, stored_record(turn, payloads[turn.pk])))
        except Exception:  # noqa: S112  (told, and kept, by whoever reads it alone)
            continue
    if not found or policy.settings.detection_profile == "reference":
        return dict(found)
    told = with_history(tenant_id=turns[0].tenant_id, records=found)
    return dict(zip((turn_id for turn_id, _ in found), told, strict=True))


def stored_record(turn: Turn, payload: TurnPayload) -> TurnRecord:
    """The record that a stored turn came from."""
    return TurnRecord(
        external_id=turn.external_id,
        draft=payload.draft,
        user_message=payload.user_message,
        hydrated_context=payload.hydrated_context,
        tool_calls=msgspec.convert(payload.tool_calls or [], list[ToolCall]),
        earlier_calls=msgspec.convert(payload.earlier_calls or [], list[ToolCall]),
        earlier_user_messages=payload.earlier_user_messages or [],
        tools=msgspec.convert(payload.tools or [], list[ToolInfo]),
        conversation_id=turn.conversation_id,
        agent=turn.agent,
        model=turn.model,
        occurred_at=turn.occurred_at,
        intent=msgspec.convert(payload.intent, IntentRecord | None),
        critic=msgspec.convert(payload.critic, CriticRecord | None),
        activation=payload.activation,
        attributes=payload.attributes or {},
    )
