"""``manage.py extract_skills`` and ``export_skills``."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs
from reviews.services.skills import approve_skill
from tests.factories import call, make_member, make_skill, make_turn

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


def three_times(tenant) -> None:
    for n in range(3):
        make_turn(
            tenant,
            "On its way.",
            user_message="Where is my parcel?",
            tool_calls=[call("track_parcel")],
            occurred_at=timezone.now() - timedelta(hours=n),
        )


def test_it_starts_a_job_for_the_workers(tenant):
    three_times(tenant)
    out = run("extract_skills", "--tenant", "acme")
    job = jobs.latest_job(tenant=tenant, kind=JobKind.EXTRACT)
    assert job.state == JobState.WAITING
    assert out == f"job {job.pk} (extract): waiting, 0 done\n"
    with pytest.raises(CommandError, match=f"Job {job.pk} is waiting already"):
        run("extract_skills", "--tenant", "acme")


def test_with_wait_it_works_on_it_and_tells_how_it_went(tenant):
    three_times(tenant)
    out = run("extract_skills", "--tenant", "acme", "--wait")
    assert out.splitlines()[1] == (
        "Found drafts (pattern): 3 episodes scanned, 1 emitted, 1 kept, 0 folded, 0 came back. "
        "1 different actions, 1 of them often enough."
    )
    answer = json.loads(run("extract_skills", "--tenant", "acme", "--wait", "--json"))
    assert (answer["state"], answer["result"]["unchanged"]) == ("done", 1)


def test_approved_skills_are_exported_one_a_line(tenant, other_tenant):
    rita = make_member(tenant)
    skills = [make_skill(tenant, trigger=f"line\nend {n} \x1b[2J") for n in range(3)]
    for skill in skills[:2]:
        approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0)
    out = run("export_skills", "--tenant", "acme")
    assert "\x1b" not in out
    entries = [json.loads(line) for line in out.splitlines()]
    assert [entry["metadata"]["trigger"] for entry in entries] == [skill.trigger for skill in skills[:2]]
    assert run("export_skills", "--tenant", "globex") == ""
