"""Verdicts of a runtime's own critic: on stored turns, before them, beside our own critic's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from reviews.formats.record import CriticRecord
from reviews.formats.reflection_event import ReflectionEvent
from reviews.models import CriticVerdict, DailyCount, ModelUse, Tenant, Turn, TurnPayload
from reviews.models.turns import AnalysisState, ReviewState, Source
from reviews.services import analysis, critic_asking, critic_review, intake, review
from reviews.services.critic_answers import Ended, store_answers
from reviews.services.events import accept_event
from reviews.services.intake import Status
from reviews.services.reflections import accept_reflection, accept_reflections
from tests.factories import CLAIM, make_event, make_member, make_record, make_tenant, make_turn
from tests.services.critic_model import judging
from tests.services.model_server import fails, serving
from tests.services.recount import assert_counts_hold

pytestmark = pytest.mark.django_db

PLAIN = "We open at nine."
#: Of a turn that came without an activation record the gate knows a confidence of 0.5, below 0.6.
GATE = {"gate:low_confidence": 1}


def _event(**fields: Any) -> ReflectionEvent:
    values: dict[str, Any] = {
        "run_id": "run-r",
        "verdict": "revise",
        "confidence_before": 0.42,
        "sensitive_tag_hit": "payment",
        "original_draft": "  We open at nine.",
        "revised_draft": "We open at ten.",
        "matched_preferences": ["Say the right hour."],
        "reflection_latency_ms": 812.5,
        "reflection_tokens_in": 1240,
        "reflection_tokens_out": 96,
    }
    return ReflectionEvent(**{**values, **fields})


REFUSAL = {"verdict": "refuse", "revised_draft": None, "refusal_message": "I must not say."}
APPROVAL = {"verdict": "approve", "revised_draft": None}


def _value() -> ReflectionEvent:
    """The same verdict as a recorded value, which counts no tokens."""
    return _event(
        run_id=None,
        external_id="run-r",
        original_draft=None,
        reflection_tokens_in=None,
        reflection_tokens_out=None,
    )


RECORDED = CriticRecord(
    verdict="revise",
    confidence_before=0.42,
    sensitive_tag_hit="payment",
    revised_draft="We open at ten.",
    matched_preferences=["Say the right hour."],
    reflection_latency_ms=812.5,
)


def _counts(tenant: Tenant) -> dict[str, int]:
    rows = DailyCount.objects.for_tenant(tenant)
    assert all(row.count >= 0 for row in rows)
    return {row.name: row.count for row in rows if row.count}


def _turn(tenant: Tenant) -> Turn:
    return Turn.objects.for_tenant(tenant).get()


def _row(tenant: Tenant) -> CriticVerdict:
    return CriticVerdict.objects.for_tenant(tenant).get()


def _payload_critic(tenant: Tenant) -> dict[str, Any] | None:
    return TurnPayload.objects.for_tenant(tenant).get().critic


@pytest.fixture
def asking(settings) -> Tenant:
    """A tenant whose turns are for our own critic; nobody asks it unless the test does."""
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://127.0.0.1:9", "judge"
    return make_tenant("asking", critic_enabled=True)


class TestOnAnAnalysedTurn:
    def test_is_the_turns_verdict(self, tenant):
        turn = make_turn(tenant, PLAIN, external_id="run-r")
        assert (turn.review_state, turn.priority) == (ReviewState.NONE, 0)
        reflected = accept_reflection(tenant=tenant, event=_event())
        assert reflected.accepted[:3] == (Status.ACCEPTED, "run-r", turn.pk)
        assert reflected.stands
        row = _row(tenant)
        assert (row.turn_id, row.origin, row.state) == (turn.pk, "runtime", "done")
        assert (row.verdict, row.said, row.forced, row.cause) == ("revise", "revise", False, "")
        assert (row.confidence, row.threshold, row.gate_reason) == (420, None, "")
        assert (row.sensitive_tag, row.policy_version_id, row.model) == ("payment", None, "")
        assert (row.revised_draft, row.refusal_message) == ("We open at ten.", "")
        assert row.matched_preferences == ["Say the right hour."]
        assert (row.tokens_in, row.tokens_out, row.latency_ms, row.cost) == (1240, 96, 812.5, None)
        assert row.answered_at is not None
        turn.refresh_from_db()
        # As a finding of confidence 0.7 and medium severity.
        assert (turn.critic, turn.priority, turn.review_state) == ("revise", 8003, ReviewState.OPEN)
        assert (turn.source, turn.gate_reason) == (Source.TURN, "low_confidence")
        assert _payload_critic(tenant) == {
            "verdict": "revise",
            "confidence_before": 0.42,
            "sensitive_tag_hit": "payment",
            "revised_draft": "We open at ten.",
            "matched_preferences": ["Say the right hour."],
            "reflection_latency_ms": 812.5,
        }
        assert TurnPayload.objects.for_tenant(tenant).get().draft == PLAIN
        assert _counts(tenant) == {"turns": 1, **GATE, "critic:revise": 1}
        assert_counts_hold(tenant)

    def test_a_refusal_stands_as_high(self, tenant):
        make_turn(tenant, PLAIN, external_id="run-r")
        accept_reflection(tenant=tenant, event=_event(**REFUSAL))
        turn = _turn(tenant)
        assert (turn.critic, turn.priority, turn.review_state) == ("refuse", 8003, ReviewState.OPEN)
        assert (_row(tenant).revised_draft, _row(tenant).refusal_message) == ("", "I must not say.")

    def test_an_approval_brings_no_turn_before_reviewers(self, tenant):
        make_turn(tenant, PLAIN, external_id="run-r")
        accept_reflection(tenant=tenant, event=_event(**APPROVAL))
        turn = _turn(tenant)
        assert (turn.critic, turn.priority, turn.review_state) == ("approve", 0, ReviewState.NONE)
        assert _counts(tenant) == {"turns": 1, **GATE, "critic:approve": 1}

    def test_priority_is_never_lowered(self, tenant):
        turn = make_turn(tenant, external_id="run-r")
        accept_reflection(tenant=tenant, event=_event())
        # The invented UUID: confidence 0.95, high.
        assert turn.priority == _turn(tenant).priority == 9503

    def test_a_decided_turn_stays_decided(self, tenant):
        turn = make_turn(tenant, PLAIN, external_id="run-r")
        rita = make_member(tenant)
        review.decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="false_alarm", seen_version=0)
        accept_reflection(tenant=tenant, event=_event())
        turn = _turn(tenant)
        assert (turn.review_state, turn.verdict, turn.critic) == ("decided", "false_alarm", "revise")
        assert_counts_hold(tenant)

    def test_a_reviewer_can_judge_it(self, tenant):
        turn = make_turn(tenant, PLAIN, external_id="run-r")
        accept_reflection(tenant=tenant, event=_event())
        rita = make_member(tenant)
        critic_review.judge_critic(
            tenant=tenant, actor=rita, turn_id=turn.pk, verdict="revise", seen_version=0
        )
        assert accept_reflection(tenant=tenant, event=_event()).accepted.status is Status.DUPLICATE
        assert _row(tenant).human == "revise"

    def test_counts_on_the_day_of_the_turn(self, tenant):
        at = timezone.now() - timedelta(days=40)
        make_turn(tenant, PLAIN, external_id="run-r", occurred_at=at)
        accept_reflection(tenant=tenant, event=_event())
        assert DailyCount.objects.for_tenant(tenant).get(name="critic:revise").day == at.date()

    def test_the_same_again_is_a_duplicate_and_another_a_conflict(self, tenant):
        turn = make_turn(tenant, PLAIN, external_id="run-r")
        accept_reflection(tenant=tenant, event=_event())
        before = (_counts(tenant), _payload_critic(tenant), _row(tenant).answered_at)
        again = accept_reflection(tenant=tenant, event=_event())
        assert (again.accepted[:3], again.stands) == ((Status.DUPLICATE, "run-r", turn.pk), True)
        # The recorded value of the same reflection counts no tokens; it is the same verdict.
        assert accept_reflection(tenant=tenant, event=_value()).accepted.status is Status.DUPLICATE
        for other in (
            _event(**REFUSAL),
            _event(confidence_before=0.43),
            _event(confidence_before=None),
            _event(sensitive_tag_hit=None),
            _event(revised_draft="We open at eleven."),
            _event(matched_preferences=[]),
            _event(reflection_latency_ms=812.6),
            _event(reflection_tokens_in=1241),
            _event(reflection_tokens_out=97),
        ):
            reflected = accept_reflection(tenant=tenant, event=other)
            assert (reflected.accepted.status, reflected.stands) == (Status.CONFLICT, False)
        assert (_counts(tenant), _payload_critic(tenant), _row(tenant).answered_at) == before

    def test_a_tag_longer_than_our_column_is_cut_and_known_again(self, tenant):
        make_turn(tenant, PLAIN, external_id="run-r")
        event = _event(sensitive_tag_hit="t" * 500)
        accept_reflection(tenant=tenant, event=event)
        assert _row(tenant).sensitive_tag == "t" * 200
        assert accept_reflection(tenant=tenant, event=event).accepted.status is Status.DUPLICATE

    def test_another_tenants_turn_is_out_of_reach(self, tenant, other_tenant):
        turn = make_turn(other_tenant, PLAIN, external_id="run-r")
        before = _counts(other_tenant)
        reflected = accept_reflection(tenant=tenant, event=_event())
        assert reflected.accepted.turn_id != turn.pk
        assert _turn(other_tenant).critic == ""
        assert _payload_critic(other_tenant) is None
        assert not CriticVerdict.objects.for_tenant(other_tenant).exists()
        assert _counts(other_tenant) == before
        assert _row(tenant).turn_id == _turn(tenant).pk


class TestOnATurnThatWaits:
    def test_is_counted_when_the_turn_is_analysed(self, tenant):
        make_turn(tenant, PLAIN, external_id="run-r", analysed=False)
        assert accept_reflection(tenant=tenant, event=_event()).stands
        turn = _turn(tenant)
        assert (turn.analysis_state, turn.review_state, turn.priority) == (
            AnalysisState.PENDING, ReviewState.NONE, 0,
        )  # fmt: skip
        assert _counts(tenant) == {}
        assert _payload_critic(tenant) is not None
        analysis.analyse_pending()
        turn = _turn(tenant)
        assert (turn.analysis_state, turn.critic) == (AnalysisState.DONE, "revise")
        assert (turn.review_state, turn.priority) == (ReviewState.OPEN, 8003)
        assert (_row(tenant).origin, _row(tenant).tokens_in) == ("runtime", 1240)
        assert _counts(tenant) == {"turns": 1, **GATE, "critic:revise": 1}
        assert_counts_hold(tenant)

    def test_our_own_critic_is_not_asked_then(self, asking):
        make_turn(asking, PLAIN, external_id="run-r", analysed=False)
        accept_reflection(tenant=asking, event=_event(**APPROVAL))
        analysis.analyse_pending()
        assert (_row(asking).origin, _turn(asking).critic) == ("runtime", "approve")
        assert not critic_asking.has_due()

    def test_one_that_is_being_analysed_goes_back_in_line(self, asking):
        make_turn(asking, PLAIN, external_id="run-r", analysed=False)
        batch = analysis._claim()
        analysis._judge(batch)
        accept_reflection(tenant=asking, event=_event())
        turn = _turn(asking)
        assert (turn.analysis_state, turn.attempts, turn.claim) == (AnalysisState.PENDING, 0, "")
        assert turn.lease_until is None
        analysis._finish(batch)
        assert (_turn(asking).analysis_state, _counts(asking)) == (AnalysisState.PENDING, {})
        analysis.analyse_pending()
        assert (_turn(asking).critic, _row(asking).origin) == ("revise", "runtime")
        assert _counts(asking) == {"turns": 1, **GATE, "critic:revise": 1}
        assert_counts_hold(asking)

    def test_one_that_could_not_be_analysed_keeps_it_for_another_try(self, tenant):
        turn = make_turn(tenant, PLAIN, external_id="run-r", analysed=False)
        Turn.objects.for_tenant(tenant).update(analysis_state=AnalysisState.FAILED)
        accept_reflection(tenant=tenant, event=_event())
        assert _counts(tenant) == {}
        analysis.retry_failed(tenant_id=tenant.pk, turn_ids=[turn.pk])
        analysis.analyse_pending()
        assert _counts(tenant) == {"turns": 1, **GATE, "critic:revise": 1}
        assert_counts_hold(tenant)


class TestThatTheTurnBrought:
    def test_is_taken_up_at_analysis(self, tenant):
        make_turn(tenant, PLAIN, external_id="run-r", critic=RECORDED)
        turn, row = _turn(tenant), _row(tenant)
        assert (turn.critic, turn.priority, turn.review_state) == ("revise", 8003, ReviewState.OPEN)
        assert (row.origin, row.verdict, row.confidence, row.tokens_in) == ("runtime", "revise", 420, None)
        assert _counts(tenant) == {"turns": 1, **GATE, "critic:revise": 1}

    def test_is_the_one_the_event_repeats(self, tenant):
        make_turn(tenant, PLAIN, external_id="run-r", critic=RECORDED)
        before = _counts(tenant)
        assert accept_reflection(tenant=tenant, event=_event()).accepted.status is Status.DUPLICATE
        assert accept_reflection(tenant=tenant, event=_value()).accepted.status is Status.DUPLICATE
        assert accept_reflection(tenant=tenant, event=_event(**REFUSAL)).accepted.status is Status.CONFLICT
        assert (_counts(tenant), _turn(tenant).critic) == (before, "revise")

    def test_and_that_waits_gets_the_tokens_from_the_event(self, tenant):
        make_turn(tenant, PLAIN, external_id="run-r", critic=RECORDED, analysed=False)
        assert accept_reflection(tenant=tenant, event=_event(**REFUSAL)).accepted.status is Status.CONFLICT
        assert not CriticVerdict.objects.for_tenant(tenant).exists()
        assert accept_reflection(tenant=tenant, event=_event()).accepted.status is Status.ACCEPTED
        assert accept_reflection(tenant=tenant, event=_event()).accepted.status is Status.DUPLICATE
        analysis.analyse_pending()
        assert (_row(tenant).tokens_in, _row(tenant).verdict) == (1240, "revise")
        assert _counts(tenant) == {"turns": 1, **GATE, "critic:revise": 1}
        assert_counts_hold(tenant)


class TestBesideOurOwnCritic:
    def test_takes_the_place_of_a_call_that_waits(self, asking):
        make_turn(asking, PLAIN, external_id="run-r")
        assert (_row(asking).state, _counts(asking)["critic:waiting"]) == ("waiting", 1)
        CriticVerdict.objects.for_tenant(asking).update(attempts=2, cause="timeout", detail="Slow.")
        assert accept_reflection(tenant=asking, event=_event()).stands
        row = _row(asking)
        assert (row.origin, row.state, row.verdict, row.cause) == ("runtime", "done", "revise", "")
        assert (row.attempts, row.detail, row.gate_reason, row.threshold) == (0, "", "", None)
        turn = _turn(asking)
        assert (turn.critic, turn.priority, turn.review_state) == ("revise", 8003, ReviewState.OPEN)
        assert not critic_asking.has_due()
        assert _counts(asking) == {"turns": 1, **GATE, "critic:revise": 1}
        assert_counts_hold(asking)

    def test_leaves_a_call_under_way_alone(self, asking):
        turn = make_turn(asking, PLAIN, external_id="run-r")
        until = timezone.now() + timedelta(minutes=1)
        CriticVerdict.objects.for_tenant(asking).update(claim="mine", lease_until=until, attempts=1)
        before = _counts(asking)
        reflected = accept_reflection(tenant=asking, event=_event())
        assert (reflected.accepted.status, reflected.stands) == (Status.ACCEPTED, False)
        assert (_row(asking).state, _turn(asking).critic, _counts(asking)) == ("waiting", "waiting", before)
        assert _payload_critic(asking)["verdict"] == "revise"
        ended = Ended(tenant_id=asking.pk, turn_id=turn.pk, claim="mine", verdict="approve", said="approve")
        assert store_answers(ended=[ended], at=timezone.now()) == 1
        assert (_row(asking).origin, _turn(asking).critic) == ("ours", "approve")
        assert _counts(asking) == {"turns": 1, **GATE, "critic:approve": 1}
        again = accept_reflection(tenant=asking, event=_event())
        assert (again.accepted.status, again.stands) == (Status.DUPLICATE, False)
        assert_counts_hold(asking)

    def test_leaves_an_answer_of_ours_alone(self, asking, settings):
        with serving(judging("approve")) as server:
            settings.MODEL_BASE_URL = server.url
            make_turn(asking, PLAIN, external_id="run-r")
            critic_asking.ask_due()
        before = _counts(asking)
        assert before["critic:approve"] == 1
        reflected = accept_reflection(tenant=asking, event=_event(**REFUSAL))
        assert (reflected.accepted.status, reflected.stands) == (Status.ACCEPTED, False)
        row, turn = _row(asking), _turn(asking)
        assert (row.origin, row.verdict, row.refusal_message) == ("ours", "approve", "")
        assert (turn.critic, turn.review_state, _counts(asking)) == ("approve", ReviewState.NONE, before)
        assert _payload_critic(asking)["verdict"] == "refuse"
        assert ModelUse.objects.for_tenant(asking).get().calls == 1
        again = accept_reflection(tenant=asking, event=_event(**REFUSAL))
        assert (again.accepted.status, again.stands) == (Status.DUPLICATE, False)
        other = accept_reflection(tenant=asking, event=_event())
        assert (other.accepted.status, other.stands) == (Status.CONFLICT, False)
        assert _payload_critic(asking)["verdict"] == "refuse"
        assert_counts_hold(asking)


class TestWithoutItsTurn:
    def test_makes_a_turn_of_the_event(self, tenant):
        reflected = accept_reflection(tenant=tenant, event=_event())
        turn = _turn(tenant)
        assert reflected.accepted[:3] == (Status.ACCEPTED, "run-r", turn.pk)
        assert reflected.stands
        assert (turn.external_id, turn.source, turn.analysis_state) == (
            "run-r", Source.EVENT, AnalysisState.DONE,
        )  # fmt: skip
        assert (turn.critic, turn.priority, turn.review_state) == ("revise", 8003, ReviewState.OPEN)
        assert (turn.finding_count, turn.outcome, turn.gate_reason) == (0, "none", "")
        assert (turn.draft_offset, turn.snippet, turn.policy_version) == (2, "We open at nine.", None)
        payload = TurnPayload.objects.for_tenant(tenant).get()
        assert (payload.draft, payload.runtime_event) == ("  We open at nine.", None)
        assert payload.critic["verdict"] == "revise"
        row = _row(tenant)
        assert (row.turn_id, row.origin, row.verdict, row.tokens_out) == (turn.pk, "runtime", "revise", 96)
        assert _counts(tenant) == {"turns": 1, "critic:revise": 1}
        assert_counts_hold(tenant)

    def test_an_approval_is_not_for_review(self, tenant):
        accept_reflection(tenant=tenant, event=_event(**APPROVAL))
        assert (_turn(tenant).review_state, _turn(tenant).priority) == (ReviewState.NONE, 0)
        assert _counts(tenant) == {"turns": 1, "critic:approve": 1}

    def test_the_same_again_is_a_duplicate_and_another_a_conflict(self, tenant):
        first = accept_reflection(tenant=tenant, event=_event()).accepted
        again = accept_reflection(tenant=tenant, event=_event()).accepted
        other = accept_reflection(tenant=tenant, event=_event(**APPROVAL)).accepted
        assert (again.status, other.status) == (Status.DUPLICATE, Status.CONFLICT)
        assert again.turn_id == other.turn_id == first.turn_id
        assert _counts(tenant) == {"turns": 1, "critic:revise": 1}

    def test_a_recorded_value_may_come_before_its_turn(self, tenant):
        accept_reflection(tenant=tenant, event=_value())
        assert (_turn(tenant).external_id, _turn(tenant).snippet) == ("run-r", "")
        assert TurnPayload.objects.for_tenant(tenant).get().draft == ""

    def test_a_run_without_an_id_gets_a_stable_one(self, tenant):
        first = accept_reflection(tenant=tenant, event=_event(run_id="")).accepted
        again = accept_reflection(tenant=tenant, event=_event(run_id="")).accepted
        other = accept_reflection(tenant=tenant, event=_event(run_id="", original_draft="x")).accepted
        assert first.external_id.startswith("reflection-")
        assert (again.status, again.turn_id) == (Status.DUPLICATE, first.turn_id)
        assert other.status is Status.ACCEPTED

    @pytest.mark.parametrize("critic", [None, RECORDED, CriticRecord(verdict="approve")])
    def test_the_turn_that_follows_fills_it_in_and_the_verdict_stays(self, asking, critic):
        first = accept_reflection(tenant=asking, event=_event()).accepted
        record = make_record(external_id="run-r", agent="late-bot", critic=critic)
        (accepted,) = intake.accept_turns(tenant=asking, records=[record])
        assert (accepted.status, accepted.turn_id) == (Status.ACCEPTED, first.turn_id)
        analysis.analyse_pending()
        turn, row = _turn(asking), _row(asking)
        assert (turn.source, turn.agent, turn.finding_count) == (Source.TURN, "late-bot", 3)
        assert (turn.critic, turn.priority, turn.review_state) == ("revise", 9503, ReviewState.OPEN)
        assert (row.origin, row.verdict, row.tokens_in) == ("runtime", "revise", 1240)
        assert not critic_asking.has_due()
        assert _counts(asking) == {
            "turns": 1,
            **GATE,
            "critic:revise": 1,
            "flagged": 1,
            "outcome:observed": 1,
            "kind:verb_claim": 1,
            "kind:uuid": 1,
            "kind:kv": 1,
        }
        assert_counts_hold(asking)
        assert accept_reflection(tenant=asking, event=_event()).accepted.status is Status.DUPLICATE
        assert accept_reflection(tenant=asking, event=_event(**REFUSAL)).accepted.status is Status.CONFLICT
        (again,) = intake.accept_turns(tenant=asking, records=[record])
        assert again.status is Status.DUPLICATE

    def test_a_turn_with_no_more_than_the_event_fills_it_in_too(self, tenant):
        accept_reflection(tenant=tenant, event=_event())
        record = make_record("  We open at nine.", external_id="run-r", agent="", critic=RECORDED)
        (accepted,) = intake.accept_turns(tenant=tenant, records=[record])
        assert accepted.status is Status.ACCEPTED
        analysis.analyse_pending()
        assert _turn(tenant).source == Source.TURN
        assert _counts(tenant) == {"turns": 1, **GATE, "critic:revise": 1}

    def test_its_other_event_finds_the_turn(self, tenant):
        accept_reflection(tenant=tenant, event=_event())
        found = [{"identifier": "I sent", "kind": "verb_claim", "confidence": 0.8}]
        accepted = accept_event(tenant=tenant, event=make_event("run-r", found))
        assert accepted[:3] == (Status.ACCEPTED, "run-r", _turn(tenant).pk)
        assert TurnPayload.objects.for_tenant(tenant).get().runtime_event["run_id"] == "run-r"
        assert_counts_hold(tenant)

    def test_finds_the_turn_of_its_other_event(self, tenant):
        found = [{"identifier": "I sent", "kind": "verb_claim", "confidence": 0.8}]
        accept_event(tenant=tenant, event=make_event("run-r", found))
        reflected = accept_reflection(tenant=tenant, event=_event(**REFUSAL))
        assert reflected.accepted[:3] == (Status.ACCEPTED, "run-r", _turn(tenant).pk)
        turn = _turn(tenant)
        # As a finding of confidence 0.9 and high severity.
        assert (turn.finding_count, turn.critic, turn.priority) == (1, "refuse", 8003)
        assert TurnPayload.objects.for_tenant(tenant).get().draft == CLAIM
        assert _counts(tenant)["critic:refuse"] == 1
        assert_counts_hold(tenant)


class TestMany:
    def test_are_answered_in_order(self, tenant):
        turn = make_turn(tenant, PLAIN, external_id="known")
        reflected = accept_reflections(
            tenant=tenant,
            events=[
                _event(run_id="new"),
                _event(run_id="known"),
                _event(run_id="new"),
                _event(run_id="known", **REFUSAL),
                _event(run_id="new", **APPROVAL),
            ],
        )
        assert [r.accepted.status.value for r in reflected] == [
            "accepted", "accepted", "duplicate", "conflict", "conflict",
        ]  # fmt: skip
        assert [r.stands for r in reflected] == [True, True, True, False, False]
        ids = [r.accepted.turn_id for r in reflected]
        assert ids[1] == ids[3] == turn.pk
        assert ids[0] == ids[2] == ids[4] != turn.pk
        assert _counts(tenant) == {"turns": 2, **GATE, "critic:revise": 2}
        assert_counts_hold(tenant)

    def test_none_is_nothing(self, tenant, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert accept_reflections(tenant=tenant, events=[]) == []

    def test_queries_do_not_grow_with_their_number(self, asking, django_assert_max_num_queries):
        for number in (1, 60):
            names = [f"{number}-{n}" for n in range(number)]
            records = [make_record(PLAIN, external_id=name) for name in names]
            intake.accept_turns(tenant=asking, records=records)
            analysis.analyse_pending()
            events = [_event(run_id=name) for name in [*names, *(f"new-{name}" for name in names)]]
            with django_assert_max_num_queries(20):
                reflected = accept_reflections(tenant=asking, events=events)
            assert all(r.accepted.status is Status.ACCEPTED for r in reflected)
        assert _counts(asking)["critic:revise"] == 122
        assert_counts_hold(asking)


class TestAtTheSameMoment:
    @pytest.mark.parametrize("known", [False, True])
    def test_of_two_verdicts_on_one_turn_one_wins(self, in_threads, tenant, known):
        for n in range(8):
            name = f"run-{n}"
            if known:
                make_turn(tenant, PLAIN, external_id=name)

            def tell(name=name, **fields):
                return accept_reflection(tenant=tenant, event=_event(run_id=name, **fields)).accepted.status

            told = in_threads(tell, lambda tell=tell: tell(**REFUSAL))
            assert sorted(told) == [Status.ACCEPTED, Status.CONFLICT]
            turn = Turn.objects.for_tenant(tenant).get(external_id=name)
            winner = ("revise", "refuse")[told.index(Status.ACCEPTED)]
            assert turn.critic == turn.critic_verdict.verdict == winner
        counts = _counts(tenant)
        assert counts["turns"] == 8
        assert counts.get("critic:revise", 0) + counts.get("critic:refuse", 0) == 8
        assert_counts_hold(tenant)

    @pytest.mark.parametrize("known", [False, True])
    def test_the_same_verdict_twice_is_one(self, in_threads, tenant, known):
        if known:
            make_turn(tenant, PLAIN, external_id="run-r")

        def tell():
            return accept_reflection(tenant=tenant, event=_event()).accepted.status

        assert sorted(in_threads(tell, tell, tell)) == [Status.ACCEPTED, *[Status.DUPLICATE] * 2]
        assert CriticVerdict.objects.for_tenant(tenant).count() == 1
        assert _counts(tenant)["critic:revise"] == 1

    def test_a_verdict_and_its_turn_meet_in_one_row(self, in_threads, asking):
        names = [f"run-{n}" for n in range(12)]

        def arrive():
            return [
                intake.accept_turns(tenant=asking, records=[make_record(PLAIN, external_id=name)])[0].status
                for name in names
            ]

        def tell():
            return [
                accept_reflection(tenant=asking, event=_event(run_id=name)).accepted.status for name in names
            ]

        def analyse():
            for _ in names:
                analysis.analyse_pending()

        results = in_threads(arrive, tell, analyse, tell)
        assert results[0] == [Status.ACCEPTED] * 12
        assert {status for told in (results[1], results[3]) for status in told} <= {
            Status.ACCEPTED, Status.DUPLICATE,
        }  # fmt: skip
        analysis.analyse_pending()
        turns = Turn.objects.for_tenant(asking)
        assert turns.filter(analysis_state="done", source="turn", critic="revise").count() == 12
        assert CriticVerdict.objects.for_tenant(asking).filter(origin="runtime").count() == 12
        assert _counts(asking) == {"turns": 12, "gate:low_confidence": 12, "critic:revise": 12}
        assert_counts_hold(asking)

    def test_our_answer_and_the_runtimes_verdict_leave_one(self, in_threads, asking):
        until = timezone.now() + timedelta(minutes=5)
        turns = [make_turn(asking, PLAIN, external_id=f"run-{n}") for n in range(8)]
        for n, turn in enumerate(turns):
            if n % 2:
                CriticVerdict.objects.for_tenant(asking).filter(turn=turn).update(
                    claim="mine", lease_until=until
                )

        def answer():
            ended = [
                Ended(tenant_id=asking.pk, turn_id=t.pk, claim="mine", verdict="approve", said="approve")
                for t in turns
            ]
            return store_answers(ended=ended, at=timezone.now())

        def tell():
            events = [_event(run_id=turn.external_id) for turn in reversed(turns)]
            return [r.stands for r in accept_reflections(tenant=asking, events=events)]

        # Those that nobody asked about are the runtime's; those under way or answered stay ours.
        assert in_threads(answer, tell) == [4, [False, True] * 4]
        assert _counts(asking) == {
            "turns": 8, "gate:low_confidence": 8, "critic:approve": 4, "critic:revise": 4,
        }  # fmt: skip
        assert_counts_hold(asking)

    def test_each_turn_is_judged_by_one_of_two_critics(self, in_threads, asking, settings):
        names = [f"run-{n}" for n in range(12)]
        for name in names:
            make_turn(asking, PLAIN, external_id=name)

        def tell():
            events = [_event(run_id=name) for name in reversed(names)]
            return sum(accept_reflection(tenant=asking, event=event).stands for event in events)

        with serving(judging("approve")) as server:
            settings.MODEL_BASE_URL = server.url
            progress, stands = in_threads(critic_asking.ask_due, tell)
        assert progress.answered + stands == len(names) == len(server.requests) + stands
        rows = CriticVerdict.objects.for_tenant(asking)
        assert rows.filter(state="done", origin="ours", verdict="approve").count() == progress.answered
        assert rows.filter(state="done", origin="runtime", verdict="revise").count() == stands
        assert not ModelUse.objects.for_tenant(asking).exclude(reserved=0, calls=progress.answered).exists()
        counts = _counts(asking)
        assert counts.get("critic:approve", 0) == progress.answered
        assert counts.get("critic:revise", 0) == stands
        assert_counts_hold(asking)

    def test_overlapping_batches_in_opposite_orders_all_get_an_answer(self, in_threads, tenant):
        names = [f"run-{n}" for n in range(30)]
        for name in names[::2]:
            make_turn(tenant, PLAIN, external_id=name)

        def tell(order):
            events = [_event(run_id=name) for name in order]
            return [r.accepted.status for r in accept_reflections(tenant=tenant, events=events)]

        told = in_threads(lambda: tell(names), lambda: tell(names[::-1]))
        assert sorted(told) == [[Status.ACCEPTED] * 30, [Status.DUPLICATE] * 30]
        assert _counts(tenant)["critic:revise"] == 30
        assert_counts_hold(tenant)


@pytest.mark.parametrize("configured", [True, False])
def test_a_draft_that_our_critic_could_not_read_takes_the_runtimes_verdict(settings, configured):
    """With a model that rejects the call, and without any."""
    settings.MODEL_BASE_URL = ""
    tenant = make_tenant("unread", critic_enabled=True)
    with serving(fails(401)) as server:
        if configured:
            settings.MODEL_BASE_URL, settings.MODEL_NAME = server.url, "judge"
        turn = make_turn(tenant)
        critic_asking.ask_due()
    turn.refresh_from_db()
    assert turn.critic == "degraded"
    (answer,) = accept_reflections(
        tenant=tenant, events=[ReflectionEvent(run_id=turn.external_id, verdict="refuse")]
    )
    assert answer.stands
    turn.refresh_from_db()
    row = CriticVerdict.objects.for_tenant(tenant).get(turn=turn)
    assert (turn.critic, row.origin, row.cause) == ("refuse", "runtime", "")
    assert_counts_hold(tenant)
    causes = DailyCount.objects.for_tenant(tenant).filter(name__startswith="cause:")
    assert sum(row.count for row in causes) == 0
