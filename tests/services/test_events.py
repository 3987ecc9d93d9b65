from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.symfonic_event import EventFinding, FabricationEvent
from reviews.models import AgentName, DailyCount, Finding, Turn, TurnPayload
from reviews.models.turns import AnalysisState, ReviewState, Severity, Source
from reviews.services import analysis, intake
from reviews.services.events import accept_event, accept_events
from reviews.services.intake import Status
from tests.factories import CLAIM, make_record, make_turn

PREVIEW = "  I sent the invoice."


def _finding(**fields: Any) -> EventFinding:
    values = {
        "identifier": "I sent",
        "kind": "verb_claim",
        "severity": "medium",
        "confidence": 0.8,
        "reason": "no tool ran",
        "pattern_kind": "verb_claim",
        "span": [0, 6],
    }
    return EventFinding(**{**values, **fields})


def _event(**fields: Any) -> FabricationEvent:
    values: dict[str, Any] = {
        "run_id": "run-e",
        "mode": "refuse",
        "action_taken": "refuse_replaced",
        "findings": [_finding()],
        "refuse_threshold": 0.8,
        "max_finding_confidence": 0.8,
        "original_draft_preview": PREVIEW,
        "replacement_preview": "Sorry.",
    }
    return FabricationEvent(**{**values, **fields})


def _counts(tenant) -> dict[str, int]:
    return {row.name: row.count for row in DailyCount.objects.for_tenant(tenant) if row.count}


class TestWithoutItsTurn:
    def test_makes_a_turn_of_the_event(self, tenant):
        accepted = accept_event(tenant=tenant, event=_event())
        turn = Turn.objects.for_tenant(tenant).get()
        assert accepted[:3] == (Status.ACCEPTED, "run-e", turn.pk)
        assert (turn.external_id, turn.source, turn.outcome) == ("run-e", Source.EVENT, "refuse_replaced")
        assert (turn.analysis_state, turn.review_state) == (AnalysisState.DONE, ReviewState.OPEN)
        assert (turn.kind_list, turn.finding_count) == (["verb_claim"], 1)
        assert (turn.max_severity, turn.max_confidence, turn.priority) == (Severity.MEDIUM, 0.8, 8002)
        assert (turn.draft_offset, turn.snippet) == (2, "I sent the invoice.")
        assert turn.policy_version is None
        payload = TurnPayload.objects.for_tenant(tenant).get()
        assert payload.draft == PREVIEW
        assert payload.runtime_event["replacement_preview"] == "Sorry."
        finding = Finding.objects.for_tenant(tenant).get()
        assert (finding.identifier, finding.severity, finding.reason) == ("I sent", 2, "no tool ran")
        assert (finding.span_start, finding.span_end) == (0, 6)
        assert _counts(tenant) == {
            "turns": 1,
            "flagged": 1,
            "outcome:refuse_replaced": 1,
            "kind:verb_claim": 1,
        }

    def test_without_findings_nothing_is_to_review(self, tenant):
        accept_event(
            tenant=tenant,
            event=_event(findings=[], action_taken="none", max_finding_confidence=0.0),
        )
        turn = Turn.objects.for_tenant(tenant).get()
        assert (turn.review_state, turn.max_confidence, turn.kinds) == (ReviewState.NONE, 0.0, 0)
        assert _counts(tenant) == {"turns": 1}

    def test_the_same_again_is_a_duplicate(self, tenant):
        first = accept_event(tenant=tenant, event=_event())
        again = accept_event(tenant=tenant, event=_event())
        assert again[:3] == (Status.DUPLICATE, "run-e", first.turn_id)
        assert _counts(tenant)["turns"] == 1

    def test_another_event_is_a_conflict(self, tenant):
        first = accept_event(tenant=tenant, event=_event())
        other = accept_event(tenant=tenant, event=_event(action_taken="observed"))
        assert other[:3] == (Status.CONFLICT, "run-e", first.turn_id)
        assert Turn.objects.for_tenant(tenant).get().outcome == "refuse_replaced"

    def test_a_run_without_an_id_gets_a_stable_one(self, tenant):
        first = accept_event(tenant=tenant, event=_event(run_id=" "))
        again = accept_event(tenant=tenant, event=_event(run_id=" "))
        other = accept_event(tenant=tenant, event=_event(run_id=" ", mode="observe"))
        assert first.external_id.startswith("event-")
        assert (again.status, again.turn_id) == (Status.DUPLICATE, first.turn_id)
        assert other.status is Status.ACCEPTED

    def test_of_two_tenants_are_two_turns(self, tenant, other_tenant):
        accept_event(tenant=tenant, event=_event())
        assert accept_event(tenant=other_tenant, event=_event(mode="observe")).status is Status.ACCEPTED

    @pytest.mark.parametrize(
        ("span", "kept"),
        [([0, 6], (0, 6)), ([5, 10_000], (5, 19)), ([100, 2**62], (19, 19)), ([0, 0], (0, 0))],
    )
    def test_spans_stay_within_the_preview(self, tenant, span, kept):
        accept_event(tenant=tenant, event=_event(findings=[_finding(span=span)]))
        finding = Finding.objects.for_tenant(tenant).get()
        assert (finding.span_start, finding.span_end) == kept

    def test_words_longer_than_our_columns_are_cut(self, tenant):
        accept_event(tenant=tenant, event=_event(findings=[_finding(key="k" * 500, pattern_kind="p" * 500)]))
        finding = Finding.objects.for_tenant(tenant).get()
        assert (len(finding.key), len(finding.pattern_kind)) == (32, 24)
        event = TurnPayload.objects.for_tenant(tenant).get().runtime_event
        assert len(event["findings"][0]["key"]) == 500

    def test_the_turn_that_follows_fills_it_in(self, tenant):
        accept_event(tenant=tenant, event=_event())
        record = make_record(CLAIM, external_id="run-e", agent="late-bot")
        (accepted,) = intake.accept_turns(tenant=tenant, records=[record])
        assert accepted.status is Status.ACCEPTED
        analysis.analyse_pending()
        turn = Turn.objects.for_tenant(tenant).get()
        assert (turn.source, turn.agent, turn.finding_count) == (Source.TURN, "late-bot", 3)
        # What the runtime did to the draft outlives our own reading of it.
        assert turn.outcome == "refuse_replaced"
        assert AgentName.objects.for_tenant(tenant).filter(name="late-bot").exists()
        assert _counts(tenant) == {
            "turns": 1,
            "gate:low_confidence": 1,
            "flagged": 1,
            "outcome:refuse_replaced": 1,
            "kind:verb_claim": 1,
            "kind:uuid": 1,
            "kind:kv": 1,
        }
        assert accept_event(tenant=tenant, event=_event()).status is Status.DUPLICATE
        (again,) = intake.accept_turns(tenant=tenant, records=[record])
        assert again.status is Status.DUPLICATE

    def test_a_turn_with_no_more_than_the_preview_fills_it_in_too(self, tenant):
        accept_event(tenant=tenant, event=_event())
        record = make_record(PREVIEW, external_id="run-e", agent="")
        (accepted,) = intake.accept_turns(tenant=tenant, records=[record])
        assert accepted.status is Status.ACCEPTED


class TestWithItsTurn:
    def test_is_attached_and_its_outcome_counts(self, tenant):
        turn = make_turn(tenant, external_id="run-e")
        assert (turn.outcome, _counts(tenant)["outcome:observed"]) == ("observed", 1)
        accepted = accept_event(tenant=tenant, event=_event())
        assert accepted[:3] == (Status.ACCEPTED, "run-e", turn.pk)
        turn.refresh_from_db()
        assert (turn.outcome, turn.source, turn.finding_count) == ("refuse_replaced", Source.TURN, 3)
        assert TurnPayload.objects.for_tenant(tenant).get().draft == CLAIM
        counts = _counts(tenant)
        assert counts["outcome:refuse_replaced"] == 1
        assert "outcome:observed" not in counts
        assert counts["turns"] == 1

    def test_the_same_again_is_a_duplicate_and_counts_once(self, tenant):
        make_turn(tenant, external_id="run-e")
        accept_event(tenant=tenant, event=_event())
        before = _counts(tenant)
        assert accept_event(tenant=tenant, event=_event()).status is Status.DUPLICATE
        assert accept_event(tenant=tenant, event=_event(mode="observe")).status is Status.CONFLICT
        assert _counts(tenant) == before

    def test_an_observation_changes_no_outcome(self, tenant):
        turn = make_turn(tenant, external_id="run-e")
        before = _counts(tenant)
        accept_event(tenant=tenant, event=_event(action_taken="none"))
        turn.refresh_from_db()
        assert (turn.outcome, _counts(tenant)) == ("observed", before)

    def test_a_turn_we_found_clean_keeps_out_of_the_counters(self, tenant):
        turn = make_turn(tenant, "Nothing is claimed.", external_id="run-e")
        accept_event(tenant=tenant, event=_event())
        turn.refresh_from_db()
        assert (turn.outcome, turn.review_state) == ("refuse_replaced", ReviewState.NONE)
        assert _counts(tenant) == {"turns": 1, "gate:low_confidence": 1}

    def test_a_turn_that_waits_gets_the_outcome_when_analysed(self, tenant):
        turn = make_turn(tenant, external_id="run-e", analysed=False)
        accept_event(tenant=tenant, event=_event())
        analysis.analyse_pending()
        turn.refresh_from_db()
        assert (turn.outcome, turn.analysis_state) == ("refuse_replaced", AnalysisState.DONE)
        assert _counts(tenant)["outcome:refuse_replaced"] == 1

    def test_a_turn_that_is_being_analysed_goes_back_in_line(self, tenant):
        turn = make_turn(tenant, external_id="run-e", analysed=False)
        batch = analysis._claim()
        analysis._judge(batch)
        accept_event(tenant=tenant, event=_event())
        analysis._finish(batch)
        turn.refresh_from_db()
        assert (turn.analysis_state, turn.attempts) == (AnalysisState.PENDING, 0)
        analysis.analyse_pending()
        turn.refresh_from_db()
        assert (turn.outcome, turn.analysis_state) == ("refuse_replaced", AnalysisState.DONE)
        assert _counts(tenant)["outcome:refuse_replaced"] == 1
        assert "outcome:observed" not in _counts(tenant)


class TestMany:
    def test_are_answered_in_order(self, tenant):
        turn = make_turn(tenant, external_id="known")
        answers = accept_events(
            tenant=tenant,
            events=[
                _event(run_id="new"),
                _event(run_id="known"),
                _event(run_id="new"),
                _event(run_id="known", mode="observe"),
                _event(run_id="new", mode="observe"),
            ],
        )
        assert [answer.status.value for answer in answers] == [
            "accepted", "accepted", "duplicate", "conflict", "conflict",
        ]  # fmt: skip
        assert answers[1].turn_id == answers[3].turn_id == turn.pk
        assert answers[0].turn_id == answers[2].turn_id == answers[4].turn_id
        assert _counts(tenant)["outcome:refuse_replaced"] == 2

    def test_none_is_nothing(self, tenant, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert accept_events(tenant=tenant, events=[]) == []

    def test_queries_do_not_grow_with_new_events(self, tenant, django_assert_max_num_queries):
        for number in (1, 100):
            events = [_event(run_id=f"{number}-{n}") for n in range(number)]
            with django_assert_max_num_queries(10):
                accept_events(tenant=tenant, events=events)
