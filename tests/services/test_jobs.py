"""Jobs run step by step, each step exactly once, whatever becomes of the worker; people stop and go on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from reviews.models import AgentName, AuditEvent, Job
from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.jobs import Work, has_waiting, release_expired, run_jobs
from tests.factories import make_member, make_tenant

#: How many steps the job of these tests takes.
STEPS = 5

pytestmark = pytest.mark.django_db


class WorkerKilledError(BaseException):
    """Ends a worker in the middle of a step, as a kill would."""


def numbered_step(job: Job) -> bool:
    """Writes one row a step; writing the same one twice would break a constraint."""
    number = (job.cursor or {"next": 0})["next"]
    AgentName.objects.across_tenants().create(tenant_id=job.tenant_id, name=f"job {job.pk} step {number}")
    job.cursor, job.done, job.total = {"next": number + 1}, number + 1, STEPS
    job.result = {"steps": number + 1}
    return number + 1 < STEPS


@pytest.fixture(autouse=True)
def _numbered(monkeypatch):
    monkeypatch.setitem(jobs.WORK, JobKind.LEARN, Work(lambda tenant, parameters: parameters, numbered_step))


def failing(monkeypatch, error: BaseException, *, times: int = 1000) -> list[int]:
    """Fault injection: the step does its work and then raises, so often. Returns a list of its calls."""
    calls: list[int] = []

    def step(job: Job) -> bool:
        more = numbered_step(job)
        calls.append(job.pk)
        if len(calls) <= times:
            raise error
        return more

    monkeypatch.setitem(jobs.WORK, JobKind.LEARN, Work(lambda tenant, parameters: parameters, step))
    return calls


def start(tenant, actor=None, **parameters: Any) -> Job:
    return jobs.start_job(tenant=tenant, kind=JobKind.LEARN, parameters=parameters, actor=actor)


def stored(job: Job) -> Job:
    return Job.objects.across_tenants().get(pk=job.pk)


def steps_of(job: Job) -> list[str]:
    names = AgentName.objects.for_tenant(job.tenant_id).order_by("name").values_list("name", flat=True)
    return [name.removeprefix(f"job {job.pk} step ") for name in names]


def lose_the_worker(job: Job) -> None:
    """The lease of a job's claim has run out."""
    found = Job.objects.across_tenants().filter(pk=job.pk, state=JobState.RUNNING)
    assert found.update(lease_until=timezone.now() - timedelta(seconds=1)) == 1


# -- Running


def test_a_job_runs_to_its_end_and_says_how_far_it_is(tenant):
    job = start(tenant, colour="red")
    assert (job.state, job.done, job.total, has_waiting()) == (JobState.WAITING, 0, None, True)
    assert run_jobs(max_steps=2) == 2
    half = stored(job)
    assert (half.state, half.done, half.total, half.claim) == (JobState.WAITING, 2, STEPS, "")
    assert run_jobs() == 3
    ended = stored(job)
    assert (ended.state, ended.done, ended.result) == (JobState.DONE, STEPS, {"steps": STEPS})
    assert (ended.parameters, ended.claim, ended.lease_until) == ({"colour": "red"}, "", None)
    assert ended.created_at <= ended.started_at <= ended.ended_at
    assert steps_of(job) == ["0", "1", "2", "3", "4"]
    assert (run_jobs(), has_waiting()) == (0, False)


def test_a_job_that_is_out_of_time_still_does_a_step_and_waits_for_the_next_worker(tenant):
    job = start(tenant)
    assert run_jobs(seconds=0) == 1
    assert (stored(job).state, steps_of(job)) == (JobState.WAITING, ["0"])


def test_jobs_take_turns(tenant, other_tenant, monkeypatch):
    monkeypatch.setattr(jobs, "SECONDS_IN_A_ROW", 0)
    first, second = start(tenant), start(other_tenant)
    for steps in range(2, 2 * STEPS, 2):
        assert run_jobs(max_steps=2) == 2
        assert (stored(first).done, stored(second).done) == (steps / 2, steps / 2)


def test_one_job_of_a_kind_at_a_time_in_a_tenant(tenant, other_tenant):
    job = start(tenant)
    with pytest.raises(ConflictError, match=f"Job {job.pk} is waiting already"):
        start(tenant)
    start(other_tenant)
    run_jobs()
    assert start(tenant).pk > job.pk


def test_the_latest_job_of_a_kind(tenant, other_tenant):
    assert jobs.latest_job(tenant=tenant, kind=JobKind.LEARN) is None
    start(tenant)
    run_jobs()
    newest = start(tenant)
    start(other_tenant)
    assert jobs.latest_job(tenant=tenant, kind=JobKind.LEARN) == newest
    assert jobs.latest_job(tenant=tenant, kind=JobKind.REJUDGE) is None


def test_wrong_parameters_start_nothing(tenant, monkeypatch):
    monkeypatch.undo()
    with pytest.raises(InvalidError):
        start(tenant, colour="red")
    assert not Job.objects.for_tenant(tenant).exists()
    assert not AuditEvent.objects.for_tenant(tenant).filter(action="job.started").exists()


# -- Errors and dead workers


def test_a_step_that_raises_leaves_nothing_and_fails_the_job_at_the_third_attempt(tenant, monkeypatch):
    calls = failing(monkeypatch, ValueError("cannot be read"))
    job = start(tenant)
    run_jobs()
    ended = stored(job)
    assert len(calls) == jobs.MAX_ATTEMPTS == 3
    assert (ended.state, ended.error) == (JobState.FAILED, "ValueError: cannot be read")
    assert (ended.cursor, ended.done, ended.claim, steps_of(job)) == (None, 0, "", [])
    assert ended.ended_at is not None


def test_a_step_that_raises_is_tried_again_and_each_step_has_its_own_attempts(tenant, monkeypatch):
    failing(monkeypatch, ValueError("just now"), times=2)
    job = start(tenant)
    run_jobs(max_steps=3)
    assert (stored(job).attempts, stored(job).error) == (0, "")
    run_jobs()
    assert (stored(job).state, steps_of(job)) == (JobState.DONE, ["0", "1", "2", "3", "4"])


def test_a_failing_job_does_not_hold_up_others(tenant, other_tenant, monkeypatch):
    bad = start(tenant)

    def step(job: Job) -> bool:
        if job.pk == bad.pk:
            raise ValueError
        return numbered_step(job)

    monkeypatch.setitem(jobs.WORK, JobKind.LEARN, Work(lambda tenant, parameters: parameters, step))
    good = start(other_tenant)
    run_jobs()
    assert (stored(bad).state, stored(good).state) == (JobState.FAILED, JobState.DONE)


def test_a_failed_job_goes_on_where_it_failed_when_resumed(tenant, monkeypatch):
    job = start(tenant)
    run_jobs(max_steps=2)
    with monkeypatch.context() as patch:
        failing(patch, ValueError("for now"))
        run_jobs()
    assert (stored(job).state, steps_of(job)) == (JobState.FAILED, ["0", "1"])
    jobs.resume_job(tenant=tenant, actor=None, job_id=job.pk)
    run_jobs()
    ended = stored(job)
    assert (ended.state, ended.error, ended.attempts) == (JobState.DONE, "", 0)
    assert steps_of(job) == ["0", "1", "2", "3", "4"]


def test_a_worker_killed_in_a_step_loses_and_doubles_nothing(tenant, monkeypatch):
    job = start(tenant)
    run_jobs(max_steps=2)
    with monkeypatch.context() as patch:
        failing(patch, WorkerKilledError())
        with pytest.raises(WorkerKilledError):
            run_jobs()
    assert (stored(job).state, steps_of(job)) == (JobState.RUNNING, ["0", "1"])
    # Nobody takes it over as long as its worker may be alive.
    assert (run_jobs(), release_expired()) == (0, 0)
    lose_the_worker(job)
    assert release_expired() == 1
    run_jobs()
    assert (stored(job).state, steps_of(job)) == (JobState.DONE, ["0", "1", "2", "3", "4"])


def test_a_step_that_kills_its_worker_three_times_fails_the_job(tenant, monkeypatch):
    failing(monkeypatch, WorkerKilledError())
    job = start(tenant)
    for _ in range(3):
        with pytest.raises(WorkerKilledError):
            run_jobs()
        lose_the_worker(job)
        release_expired()
    ended = stored(job)
    assert (ended.state, ended.claim) == (JobState.FAILED, "")
    assert "stopped 3 times" in ended.error
    assert run_jobs() == 0


def test_a_worker_that_was_only_slow_finds_its_claim_gone(tenant, monkeypatch):
    """Its lease runs out before its next step, and another worker has the job by then."""
    job = start(tenant)
    others: list[Job] = []
    ours = jobs._ours

    def slow(claimed: Job) -> Job | None:
        if not others:
            lose_the_worker(job)
            release_expired()
            others.append(jobs._claim(after=0))
        return ours(claimed)

    monkeypatch.setattr(jobs, "_ours", slow)
    run_jobs()
    assert (stored(job).state, stored(job).claim, steps_of(job)) == (JobState.RUNNING, others[0].claim, [])


def test_workers_at_the_same_time_do_each_step_once(in_threads):
    tenants = [make_tenant(f"tenant-{n}") for n in range(4)]
    started = [start(tenant) for tenant in tenants]
    results = in_threads(*[run_jobs] * 4)
    assert not [result for result in results if isinstance(result, Exception)]
    assert sum(results) == STEPS * len(started)
    for job in started:
        assert (stored(job).state, len(steps_of(job))) == (JobState.DONE, STEPS)


# -- Starting, pausing, resuming, cancelling


def test_a_paused_job_stands_still_and_goes_on_from_there(tenant):
    max_ = make_member(tenant)
    job = start(tenant, actor=max_)
    run_jobs(max_steps=2)
    assert jobs.pause_job(tenant=tenant, actor=max_, job_id=job.pk).state == JobState.PAUSED
    assert (run_jobs(), has_waiting(), steps_of(job)) == (0, False, ["0", "1"])
    assert jobs.resume_job(tenant=tenant, actor=max_, job_id=job.pk).state == JobState.WAITING
    run_jobs(max_steps=1)
    jobs.pause_job(tenant=tenant, actor=max_, job_id=job.pk)
    cancelled = jobs.cancel_job(tenant=tenant, actor=max_, job_id=job.pk)
    assert (cancelled.state, cancelled.ended_at is not None) == (JobState.CANCELLED, True)
    assert (run_jobs(), steps_of(job)) == (0, ["0", "1", "2"])
    events = AuditEvent.objects.for_tenant(tenant).filter(object_type="job", object_id=str(job.pk))
    told = ["job.started", "job.paused", "job.resumed", "job.paused", "job.cancelled"]
    assert list(events.order_by("sequence").values_list("action", "actor_name")) == [
        (action, max_.username) for action in told
    ]


def test_a_pause_waits_for_the_step_under_way_and_no_step_follows_it(in_threads):
    tenant = make_tenant()
    job = start(tenant)
    ran, paused = in_threads(run_jobs, lambda: jobs.pause_job(tenant=tenant, actor=None, job_id=job.pk))
    now = stored(job)
    if isinstance(paused, ConflictError):  # all steps were done before it came to the job
        assert (now.state, len(steps_of(job))) == (JobState.DONE, STEPS)
    else:
        assert (now.state, now.claim) == (JobState.PAUSED, "")
        assert len(steps_of(job)) == now.done == (now.cursor or {"next": 0})["next"] == paused.done
    assert isinstance(ran, int)
    assert run_jobs() == 0


LEGAL = {
    "pause": {JobState.WAITING, JobState.RUNNING},
    "resume": {JobState.PAUSED, JobState.FAILED},
    "cancel": {JobState.WAITING, JobState.RUNNING, JobState.PAUSED},
}
MOVES = {"pause": jobs.pause_job, "resume": jobs.resume_job, "cancel": jobs.cancel_job}


@pytest.mark.parametrize("state", JobState)
@pytest.mark.parametrize("name", MOVES)
def test_only_legal_moves_are_made(tenant, name, state):
    job = start(tenant)
    Job.objects.across_tenants().filter(pk=job.pk).update(state=state, claim="mine", attempts=2)
    if state in LEGAL[name]:
        moved = MOVES[name](tenant=tenant, actor=None, job_id=job.pk)
        assert (moved.state != state, moved.claim) == (True, "")
    else:
        with pytest.raises(ConflictError, match=f"Job {job.pk} is"):
            MOVES[name](tenant=tenant, actor=None, job_id=job.pk)
        assert (stored(job).state, stored(job).claim) == (state, "mine")
        assert not AuditEvent.objects.for_tenant(tenant).filter(action__startswith=f"job.{name}").exists()


def test_a_paused_job_stays_paused_while_another_of_its_kind_is_under_way(tenant):
    job = start(tenant)
    jobs.pause_job(tenant=tenant, actor=None, job_id=job.pk)
    other = start(tenant)
    with pytest.raises(ConflictError, match=f"Job {other.pk} is waiting already"):
        jobs.resume_job(tenant=tenant, actor=None, job_id=job.pk)
    assert stored(job).state == JobState.PAUSED


@pytest.mark.parametrize("name", MOVES)
def test_another_tenants_job_is_no_job_here(tenant, other_tenant, name):
    job = start(other_tenant)
    with pytest.raises(NotFoundError):
        MOVES[name](tenant=tenant, actor=None, job_id=job.pk)
    with pytest.raises(NotFoundError):
        jobs.job_of(tenant=tenant, job_id=job.pk)
    assert stored(job).state == JobState.WAITING


def test_of_several_starts_at_the_same_moment_one_wins(in_threads):
    tenant = make_tenant()
    results = in_threads(*[lambda: start(tenant)] * 4)
    assert sum(isinstance(result, Job) for result in results) == 1
    assert sum(isinstance(result, ConflictError) for result in results) == 3
    assert Job.objects.for_tenant(tenant).count() == 1


# -- What is done outside a transaction


def outside_work(monkeypatch, outside, *, beside: str = "") -> list[Any]:
    """A job whose steps get what ``outside`` returns. Returns what they got."""
    got: list[Any] = []

    def step(job: Job, found: Any) -> bool:
        more = numbered_step(job)
        got.append(found)
        return more

    work = Work(lambda tenant, parameters: parameters, step, outside, lambda: 500.0, beside)
    monkeypatch.setitem(jobs.WORK, JobKind.LEARN, work)
    return got


def test_a_step_gets_what_was_found_outside_before_it(tenant, monkeypatch):
    got = outside_work(monkeypatch, lambda job: f"before {(job.cursor or {'next': 0})['next']}")
    job = start(tenant)
    run_jobs()
    assert got == [f"before {n}" for n in range(STEPS)]
    assert (stored(job).state, len(steps_of(job))) == (JobState.DONE, STEPS)


def test_outside_the_claim_is_held_for_as_long_as_it_may_take(tenant, monkeypatch):
    leases = []

    def outside(job: Job) -> None:
        leases.append(stored(job).lease_until - timezone.now())
        assert stored(job).state == JobState.RUNNING
        assert release_expired() == 0

    outside_work(monkeypatch, outside)
    start(tenant)
    run_jobs(max_steps=1)
    assert leases[0] > timedelta(seconds=500)


def test_what_fails_outside_counts_as_a_failed_step(tenant, monkeypatch):
    def outside(job: Job) -> None:
        raise ValueError("no answer")

    outside_work(monkeypatch, outside)
    job = start(tenant)
    run_jobs()
    ended = stored(job)
    assert (ended.state, ended.attempts, ended.error) == (JobState.FAILED, 3, "ValueError: no answer")
    assert steps_of(job) == []


def test_what_was_found_under_a_claim_that_is_gone_is_dropped(tenant, monkeypatch):
    got = outside_work(
        monkeypatch, lambda job: jobs.pause_job(tenant=tenant, actor=None, job_id=job.pk) and None
    )
    job = start(tenant)
    run_jobs()
    assert (stored(job).state, got, steps_of(job)) == (JobState.PAUSED, [], [])


def test_a_worker_killed_outside_loses_and_doubles_nothing(tenant, monkeypatch):
    def outside(job: Job) -> None:
        raise WorkerKilledError

    with monkeypatch.context() as patch:
        outside_work(patch, outside)
        job = start(tenant)
        with pytest.raises(WorkerKilledError):
            run_jobs()
    lose_the_worker(job)
    assert release_expired() == 1
    outside_work(monkeypatch, lambda job: None)
    run_jobs()
    assert (stored(job).state, steps_of(job)) == (JobState.DONE, ["0", "1", "2", "3", "4"])


def test_jobs_that_differ_in_what_they_are_about_may_be_beside_each_other(tenant, monkeypatch):
    outside_work(monkeypatch, lambda job: None, beside="skill")
    first = start(tenant, skill=1)
    second = start(tenant, skill=2)
    with pytest.raises(ConflictError, match=f"Job {second.pk} is waiting already"):
        start(tenant, skill=2)
    jobs.pause_job(tenant=tenant, actor=None, job_id=first.pk)
    other = start(tenant, skill=1)
    with pytest.raises(ConflictError, match=f"Job {other.pk} is waiting already"):
        jobs.resume_job(tenant=tenant, actor=None, job_id=first.pk)
