"""The learning job: what reviewers' labels say of the detector's confidences, and which rules it lacks.

Its steps fit a calibration, look for grounding rules, and then try those rules on the findings of the past,
some turns at a time. Nothing of it comes into force by itself: drafts written from then on read the newest
calibration, and a manager accepts a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

import msgspec
from django.db.models import QuerySet, Sum, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from reviews.core.calibration import LabelledClaim, Quality, evaluate, fit
from reviews.core.learning import Example, Rule, Suggestion, silences, suggest
from reviews.core.profiles import Group, subject_of, tools_of
from reviews.models import (
    Calibration,
    DailyCount,
    Finding,
    GroundingSuggestion,
    Job,
    ReviewDecision,
    Tenant,
    Turn,
    TurnPayload,
)
from reviews.models.decisions import DecisionAction
from reviews.models.jobs import JobKind, JobState
from reviews.models.policies import SuggestionState
from reviews.models.turns import Kind, Label, Source
from reviews.services.errors import InvalidError
from reviews.services.policies import current_policy, latest_calibration
from reviews.services.suggestions import refresh_suggestions

#: The newest labels that are learned from: agents change, so older ones say less and less.
MAX_LABELS = 20_000
#: The newest findings that suggested rules are tried on.
MAX_HISTORY = 50_000
#: Flagged turns a step: with a few findings each and a long list of rules still well under a second.
TURNS_PER_STEP = 1000
#: Payloads read at once; their tool calls may be long.
PAYLOADS_AT_ONCE = 500
#: The labels that say something; "unsure" does not.
JUDGED = (Label.FABRICATED, Label.FALSE_ALARM)


class _Judged(NamedTuple):
    """A labelled finding, and the names of the tools that fired in its turn (None: not known)."""

    kind: str
    identifier: str
    subject: str
    confidence: float
    fabricated: bool
    at: datetime
    turn: int
    tools: tuple[str, ...] | None


def check_parameters(tenant: Tenant, parameters: dict[str, Any]) -> dict[str, Any]:
    """The job takes none. Raises InvalidError."""
    if parameters:
        raise InvalidError(
            "A learning job takes no parameters.", fields=dict.fromkeys(parameters, "Unknown.")
        )
    return {}


def step(job: Job) -> bool:
    """One step of the job; see ``jobs.Work``."""
    cursor = job.cursor or {"phase": "calibrate"}
    phases = {"calibrate": _calibrate, "suggest": _suggest, "history": _try_on_history}
    return phases[cursor["phase"]](job, cursor)


def tenants_to_learn() -> list[Tenant]:
    """The tenants whose labels have changed since they were last learned from."""
    return [tenant for tenant in Tenant.objects.order_by("id") if _has_news(tenant)]


def quality_of(calibration: Calibration) -> Quality | None:
    """How well a fit did on later labels; None when there were too few."""
    return msgspec.convert(calibration.quality, Quality | None)


# -- The steps


def _calibrate(job: Job, cursor: dict[str, Any]) -> bool:
    now = timezone.now()
    judged = _judged(job.tenant_id)
    labels = [
        LabelledClaim(
            Group(each.kind, each.subject, tools_of(each.tools)),
            each.confidence,
            each.fabricated,
            each.at.timestamp(),
        )
        for each in judged
    ]
    last = latest_calibration(tenant=job.tenant)
    content = fit(labels).to_json()
    is_new = content != last.content if last else bool(labels)
    if is_new:
        quality = evaluate(labels)
        last = Calibration(
            tenant_id=job.tenant_id,
            number=last.number + 1 if last else 1,
            fitted_at=now,
            labels=len(labels),
            content=content,
            quality=msgspec.to_builtins(quality) if quality else None,
        )
        last.save(force_insert=True)
    job.result = {
        "labels": len(labels),
        "calibration": last.number if last else None,
        "new_calibration": is_new,
    }
    job.done = len(labels)
    job.total = 2 * len(labels) + _history_size(job.tenant_id)
    job.cursor = {"phase": "suggest"}
    return True


def _suggest(job: Job, cursor: dict[str, Any]) -> bool:
    examples = [
        Example(each.kind, each.subject, each.identifier, each.tools or (), each.fabricated, each.turn)
        for each in _judged(job.tenant_id)
    ]
    rules = current_policy(tenant=job.tenant_id).settings.grounding_rules()
    refreshed = refresh_suggestions(
        tenant_id=job.tenant_id, found=suggest(examples, rules), at=timezone.now()
    )
    job.result = {**job.result, "suggestions": refreshed._asdict(), "looked_at": 0}
    job.done += len(examples)
    rows = GroundingSuggestion.objects.for_tenant(job.tenant_id).filter(state=SuggestionState.OPEN)
    counts = [[pk, 0, 0] for pk in rows.order_by("id").values_list("id", flat=True)]
    job.cursor = {"phase": "history", "after": None, "counts": counts}
    if not counts:
        job.total = job.done
    return bool(counts)


def _try_on_history(job: Job, cursor: dict[str, Any]) -> bool:
    counts = {pk: [dropped, true] for pk, dropped, true in cursor["counts"]}
    rows = GroundingSuggestion.objects.for_tenant(job.tenant_id).filter(id__in=counts)
    suggestions = {
        row.pk: Suggestion(cast(Rule, row.rule), row.subject, row.value, row.agree, row.against, ())
        for row in rows
    }
    looked_at = job.result["looked_at"]
    turns = _flagged_before(job.tenant_id, cursor["after"])
    with_tools = any(each.rule == "tool_fragment" for each in suggestions.values())
    examples = _history(job.tenant_id, [pk for pk, _ in turns], with_tools=with_tools)[
        : MAX_HISTORY - looked_at
    ]
    for example in examples:
        for pk, suggestion in suggestions.items():
            if silences(suggestion, example):
                counts[pk][0] += 1
                counts[pk][1] += example.fabricated
    looked_at += len(examples)
    job.done += len(examples)
    job.result = {**job.result, "looked_at": looked_at}
    if len(turns) == TURNS_PER_STEP and looked_at < MAX_HISTORY:
        last_id, last_at = turns[-1]
        job.total = max(job.total or 0, job.done)
        job.cursor = {
            "phase": "history",
            "after": [last_at.isoformat(), last_id],
            "counts": [[pk, *both] for pk, both in counts.items()],
        }
        return True
    for pk, (dropped, true) in counts.items():
        GroundingSuggestion.objects.for_tenant(job.tenant_id).filter(pk=pk).update(
            silences=dropped, silences_true=true, looked_at=looked_at
        )
    job.total = job.done
    return False


# -- Reading

#: What ``subject_of`` reads of a finding.
_CLAIM_COLUMNS = ("kind", "identifier", "key", "confidence")


def _labelled(tenant_id: int) -> QuerySet[Finding]:
    # The first condition is that of the index over labels; SQLite does not see that the second implies it.
    return Finding.objects.for_tenant(tenant_id).exclude(label="").filter(label__in=JUDGED)


def _judged(tenant_id: int) -> list[_Judged]:
    """The newest labels, the newest first."""
    newest = _labelled(tenant_id).order_by("-labelled_at", "-id")
    rows = list(
        newest.values_list(*_CLAIM_COLUMNS, "label", "labelled_at", "turn_id", named=True)[:MAX_LABELS]
    )
    tools = _tools(tenant_id, {row.turn_id for row in rows})
    return [
        _Judged(
            row.kind,
            row.identifier,
            subject_of(row),
            row.confidence,
            row.label == Label.FABRICATED,
            row.labelled_at,
            row.turn_id,
            tools[row.turn_id],
        )
        for row in rows
    ]


class _Call(msgspec.Struct):
    """Of a stored tool call only the name is read: what it was given and what it returned may be long."""

    name: str


_calls = msgspec.json.Decoder(list[_Call])


def _tools(tenant_id: int, turn_ids: Iterable[int]) -> dict[int, tuple[str, ...] | None]:
    """The names of the tools that fired in these turns; None where only a runtime's event is known."""
    ids, found = sorted(turn_ids), {}
    payloads = TurnPayload.objects.for_tenant(tenant_id).annotate(calls=Cast("tool_calls", TextField()))
    for start in range(0, len(ids), PAYLOADS_AT_ONCE):
        chunk = payloads.filter(turn_id__in=ids[start : start + PAYLOADS_AT_ONCE])
        for turn_id, source, calls in chunk.values_list("turn_id", "turn__source", "calls"):
            names = tuple(call.name for call in _calls.decode(calls)) if calls else ()
            found[turn_id] = None if source == Source.EVENT else names
    return found


def _flagged_before(tenant_id: int, after: Sequence[Any] | None) -> list[tuple[int, datetime]]:
    """The next flagged turns behind a place, the newest first, with the times at which they occurred."""
    turns = (
        Turn.objects.for_tenant(tenant_id)
        .filter(finding_count__gt=0)
        .order_by("-occurred_at", "-id")
        .values_list("id", "occurred_at")
    )
    if after is None:
        return list(turns[:TURNS_PER_STEP])
    at, turn_id = datetime.fromisoformat(after[0]), after[1]
    # Two ranges of the index; as one condition SQLite would read from the start of the equal times.
    found = list(turns.filter(occurred_at=at, id__lt=turn_id)[:TURNS_PER_STEP])
    found += turns.filter(occurred_at__lt=at)[: TURNS_PER_STEP - len(found)]
    return found


def _history(tenant_id: int, turn_ids: Sequence[int], *, with_tools: bool) -> list[Example]:
    """The findings of these turns that a rule could drop, in the turns' order."""
    rows = (
        Finding.objects.for_tenant(tenant_id)
        .filter(turn_id__in=turn_ids)
        .exclude(kind=Kind.INTENT_ACTION_NO_TOOL)
        .order_by()
        .values_list(*_CLAIM_COLUMNS, "label", "turn_id", "position", named=True)
    )
    place = {turn_id: n for n, turn_id in enumerate(turn_ids)}
    found = sorted(rows, key=lambda row: (place[row.turn_id], row.position))
    claiming = {row.turn_id for row in found if with_tools and row.kind == Kind.VERB_CLAIM}
    tools = _tools(tenant_id, claiming)
    return [
        Example(
            row.kind,
            subject_of(row),
            row.identifier,
            tools.get(row.turn_id) or (),
            row.label == Label.FABRICATED,
            row.turn_id,
        )
        for row in found
    ]


def _history_size(tenant_id: int) -> int:
    """About how many findings there are to try rules on: turns, counted once for each kind they have."""
    counted = DailyCount.objects.for_tenant(tenant_id).filter(name__startswith="kind:")
    counted = counted.exclude(name=f"kind:{Kind.INTENT_ACTION_NO_TOOL}")
    return min(MAX_HISTORY, max(0, counted.aggregate(total=Sum("count"))["total"] or 0))


def _has_news(tenant: Tenant) -> bool:
    """Whether a label was given, changed or taken back since a learning job last read them."""
    last = latest_calibration(tenant=tenant)
    labels = _labelled(tenant.pk)
    if min(labels.count(), MAX_LABELS) != (last.labels if last else 0):
        return True
    jobs = Job.objects.for_tenant(tenant).filter(kind=JobKind.LEARN, state=JobState.DONE).order_by("-id")
    since = [
        moment
        for moment in (last and last.fitted_at, *jobs.values_list("started_at", flat=True)[:1])
        if moment
    ]
    if not since:
        return labels.exists()
    # An undo gives a label back with the time it had, so the decisions tell of it.
    undone = ReviewDecision.objects.for_tenant(tenant).filter(
        action=DecisionAction.UNDO, created_at__gt=max(since)
    )
    return labels.filter(labelled_at__gt=max(since)).exists() or undone.exists()
