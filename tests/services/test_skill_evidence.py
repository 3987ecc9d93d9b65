"""What a draft's page shows beside its text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.models import Skill
from reviews.models.jobs import JobKind
from reviews.models.skills import SkillOrigin
from reviews.services import jobs
from reviews.services.drafts import take_draft
from reviews.services.errors import NotFoundError
from reviews.services.skill_evidence import (
    CONFLICT_WORDS,
    DIFFERENCE_WORDS,
    SOURCES_MOST,
    SOURCES_SHOWN,
    page_of,
    replayed_turns,
)
from reviews.services.skills import approve_skill, edit_skill, reject_skill
from tests.factories import call, make_member, make_skill, make_turn

from .test_drafts import REFUND, REWORDED, extracted, take, with_episodes

pytestmark = pytest.mark.django_db


@pytest.fixture
def skill(tenant) -> Skill:
    return take(tenant).skill


def page(skill: Skill, **options):
    return page_of(tenant=skill.tenant, skill_id=skill.pk, **options)


def test_sources_are_shown_with_their_calls_in_order_and_the_errors(tenant):
    calls = [call("get_order", {"id": 7}), call("issue_refund", error="over the limit")]
    turn = make_turn(tenant, "Refunded.", external_id="run-1", user_message="Refund!", tool_calls=calls)
    first, second = page(take(tenant).skill).sources
    assert (first.episode, first.turn, first.user_message, first.draft) == (
        "run-1", turn, "Refund!", "Refunded.",
    )  # fmt: skip
    assert [(each.number, each.name, each.ok) for each in first.calls] == [
        (1, "get_order", None),
        (2, "issue_refund", False),
    ]
    assert first.failed
    assert (second.episode, second.turn, second.calls, second.failed) == ("run-2", None, [], False)


def test_a_turn_that_came_after_the_draft_is_found_and_a_strangers_is_not(tenant, other_tenant, skill):
    late = make_turn(tenant, external_id="run-2")
    make_turn(other_tenant, external_id="run-1")
    assert [source.turn for source in page(skill).sources] == [None, late]


def test_a_draft_that_was_folded_in_is_shown_with_its_own_words(tenant, skill):
    take(tenant, with_episodes(REWORDED, "run-8", "run-9"))
    folded = [source for source in page(skill).sources if source.folded]
    assert [(source.episode, source.folded["trigger"]) for source in folded] == [("run-8", REWORDED.trigger)]


def test_similar_skills_come_with_what_tells_them_apart(tenant, skill):
    other = take(tenant, replace(REFUND, trigger=f"{REFUND.trigger} over 500")).skill
    (similar,) = page(skill).similar
    assert (similar.skill, similar.differs) == (other, DIFFERENCE_WORDS["numbers"])
    assert similar.score >= 83


def test_conflicts_come_with_the_rule_in_words_and_end_with_a_rejection(tenant, skill):
    guard = make_skill(tenant, kind="guardrail", trigger="always", action="never call issue_refund")
    (conflict,) = page(skill).conflicts
    assert (conflict.skill, conflict.rule, conflict.is_conflict) == (guard, "forbidden", True)
    assert (conflict.words, conflict.tools) == (CONFLICT_WORDS["forbidden"], ("issue_refund",))
    where = conflict.mine
    assert skill.action[where.start : where.end] == "issue_refund"
    (back,) = page(guard).conflicts
    assert back.skill == skill
    reject_skill(tenant=tenant, actor=make_member(tenant), skill_id=guard.pk, reason="wrong", seen_version=0)
    assert page(skill).conflicts == []


def test_history_comes_newest_first(tenant, skill):
    rita, max_ = make_member(tenant), make_member(tenant)
    edit_skill(
        tenant=tenant, actor=rita, skill_id=skill.pk, content={"rationale": "Because."}, seen_version=0
    )
    approve_skill(tenant=tenant, actor=max_, skill_id=skill.pk, seen_version=1)
    found = page(skill)
    assert [(each.action, each.actor) for each in found.decisions] == [("approve", max_), ("edit", rita)]
    assert [(each.number, each.author) for each in found.revisions] == [(1, rita), (0, None)]
    assert (found.skill.state, found.episodes, found.deliveries) == ("approved", 2, [])


def test_the_latest_replay_is_shown_and_says_when_it_is_about_an_earlier_text(tenant, skill):
    turns = [
        make_turn(tenant, external_id=f"t-{n}", tool_calls=[call("issue_refund", error="no" if n else None)])
        for n in range(2)
    ]
    assert page(skill).replay is None
    job = jobs.start_job(tenant=tenant, kind=JobKind.REPLAY, parameters={"skill": skill.pk}, actor=None)
    jobs.run_jobs()
    found = page(skill).replay
    assert (found.job, found.is_stale) == (job, False)
    assert [row.turn for row in found.rows] == turns[::-1]
    failed = replayed_turns(tenant=tenant, skill_id=skill.pk, limit=10, failed=True)
    assert [row.turn for row in failed] == [turns[1]]
    assert replayed_turns(tenant=tenant, skill_id=skill.pk, limit=10, fabricated=True) == []
    edit_skill(
        tenant=tenant, actor=make_member(tenant), skill_id=skill.pk, content={"rationale": "So."},
        seen_version=0,
    )  # fmt: skip
    assert page(skill).replay.is_stale


def test_lists_are_bounded_and_more_evidence_takes_no_more_queries(tenant, skill):
    page(skill)
    with CaptureQueriesContext(connection) as few:
        page(skill)
    for n in range(SOURCES_SHOWN + 5):
        make_turn(tenant, external_id=f"t-{n}", analysed=False)
    names = [f"t-{n}" for n in range(SOURCES_MOST + 5)]
    take_draft(tenant=tenant, extracted=extracted(with_episodes(REFUND, *names)), origin=SkillOrigin.RUN)
    page(skill)
    with CaptureQueriesContext(connection) as many:
        found = page(skill)
    assert len(found.sources) == SOURCES_SHOWN
    assert found.episodes == SOURCES_MOST + 7
    # Two more than without any turn: the turns themselves, and their texts.
    assert len(many) == len(few) + 2 <= 15
    assert len(page(skill, all_sources=True).sources) == SOURCES_MOST


def test_another_tenants_skill_is_no_skill_here(skill, other_tenant):
    with pytest.raises(NotFoundError):
        page_of(tenant=other_tenant, skill_id=skill.pk)
