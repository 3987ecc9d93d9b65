"""Running jobs: who may start, pause, resume and cancel them, and how workers take them on step by step.

    waiting <-> running -> done or failed
    waiting or running -> paused -> waiting;  failed -> waiting (resumed)
    waiting, running or paused -> cancelled

The row is the truth. A worker claims a job with a token and a lease; a step's results and the move of the
cursor are one transaction that holds the row, so a worker that dies has done a step or has not, and one that
was only slow finds its claim gone and does nothing.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from math import inf
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from reviews.models import Job, Tenant, User
from reviews.models.jobs import JobKind, JobState
from reviews.services import audit, critic_trials, extraction, learning, pulling, rejudging, replaying
from reviews.services.errors import ConflictError, NotFoundError
from reviews.services.locking import lock_tenant

logger = logging.getLogger(__name__)

#: Times that a step may fail or lose its worker before the job is given up.
MAX_ATTEMPTS = 3
#: After so long the next job has its turn: a short one does not wait for the end of a long one.
SECONDS_IN_A_ROW = 1.0
MAX_ERROR_LENGTH = 2000
#: The newest ended jobs of a kind that the schedule starts every few minutes.
ROUTINE_JOBS_KEPT = 50
#: At most one job of a kind works on a tenant, unless its work says otherwise (``Work.beside``): two at once
#: would undo each other's work.
ACTIVE = (JobState.WAITING, JobState.RUNNING)
STOPPED = (JobState.PAUSED, JobState.FAILED)


class Work(NamedTuple):
    """What a kind of job does.

    ``check`` turns the parameters it is started with into those that are kept (InvalidError, NotFoundError).
    ``step`` does about a second's work inside a transaction that holds the job's row, sets the job's cursor,
    done, total and result, and says whether there is more to do.

    ``outside`` is for what must not hold a transaction, such as asking a model: it is run before each step,
    with the job claimed, and what it returns is handed to ``step(job, found)``. It may be run again for the
    same step, after an error or a dead worker, so it must change nothing that a second run would spoil; when
    the claim is gone by the time it ends, what it found is dropped. ``outside_seconds`` says how long it may
    take, so that nobody takes the job over meanwhile.

    ``beside``: jobs of this kind may work on a tenant at the same time when they differ in the parameter of
    that name.
    """

    check: Callable[[Tenant, dict[str, Any]], dict[str, Any]]
    step: Callable[..., bool]
    outside: Callable[[Job], Any] | None = None
    outside_seconds: Callable[[], float] = lambda: 0.0
    beside: str = ""


WORK: dict[str, Work] = {
    JobKind.LEARN: Work(learning.check_parameters, learning.step),
    JobKind.REJUDGE: Work(rejudging.check_parameters, rejudging.step),
    JobKind.EXTRACT: Work(
        extraction.check_parameters, extraction.step, extraction.outside, extraction.outside_seconds
    ),
    JobKind.REPLAY: Work(replaying.check_parameters, replaying.step, beside="skill"),
    JobKind.TRIAL: Work(
        critic_trials.check_parameters,
        critic_trials.step,
        critic_trials.outside,
        critic_trials.outside_seconds,
    ),
    JobKind.PULL: Work(pulling.check_parameters, pulling.step, pulling.outside, pulling.outside_seconds),
}


def start_job(
    *,
    tenant: Tenant,
    kind: JobKind,
    parameters: dict[str, Any],
    actor: User | None,
    is_routine: bool = False,
) -> Job:
    """Put a job in line. Hint the workers after the commit.

    ``is_routine``: the schedule does so every few minutes. It is not put into the audit log, which is for
    what people do, and the oldest jobs that nobody started are forgotten.

    Raises:
        ConflictError: a job of this kind is waiting or running here already.
        InvalidError, NotFoundError: the parameters are wrong.
    """
    parameters = WORK[kind].check(tenant, parameters)
    with transaction.atomic():
        _check_none_active(tenant, kind, parameters)
        job = Job(tenant=tenant, kind=kind, parameters=parameters, started_by=actor)
        job.save(force_insert=True)
        if is_routine:
            _forget_old(tenant, kind)
        else:
            _log(tenant, actor, "job.started", job, parameters=parameters)
    return job


def pause_job(*, tenant: Tenant, actor: User | None, job_id: int) -> Job:
    """Stop a job where it is; a step under way is finished first, and waited for.

    Raises:
        NotFoundError: no such job here.
        ConflictError: it is neither waiting nor running.
    """
    with transaction.atomic():
        job = _moved(tenant, job_id, ACTIVE, JobState.PAUSED)
        _log(tenant, actor, "job.paused", job)
    return job


def resume_job(*, tenant: Tenant, actor: User | None, job_id: int) -> Job:
    """Put a paused or failed job back in line, to go on from its cursor. Hint the workers after the commit.

    Raises:
        NotFoundError: no such job here.
        ConflictError: it is neither paused nor failed, or another of its kind is waiting or running.
    """
    stopped = job_of(tenant=tenant, job_id=job_id)
    with transaction.atomic():
        _check_none_active(tenant, JobKind(stopped.kind), stopped.parameters, but=job_id)
        job = _moved(tenant, job_id, STOPPED, JobState.WAITING, attempts=0, error="", ended_at=None)
        _log(tenant, actor, "job.resumed", job)
    return job


def cancel_job(*, tenant: Tenant, actor: User | None, job_id: int) -> Job:
    """End a job for good. What its steps have done so far stays done.

    Raises:
        NotFoundError: no such job here.
        ConflictError: it has ended already.
    """
    with transaction.atomic():
        job = _moved(tenant, job_id, (*ACTIVE, JobState.PAUSED), JobState.CANCELLED, ended_at=timezone.now())
        _log(tenant, actor, "job.cancelled", job)
    return job


def job_of(*, tenant: Tenant, job_id: int) -> Job:
    """One job. Raises NotFoundError."""
    job = Job.objects.for_tenant(tenant).select_related("started_by").filter(pk=job_id).first()
    if job is None:
        raise NotFoundError(f"There is no job {job_id} here.")
    return job


def latest_job(*, tenant: Tenant, kind: JobKind) -> Job | None:
    """The job of this kind that was started last."""
    jobs = Job.objects.for_tenant(tenant).filter(kind=kind).select_related("started_by")
    return jobs.order_by("-id").first()


# -- For the workers


def run_jobs(*, seconds: float | None = None, max_steps: int | None = None) -> int:
    """Run steps of any tenant's jobs until none is left, ``max_steps`` are done, or time is up.

    At least one step is run, and one that was begun is finished. Jobs take turns. Returns how many steps
    were run. Safe in any number of processes at once.
    """
    until = inf if seconds is None else time.monotonic() + seconds
    steps_left = inf if max_steps is None else max_steps
    steps, last = 0, 0
    while steps < steps_left and (job := _claim(after=last)) is not None:
        last = job.pk
        until_next = min(until, time.monotonic() + SECONDS_IN_A_ROW)
        goes_on = True
        while goes_on and steps < steps_left:
            goes_on = _run_step(job)
            steps += 1
            if time.monotonic() >= until_next:
                break
        if goes_on:
            _release(job)
        if time.monotonic() >= until:
            break
    return steps


def has_waiting() -> bool:
    """Whether any job waits for a worker (one index probe)."""
    return Job.objects.across_tenants().filter(state=JobState.WAITING).exists()


def release_expired() -> int:
    """Give back the jobs whose worker is gone; those out of attempts become failed. Returns how many."""
    with transaction.atomic():
        # Locked rows are left out: a slow worker is at its step just now, or another sweep is here.
        expired = list(
            Job.objects.across_tenants()
            .filter(state=JobState.RUNNING, lease_until__lt=timezone.now())
            .order_by("id")
            .select_for_update(skip_locked=True)
        )
        for job in expired:
            _count_failure(job, f"The worker stopped {MAX_ATTEMPTS} times during the same step.")
    if expired:
        logger.warning("job claims expired", extra={"jobs": [job.pk for job in expired]})
    return len(expired)


def _claim(*, after: int) -> Job | None:
    """Claim the first job that waits behind the one with the id ``after``, else the first of all."""
    with transaction.atomic():
        waiting = (
            Job.objects.across_tenants()
            .filter(state=JobState.WAITING)
            .order_by("id")
            .select_for_update(skip_locked=True)
        )
        job = waiting.filter(id__gt=after).first() or waiting.first()
        if job is not None:
            job.state, job.claim, job.lease_until = JobState.RUNNING, secrets.token_hex(8), _lease()
            job.started_at = job.started_at or timezone.now()
            job.save(update_fields=["state", "claim", "lease_until", "started_at"])
    return job


def _run_step(claimed: Job) -> bool:
    """One step of a claimed job; True when it is still ours and there is more to do."""
    work = WORK[claimed.kind]
    try:
        found: tuple[Any, ...] = ()
        if work.outside is not None:
            job = _prolonged(claimed, work.outside_seconds())
            if job is None:
                return False
            found = (work.outside(job),)
        with transaction.atomic():
            job = _ours(claimed)
            if job is None:
                return False  # paused, cancelled, or taken over
            more = work.step(job, *found)
            job.attempts, job.error = 0, ""
            if more:
                job.lease_until = _lease()
            else:
                job.state, job.claim, job.lease_until = JobState.DONE, "", None
                job.ended_at = timezone.now()
            job.save()
            return more
    except Exception as error:
        # Whatever is wrong with one job must not hold up the others; it is kept and shown.
        logger.exception("job step failed", extra={"job": claimed.pk, "tenant": claimed.tenant_id})
        with transaction.atomic():
            job = _ours(claimed)
            if job is not None:
                _count_failure(job, f"{type(error).__name__}: {error}"[:MAX_ERROR_LENGTH])
        return False


def _ours(claimed: Job) -> Job | None:
    """The claimed job as it stands, its row locked; None when the claim is gone."""
    jobs = Job.objects.across_tenants().filter(pk=claimed.pk, state=JobState.RUNNING, claim=claimed.claim)
    return jobs.select_for_update().first()


def _prolonged(claimed: Job, seconds: float) -> Job | None:
    """The claimed job with a lease that lasts for what is done outside; None when the claim is gone."""
    with transaction.atomic():
        job = _ours(claimed)
        if job is not None:
            job.lease_until = _lease() + timedelta(seconds=seconds)
            job.save(update_fields=["lease_until"])
    return job


def _release(job: Job) -> None:
    """Put a job that is not finished back in line."""
    Job.objects.across_tenants().filter(pk=job.pk, state=JobState.RUNNING, claim=job.claim).update(
        state=JobState.WAITING, claim="", lease_until=None
    )


def _count_failure(job: Job, error: str) -> None:
    """Another attempt, or the end when they are used up. Call with the row locked."""
    job.attempts += 1
    spent = job.attempts >= MAX_ATTEMPTS
    job.state = JobState.FAILED if spent else JobState.WAITING
    job.claim, job.lease_until = "", None
    if spent:
        job.error, job.ended_at = error, timezone.now()
    job.save(update_fields=["attempts", "state", "claim", "lease_until", "error", "ended_at"])


def _lease() -> datetime:
    return timezone.now() + timedelta(seconds=settings.ANALYSIS_LEASE_SECONDS)


# -- Inside a transaction


def _check_none_active(
    tenant: Tenant, kind: JobKind, parameters: dict[str, Any] | None, *, but: int | None = None
) -> None:
    """Raises ConflictError when a job that may not be beside this one is under way.

    The tenant's row is the lock.
    """
    lock_tenant(tenant.pk)
    name = WORK[kind].beside
    for other in Job.objects.for_tenant(tenant).filter(kind=kind, state__in=ACTIVE).order_by("id"):
        differs = name and (other.parameters or {}).get(name) != (parameters or {}).get(name)
        if other.pk != but and not differs:
            raise ConflictError(f"Job {other.pk} is {_label(other.state)} already.", job_id=other.pk)


def _forget_old(tenant: Tenant, kind: JobKind) -> None:
    ended = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)
    jobs = Job.objects.for_tenant(tenant).filter(kind=kind, started_by=None, state__in=ended)
    kept = list(jobs.order_by("-id").values_list("id", flat=True)[:ROUTINE_JOBS_KEPT])
    if len(kept) == ROUTINE_JOBS_KEPT:
        jobs.filter(id__lt=kept[-1]).delete()


def _moved(tenant: Tenant, job_id: int, allowed: Collection[JobState], state: JobState, **values: Any) -> Job:
    """Compare and set: from one of the ``allowed`` states to ``state``; a worker's claim ends with it."""
    moved = (
        Job.objects.for_tenant(tenant)
        .filter(pk=job_id, state__in=allowed)
        .update(state=state, claim="", lease_until=None, **values)
    )
    job = job_of(tenant=tenant, job_id=job_id)
    if not moved:
        raise ConflictError(f"Job {job_id} is {_label(job.state)}; it cannot become {_label(state)}.")
    return job


def _label(state: str) -> str:
    return JobState(state).label.lower()


def _log(tenant: Tenant, actor: User | None, action: str, job: Job, **data: Any) -> None:
    audit.record_event(
        tenant=tenant,
        actor=actor,
        action=action,
        object_type="job",
        object_id=job.pk,
        data={"kind": job.kind, **data},
    )
