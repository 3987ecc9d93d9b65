"""Waiting in a terminal for the end of a job: this process works on it too, and tells how far it is."""

from __future__ import annotations

import time
from typing import IO, Any

from reviews.models import Job, Tenant
from reviews.models.jobs import JobState
from reviews.services import jobs

#: How long to work, or to wait while another process does, between two looks at the job.
SECONDS_BETWEEN = 0.5
ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED, JobState.PAUSED)


def wait_for(tenant: Tenant, job_id: int, out: IO[str]) -> Job:
    """Run jobs, or wait for a worker that does, until this one has ended or is paused. Returns it then.

    On a terminal, one line on ``out`` shows its progress.
    """
    while True:
        job = jobs.job_of(tenant=tenant, job_id=job_id)
        _show(job, out)
        if job.state in ENDED:
            return job
        if not jobs.run_jobs(seconds=SECONDS_BETWEEN):
            # A worker is at it. If that worker dies, its claim runs out and the job is ours to go on with.
            jobs.release_expired()
            time.sleep(SECONDS_BETWEEN)


def told(job: Job) -> str:
    """Where a job stands, in a sentence."""
    state = JobState(job.state).label.lower()
    far = f" of {job.total}" if job.total is not None and job.total != job.done else ""
    why = f": {job.error}" if job.error else ""
    return f"job {job.pk} ({job.kind}): {state}, {job.done}{far} done{why}"


def as_json(job: Job) -> dict[str, Any]:
    """A job as an object for ``--json``."""
    return {
        "id": job.pk,
        "kind": job.kind,
        "state": job.state,
        "parameters": job.parameters or {},
        "done": job.done,
        "total": job.total,
        "result": job.result or {},
        "error": job.error,
    }


def _show(job: Job, out: IO[str]) -> None:
    if not out.isatty():
        return
    # Back to the beginning of the line, and the rest of what stood there is erased.
    share = f"{job.done / job.total:4.0%}  " if job.total else ""
    out.write(f"\r{share}{told(job)}\x1b[K" if job.state not in ENDED else "\r\x1b[K")
    out.flush()
