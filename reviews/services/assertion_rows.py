"""The suites of a policy on a turn: what is evaluated, and the rows that say what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, Final

from reviews.core.assertion_suites import SuiteVerdict
from reviews.core.settings import TenantSettings
from reviews.formats.record import TurnRecord
from reviews.models.bulk import on_postgresql, to_db_time
from reviews.models.fields import encode_json
from reviews.models.turns import AssertionStanding
from reviews.services.sampling import is_drawn

ASSERTION_COLUMNS: Final = (
    "turn_id",
    "tenant_id",
    "suite",
    "position",
    "assertion",
    "passed",
    "reason",
    "evidence",
    "digests",
    "agent",
    "occurred_at",
)

#: (day, suite, assertion, agent, passed)
AssertionKey = tuple[date, str, str, str, bool]


def evaluate_suites(record: TurnRecord, settings: TenantSettings) -> tuple[SuiteVerdict, ...]:
    """The verdicts of all suites that are about this turn and whose sample it is in.

    A turn that is judged again is in the same samples; each suite draws its own.
    """
    return tuple(
        verdict
        for suite in settings.assertion_suites
        if suite.applies(agent=record.agent, attributes=record.attributes)
        and is_drawn(f"{suite.name}\0{record.external_id}", suite.sampling)
        for verdict in suite.evaluate(record.attributes)
    )


def standing_of(verdicts: Iterable[SuiteVerdict]) -> str:
    """How a turn stands with its assertions; empty when none was made."""
    standing = ""
    for found in verdicts:
        if found.verdict.passed:
            standing = standing or AssertionStanding.PASSED.value
        elif found.queue:
            return AssertionStanding.FLAGGED.value
        else:
            standing = AssertionStanding.FAILED.value
    return standing


def assertion_rows(
    verdicts: Sequence[SuiteVerdict], *, tenant_id: int, agent: str, occurred_at: datetime
) -> list[tuple[Any, ...]]:
    """Values of ``ASSERTION_COLUMNS`` after the turn's id."""
    return [
        (
            tenant_id,
            found.suite,
            found.position,
            found.label,
            found.verdict.passed if on_postgresql() else int(found.verdict.passed),
            found.verdict.reason,
            encode_json(dict(found.verdict.evidence)),
            encode_json(list(found.verdict.digests)),
            agent,
            to_db_time(occurred_at),
        )
        for found in verdicts
    ]


def assertion_keys(verdicts: Iterable[SuiteVerdict], *, day: date, agent: str) -> list[AssertionKey]:
    """What a turn with these verdicts adds one to, each."""
    return [(day, found.suite, found.label, agent, found.verdict.passed) for found in verdicts]
