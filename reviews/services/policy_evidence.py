"""What was known when a policy version was published: kept with it, whatever the labels say later."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from reviews.core.estimates import Estimate, NotEnough
from reviews.core.simulation import Effect
from reviews.models import Tenant
from reviews.services.judge import Policy
from reviews.services.shadow import shadow_report
from reviews.services.simulation import WINDOWS, Simulation, last_days, simulate_policies


def gather_evidence(*, tenant: Tenant, current: Policy, candidate: Policy, at: datetime) -> dict[str, Any]:
    """Labels and predicted effect over the days before ``at``, as a JSON object."""
    found = simulate_policies(
        tenant=tenant, current=current, candidate=candidate, window=last_days(WINDOWS[0], now=at)
    )
    return evidence_json(found)


def shadow_json(*, tenant: Tenant) -> dict[str, Any] | None:
    """How the version in shadow has done beside the one in force, as a JSON object; None without one."""
    report = shadow_report(tenant=tenant)
    if report is None:
        return None
    return {
        "turns": report.turns,
        "agree": report.agree,
        "extra": report.extra,
        "fewer": report.fewer,
        "precision": _estimate(report.precision),
    }


def evidence_json(found: Simulation) -> dict[str, Any]:
    """A simulation's numbers as JSON; ``replaces`` is the number of the version in force until then."""
    return {
        "first_day": found.window.first.isoformat(),
        "last_day": found.window.last.isoformat(),
        "turns": found.totals.turns,
        "flagged": found.totals.flagged,
        "not_counted": found.not_counted,
        "labels": found.labelled,
        "replaces": found.current.number,
        "before": _effect(found.now, found.calls_now),
        "after": _effect(found.then, found.calls_then),
        "flips": {
            "to_refused": sum(flip.turns for flip in found.flips if not flip.refused_now),
            "from_refused": sum(flip.turns for flip in found.flips if flip.refused_now),
        },
    }


def _effect(effect: Effect, critic_calls: int) -> dict[str, Any]:
    return {
        "refused": effect.actions.refused,
        "revised": effect.actions.revised,
        "observed": effect.actions.observed,
        "critic_calls": critic_calls,
        "precision": _estimate(effect.precision),
        "recall": _estimate(effect.recall),
    }


def _estimate(estimate: Estimate | NotEnough) -> dict[str, Any]:
    if isinstance(estimate, NotEnough):
        return {"labelled": estimate.labelled, "needed": estimate.needed, "among": estimate.among}
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
