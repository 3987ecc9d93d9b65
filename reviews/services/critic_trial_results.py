"""What a trial of the critic found: each variant beside the labels, and the two beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reviews.core.agreement import Confusion, Kappa, TooFew, kappa_of, precision_for, recall_for
from reviews.models import Job, Tenant, TrialVerdict, Turn
from reviews.models.jobs import JobKind
from reviews.services.critic_numbers import APPROVE, CAUTION, CAUTION_OF, WANTED_OF, Comparison
from reviews.services.errors import NotFoundError

#: Trials that the page lists, newest first.
TRIALS_SHOWN: Final = 10


@dataclass(frozen=True)
class Outcome:
    """One variant's verdicts. ``against_labels`` leaves out unread drafts, unsure and undecided turns."""

    approve: int
    revise: int
    refuse: int
    degraded: int
    against_labels: Comparison
    tokens: int
    cost: float | None
    mean_latency_ms: float | None


@dataclass(frozen=True)
class Pair:
    """One turn, and what each variant said of it, in order; None where it was not asked yet."""

    turn: Turn
    label: str
    verdicts: tuple[TrialVerdict | None, ...]

    @property
    def differs(self) -> bool:
        said = {verdict.verdict for verdict in self.verdicts if verdict is not None}
        return len(said) > 1


@dataclass(frozen=True)
class TrialResult:
    """``between`` compares the two variants' verdicts; None for a trial of one."""

    outcomes: list[Outcome]
    pairs: list[Pair]
    between: Kappa | TooFew | None


def trial_of(*, tenant: Tenant, job_id: int) -> Job:
    """A trial. Raises NotFoundError, also for a job of another kind."""
    jobs = Job.objects.for_tenant(tenant).filter(kind=JobKind.TRIAL)
    found = jobs.select_related("started_by").filter(pk=job_id).first()
    if found is None:
        raise NotFoundError("There is no such trial.")
    return found


def latest_trials(*, tenant: Tenant) -> list[Job]:
    """The newest trials. One query."""
    jobs = Job.objects.for_tenant(tenant).filter(kind=JobKind.TRIAL).select_related("started_by")
    return list(jobs.order_by("-id")[:TRIALS_SHOWN])


def trial_result(*, job: Job) -> TrialResult:
    """What the trial has found so far. Two queries; a trial has at most a thousand verdicts."""
    rows = list(TrialVerdict.objects.for_tenant(job.tenant_id).filter(job=job).order_by("id"))
    variants = len(job.parameters["variants"])
    by_turn: dict[int, dict[int, TrialVerdict]] = {}
    for row in rows:
        by_turn.setdefault(row.turn_id, {})[row.variant] = row
    turns = (
        Turn.objects.for_tenant(job.tenant_id)
        .only("external_id", "agent", "occurred_at", "snippet", "snippet_start", "snippet_end")
        .in_bulk(list(by_turn))
    )
    pairs = [
        Pair(
            turn=turns[turn_id],
            label=next(iter(said.values())).label,
            verdicts=tuple(said.get(n) for n in range(variants)),
        )
        for turn_id, said in by_turn.items()
        if turn_id in turns
    ]
    return TrialResult(
        outcomes=[_outcome([row for row in rows if row.variant == n]) for n in range(variants)],
        pairs=pairs,
        between=_between(pairs) if variants > 1 else None,
    )


def _outcome(rows: Sequence[TrialVerdict]) -> Outcome:
    read = [row for row in rows if not row.cause]
    counts = {name: sum(row.verdict == name for row in read) for name in CAUTION_OF}
    pairs = [(CAUTION_OF[row.verdict], WANTED_OF[row.label]) for row in read if row.label in WANTED_OF]
    table = Confusion.from_pairs((APPROVE, CAUTION), pairs)
    costs = [row.cost for row in read if row.cost is not None]
    latencies = [row.latency_ms for row in read if row.latency_ms is not None]
    return Outcome(
        approve=counts["approve"],
        revise=counts["revise"],
        refuse=counts["refuse"],
        degraded=len(rows) - len(read),
        against_labels=Comparison(
            table=table,
            kappa=kappa_of(table),
            precision=precision_for(table, CAUTION),
            recall=recall_for(table, CAUTION),
        ),
        tokens=sum((row.tokens_in or 0) + (row.tokens_out or 0) for row in rows),
        cost=sum(costs) if costs else None,
        mean_latency_ms=sum(latencies) / len(latencies) if latencies else None,
    )


def _between(pairs: Sequence[Pair]) -> Kappa | TooFew:
    """How far the two variants agree on approve, revise or refuse, where both read the draft."""
    said = [
        (pair.verdicts[0].verdict, pair.verdicts[1].verdict)
        for pair in pairs
        if pair.verdicts[0] and pair.verdicts[1] and not pair.verdicts[0].cause and not pair.verdicts[1].cause
    ]
    return kappa_of(Confusion.from_pairs(tuple(CAUTION_OF), said))
