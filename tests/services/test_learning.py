"""The learning job: calibrations and suggested rules from labels, and what those rules would have dropped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.core.calibration import FEWEST_LABELS
from reviews.models import Calibration, Finding, GroundingSuggestion, Job, Tenant, Turn
from reviews.models.jobs import JobKind, JobState
from reviews.models.policies import SuggestionState
from reviews.services import jobs, learning
from reviews.services.analysis import analyse_pending
from reviews.services.errors import InvalidError
from reviews.services.events import accept_event
from reviews.services.intake import accept_turns
from reviews.services.learning import quality_of, tenants_to_learn
from reviews.services.policies import latest_calibration
from reviews.services.publishing import publish_settings
from reviews.services.review import decide_turn, undo_decision
from tests.factories import call, make_event, make_member, make_record

pytestmark = pytest.mark.django_db

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
#: "checked" is grounded by tools named check, status, verify or inspect, but not by this one.
CHECKED = {"draft": "I checked it.", "tool_calls": [call("get_order_details", {"long": "result"})]}
#: A reference number under a key that names a deadline here.
PAIR = {"draft": "It is due on order_id=2026-03-01."}


def turns(tenant: Tenant, count: int, **fields: Any) -> list[Turn]:
    records = [make_record(occurred_at=DAY + timedelta(minutes=n), **fields) for n in range(count)]
    accepted = accept_turns(tenant=tenant, records=records)
    analyse_pending()
    return list(Turn.objects.for_tenant(tenant).filter(id__in=[a.turn_id for a in accepted]).order_by("id"))


def label(found: list[Turn], value: str, *, at: datetime | None = None) -> None:
    """Every finding of these turns, a second apart."""
    rita = make_member(found[0].tenant)
    for n, turn in enumerate(found):
        decide_turn(
            tenant=turn.tenant,
            actor=rita,
            turn_id=turn.pk,
            label=value,
            seen_version=turn.version,
            at=(at or timezone.now()) + timedelta(seconds=n) if at else None,
        )


def learn(tenant: Tenant) -> Job:
    job = jobs.start_job(tenant=tenant, kind=JobKind.LEARN, parameters={}, actor=None)
    jobs.run_jobs()
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, job.total), job.error
    return job


def calibrations(tenant: Tenant) -> list[Calibration]:
    return list(Calibration.objects.for_tenant(tenant).order_by("number"))


def suggestions(tenant: Tenant) -> list[tuple[str, str, str]]:
    rows = GroundingSuggestion.objects.for_tenant(tenant).filter(state=SuggestionState.OPEN)
    return list(rows.order_by("rule", "subject", "value").values_list("rule", "subject", "value"))


# -- Calibrations


def test_a_calibration_counts_the_labels_by_kind_verb_or_key_and_tools(tenant):
    label(turns(tenant, 3, **CHECKED), "false_alarm")
    label(turns(tenant, 2, draft="I checked it."), "fabricated")
    label(turns(tenant, 1, **PAIR), "fabricated")
    label(turns(tenant, 4, **PAIR), "unsure")
    turns(tenant, 2, **PAIR)
    job = learn(tenant)
    (fitted,) = calibrations(tenant)
    assert (fitted.number, fitted.labels, fitted.quality) == (1, 6, None)
    assert fitted.content == {
        "kinds": {"kv": [1, 0], "verb_claim": [2, 3]},
        "groups": [
            [["kv", "order_id", ""], [1, 0]],
            [["verb_claim", "checked", ""], [2, 0]],
            [["verb_claim", "checked", "get_order_details"], [0, 3]],
        ],
    }
    assert {name: job.result[name] for name in ("labels", "calibration", "new_calibration")} == {
        "labels": 6, "calibration": 1, "new_calibration": True,
    }  # fmt: skip


def test_groups_are_those_of_the_turns_profiles(tenant):
    """A calibration that named its groups otherwise would never be found when a turn is judged."""
    found = turns(
        tenant, 1, draft="I checked it, order_id=B-1.", tool_calls=[call("Get_It"), call("b"), call("b")]
    )
    label(found, "false_alarm")
    learn(tenant)
    turn = Turn.objects.for_tenant(tenant).select_related("profile").get(pk=found[0].pk)
    content = calibrations(tenant)[0].content
    tools = turn.profile.content["tools"]
    claims = [[kind, subject, tools] for kind, subject, _ in turn.profile.content["claims"]]
    assert [group for group, _ in content["groups"]] == claims
    assert tools == "b\nget_it"


def test_of_a_turn_known_from_an_event_nobody_knows_the_tools(tenant):
    event = make_event("run-e", [{"identifier": "B-17", "kind": "kv", "key": "order_id", "confidence": 0.8}])
    turn = Turn.objects.for_tenant(tenant).get(pk=accept_event(tenant=tenant, event=event).turn_id)
    label([turn], "fabricated")
    learn(tenant)
    assert calibrations(tenant)[0].content["groups"] == [[["kv", "order_id", "?"], [1, 0]]]


def test_without_anything_new_there_is_no_new_calibration(tenant):
    assert learn(tenant).result["calibration"] is None
    assert calibrations(tenant) == []
    found = turns(tenant, 3, **PAIR)
    label(found[:1], "fabricated")
    learn(tenant)
    again = learn(tenant)
    assert (again.result["calibration"], again.result["new_calibration"]) == (1, False)
    label(found[1:2], "false_alarm")
    learn(tenant)
    assert [(c.number, c.labels, c.content["kinds"]) for c in calibrations(tenant)] == [
        (1, 1, {"kv": [1, 0]}), (2, 2, {"kv": [1, 1]}),
    ]  # fmt: skip


def test_labels_taken_back_are_unlearned(tenant):
    (turn,) = turns(tenant, 1, **PAIR)
    rita = make_member(tenant)
    decided = decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="fabricated", seen_version=0)
    learn(tenant)
    undo_decision(tenant=tenant, actor=rita, decision_id=decided.decision_id)
    learn(tenant)
    assert [(c.number, c.labels) for c in calibrations(tenant)] == [(1, 1), (2, 0)]
    assert calibrations(tenant)[1].content == {"kinds": {}, "groups": []}


def test_the_newest_labels_count(tenant, monkeypatch):
    monkeypatch.setattr(learning, "MAX_LABELS", 3)
    label(turns(tenant, 2, **PAIR), "false_alarm", at=DAY)
    label(turns(tenant, 2, **PAIR), "fabricated", at=DAY + timedelta(days=1))
    learn(tenant)
    assert calibrations(tenant)[0].content["kinds"] == {"kv": [2, 1]}


def test_with_enough_labels_it_is_told_how_well_they_would_have_been_predicted(tenant):
    """All 60 are fabricated: the first 42 teach, the last 18 are too few; with 100 it is 70 and 30."""
    assert FEWEST_LABELS == 25
    found = turns(tenant, 100, **PAIR)
    label(found[:60], "fabricated", at=DAY)
    learn(tenant)
    label(found[60:], "fabricated", at=DAY + timedelta(days=1))
    learn(tenant)
    few, enough = map(quality_of, calibrations(tenant))
    assert few is None
    assert (enough.n_train, enough.n_test) == (70, 30)
    # The detector says 0.8 each time: (1 - 0.8) squared. Seventy labels on a prior worth eight: 76.4 of 78.
    assert enough.brier_raw == pytest.approx(0.04)
    assert enough.brier_calibrated == pytest.approx((1 - round(76.4 / 78, 3)) ** 2)
    assert [(b.observed, b.n) for b in enough.bins_raw] == [(1.0, 30)]


def test_drafts_written_from_then_on_read_the_newest_calibration(tenant):
    label(turns(tenant, 1, **PAIR), "fabricated")
    learn(tenant)
    version = publish_settings(tenant=tenant, author=None, values={})
    assert version.calibration == latest_calibration(tenant=tenant)


# -- Suggestions


def test_a_rule_is_suggested_with_what_it_would_have_dropped(tenant):
    label(turns(tenant, 8, **CHECKED), "false_alarm")
    label(turns(tenant, 1, **CHECKED), "fabricated")
    turns(tenant, 5, **CHECKED)
    turns(tenant, 3, draft="I checked it.")
    turns(tenant, 2, **PAIR)
    job = learn(tenant)
    (row,) = GroundingSuggestion.objects.for_tenant(tenant)
    assert (row.rule, row.subject, row.value) == ("tool_fragment", "checked", "get")
    assert (row.agree, row.against, row.state) == (8, 1, SuggestionState.OPEN)
    # All that the tool ran beside: 8 + 1 + 5, of 19 findings; the one called fabricated among them.
    assert (row.silences, row.silences_true, row.looked_at) == (14, 1, 19)
    assert job.result["suggestions"] == {"new": 1, "open": 1, "withdrawn": 0}
    assert job.result["looked_at"] == 19


def test_history_is_gone_through_in_steps_and_to_a_limit(tenant, monkeypatch):
    found = turns(tenant, 9, **PAIR)
    label(found[:6], "false_alarm")
    monkeypatch.setattr(learning, "TURNS_PER_STEP", 2)
    job = jobs.start_job(tenant=tenant, kind=JobKind.LEARN, parameters={}, actor=None)
    seen = []
    while jobs.run_jobs(max_steps=1):
        job.refresh_from_db()
        seen.append((job.done, job.total))
    # Labels are read twice; then two turns a step, each with one finding.
    assert seen == [(6, 21), (12, 21), (14, 21), (16, 21), (18, 21), (20, 21), (21, 21)]
    row = GroundingSuggestion.objects.for_tenant(tenant).first()
    assert (row.silences, row.looked_at) == (9, 9)
    monkeypatch.setattr(learning, "MAX_HISTORY", 5)
    learn(tenant)
    row.refresh_from_db()
    assert (row.silences, row.looked_at) == (5, 5)


def test_history_starts_with_the_newest_and_misses_none_of_the_same_moment(tenant, monkeypatch):
    monkeypatch.setattr(learning, "TURNS_PER_STEP", 2)
    label(turns(tenant, 6, **PAIR), "false_alarm")
    accept_turns(
        tenant=tenant, records=[make_record(occurred_at=DAY + timedelta(days=1), **CHECKED) for _ in range(5)]
    )
    analyse_pending()
    monkeypatch.setattr(learning, "MAX_HISTORY", 5)
    learn(tenant)
    assert set(GroundingSuggestion.objects.for_tenant(tenant).values_list("silences", "looked_at")) == {
        (0, 5)
    }
    monkeypatch.setattr(learning, "MAX_HISTORY", 11)
    learn(tenant)
    assert set(GroundingSuggestion.objects.for_tenant(tenant).values_list("silences", "looked_at")) == {
        (6, 11)
    }


def test_findings_that_no_rule_can_drop_are_not_looked_at(tenant):
    label(turns(tenant, 6, **PAIR), "false_alarm")
    turns(tenant, 4, draft="Of course.", user_message="please run deploy and restart the server")
    assert Finding.objects.for_tenant(tenant).filter(kind="intent_action_no_tool").count() == 4
    assert learn(tenant).result["looked_at"] == 6


def test_rules_that_are_in_force_are_not_suggested(tenant):
    label(turns(tenant, 6, **CHECKED), "false_alarm")
    publish_settings(tenant=tenant, author=None, values={"grounding_tool_fragments": {"checked": ["order"]}})
    learn(tenant)
    assert suggestions(tenant) == []


def test_no_labels_no_suggestions(tenant):
    turns(tenant, 6, **CHECKED)
    job = learn(tenant)
    assert (suggestions(tenant), job.result["looked_at"], job.total) == ([], 0, 0)


def test_each_tenant_learns_from_its_own_labels(tenant, other_tenant):
    label(turns(tenant, 6, **CHECKED), "false_alarm")
    label(turns(other_tenant, 1, **CHECKED), "fabricated")
    learn(other_tenant)
    assert (suggestions(other_tenant), calibrations(tenant)) == ([], [])
    assert calibrations(other_tenant)[0].content["kinds"] == {"verb_claim": [1, 0]}
    learn(tenant)
    assert suggestions(tenant) == [("tool_fragment", "checked", "get")]


def test_the_queries_do_not_grow_with_the_labels(tenant):
    def queries() -> int:
        jobs.start_job(tenant=tenant, kind=JobKind.LEARN, parameters={}, actor=None)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            jobs.run_jobs()
        return len(captured)

    label(turns(tenant, 6, **CHECKED), "false_alarm")
    queries()
    label(turns(tenant, 1, **CHECKED), "false_alarm")
    few = queries()
    label(turns(tenant, 14, **CHECKED), "false_alarm")
    assert queries() == few


def test_the_job_takes_no_parameters(tenant):
    with pytest.raises(InvalidError):
        jobs.start_job(tenant=tenant, kind=JobKind.LEARN, parameters={"since": None}, actor=None)


# -- When to learn


def test_a_tenant_is_due_when_its_labels_have_changed(tenant, other_tenant):
    assert tenants_to_learn() == []
    first, second = turns(tenant, 2, **PAIR)
    assert tenants_to_learn() == []
    rita = make_member(tenant)
    decide_turn(tenant=tenant, actor=rita, turn_id=first.pk, label="unsure", seen_version=0)
    assert tenants_to_learn() == []
    decide_turn(tenant=tenant, actor=rita, turn_id=first.pk, label="fabricated", seen_version=1)
    assert tenants_to_learn() == [tenant]
    learn(tenant)
    assert tenants_to_learn() == []
    # Changed, with the same number of labels as before.
    decide_turn(tenant=tenant, actor=rita, turn_id=first.pk, label="false_alarm", seen_version=2)
    assert tenants_to_learn() == [tenant]
    learn(tenant)
    decided = decide_turn(tenant=tenant, actor=rita, turn_id=second.pk, label="fabricated", seen_version=0)
    learn(tenant)
    assert tenants_to_learn() == []
    undo_decision(tenant=tenant, actor=rita, decision_id=decided.decision_id)
    assert tenants_to_learn() == [tenant]
    learn(tenant)
    # Given back by an undo, with the time it had: as many labels as before, none of them newer.
    changed = decide_turn(tenant=tenant, actor=rita, turn_id=first.pk, label="fabricated", seen_version=3)
    learn(tenant)
    undo_decision(tenant=tenant, actor=rita, decision_id=changed.decision_id)
    assert tenants_to_learn() == [tenant]


def test_a_label_that_changed_nothing_is_not_learned_from_every_night(tenant):
    """Changed to and fro: the same content, so no new calibration."""
    (turn,) = turns(tenant, 1, **PAIR)
    rita = make_member(tenant)
    for version, value in enumerate(["fabricated", "false_alarm", "fabricated"]):
        decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label=value, seen_version=version)
        if version != 1:
            learn(tenant)
    assert (len(calibrations(tenant)), tenants_to_learn()) == (1, [])
