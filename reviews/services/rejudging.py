"""The rejudging job: what stored turns would look like had a given policy version judged them.

Publishing a policy changes nothing about turns that are stored; only this job does, and only those that no
reviewer has worked on. Of the others it records what would differ, and leaves them as they stand.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from datetime import time as time_of_day
from typing import Any

from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from reviews.formats.record import TurnRecord
from reviews.models import (
    AssertionResult,
    Finding,
    Job,
    PolicyVersion,
    RejudgedTurn,
    ReviewDecision,
    Tenant,
    Turn,
    TurnPayload,
)
from reviews.models.turns import AnalysisState, Source
from reviews.services.analysis import store_judgements, stored_record, stored_records
from reviews.services.assertion_rows import standing_of
from reviews.services.counting import Tally, add_tally, stored_gate
from reviews.services.errors import InvalidError
from reviews.services.judge import Judgement, Policy, judge, with_runtime
from reviews.services.policies import policy_of, policy_version

logger = logging.getLogger(__name__)

#: Turns read for a step.
TURNS_PER_STEP = 200
#: A step of long turns ends earlier, so that whoever waits for its locks never waits long.
SECONDS_PER_STEP = 1.0
#: Characters of an identifier that a record of changes keeps.
IDENTIFIER_LENGTH = 200


def check_parameters(tenant: Tenant, parameters: dict[str, Any]) -> dict[str, Any]:
    """``version``, the number of a version that is or was in force, and ``since``, an ISO date or time or
    None: turns from then on. A draft that nobody approved changes no stored outcome.

    Raises:
        NotFoundError: no such version.
        InvalidError: ``details['fields']`` names what is wrong.
    """
    wrong = dict.fromkeys(parameters.keys() - {"version", "since"}, "Unknown.")
    number = parameters.get("version")
    if isinstance(number, bool) or not isinstance(number, int):
        wrong["version"] = "Must be the number of a policy version."
    since = None
    if parameters.get("since"):
        since = _moment(parameters["since"])
        if since is None:
            wrong["since"] = "Must be a date or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z."
    if wrong:
        raise InvalidError("This job cannot be started.", fields=wrong)
    assert isinstance(number, int)
    version = policy_version(tenant=tenant, number=number)
    if version.published_at is None:
        text = "Was never published; stored turns are judged again only by a version that was in force."
        raise InvalidError("This job cannot be started.", fields={"version": text})
    return {
        "version": version.number,
        "since": since.isoformat() if since else None,
    }


def step(job: Job) -> bool:
    """One step of the job; see ``jobs.Work``."""
    if job.cursor is None:
        _begin(job)
    version = policy_version(tenant=job.tenant, number=job.parameters["version"])
    turns = _next_turns(job)
    batch = _Batch(job, version, policy_of(version), _as_stored(job, turns))
    done = batch.judge_all(turns)
    batch.store()
    job.result = batch.result()
    job.done += len(done)
    if not turns:
        job.total = job.done
        return False
    last = done[-1]
    job.cursor = {**job.cursor, "after": [last.occurred_at.isoformat(), last.pk]}
    return True


def changed_turns(
    *, tenant: Tenant, job_id: int, limit: int, after: int = 0, applied: bool | None = None
) -> list[RejudgedTurn]:
    """Turns that the job judged otherwise, by turn id; those behind the turn ``after``."""
    rows = RejudgedTurn.objects.for_tenant(tenant).filter(job=job_id, turn__gt=after).select_related("turn")
    if applied is not None:
        rows = rows.filter(applied=applied)
    return list(rows.order_by("turn_id")[:limit])


# -- Which turns


def _begin(job: Job) -> None:
    """Turns stored from here on are judged by the policy in force, and none of this job's business."""
    # Of all tenants' turns: as a bound it is as good, and it takes no search.
    newest = Turn.objects.across_tenants().order_by("-id").values_list("id", flat=True).first() or 0
    job.cursor = {"after": None, "newest": newest}
    job.total = _turns(job).count()


def _turns(job: Job) -> QuerySet[Turn]:
    turns = Turn.objects.for_tenant(job.tenant_id).filter(id__lte=job.cursor["newest"])
    since = job.parameters["since"]
    return turns.filter(occurred_at__gte=datetime.fromisoformat(since)) if since else turns


def _next_turns(job: Job) -> list[Turn]:
    """The next turns by time, locked: a decision made at this moment comes before this step or after it."""
    ids = _next_ids(job)
    # Locked by id, the order that all writers of turns share.
    turns = Turn.objects.for_tenant(job.tenant_id).filter(id__in=ids).order_by("id").select_for_update()
    return sorted(turns, key=lambda turn: (turn.occurred_at, turn.pk))


def _next_ids(job: Job) -> list[int]:
    turns = _turns(job).order_by("occurred_at", "id").values_list("id", flat=True)
    if job.cursor["after"] is None:
        return list(turns[:TURNS_PER_STEP])
    at, turn_id = datetime.fromisoformat(job.cursor["after"][0]), job.cursor["after"][1]
    # Two ranges of the index; as one condition SQLite would read from the start of the equal times.
    found = list(turns.filter(occurred_at=at, id__gt=turn_id)[:TURNS_PER_STEP])
    found += turns.filter(occurred_at__gt=at)[: TURNS_PER_STEP - len(found)]
    return found


# -- One step's turns


@dataclass
class _Stored:
    """What is known of a step's turns before it: findings, results of assertions, payloads, and which ones
    reviewers worked on."""

    findings: dict[int, list[Finding]]
    assertions: dict[int, list[AssertionResult]]
    payloads: dict[int, TurnPayload]
    reviewed: set[int]
    numbers: dict[int | None, int]


@dataclass
class _Batch:
    job: Job
    version: PolicyVersion
    policy: Policy
    stored: _Stored
    records: dict[int, TurnRecord] = field(default_factory=dict)
    to_store: list[tuple[Turn, Judgement, Policy]] = field(default_factory=list)
    to_mark: list[int] = field(default_factory=list)
    changes: list[RejudgedTurn] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)

    def judge_all(self, turns: Sequence[Turn]) -> list[Turn]:
        """Judge turns until all are done or time is up; returns those it came to."""
        until = time.monotonic() + SECONDS_PER_STEP
        self.records = stored_records(policy=self.policy, turns=turns, payloads=self.stored.payloads)
        for n, turn in enumerate(turns, start=1):
            self._judge(turn)
            if time.monotonic() >= until:
                return list(turns[:n])
        return list(turns)

    def _judge(self, turn: Turn) -> None:
        if turn.analysis_state != AnalysisState.DONE or turn.source == Source.EVENT:
            # Of a turn known from an event only, there is no more than the first characters of its draft.
            self.counts["skipped"] += 1
            return
        self.counts["looked_at"] += 1
        try:
            payload = self.stored.payloads[turn.pk]
            record = self.records.get(turn.pk) or stored_record(turn, payload)
            judgement = with_runtime(judge(record, self.policy), payload.runtime_event)
        except Exception:
            # Whatever is wrong with one turn must not hold up the others; it stays as it is.
            logger.exception("rejudging failed", extra={"turn": turn.pk, "tenant": turn.tenant_id})
            self.counts["broken"] += 1
            return
        judgement = _in_same_sample(turn, judgement)
        findings = self.stored.findings.get(turn.pk, [])
        applied = turn.pk not in self.stored.reviewed
        before = _summary(turn.outcome, self.stored.numbers[turn.policy_version_id], findings)
        after = _summary(judgement.outcome.action_taken, self.policy.number, judgement.findings)
        if (before["outcome"], before["findings"]) != (after["outcome"], after["findings"]):
            self.counts["changed"] += 1
            self.counts["applied" if applied else "left"] += 1
            self.outcomes[f"{before['outcome']} -> {after['outcome']}"] += 1
            self.changes.append(
                RejudgedTurn(
                    tenant_id=turn.tenant_id,
                    job=self.job,
                    turn=turn,
                    policy_version=self.version,
                    before=before,
                    after=after,
                    applied=applied,
                )
            )
        if not applied:
            return
        assertions = self.stored.assertions.get(turn.pk, [])
        if _row_of_turn(turn, findings, assertions) == _row_of_judgement(judgement):
            self.to_mark.append(turn.pk)
        else:
            self.to_store.append((turn, judgement, self.policy))

    def store(self) -> None:
        tenant_id, now = self.job.tenant_id, timezone.now()
        turns = Turn.objects.for_tenant(tenant_id)
        if self.to_store:
            tally = Tally()
            store_judgements(tenant_id=tenant_id, judged=self.to_store, tally=tally, at=now)
            # Whoever has the turn's page open sees findings that are gone: a decision on them must fail.
            turns.filter(id__in=[turn.pk for turn, _, _ in self.to_store]).update(version=F("version") + 1)
            add_tally(tenant_id=tenant_id, tally=tally)
        if self.to_mark:
            turns.filter(id__in=self.to_mark).update(policy_version=self.version, analysed_at=now)
        RejudgedTurn.objects.across_tenants().bulk_create(self.changes)

    def result(self) -> dict[str, Any]:
        """The job's result so far, with this step's turns."""
        before = self.job.result or {}
        names = ("looked_at", "changed", "applied", "left", "skipped", "broken")
        outcomes = self.outcomes + Counter(before.get("outcomes", {}))
        return {
            **{name: before.get(name, 0) + self.counts[name] for name in names},
            "outcomes": dict(sorted(outcomes.items())),
        }


def _as_stored(job: Job, turns: Sequence[Turn]) -> _Stored:
    ids = [turn.pk for turn in turns]
    findings: dict[int, list[Finding]] = {}
    for finding in Finding.objects.for_tenant(job.tenant_id).filter(turn_id__in=ids).order_by():
        findings.setdefault(finding.turn_id, []).append(finding)
    for found in findings.values():
        found.sort(key=lambda finding: finding.position)
    assertions: dict[int, list[AssertionResult]] = {}
    for result in AssertionResult.objects.for_tenant(job.tenant_id).filter(turn_id__in=ids).order_by():
        assertions.setdefault(result.turn_id, []).append(result)
    # A version above 0 says that the turn has changed since it was first judged: a reviewer or a job before
    # this one did it. Only reviewers leave decisions.
    moved = [turn.pk for turn in turns if turn.version]
    decisions = ReviewDecision.objects.for_tenant(job.tenant_id).filter(turn_id__in=moved)
    versions = {turn.policy_version_id for turn in turns if turn.policy_version_id is not None}
    numbers = PolicyVersion.objects.for_tenant(job.tenant_id).filter(id__in=versions)
    return _Stored(
        findings=findings,
        assertions=assertions,
        payloads=TurnPayload.objects.for_tenant(job.tenant_id).in_bulk(ids),
        reviewed=set(decisions.values_list("turn_id", flat=True)) if moved else set(),
        numbers={None: 0, **dict(numbers.values_list("id", "number"))},
    )


def _in_same_sample(turn: Turn, judgement: Judgement) -> Judgement:
    """The judgement, with the audit sample as it was drawn when the turn was new.

    A turn that was and stays unflagged keeps its place in the sample, or outside: drawing the rest at another
    rate now would count them as if all turns had been drawn at that rate. A turn that is no longer flagged
    is new among the unflagged ones, and drawn as such.
    """
    if judgement.profile is not None or turn.kinds:
        return judgement
    return replace(judgement, audit_rate=turn.audit_rate)


def _summary(outcome: str, policy: int, findings: Sequence[Any]) -> dict[str, Any]:
    found = [[str(f.kind), f.identifier[:IDENTIFIER_LENGTH], f.confidence] for f in findings]
    return {"outcome": str(outcome), "policy": policy, "findings": found}


def _row_of_turn(
    turn: Turn, findings: Sequence[Finding], assertions: Sequence[AssertionResult]
) -> tuple[Any, ...]:
    """All that is stored of a turn and that a policy decides on; the draft decides on the rest."""
    found = [
        (f.kind, f.identifier, f.span_start, f.span_end, f.confidence, f.calibrated_confidence, f.reason)
        for f in findings
    ]
    results = sorted(
        (r.suite, r.position, r.assertion, r.passed, r.reason, r.evidence, r.digests) for r in assertions
    )
    gate = stored_gate(turn)
    return (
        turn.outcome,
        turn.intent,
        turn.audit_rate,
        gate,
        turn.gate_reason,
        found,
        turn.assertions,
        results,
    )


def _row_of_judgement(judgement: Judgement) -> tuple[Any, ...]:
    calibrated = judgement.outcome.calibrated or [None] * len(judgement.findings)
    found = [
        (f.kind, f.identifier, *f.span, f.confidence, fitted, f.reason)
        for f, fitted in zip(judgement.findings, calibrated, strict=True)
    ]
    intent = judgement.intent.label if judgement.intent else ""
    reason = judgement.gate_decision.reason if judgement.gate_decision else ""
    results = sorted(
        (made.suite, made.position, made.label, v.passed, v.reason, dict(v.evidence), list(v.digests))
        for made in judgement.assertions
        for v in (made.verdict,)
    )
    return (
        judgement.outcome.action_taken,
        intent,
        judgement.audit_rate,
        judgement.gate,
        reason,
        found,
        standing_of(judgement.assertions),
        results,
    )


def _moment(value: Any) -> datetime | None:
    """An ISO date (its beginning) or time, in UTC unless it says otherwise; None when it is neither."""
    if not isinstance(value, str):
        return None
    try:
        moment = parse_datetime(value)
        if moment is None and (day := parse_date(value)) is not None:
            moment = datetime.combine(day, time_of_day.min)
    except ValueError:
        return None
    if moment is not None and moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment
