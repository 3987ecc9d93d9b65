"""Replaying a skill on past turns: which ones it would have touched, and how they went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reviews.models import Job, Skill, SkillReplay, Tenant, Turn
from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs, replaying
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.replaying import latest_replay
from reviews.services.review import label_finding
from reviews.services.skills import edit_skill
from tests.factories import CLAIM, call, make_member, make_skill, make_turn

pytestmark = pytest.mark.django_db

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


def refund_skill(tenant: Tenant, **fields: Any) -> Skill:
    fields = {
        "kind": "preflight",
        "trigger": "the customer wants a refund for an order",
        "precondition": ["get_order"],
        "action": "issue_refund",
        **fields,
    }
    return make_skill(tenant, **fields)


def start(skill: Skill, **parameters: Any) -> Job:
    return jobs.start_job(
        tenant=skill.tenant, kind=JobKind.REPLAY, parameters={"skill": skill.pk, **parameters}, actor=None
    )


def replay(skill: Skill, **parameters: Any) -> Job:
    job = start(skill, **parameters)
    jobs.run_jobs()
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, job.total), job.error
    return job


def rows_of(skill: Skill) -> list[tuple[Any, ...]]:
    rows = SkillReplay.objects.for_tenant(skill.tenant_id).filter(skill=skill)
    return list(
        rows.order_by("turn__external_id").values_list(
            "turn__external_id", "reason", "precondition_held", "failed", "fabricated"
        )
    )


@pytest.fixture
def turns(tenant) -> dict[str, Turn]:
    """Five turns that a rule about refunds touches, in the order of their names, and one that it does not."""
    get, refund = call("get_order", {}), call("issue_refund", {})
    facts: dict[str, dict[str, Any]] = {
        "1-in-order": {"tool_calls": [get, refund]},
        "2-out-of-order": {"tool_calls": [refund, get]},
        "3-failed": {"tool_calls": [call("get_order", error="timeout"), call("issueRefund", ok=False)]},
        "4-only-asked": {"user_message": "I want a refund for my order, the customer is king"},
        "5-fabricated": {"draft": CLAIM, "tool_calls": [refund]},
        "6-something-else": {"tool_calls": [call("track_parcel")], "user_message": "Where is it?"},
    }
    made = {}
    for n, (name, fields) in enumerate(facts.items()):
        draft = fields.pop("draft", "Done.")
        made[name] = make_turn(
            tenant, draft, external_id=name, occurred_at=DAY + timedelta(hours=n), **fields
        )
    label_finding(
        tenant=tenant, actor=make_member(tenant), turn_id=made["5-fabricated"].pk, position=0,
        label="fabricated", seen_version=0,
    )  # fmt: skip
    return made


def test_it_finds_the_turns_that_the_skill_would_have_touched(tenant, turns):
    skill = refund_skill(tenant)
    job = replay(skill)
    assert rows_of(skill) == [
        ("1-in-order", "called issue_refund", True, False, False),
        ("2-out-of-order", "called issue_refund", False, False, False),
        ("3-failed", "called issue_refund", False, True, False),
        ("4-only-asked", "speaks of customer, want, refund, order", None, False, False),
        ("5-fabricated", "called issue_refund", False, False, True),
    ]
    assert job.result == {
        "looked_at": 6, "touched": 5, "failed": 1, "fabricated": 1, "order_broken": 3,
        "version": 0, "kept": 5,
    }  # fmt: skip


def test_a_turn_that_was_judged_as_a_whole_is_confirmed_too(tenant, turns):
    Turn.objects.for_tenant(tenant).filter(pk=turns["1-in-order"].pk).update(verdict="fabricated")
    assert replay(refund_skill(tenant)).result["fabricated"] == 2


def test_a_guardrail_is_held_against_what_the_answer_says(tenant):
    make_turn(tenant, "I can tell you the number of the card.", external_id="said")
    skill = refund_skill(
        tenant,
        kind="guardrail",
        trigger="in any answer",
        action="never tell a card number",
        precondition=None,
    )
    replay(skill)
    assert [row[0] for row in rows_of(skill)] == ["said"]


def test_another_tenants_turns_are_not_looked_at(turns, other_tenant):
    skill = refund_skill(other_tenant)
    assert replay(skill).result["looked_at"] == 0


def test_only_the_newest_turns_are_looked_at(tenant, turns):
    skill = refund_skill(tenant)
    job = replay(skill, turns=3)
    assert (job.total, job.result["looked_at"]) == (3, 3)
    assert [row[0] for row in rows_of(skill)] == ["4-only-asked", "5-fabricated"]


def test_all_are_counted_and_the_newest_are_kept(tenant, turns, monkeypatch):
    monkeypatch.setattr(replaying, "ROWS_KEPT", 2)
    monkeypatch.setattr(replaying, "TURNS_AT_ONCE", 3)
    skill = refund_skill(tenant)
    job = replay(skill)
    assert (job.result["touched"], job.result["kept"]) == (5, 2)
    assert [row[0] for row in rows_of(skill)] == ["4-only-asked", "5-fabricated"]


def test_it_goes_in_steps_with_progress_and_each_turn_counts_once(tenant, turns, monkeypatch):
    monkeypatch.setattr(replaying, "TURNS_AT_ONCE", 2)
    monkeypatch.setattr(replaying, "SECONDS_PER_STEP", 0)
    Turn.objects.for_tenant(tenant).update(occurred_at=DAY)  # an import's turns, all of the same moment
    skill = refund_skill(tenant)
    job = start(skill)
    seen = []
    for _ in range(4):
        jobs.run_jobs(max_steps=1)
        job.refresh_from_db()
        seen.append((job.done, job.total))
    assert seen == [(2, 6), (4, 6), (6, 6), (6, 6)]
    assert (job.state, job.result["looked_at"], job.result["touched"]) == (JobState.DONE, 6, 5)


def test_it_begins_anew_when_the_text_is_edited_meanwhile(tenant, turns, monkeypatch):
    monkeypatch.setattr(replaying, "TURNS_AT_ONCE", 2)
    monkeypatch.setattr(replaying, "SECONDS_PER_STEP", 0)
    skill = refund_skill(tenant)
    job = start(skill)
    jobs.run_jobs(max_steps=1)
    edit_skill(
        tenant=tenant, actor=make_member(tenant), skill_id=skill.pk, seen_version=0,
        content={"trigger": "before track_parcel", "action": "say hello", "precondition": None},
    )  # fmt: skip
    jobs.run_jobs()
    job.refresh_from_db()
    assert (job.result["version"], job.result["looked_at"]) == (1, 6)
    assert [row[0] for row in rows_of(skill)] == ["6-something-else"]


def test_a_second_replay_takes_the_place_of_the_first(tenant, turns):
    skill, other = refund_skill(tenant), refund_skill(tenant)
    replay(skill)
    replay(other)
    turns["1-in-order"].payload.delete()
    job = replay(skill)
    assert rows_of(skill)[0][0] == "2-out-of-order"
    assert len(rows_of(other)) == 5
    assert latest_replay(tenant=tenant, skill_id=skill.pk) == job
    assert latest_replay(tenant=tenant, skill_id=10 * skill.pk) is None


def test_skills_are_replayed_beside_each_other_each_by_one_job(tenant, turns):
    skill, other = refund_skill(tenant), refund_skill(tenant)
    first = start(skill)
    start(other)
    with pytest.raises(ConflictError, match=f"Job {first.pk} is waiting already"):
        start(skill)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"skill": "1"}, {"skill": True}, {"skill": 1, "turns": 0}, {"skill": 1, "turns": 100_001},
     {"skill": 1, "turns": 1.5}, {"skill": 1, "colour": "red"}],
)  # fmt: skip
def test_wrong_parameters_start_nothing(tenant, parameters):
    with pytest.raises(InvalidError):
        jobs.start_job(tenant=tenant, kind=JobKind.REPLAY, parameters=parameters, actor=None)


def test_another_tenants_skill_is_no_skill_here(tenant, other_tenant):
    skill = refund_skill(other_tenant)
    with pytest.raises(NotFoundError):
        jobs.start_job(tenant=tenant, kind=JobKind.REPLAY, parameters={"skill": skill.pk}, actor=None)
    assert latest_replay(tenant=tenant, skill_id=skill.pk) is None
