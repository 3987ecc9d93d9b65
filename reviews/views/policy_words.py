"""Versions of a policy, their differences and their evidence, ready to print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from reviews.core.estimates import Estimate, NotEnough
from reviews.core.settings import TenantSettings
from reviews.core.settings_diff import Change, settings_diff
from reviews.models import PolicyVersion
from reviews.models.policies import PolicyState
from reviews.services.judge import Policy
from reviews.setting_words import ALWAYS_OFF, SETTINGS, SUITES, entry_name, in_words
from reviews.views.estimates import (
    CRITIC,
    OBSERVED,
    REFUSED,
    REVISED,
    Said,
    ShadowWords,
    not_counted_words,
    rate_words,
    said_of,
    shadow_words,
)


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
    setting = SUITES if name == SUITES.name else SETTINGS.get(name, ALWAYS_OFF)

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
    before: Said
    after: Said
    change: str = ""


class EvidenceTable(NamedTuple):
    """What was, or is, known of a version's effect. ``labels``, ``flips`` and ``not_counted`` are sentences.

    ``shadow`` is how the version did in shadow, when it came from there.
    """

    days: str
    turns: str
    labels: str
    flips: str
    not_counted: str
    replaces: int
    rows: list[EvidenceRow]
    shadow: ShadowWords | None


def evidence_table(evidence: Mapping[str, Any], *, mode: str) -> EvidenceTable:
    """``evidence`` as ``services.policy_evidence`` gives it, of a version in this ``mode``."""
    before, after, labels, flips = (evidence[name] for name in ("before", "after", "labels", "flips"))
    first, last = (date.fromisoformat(evidence[name]) for name in ("first_day", "last_day"))
    days = (last - first).days + 1
    return EvidenceTable(
        days=f"{first.day} {first:%b} to {last.day} {last:%b %Y}",
        turns=f"{evidence['turns']:,} turns, {evidence['flagged']:,} of them flagged",
        labels=f"{labels['fabricated']:,} fabricated, {labels['false_alarm']:,} false alarms, "
        f"{labels['unsure']:,} unsure; {labels['audited']:,} of them in the audit sample",
        flips=_flips(flips["to_refused"], flips["from_refused"]),
        not_counted=not_counted_words(evidence.get("not_counted", 0)),
        replaces=evidence["replaces"],
        rows=[
            _number_row(REFUSED, before["refused"], after["refused"]),
            _number_row(REVISED, before["revised"], after["revised"]),
            _number_row(OBSERVED, before["observed"], after["observed"]),
            _rate_row(CRITIC, before["critic_calls"] / days, after["critic_calls"] / days),
            _share_row("Precision", "precision", before, after),
            _share_row("Recall", "recall", before, after),
        ],
        shadow=_shadow(evidence.get("shadow"), mode),
    )


def _number_row(name: str, before: int, after: int) -> EvidenceRow:
    return EvidenceRow(name, Said(f"{before:,}"), Said(f"{after:,}"), _change(before, after, "{:,}".format))


def _rate_row(name: str, before: float, after: float) -> EvidenceRow:
    was, now = rate_words(before), rate_words(after)
    return EvidenceRow(
        name, Said(was), Said(now), "same" if was == now else _change(before, after, rate_words)
    )


def _share_row(name: str, key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> EvidenceRow:
    was, now = (said_of(_estimate(side[key]), refuses=side["refused"] > 0) for side in (before, after))
    return EvidenceRow(name, was, now)


def _shadow(stored: Mapping[str, Any] | None, mode: str) -> ShadowWords | None:
    if stored is None:
        return None
    return shadow_words(**{**stored, "precision": _estimate(stored["precision"])}, mode=mode)


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


def _change(before: float, after: float, words: Callable[[Any], str]) -> str:
    if after == before:
        return "same"
    return f"{'+' if after > before else '−'}{words(abs(after - before))}"
