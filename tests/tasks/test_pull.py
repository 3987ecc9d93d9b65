"""Every few minutes each agent runtime is asked for its drafts, seldom one that keeps failing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from reviews import tasks
from reviews.models import AuditEvent, Job, Runtime, Skill
from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs
from reviews.services.pulling import tenants_to_pull
from reviews.services.runtimes import remove_runtime, set_runtime
from tests.factories import make_tenant
from tests.services.peers import Seen, peer, reply

pytestmark = pytest.mark.django_db

DRAFT = {
    "id": "rt-1",
    "label": "Auto-learned (action): the parcel is late",
    "steps": ["call track_parcel"],
    "properties": {"trigger": "the parcel is late", "rationale": "Guesses were wrong.", "status": "draft"},
}


@pytest.fixture(autouse=True)
def _open_inside(settings):
    settings.OUTBOUND_ALLOW_PRIVATE = True


def with_a_draft(seen: Seen) -> bytes:
    return reply(200, [DRAFT] if seen.path.endswith("/drafts") else DRAFT)


def connect(tenant, url: str = "http://127.0.0.1:9999", **fields) -> Runtime:
    fields = {"runtime_tenant": "acme", "auth": "", **fields}
    return set_runtime(tenant=tenant, actor=None, base_url=url, **fields)


def pulls(tenant) -> list[str]:
    found = Job.objects.for_tenant(tenant).filter(kind=JobKind.PULL).order_by("id")
    return list(found.values_list("state", flat=True))


def failed(tenant, count: int) -> Job:
    """The last of so many pulls that have failed just now."""
    for _ in range(count):
        job = Job.objects.across_tenants().create(
            tenant=tenant, kind=JobKind.PULL, state=JobState.FAILED, ended_at=timezone.now()
        )
    return job


def test_drafts_arrive_without_anybody_asking(tenant, other_tenant):
    with peer(with_a_draft) as server:
        connect(tenant, server.url)
        tasks.pull()
        assert (pulls(tenant), pulls(other_tenant)) == ([JobState.WAITING], [])
        tasks.run_jobs()
    assert pulls(tenant) == [JobState.DONE]
    assert Skill.objects.for_tenant(tenant).get().runtime_id == "rt-1"
    assert not AuditEvent.objects.for_tenant(tenant).filter(action="job.started").exists()
    # And again at the next time.
    tasks.pull()
    assert pulls(tenant) == [JobState.DONE, JobState.WAITING]


def test_only_runtimes_that_are_switched_on_are_asked(tenant, other_tenant):
    connect(tenant, is_active=False)
    connect(other_tenant)
    assert tenants_to_pull() == [other_tenant]
    remove_runtime(tenant=other_tenant, actor=None)
    assert tenants_to_pull() == []


@pytest.mark.parametrize("state", [JobState.WAITING, JobState.RUNNING, JobState.PAUSED])
def test_a_pull_that_is_not_finished_is_enough(tenant, state):
    connect(tenant)
    job = jobs.start_job(tenant=tenant, kind=JobKind.PULL, parameters={}, actor=None)
    Job.objects.for_tenant(tenant).filter(pk=job.pk).update(state=state)
    tasks.pull()
    assert pulls(tenant) == [state]


@pytest.mark.parametrize("state", [JobState.DONE, JobState.CANCELLED])
def test_a_pull_that_has_ended_is_followed_by_the_next(tenant, state):
    connect(tenant)
    failed(tenant, 3)
    Job.objects.across_tenants().create(tenant=tenant, kind=JobKind.PULL, state=state)
    assert tenants_to_pull() == [tenant]


@pytest.mark.parametrize(("failures", "minutes"), [(1, 20), (2, 40), (3, 80), (6, 640), (7, 720), (30, 720)])
def test_a_runtime_that_keeps_failing_is_asked_ever_more_seldom(tenant, failures, minutes):
    connect(tenant)
    last = failed(tenant, failures).ended_at
    due = last + timedelta(minutes=minutes)
    assert tenants_to_pull(now=due - timedelta(seconds=1)) == []
    assert tenants_to_pull(now=due) == [tenant]


def test_new_settings_are_tried_at_once(tenant):
    connect(tenant)
    failed(tenant, 5)
    assert tenants_to_pull() == []
    connect(tenant, "http://127.0.0.1:9998")
    assert tenants_to_pull() == [tenant]


def test_a_runtime_that_fails_stops_no_other(tenant, other_tenant):
    with peer(lambda seen: reply(200, b"[" * 50_000)) as broken, peer(with_a_draft) as server:
        connect(tenant, broken.url)
        connect(other_tenant, server.url)
        tasks.pull()
        while jobs.has_waiting():
            tasks.run_jobs()
    assert (pulls(tenant), pulls(other_tenant)) == ([JobState.FAILED], [JobState.DONE])
    assert Skill.objects.for_tenant(other_tenant).count() == 1


def test_a_tenant_whose_pull_cannot_be_started_stops_no_other(tenant, other_tenant, monkeypatch):
    """Its runtime is removed between the look and the start."""
    connect(tenant)
    connect(other_tenant)
    really = jobs.start_job

    def removing(**about):
        remove_runtime(tenant=tenant, actor=None)
        monkeypatch.setattr(jobs, "start_job", really)
        return really(**about)

    monkeypatch.setattr(jobs, "start_job", removing)
    tasks.pull()
    assert (pulls(tenant), pulls(other_tenant)) == ([], [JobState.WAITING])


def test_pulls_do_not_pile_up(tenant, monkeypatch):
    monkeypatch.setattr(jobs, "ROUTINE_JOBS_KEPT", 3)
    other = make_tenant("other-kept")
    with peer(lambda seen: reply(200, [])) as server:
        for each in (tenant, other):
            connect(each, server.url)
        kept = jobs.start_job(tenant=tenant, kind=JobKind.LEARN, parameters={}, actor=None)
        for _ in range(6):
            tasks.pull()
            jobs.run_jobs()
    # The three newest that had ended when the last one was started, and that one.
    assert pulls(tenant) == pulls(other) == [JobState.DONE] * 4
    assert Job.objects.for_tenant(tenant).filter(pk=kept.pk).exists()
