"""Claims, choices and history as a turn's page prints them: the words are chosen here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from reviews.models import Finding, Membership, ReviewDecision, Turn
from reviews.models.decisions import DecisionAction
from reviews.models.tenants import Role
from reviews.models.turns import Label
from reviews.views.texts import visible

LABEL_KEYS = {Label.FABRICATED: "t", Label.FALSE_ALARM: "f", Label.UNSURE: "u"}
IDENTIFIER_LENGTH = 80


class Choice(NamedTuple):
    """One button. ``key`` is what presses it (empty for none), ``cap`` how that key is shown."""

    value: str
    name: str
    pressed: str
    key: str
    cap: str


class ClaimRow(NamedTuple):
    """A finding with its buttons."""

    number: int
    position: int
    current: bool
    key: str
    identifier: str
    detail: str
    choices: list[Choice]


class HistoryEntry(NamedTuple):
    """Something that was done to the turn. ``undo`` is its id where the reader may undo it, else 0."""

    name: str
    what: str
    at: datetime
    text: str
    undone: bool
    undo: int


def claim_row(finding: Finding, current: bool, names: dict[int, str]) -> ClaimRow:
    """``names`` maps a person's id to their name."""
    detail = (
        f"{finding.get_kind_display()} · {finding.confidence:.2f} · {finding.get_severity_display().lower()}"
    )
    if finding.label:
        by = names.get(finding.labelled_by_id or 0, "someone")
        detail += f" · {by}: {Label(finding.label).label.lower()}"
    identifier = visible(finding.identifier)
    if len(identifier) > IDENTIFIER_LENGTH:
        identifier = identifier[: IDENTIFIER_LENGTH - 1] + "…"
    return ClaimRow(
        number=finding.position + 1,
        position=finding.position,
        current=current,
        key=finding.key or "",
        identifier=identifier or "asked for an action, no tool ran",
        detail=detail,
        # Only the current claim answers to keys.
        choices=[
            Choice(label.value, label.label, _pressed(finding.label == label), key if current else "", key)
            for label, key in LABEL_KEYS.items()
        ],
    )


def turn_choices(turn: Turn, has_findings: bool) -> list[Choice]:
    """Buttons for the whole turn: all of its claims at once, or the turn itself when nothing is claimed."""
    if has_findings:
        return [
            Choice(label.value, label.label, "false", key.upper(), f"⇧{key}")
            for label, key in LABEL_KEYS.items()
        ]
    return [
        Choice(
            label.value, verdict_name(label, has_findings=False), _pressed(turn.verdict == label), key, key
        )
        for label, key in LABEL_KEYS.items()
    ]


def verdict_name(verdict: str, *, has_findings: bool) -> str:
    """A verdict in a word. Where nothing was flagged there is no alarm that could be false."""
    label = Label(verdict)
    return "Nothing wrong" if label == Label.FALSE_ALARM and not has_findings else str(label.label)


def history_of(
    decisions: Sequence[ReviewDecision],
    findings: Sequence[Finding],
    names: dict[int, str],
    membership: Membership,
) -> list[HistoryEntry]:
    """Entries in the order of ``decisions``. Findings and what was undone are looked up among those given."""
    findings_by_id = {finding.pk: finding for finding in findings}
    decisions_by_id = {decision.pk: decision for decision in decisions}
    undone = {decision.undoes_id for decision in decisions}
    entries = []
    for decision in reversed(decisions):
        if decision.finding_id in findings_by_id:
            decision.finding = findings_by_id[decision.finding_id]
        if decision.undoes_id in decisions_by_id:
            decision.undoes = decisions_by_id[decision.undoes_id]
        mine = decision.actor_id == membership.user_id and membership.may(Role.REVIEWER)
        may_undo = decision.action != DecisionAction.UNDO and (mine or membership.may(Role.MANAGER))
        entries.append(
            HistoryEntry(
                name=names.get(decision.actor_id, "someone"),
                what=decision.summary,
                at=decision.created_at,
                text=decision.text,
                undone=decision.pk in undone,
                undo=decision.pk if may_undo and decision.pk not in undone else 0,
            )
        )
    return entries[::-1]


def _pressed(on: bool) -> str:
    return "true" if on else "false"
