"""Versions of a policy, their differences and their evidence, ready to print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from reviews.core.estimates import Estimate, NotEnough
from reviews.core.settings import TenantSettings
from reviews.core.settings_diff import Change, settings_diff
from reviews.models import PolicyVersion
from reviews.models.policies import PolicyState
from reviews.services.judge import Policy
from reviews.setting_words import ALWAYS_OFF, SETTINGS, entry_name, in_words

#: Among which turns labels are missing for an estimate.
AMONG = {
    "refused": "labels on refused turns",
    "let_through": "labels on flagged turns that are let through",
    "unflagged": "labels in the audit sample",
}


class State(NamedTuple):
    """Where a version stands: a word, and the colour beside it."""

    word: str
    css: str


def state_of(version: PolicyVersion) -> State:
    if version.state == PolicyState.PUBLISHED:
        return State("in force", "good")
    if version.state == PolicyState.SHADOW:
        return State("in shadow", "warn")
    if version.state == PolicyState.DRAFT:
        return State("draft", "accent")
    return State("was in force" if version.published_at else "set aside", "")


def name_of(version: PolicyVersion | None) -> str:
    return f"version {version.number}" if version else "the defaults"


# -- Differences


class DiffRow(NamedTuple):
    """One change: of a list the items that came and went, of everything else the values."""

    label: str
    entry: str
    before: str
    after: str
    added: list[str]
    removed: list[str]


def diff_rows(before: TenantSettings, after: TenantSettings) -> list[DiffRow]:
    return [_diff_row(change) for change in settings_diff(before, after)]


def version_diff(
    before: PolicyVersion | None, after: PolicyVersion | None, old: Policy, new: Policy
) -> list[DiffRow]:
    """What differs between two versions (None: the defaults), whose policies are ``old`` and ``new``.

    The fit that calibrated confidences come from is part of a version without being a setting; it is told
    where a threshold reads it.
    """
    rows = diff_rows(old.settings, new.settings)
    if "calibrated" in (
        old.settings.fabrication_confidence_source,
        new.settings.fabrication_confidence_source,
    ):
        first, second = _fit(before), _fit(after)
        if first != second:
            rows.append(DiffRow("Calibration", "", first, second, [], []))
    return rows


def _fit(version: PolicyVersion | None) -> str:
    if version is None or version.calibration is None:
        return "none"
    return f"fit {version.calibration.number}, on {version.calibration.labels:,} labels"


def _diff_row(change: Change) -> DiffRow:
    name, _, entry = change.path.partition("/")
    setting = SETTINGS.get(name, ALWAYS_OFF)

    def said(value: Any) -> str:
        if value is None:
            return "not set"
        return in_words(name, value) or "none"

    def items(values: Sequence[Any]) -> list[str]:
        return [in_words(name, value) for value in values]

    return DiffRow(
        setting.label,
        entry_name(name, entry),
        "" if change.is_list else said(change.before),
        "" if change.is_list else said(change.after),
        items(change.added),
        items(change.removed),
    )


# -- Evidence


class EvidenceRow(NamedTuple):
    """One number before and after; ``change`` is empty where a difference would say nothing."""

    name: str
    before: str
    after: str
    change: str = ""


class EvidenceTable(NamedTuple):
    """What was, or is, known of a version's effect. ``labels`` and ``flips`` are sentences."""

    days: str
    turns: str
    labels: str
    flips: str
    replaces: int
    rows: list[EvidenceRow]


def evidence_table(evidence: Mapping[str, Any]) -> EvidenceTable:
    """``evidence`` as ``services.policy_evidence.evidence_json`` gives it."""
    before, after, labels, flips = (evidence[name] for name in ("before", "after", "labels", "flips"))
    first, last = (date.fromisoformat(evidence[name]) for name in ("first_day", "last_day"))
    return EvidenceTable(
        days=f"{first.day} {first:%b} to {last.day} {last:%b %Y}",
        turns=f"{evidence['turns']:,} turns, {evidence['flagged']:,} of them flagged",
        labels=f"{labels['fabricated']:,} fabricated, {labels['false_alarm']:,} false alarms, "
        f"{labels['unsure']:,} unsure; {labels['audited']:,} of them in the audit sample",
        flips=_flips(flips["to_refused"], flips["from_refused"]),
        replaces=evidence["replaces"],
        rows=[
            *(
                EvidenceRow(
                    label, f"{before[name]:,}", f"{after[name]:,}", _change(before[name], after[name])
                )
                for name, label in (
                    ("refused", "Refused"),
                    ("revised", "Sent to revision"),
                    ("observed", "Recorded only"),
                    ("critic_calls", "Calls of the critic"),
                )
            ),
            *(
                EvidenceRow(
                    label, estimate_words(_estimate(before[name])), estimate_words(_estimate(after[name]))
                )
                for name, label in (("precision", "Precision"), ("recall", "Recall"))
            ),
        ],
    )


def estimate_words(estimate: Estimate | NotEnough) -> str:
    """A share with its interval, or what is missing for one."""
    if isinstance(estimate, Estimate):
        value, low, high = (f"{share * 100:.0f}" for share in (estimate.value, estimate.low, estimate.high))
        return f"{value} % (between {low} % and {high} %)"
    if estimate.among == "fabricated":
        return "cannot be told: no turn is labelled fabricated"
    return f"too few {AMONG[estimate.among]}: {estimate.labelled} of {estimate.needed}"


def _estimate(stored: Mapping[str, Any]) -> Estimate | NotEnough:
    return Estimate(**stored) if "value" in stored else NotEnough(**stored)


def _flips(to_refused: int, from_refused: int) -> str:
    if not to_refused and not from_refused:
        return "No turn of these days would have been treated otherwise."
    said = []
    if to_refused:
        said.append(f"{to_refused:,} more would have been refused")
    if from_refused:
        said.append(f"{from_refused:,} refused ones would have been let through")
    return f"Of these turns, {' and '.join(said)}."


def _change(before: int, after: int) -> str:
    if after == before:
        return "same"
    return f"{'+' if after > before else '−'}{abs(after - before):,}"
