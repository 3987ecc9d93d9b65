"""``manage.py rejudge`` and ``learn``: jobs from a terminal."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from reviews.models import Job, Turn
from reviews.models.jobs import JobKind, JobState
from reviews.models.turns import ActionTaken
from reviews.services import jobs, rejudging
from reviews.services.publishing import publish_settings
from reviews.services.review import decide_turn
from tests.factories import make_member, make_turn

pytestmark = pytest.mark.django_db

PAIR = "Your booking has order_id=B-17."


def run(*arguments: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.fixture
def version(tenant) -> int:
    """Two turns, one of them decided, and a version that would refuse them."""
    decided = make_turn(tenant, PAIR, external_id="decided")
    make_turn(tenant, PAIR, external_id="open")
    decide_turn(
        tenant=tenant, actor=make_member(tenant), turn_id=decided.pk, label="fabricated", seen_version=0
    )
    values = {"fabrication_check_mode": "refuse", "detection_profile": "reference"}
    return publish_settings(tenant=tenant, author=None, values=values).number


def latest(tenant, kind=JobKind.REJUDGE) -> Job:
    job = jobs.latest_job(tenant=tenant, kind=kind)
    assert job is not None
    return job


def test_it_starts_a_job_for_the_workers_and_prints_its_number(tenant, version):
    out = run("rejudge", "--tenant", "acme", "--version", version, "--since", "2026-01-31")
    job = latest(tenant)
    assert (job.state, job.parameters["version"]) == (JobState.WAITING, version)
    assert job.parameters["since"].startswith("2026-01-31T00:00:00")
    assert out == f"job {job.pk} (rejudge): waiting, 0 done\n"
    assert not Turn.objects.for_tenant(tenant).filter(outcome=ActionTaken.REFUSE_REPLACED).exists()


def test_with_wait_it_works_on_it_and_tells_what_changed(tenant, version):
    out = run("rejudge", "--tenant", "acme", "--version", version, "--wait")
    assert out.splitlines() == [
        f"job {latest(tenant).pk} (rejudge): done, 2 done",
        "2 turns looked at: 2 changed, 1 applied, 1 left, 0 skipped, 0 broken",
        "         2  observed -> refuse_replaced",
    ]


def test_what_a_job_changed_is_shown_as_a_table_and_as_json(tenant, version):
    run("rejudge", "--tenant", "acme", "--version", version, "--wait")
    number = latest(tenant).pk
    table = run("rejudge", "--tenant", "acme", "--show", number).splitlines()[-3:]
    assert [line.split() for line in table] == [
        ["turn", "before", "after", "applied"],
        ["decided", "observed,", "1", "findings", "refuse_replaced,", "1", "findings", "no,", "reviewed"],
        ["open", "observed,", "1", "findings", "refuse_replaced,", "1", "findings", "yes"],
    ]
    told = json.loads(run("rejudge", "--tenant", "acme", "--show", number, "--json"))
    assert (told["state"], told["done"], told["total"]) == ("done", 2, 2)
    assert told["result"]["outcomes"] == {"observed -> refuse_replaced": 2}
    assert [(row["external_id"], row["applied"]) for row in told["changes"]] == [
        ("decided", False), ("open", True),
    ]  # fmt: skip
    found = [["kv", "B-17", 0.8]]
    assert told["changes"][1]["before"] == {"outcome": "observed", "policy": 1, "findings": found}
    assert told["changes"][1]["after"] == {"outcome": "refuse_replaced", "policy": 2, "findings": found}


def test_an_agents_id_does_nothing_to_the_terminal(tenant):
    make_turn(tenant, PAIR, external_id="\x1b[31m" + "x" * 100)
    publish_settings(tenant=tenant, author=None, values={"fabrication_check_mode": "refuse"})
    run("rejudge", "--tenant", "acme", "--version", 2, "--wait")
    out = run("rejudge", "--tenant", "acme", "--show", latest(tenant).pk)
    assert "\x1b" not in out
    assert "?[31m" + "x" * 30 + "…" in out


def test_a_job_is_paused_resumed_and_cancelled(tenant, version):
    run("rejudge", "--tenant", "acme", "--version", version)
    number = latest(tenant).pk
    assert "paused" in run("rejudge", "--tenant", "acme", "--pause", number)
    assert latest(tenant).state == JobState.PAUSED
    assert "waiting" in run("rejudge", "--tenant", "acme", "--resume", number)
    assert latest(tenant).state == JobState.WAITING
    assert "cancelled" in run("rejudge", "--tenant", "acme", "--cancel", number)
    assert latest(tenant).state == JobState.CANCELLED


def test_a_job_that_fails_is_told_with_its_error(tenant, version, monkeypatch):
    def broken(**_):
        raise ValueError("no such luck")

    monkeypatch.setattr(rejudging, "store_judgements", broken)
    with pytest.raises(SystemExit) as ended:
        run("rejudge", "--tenant", "acme", "--version", version, "--wait")
    assert ended.value.code == 1
    assert "failed, 0 done: ValueError: no such luck" in run(
        "rejudge", "--tenant", "acme", "--show", latest(tenant).pk
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tenant", "nobody", "--version", "1"), "There is no tenant 'nobody'. There are: acme."),
        (("--tenant", "acme", "--version", "7"), "There is no version 7"),
        (("--tenant", "acme", "--version", "1", "--since", "soon"), "since: Must be a date"),
        (("--tenant", "acme", "--show", "77"), "There is no job 77"),
        (("--tenant", "acme", "--pause", "77"), "There is no job 77"),
        (("--tenant", "acme", "--show", "77", "--since", "2026-01-31"), "--since goes with --version"),
        (("--tenant", "acme"), "one of the arguments --version --pause"),
        (("--tenant", "acme", "--version", "1", "--pause", "1"), "not allowed with"),
    ],
)
def test_what_is_wrong_is_told(tenant, arguments, words):
    with pytest.raises(CommandError) as error:
        run("rejudge", *arguments)
    assert words in str(error.value)
    assert not Job.objects.for_tenant(tenant).exists()


def test_another_job_under_way_is_told(tenant, version):
    run("rejudge", "--tenant", "acme", "--version", version)
    with pytest.raises(CommandError, match="is waiting already"):
        run("rejudge", "--tenant", "acme", "--version", version)


def test_learn_starts_a_job_or_works_on_it(tenant, version):
    assert "(learn): waiting" in run("learn", "--tenant", "acme")
    jobs.cancel_job(tenant=tenant, actor=None, job_id=latest(tenant, JobKind.LEARN).pk)
    assert run("learn", "--tenant", "acme", "--wait").splitlines()[1] == (
        "1 labels: calibration 1 (new); 0 suggestions (0 new, 0 withdrawn), tried on 0 findings"
    )
    told = json.loads(run("learn", "--tenant", "acme", "--wait", "--json"))
    assert (told["kind"], told["state"]) == ("learn", "done")
    assert (told["result"]["labels"], told["result"]["new_calibration"]) == (1, False)
