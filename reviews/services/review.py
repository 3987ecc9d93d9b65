"""A reviewer's decisions: label a claim, decide a turn, note, correct, assign, and undo any of these.

Every decision names the version of the turn it saw. The turn's version is compared and set in one statement,
so of two reviewers who decide at the same moment one wins and the other is told who did what.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from reviews.models import CriticVerdict, Finding, Membership, ReviewDecision, Tenant, Turn, TurnPayload, User
from reviews.models.decisions import DecisionAction
from reviews.models.tenants import Role
from reviews.models.turns import AnalysisState, Label, ReviewState
from reviews.services import audit
from reviews.services.counting import LabelChange, add_tally, day_of, label_counts, verdict_counts
from reviews.services.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError

MAX_NOTE_LENGTH = 10_000
MAX_ANSWER_LENGTH = 200_000
#: A page left open over lunch says nothing about how long a decision took.
MAX_SPENT_SECONDS = 3600.0
#: How long one key undoes the last decision: a working day. Older ones are undone from the turn's history.
UNDO_BY_KEY = timedelta(hours=12)


@dataclass(frozen=True)
class Decided:
    """What a decision led to: the turn as it now stands, and the decision itself."""

    turn: Turn
    decision: ReviewDecision

    @property
    def decision_id(self) -> int:
        return self.decision.pk

    @property
    def turn_id(self) -> int:
        return self.turn.pk

    @property
    def version(self) -> int:
        return self.turn.version

    @property
    def review_state(self) -> str:
        return self.turn.review_state


def label_finding(
    *,
    tenant: Tenant,
    actor: User,
    turn_id: int,
    position: int,
    label: str,
    seen_version: int,
    spent_seconds: float | None = None,
    at: datetime | None = None,
) -> Decided:
    """Say of one finding whether it is fabricated. The turn is decided once all its findings are labelled.

    Raises:
        NotFoundError: no such turn or finding here.
        InvalidError: no such label, or the turn is not analysed yet.
        ConflictError: the turn has changed since ``seen_version``.
    """
    _known(label)
    with transaction.atomic():
        turn, findings = load_turn(tenant, turn_id)
        finding = next((f for f in findings if f.position == position), None)
        if finding is None:
            raise NotFoundError("There is no such finding.")
        return _label(
            turn=turn,
            actor=actor,
            findings=findings,
            changed=[finding],
            label=label,
            action=DecisionAction.LABEL,
            target=finding,
            seen_version=seen_version,
            spent_seconds=spent_seconds,
            at=at,
        )


def decide_turn(
    *,
    tenant: Tenant,
    actor: User,
    turn_id: int,
    label: str,
    seen_version: int,
    spent_seconds: float | None = None,
    at: datetime | None = None,
) -> Decided:
    """Say the same of every finding of a turn at once; of a turn without findings, say it of the whole.

    Raises as ``label_finding``.
    """
    _known(label)
    with transaction.atomic():
        turn, findings = load_turn(tenant, turn_id)
        return _label(
            turn=turn,
            actor=actor,
            findings=findings,
            changed=findings,
            label=label,
            action=DecisionAction.DECIDE,
            target=None,
            seen_version=seen_version,
            spent_seconds=spent_seconds,
            at=at,
        )


def add_note(
    *, tenant: Tenant, actor: User, turn_id: int, text: str, seen_version: int, at: datetime | None = None
) -> Decided:
    """Leave a note on a turn for whoever looks at it next."""
    text = _text(text, "note", MAX_NOTE_LENGTH)
    with transaction.atomic():
        turn, _ = load_turn(tenant, turn_id, with_findings=False)
        advance_turn(turn, seen_version, {})
        return record_decision(turn, actor, DecisionAction.NOTE, text=text, at=at)


def correct_answer(
    *, tenant: Tenant, actor: User, turn_id: int, text: str, seen_version: int, at: datetime | None = None
) -> Decided:
    """Write down what the agent should have answered; an empty text takes the correction away."""
    text = storable(text.strip(), "answer", MAX_ANSWER_LENGTH)
    with transaction.atomic():
        turn, _ = load_turn(tenant, turn_id, with_findings=False)
        advance_turn(turn, seen_version, {})
        payload = TurnPayload.objects.for_tenant(tenant).only("corrected_answer").get(turn_id=turn.pk)
        before = {"corrected_answer": payload.corrected_answer}
        payload.corrected_answer = text
        payload.save(update_fields=["corrected_answer"])
        return record_decision(turn, actor, DecisionAction.CORRECT, text=text, before=before, at=at)


def assign_turn(
    *,
    tenant: Tenant,
    actor: User,
    turn_id: int,
    assignee_id: int | None,
    seen_version: int,
    at: datetime | None = None,
) -> Decided:
    """Give a turn to a member who may review, or (None) to nobody."""
    with transaction.atomic():
        turn, _ = load_turn(tenant, turn_id, with_findings=False)
        name = ""
        if assignee_id is not None:
            member = (
                Membership.objects.for_tenant(tenant)
                .filter(user_id=assignee_id)
                .select_related("user")
                .first()
            )
            if member is None or not member.may(Role.REVIEWER):
                raise InvalidError(
                    "A turn can only be assigned to a reviewer of this tenant.",
                    fields={"assignee": "Not a reviewer here."},
                )
            name = member.user.username
        before = {"assignee_id": turn.assignee_id}
        advance_turn(turn, seen_version, {"assignee_id": assignee_id})
        return record_decision(
            turn,
            actor,
            DecisionAction.ASSIGN,
            value=name,
            before=before,
            after={"assignee_id": assignee_id},
            at=at,
        )


def undo_decision(*, tenant: Tenant, actor: User, decision_id: int) -> Decided:
    """Put back what one decision changed. Other decisions on the turn stand.

    A reviewer undoes their own decisions; a manager those of others too.

    Raises:
        NotFoundError: no such decision here.
        ConflictError: it was undone already, or what it changed has been changed again since.
    """
    with transaction.atomic():
        decision = (
            ReviewDecision.objects.for_tenant(tenant).select_related("actor").filter(pk=decision_id).first()
        )
        if decision is None or decision.action == DecisionAction.UNDO:
            raise NotFoundError("There is no such decision.")
        if decision.actor_id != actor.pk and not _may_undo_others(tenant, actor):
            raise ForbiddenError("Only a manager may undo another person's decision.")
        turn, findings = load_turn(tenant, decision.turn_id)
        if ReviewDecision.objects.for_tenant(tenant).filter(undoes=decision).exists():
            raise ConflictError("This decision has been undone already.", turn_id=turn.pk)
        before = decision.before or {}
        changes = _undo_labels(turn, decision, findings, before) if before.get("findings") else []
        values = _state_of(findings) if changes else _undo_values(turn, decision, before)
        verdict = turn.verdict
        advance_turn(turn, turn.version, values)
        _count(turn, changes, verdict_before=verdict)
        return record_decision(
            turn,
            actor,
            DecisionAction.UNDO,
            value=f"{decision.action} {decision.value}".strip(),
            undoes=decision,
        )


def in_order(findings: QuerySet[Finding]) -> list[Finding]:
    """A turn's findings by position. Sorted here: for a handful that is cheaper than building an ORDER BY."""
    return sorted(findings.order_by(), key=lambda finding: finding.position)


def last_undoable(*, tenant: Tenant, actor: User) -> ReviewDecision | None:
    """The actor's latest decision that stands, if fresh enough to be what a key should undo. One query."""
    return (
        ReviewDecision.objects.for_tenant(tenant)
        .filter(actor=actor, created_at__gte=timezone.now() - UNDO_BY_KEY, undone_by__isnull=True)
        .exclude(action=DecisionAction.UNDO)
        .select_related("turn", "finding")
        .order_by("-created_at", "-id")
        .first()
    )


# -- Inside a transaction

#: What of a turn a decision reads or the caller goes on with; the rest of the row is not fetched.
_DECIDED_COLUMNS = (
    "tenant_id", "external_id", "analysis_state", "priority", "occurred_at", "review_state", "verdict",
    "assignee_id", "decided_by_id", "decided_at", "version", "profile_id", "audit_rate",
)  # fmt: skip


def load_turn(tenant: Tenant, turn_id: int, *, with_findings: bool = True) -> tuple[Turn, list[Finding]]:
    """The turn, locked, since what is counted of it changes with the decision; and its findings."""
    try:
        turns = Turn.objects.for_tenant(tenant).select_for_update(no_key=True, of=("self",))
        turn = turns.only(*_DECIDED_COLUMNS).get(pk=turn_id)
    except Turn.DoesNotExist:
        raise NotFoundError("There is no such turn.") from None
    if turn.analysis_state not in (AnalysisState.DONE, AnalysisState.FAILED):
        raise InvalidError("This turn is still waiting for analysis.", fields={})
    turn.tenant = tenant
    # The turn was scoped to the tenant; its findings follow from it.
    return turn, in_order(turn.findings.all()) if with_findings else []


def _label(
    *,
    turn: Turn,
    actor: User,
    findings: Sequence[Finding],
    changed: Sequence[Finding],
    label: str,
    action: DecisionAction,
    target: Finding | None,
    seen_version: int,
    spent_seconds: float | None,
    at: datetime | None,
) -> Decided:
    now = at or timezone.now()
    before: dict[str, Any] = {
        "findings": [
            [f.position, f.label, f.labelled_by_id, f.labelled_at.isoformat() if f.labelled_at else None]
            for f in changed
        ],
        "verdict": turn.verdict,
        "review_state": turn.review_state,
        "decided_by": turn.decided_by_id,
        "decided_at": turn.decided_at.isoformat() if turn.decided_at else None,
    }
    changes = [LabelChange(f.kind, f.label, f.labelled_at, label, now) for f in changed]
    for finding in changed:
        finding.label, finding.labelled_by_id, finding.labelled_at = label, actor.pk, now
    values: dict[str, Any]
    values = _state_of(findings) if findings else {"verdict": label, "review_state": ReviewState.DECIDED}
    if values["review_state"] == ReviewState.DECIDED:
        values.update(decided_by_id=actor.pk, decided_at=now)
    verdict = turn.verdict
    advance_turn(turn, seen_version, values)
    if changed:
        Finding.objects.across_tenants().filter(pk__in=[f.pk for f in changed]).update(
            label=label, labelled_by=actor, labelled_at=now
        )
    _count(turn, changes, verdict_before=verdict)
    return record_decision(
        turn, actor, action, value=label, finding=target, before=before, spent_seconds=spent_seconds, at=now
    )


def _state_of(findings: Iterable[Finding]) -> dict[str, Any]:
    """State and verdict that follow from the labels: fabricated outweighs unsure, unsure a false alarm.

    The turn was decided by whoever gave the latest of the labels.
    """
    found = list(findings)
    labels = {f.label for f in found}
    if not labels or "" in labels:
        state = ReviewState.OPEN if labels else ReviewState.NONE
        return {"verdict": "", "review_state": state, "decided_by_id": None, "decided_at": None}
    verdict = next(v for v in (Label.FABRICATED, Label.UNSURE, Label.FALSE_ALARM) if v in labels)
    last = max((f for f in found if f.labelled_at), key=lambda f: f.labelled_at)  # type: ignore[arg-type,return-value]
    return {
        "verdict": verdict,
        "review_state": ReviewState.DECIDED,
        "decided_by_id": last.labelled_by_id,
        "decided_at": last.labelled_at,
    }


def advance_turn(turn: Turn, seen_version: int, values: dict[str, Any]) -> None:
    """Compare and set: the turn moves from the seen version to the next, or somebody else was quicker.

    A turn that went back to analysis in between has changed too: its findings are about to be replaced.
    """
    won = (
        Turn.objects.across_tenants()
        .filter(pk=turn.pk, version=seen_version, analysis_state=turn.analysis_state)
        .update(version=F("version") + 1, **values)
    )
    if not won:
        raise _conflict(turn)
    turn.version = seen_version + 1
    for name, value in values.items():
        setattr(turn, name, value)


def _count(turn: Turn, changes: Sequence[LabelChange], *, verdict_before: str) -> None:
    """Count changed labels, and the turn's verdict when it is another one now."""
    tally = verdict_counts(
        day=day_of(turn.occurred_at),
        profile_id=turn.profile_id,
        audit_rate=turn.audit_rate,
        before=verdict_before,
        after=turn.verdict,
    )
    tally.names.update(label_counts(changes))
    add_tally(tenant_id=turn.tenant_id, tally=tally)


def _conflict(turn: Turn) -> ConflictError:
    last = turn.decisions.select_related("actor", "finding", "undoes__finding").order_by("-version").first()
    if last is None:
        return ConflictError("This turn has changed since you opened it.", turn_id=turn.pk)
    return ConflictError(
        f"{last.actor.display_name} {last.summary} while you were looking. Your decision was not saved.",
        turn_id=turn.pk,
        actor=last.actor.username,
    )


def record_decision(
    turn: Turn,
    actor: User,
    action: DecisionAction,
    *,
    value: str = "",
    text: str = "",
    finding: Finding | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    spent_seconds: float | None = None,
    undoes: ReviewDecision | None = None,
    at: datetime | None = None,
) -> Decided:
    at = at or timezone.now()
    decision = ReviewDecision(
        tenant_id=turn.tenant_id,
        turn=turn,
        finding=finding,
        actor=actor,
        action=action,
        value=value,
        text=text,
        before=before,
        version=turn.version,
        spent_seconds=None if spent_seconds is None else min(max(spent_seconds, 0.0), MAX_SPENT_SECONDS),
        undoes=undoes,
        created_at=at,
    )
    decision.save(force_insert=True)
    data: dict[str, Any] = {"external_id": turn.external_id, "value": value, "version": turn.version}
    if finding is not None:
        data["finding"] = {
            "position": finding.position,
            "kind": finding.kind,
            "identifier": finding.identifier[:200],
        }
    if text:
        data["text"] = text[:2000]
    if after:
        data["after"] = after
    audit.record_event(
        tenant=turn.tenant,
        actor=actor,
        action=f"turn.{action}",
        object_type="turn",
        object_id=turn.pk,
        data=data,
        at=at,
    )
    return Decided(turn, decision)


def _undo_labels(
    turn: Turn, decision: ReviewDecision, findings: Sequence[Finding], before: dict[str, Any]
) -> list[LabelChange]:
    by_position = {f.position: f for f in findings}
    changes = []
    for position, label, by, at in before["findings"]:
        finding = by_position.get(position)
        if finding is None or finding.labelled_at != decision.created_at or finding.label != decision.value:
            raise ConflictError("What this decision changed has been changed again since.", turn_id=turn.pk)
        earlier = parse_datetime(at) if at else None
        changes.append(LabelChange(finding.kind, finding.label, finding.labelled_at, label, earlier))
        finding.label, finding.labelled_by_id, finding.labelled_at = label, by, earlier
    restored = [f for f in findings if f.position in {entry[0] for entry in before["findings"]}]
    Finding.objects.across_tenants().bulk_update(restored, ["label", "labelled_by", "labelled_at"])
    return changes


def _undo_values(turn: Turn, decision: ReviewDecision, before: dict[str, Any]) -> dict[str, Any]:
    """What of the turn itself the undo puts back, with a check that it is still as the decision left it."""
    changed_again = ConflictError("What this decision changed has been changed again since.", turn_id=turn.pk)
    if decision.action == DecisionAction.ASSIGN:
        newer = turn.decisions.filter(action=DecisionAction.ASSIGN, version__gt=decision.version)
        if newer.filter(undone_by__isnull=True).exists():
            raise changed_again
        return {"assignee_id": before.get("assignee_id")}
    if decision.action == DecisionAction.CORRECT:
        newer = turn.decisions.filter(action=DecisionAction.CORRECT, version__gt=decision.version)
        if newer.filter(undone_by__isnull=True).exists():
            raise changed_again
        payload = TurnPayload.objects.across_tenants().only("corrected_answer").get(turn_id=turn.pk)
        if payload.corrected_answer != decision.text:
            raise changed_again
        payload.corrected_answer = before.get("corrected_answer", "")
        payload.save(update_fields=["corrected_answer"])
    elif decision.action == DecisionAction.CRITIC:
        if not _undo_critic(turn, decision, before):
            raise changed_again
    elif decision.action == DecisionAction.DECIDE:
        if turn.decided_at != decision.created_at:
            raise changed_again
        return {
            "verdict": before["verdict"],
            "review_state": before["review_state"],
            "decided_by_id": before["decided_by"],
            "decided_at": parse_datetime(before["decided_at"]) if before["decided_at"] else None,
        }
    return {}


def _undo_critic(turn: Turn, decision: ReviewDecision, before: dict[str, Any]) -> bool:
    """Take back a word on the critic, and the answer with it; False when either was changed since."""
    verdicts = CriticVerdict.objects.across_tenants().filter(turn_id=turn.pk, human_at=decision.created_at)
    earlier = before["human_at"]
    restored = verdicts.update(
        human=before["human"],
        human_reason=before["human_reason"],
        human_blind=before["human_blind"],
        human_by_id=before["human_by"],
        human_at=parse_datetime(earlier) if earlier else None,
    )
    if "corrected_answer" not in before:
        return bool(restored)
    corrections = turn.decisions.filter(version__gt=decision.version, undone_by__isnull=True)
    if corrections.filter(action__in=(DecisionAction.CORRECT, DecisionAction.CRITIC)).exists():
        return False
    TurnPayload.objects.across_tenants().filter(turn_id=turn.pk).update(
        corrected_answer=before["corrected_answer"]
    )
    return bool(restored)


def _may_undo_others(tenant: Tenant, actor: User) -> bool:
    member = Membership.objects.for_tenant(tenant).filter(user=actor).first()
    return member is not None and member.may(Role.MANAGER)


def _known(label: str) -> None:
    if label not in Label.values:
        raise InvalidError(
            "There is no such label.", fields={"label": f"Must be one of {', '.join(Label.values)}."}
        )


def _text(text: str, field: str, most: int) -> str:
    text = text.strip()
    if not text:
        raise InvalidError(f"The {field} is empty.", fields={"text": "Write something first."})
    return storable(text, field, most)


def storable(text: str, field: str, most: int) -> str:
    if len(text) > most:
        raise InvalidError(f"The {field} is too long.", fields={"text": f"At most {most} characters."})
    if "\0" in text:
        raise InvalidError(f"The {field} cannot be stored.", fields={"text": "NUL is not a character."})
    return text
