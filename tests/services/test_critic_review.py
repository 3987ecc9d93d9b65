"""A reviewer's word on the critic: given, refused, taken back, and given blind."""

from __future__ import annotations

from typing import Any

import pytest

from reviews.models import AuditEvent, CriticVerdict, ReviewDecision, Tenant, Turn, TurnPayload
from reviews.services.critic_review import judge_critic
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.publishing import publish_settings
from reviews.services.review import correct_answer, decide_turn, undo_decision
from tests.factories import make_member, make_turn, make_verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(tenant: Tenant) -> Any:
    return make_member(tenant)


@pytest.fixture
def turn(tenant: Tenant) -> Turn:
    turn = make_turn(tenant)
    make_verdict(turn, verdict="revise", revised_draft="I will send it.")
    return turn


def judge(turn: Turn, actor: Any, verdict: str, seen_version: int = 0, **values: Any) -> Any:
    return judge_critic(
        tenant=turn.tenant, actor=actor, turn_id=turn.pk, verdict=verdict, seen_version=seen_version, **values
    )


def stored(turn: Turn) -> CriticVerdict:
    return CriticVerdict.objects.across_tenants().get(turn=turn)


def answer(turn: Turn) -> str:
    return TurnPayload.objects.across_tenants().get(turn=turn).corrected_answer


def test_agreeing_takes_no_reason_and_overruling_does(turn, rita) -> None:
    assert judge(turn, rita, "revise").decision.summary == "agreed with the critic: revise"
    with pytest.raises(InvalidError) as caught:
        judge(turn, rita, "approve", 1)
    assert "reason" in caught.value.details["fields"]
    done = judge(turn, rita, "approve", 1, reason="The tool did run.")
    assert done.decision.summary == "overruled the critic: approve"
    found = stored(turn)
    assert (found.human, found.human_reason, found.human_by) == ("approve", "The tool did run.", rita)
    # What the critic said stays what it said.
    assert (found.verdict, found.said) == ("revise", "revise")
    actions = AuditEvent.objects.for_tenant(turn.tenant).filter(action="turn.critic").count()
    assert actions == 2


def test_the_revision_becomes_the_answer_and_an_undo_takes_both_back(turn, rita) -> None:
    correct_answer(tenant=turn.tenant, actor=rita, turn_id=turn.pk, text="My own.", seen_version=0)
    done = judge(turn, rita, "revise", 1, answer="I will send it.")
    assert answer(turn) == "I will send it."
    undo_decision(tenant=turn.tenant, actor=rita, decision_id=done.decision_id)
    assert answer(turn) == "My own."
    assert (stored(turn).human, stored(turn).human_at) == ("", None)
    with pytest.raises(ConflictError, match="undone already"):
        undo_decision(tenant=turn.tenant, actor=rita, decision_id=done.decision_id)


def test_an_undo_does_not_take_back_what_was_said_or_written_since(turn, rita) -> None:
    first = judge(turn, rita, "revise", answer="I will send it.")
    correct_answer(tenant=turn.tenant, actor=rita, turn_id=turn.pk, text="Better.", seen_version=1)
    with pytest.raises(ConflictError, match="changed again"):
        undo_decision(tenant=turn.tenant, actor=rita, decision_id=first.decision_id)
    judge(turn, rita, "refuse", 2, reason="Too risky.")
    with pytest.raises(ConflictError, match="changed again"):
        undo_decision(tenant=turn.tenant, actor=rita, decision_id=first.decision_id)
    assert (answer(turn), stored(turn).human) == ("Better.", "refuse")


def test_of_two_who_judge_the_second_is_told(turn, rita, tenant) -> None:
    judge(turn, rita, "revise")
    with pytest.raises(ConflictError, match="agreed with the critic: revise while you were looking"):
        judge(turn, make_member(tenant), "approve", reason="No.")
    assert stored(turn).human == "revise"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"state": "waiting"}, "has not answered yet"),
        ({"verdict": "approve", "cause": "timeout"}, "could not read"),
    ],
)
def test_where_there_is_no_verdict_there_is_nothing_to_judge(tenant, rita, values, said) -> None:
    turn = make_turn(tenant)
    make_verdict(turn, **values)
    with pytest.raises(InvalidError, match=said):
        judge(turn, rita, "approve", reason="x")


@pytest.mark.parametrize(
    "values",
    [{"verdict": "maybe"}, {"verdict": "approve", "reason": "a\0b"}, {"verdict": "revise", "answer": "\0"}],
)
def test_bad_input_is_named(turn, rita, values) -> None:
    with pytest.raises(InvalidError):
        judge(turn, rita, **values)
    assert not ReviewDecision.objects.for_tenant(turn.tenant).exists()


def test_a_turn_of_others_or_without_the_critic_is_missing(turn, tenant, other_tenant, rita) -> None:
    with pytest.raises(NotFoundError):
        judge_critic(
            tenant=other_tenant, actor=rita, turn_id=turn.pk, verdict="approve", seen_version=0, reason="x"
        )
    with pytest.raises(NotFoundError):
        judge(make_turn(tenant), rita, "approve", reason="x")


def test_blind_is_who_had_not_seen_the_verdict(turn, rita, tenant) -> None:
    publish_settings(tenant=tenant, author=None, values={"critic_blind_review": True})
    done = judge(turn, rita, "refuse")  # without a reason: nobody knows that it overrules
    assert stored(turn).human_blind
    # Now it is in sight; taking the word back does not make anybody forget it.
    undo_decision(tenant=tenant, actor=rita, decision_id=done.decision_id)
    judge(turn, rita, "revise", 2)
    assert not stored(turn).human_blind
    other = make_turn(tenant)
    make_verdict(other)
    decided = decide_turn(tenant=tenant, actor=rita, turn_id=other.pk, label="unsure", seen_version=0)
    undo_decision(tenant=tenant, actor=rita, decision_id=decided.decision_id)
    judge(other, rita, "revise", 2)
    assert not stored(other).human_blind
    # Another reviewer, who had seen nothing of it.
    third = make_turn(tenant)
    make_verdict(third)
    decided = decide_turn(tenant=tenant, actor=rita, turn_id=third.pk, label="unsure", seen_version=0)
    undo_decision(tenant=tenant, actor=rita, decision_id=decided.decision_id)
    judge(third, make_member(tenant), "revise", 2)
    assert stored(third).human_blind
