"""Judging stored turns again: only this job changes them, and nothing that a reviewer has worked on."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reviews.formats.record import IntentRecord
from reviews.models import (
    DailyCount,
    Finding,
    GateCount,
    Job,
    ProfileCount,
    RejudgedTurn,
    ShadowOutcome,
    Tenant,
    Turn,
)
from reviews.models.jobs import JobKind, JobState
from reviews.models.turns import ActionTaken, AnalysisState, ReviewState
from reviews.services import jobs, rejudging
from reviews.services.analysis import analyse_pending
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.events import accept_event
from reviews.services.intake import accept_turns
from reviews.services.judge import judge
from reviews.services.publishing import publish_settings, save_draft, start_shadow
from reviews.services.rejudging import changed_turns
from reviews.services.review import decide_turn, label_finding, undo_decision
from tests.factories import CLAIM, call, make_event, make_member, make_record, make_tenant, make_turn

pytestmark = pytest.mark.django_db

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
#: A draft whose one finding is a pair of key and value.
PAIR = "Your booking has order_id=B-17."
REFUSE = {"fabrication_check_mode": "refuse"}


def publish(tenant: Tenant, **settings: Any) -> int:
    settings.setdefault("detection_profile", "reference")
    return publish_settings(tenant=tenant, author=None, values=settings).number


def rejudge(tenant: Tenant, version: int, since: str | None = None) -> Job:
    job = jobs.start_job(
        tenant=tenant,
        kind=JobKind.REJUDGE,
        parameters={"version": version, "since": since},
        actor=None,
    )
    jobs.run_jobs()
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, job.total), job.error
    return job


def fresh(turn: Turn) -> Turn:
    return Turn.objects.for_tenant(turn.tenant_id).select_related("policy_version").get(pk=turn.pk)


def findings_of(turn: Turn) -> list[tuple[str, str, str]]:
    rows = Finding.objects.for_tenant(turn.tenant_id).filter(turn=turn).order_by("position")
    return list(rows.values_list("kind", "identifier", "label"))


def changes_of(job: Job) -> list[RejudgedTurn]:
    return list(RejudgedTurn.objects.for_tenant(job.tenant_id).filter(job=job).order_by("turn_id"))


def counts_of(tenant: Tenant) -> dict[str, Counter[Any]]:
    """All that is counted of a tenant's turns, but for the ids of its profiles; labels stay as they are."""
    names = DailyCount.objects.for_tenant(tenant).exclude(name__startswith="label:")
    profiles = ProfileCount.objects.for_tenant(tenant).select_related("profile")
    gates = GateCount.objects.for_tenant(tenant)
    found = {
        "names": {(row.day, row.name): row.count for row in names},
        "profiles": {(row.day, bytes(row.profile.digest), row.verdict): row.count for row in profiles},
        "gates": {
            (row.day, row.confidence, row.sensitive, row.trivial, row.flagged): row.count for row in gates
        },
    }
    return {what: Counter({key: n for key, n in counts.items() if n}) for what, counts in found.items()}


RECORDS = [
    make_record(CLAIM, external_id="claims", occurred_at=DAY),
    make_record(PAIR, external_id="pair", occurred_at=DAY),
    make_record("Hello there.", external_id="nothing", occurred_at=DAY + timedelta(days=1)),
    make_record(
        "I checked it.",
        external_id="checked",
        occurred_at=DAY + timedelta(days=1),
        tool_calls=[call("get_order_details", "fine")],
    ),
    make_record(
        "Of course.",
        external_id="asked",
        occurred_at=DAY + timedelta(days=2),
        intent=IntentRecord(label="action", confidence=0.9),
        activation={"activated_nodes": [{"score": 0.9, "tags": ["payment"]}]},
    ),
]
OTHER_POLICY = {
    **REFUSE,
    "fabrication_refuse_min_confidence_by_kind": {"verb_claim": 0.9},
    "ignored_keys": ["order_id"],
    "grounding_tool_fragments": {"checked": ["order"]},
    "metacognition_sensitive_tags": ["payment"],
    "audit_sample_rate": 0.0,
}


# -- What changes


def test_publishing_changes_no_stored_turn_and_the_job_does(tenant):
    turn = make_turn(tenant, PAIR)
    version = publish(tenant, **REFUSE)
    assert (fresh(turn).outcome, fresh(turn).policy_version.number) == (ActionTaken.OBSERVED, 1)
    job = rejudge(tenant, version)
    now = fresh(turn)
    assert (now.outcome, now.policy_version.number) == (ActionTaken.REFUSE_REPLACED, 2)
    assert (now.review_state, now.analysis_state) == (ReviewState.OPEN, AnalysisState.DONE)
    assert now.analysed_at > turn.analysed_at
    (row,) = changes_of(job)
    found = [["kv", "B-17", 0.8]]
    assert (row.turn_id, row.applied, row.policy_version_id) == (turn.pk, True, now.policy_version_id)
    assert row.before == {"outcome": "observed", "policy": 1, "findings": found}
    assert row.after == {"outcome": "refuse_replaced", "policy": 2, "findings": found}
    assert job.result == {
        "looked_at": 1, "changed": 1, "applied": 1, "left": 0, "skipped": 0, "broken": 0,
        "outcomes": {"observed -> refuse_replaced": 1},
    }  # fmt: skip


def test_rules_of_the_version_take_findings_away_and_bring_them_back(tenant):
    turn = make_turn(tenant, PAIR)
    quiet = publish(tenant, ignored_keys=["order_id"], audit_sample_rate=0)
    job = rejudge(tenant, quiet)
    now = fresh(turn)
    assert (now.outcome, now.finding_count, now.kinds, now.priority) == (ActionTaken.NONE, 0, 0, 0)
    assert (now.review_state, now.profile_id, findings_of(turn)) == (ReviewState.NONE, None, [])
    assert changes_of(job)[0].after == {"outcome": "none", "policy": quiet, "findings": []}
    rejudge(tenant, 1)
    now = fresh(turn)
    assert (now.outcome, now.finding_count, now.review_state) == (ActionTaken.OBSERVED, 1, ReviewState.OPEN)
    assert findings_of(turn) == [("kv", "B-17", "")]


def test_the_counters_become_those_of_turns_judged_so_from_the_start(db):
    """And those of the beginning when the first version is applied once more."""
    old, new = make_tenant("old", audit_sample_rate=0), make_tenant("new", **OTHER_POLICY)
    for tenant in (old, new):
        accept_turns(tenant=tenant, records=RECORDS)
    analyse_pending()
    before = counts_of(old)
    version = publish(old, **OTHER_POLICY)
    rejudge(old, version)
    assert counts_of(old) == counts_of(new)
    assert counts_of(old) != before
    columns = (
        "external_id",
        "outcome",
        "kinds",
        "priority",
        "gate_sensitive",
        "review_state",
        "max_confidence",
    )
    rows = [list(Turn.objects.for_tenant(t).order_by("id").values_list(*columns)) for t in (old, new)]
    assert rows[0] == rows[1]
    rejudge(old, 1)
    assert counts_of(old) == before


def test_a_turn_that_comes_out_the_same_keeps_its_findings_and_its_version(tenant):
    turn = make_turn(tenant, PAIR)
    ids = list(Finding.objects.for_tenant(tenant).values_list("id", flat=True))
    before = counts_of(tenant)
    job = rejudge(tenant, publish(tenant, promotion_recency_days=10))
    now = fresh(turn)
    assert (now.policy_version.number, now.version) == (2, 0)
    assert list(Finding.objects.for_tenant(tenant).values_list("id", flat=True)) == ids
    assert (counts_of(tenant), changes_of(job)) == (before, [])
    assert (job.result["looked_at"], job.result["changed"], job.result["outcomes"]) == (1, 0, {})


def test_what_the_runtime_has_done_stays_what_it_did(tenant):
    turn = make_turn(tenant, PAIR)
    event = make_event(
        turn.external_id,
        [{"identifier": "B-17", "kind": "kv", "confidence": 0.8}],
        mode="refuse",
        action_taken="refuse_replaced",
    )
    accept_event(tenant=tenant, event=event)
    job = rejudge(tenant, publish(tenant, fabrication_check_mode="revise"))
    assert fresh(turn).outcome == ActionTaken.REFUSE_REPLACED
    assert (fresh(turn).policy_version.number, changes_of(job)) == (2, [])


def test_a_turn_known_from_an_event_only_is_left_alone(tenant):
    """Its text is only the first characters of a draft."""
    event = make_event("run-e", [{"identifier": "B-17", "kind": "kv", "confidence": 0.8}])
    turn_id = accept_event(tenant=tenant, event=event).turn_id
    job = rejudge(tenant, publish(tenant, **REFUSE))
    turn = Turn.objects.for_tenant(tenant).get(pk=turn_id)
    assert (turn.outcome, turn.finding_count, turn.policy_version_id) == (ActionTaken.OBSERVED, 1, None)
    assert (job.result["skipped"], job.result["looked_at"], changes_of(job)) == (1, 0, [])


def test_turns_that_wait_or_could_not_be_analysed_are_left_alone(tenant):
    waiting = make_turn(tenant, PAIR, analysed=False)
    failed = make_turn(tenant, PAIR, analysed=False)
    Turn.objects.for_tenant(tenant).filter(pk=failed.pk).update(analysis_state=AnalysisState.FAILED)
    job = rejudge(tenant, publish(tenant, **REFUSE))
    assert fresh(waiting).analysis_state == AnalysisState.PENDING
    assert fresh(failed).analysis_state == AnalysisState.FAILED
    assert (job.result["skipped"], job.result["looked_at"]) == (2, 0)


def test_the_versions_shadow_is_not_asked(tenant):
    turn = make_turn(tenant, PAIR)
    version = publish(tenant, **REFUSE)
    max_ = make_member(tenant)
    shadow = save_draft(tenant=tenant, author=max_, values={}, based_on=version)
    start_shadow(tenant=tenant, actor=max_, number=shadow.number)
    rejudge(tenant, version)
    assert fresh(turn).outcome == ActionTaken.REFUSE_REPLACED
    assert not ShadowOutcome.objects.for_tenant(tenant).exists()
    assert not DailyCount.objects.for_tenant(tenant).filter(name__startswith="shadow:").exists()


def test_long_identifiers_are_cut_in_the_record_only(tenant):
    value = "B" + "1" * 127
    turn = make_turn(tenant, f"order_id={value}")
    Finding.objects.for_tenant(tenant).update(identifier="x" * 5000)
    job = rejudge(tenant, publish(tenant, **REFUSE))
    assert changes_of(job)[0].before["findings"] == [["kv", "x" * 200, 0.8]]
    assert findings_of(turn) == [("kv", value, "")]


# -- Turns of reviewers


def test_a_turn_that_a_reviewer_worked_on_stays_and_the_difference_is_recorded(tenant):
    turn = make_turn(tenant, CLAIM)
    rita = make_member(tenant)
    label_finding(tenant=tenant, actor=rita, turn_id=turn.pk, position=0, label="fabricated", seen_version=0)
    before, counts = fresh(turn), counts_of(tenant)
    job = rejudge(tenant, publish(tenant, **REFUSE, ignored_keys=["task_id"]))
    now = fresh(turn)
    columns = ("outcome", "policy_version_id", "analysed_at", "version", "kinds", "review_state")
    assert [getattr(now, name) for name in columns] == [getattr(before, name) for name in columns]
    assert [(kind, label) for kind, _, label in findings_of(turn)] == [
        ("verb_claim", "fabricated"), ("uuid", ""), ("kv", ""),
    ]  # fmt: skip
    assert counts_of(tenant) == counts
    (row,) = changes_of(job)
    assert (row.applied, row.before["outcome"], row.after["outcome"]) == (
        False,
        "observed",
        "refuse_replaced",
    )
    assert [found[0] for found in row.after["findings"]] == ["verb_claim", "uuid"]
    assert (job.result["changed"], job.result["applied"], job.result["left"]) == (1, 0, 1)


def test_what_was_undone_counts_as_work_on_a_turn(tenant):
    turn = make_turn(tenant, PAIR)
    rita = make_member(tenant)
    decided = decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="false_alarm", seen_version=0)
    undo_decision(tenant=tenant, actor=rita, decision_id=decided.decision_id)
    rejudge(tenant, publish(tenant, **REFUSE))
    assert fresh(turn).outcome == ActionTaken.OBSERVED


def test_a_turn_that_only_a_job_has_changed_is_no_reviewers(tenant):
    turn = make_turn(tenant, PAIR)
    rejudge(tenant, publish(tenant, **REFUSE))
    rejudge(tenant, publish(tenant, fabrication_check_mode="revise"))
    assert fresh(turn).outcome == ActionTaken.REVISE_FORCED


def test_a_decision_on_findings_that_are_gone_fails(tenant):
    """The page was opened before the job; position 0 now is another claim."""
    turn = make_turn(tenant, CLAIM)
    rejudge(tenant, publish(tenant, grounding_tool_fragments={}, ignored_keys=["task_id"]))
    with pytest.raises(ConflictError):
        label_finding(
            tenant=tenant,
            actor=make_member(tenant),
            turn_id=turn.pk,
            position=0,
            label="fabricated",
            seen_version=0,
        )


def test_a_decision_at_the_same_moment_is_kept_or_refused_never_lost(in_threads):
    tenant = make_tenant()
    turns = [make_turn(tenant, PAIR) for _ in range(12)]
    version, rita = publish(tenant, **REFUSE, identifier_keys=["has"]), make_member(tenant)
    jobs.start_job(
        tenant=tenant, kind=JobKind.REJUDGE, parameters={"version": version, "since": None}, actor=None
    )

    def decide_all() -> list[int]:
        kept = []
        for turn in reversed(turns):
            try:
                decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="false_alarm", seen_version=0)
            except ConflictError:
                continue
            kept.append(turn.pk)
        return kept

    ran, kept = in_threads(jobs.run_jobs, decide_all)
    assert isinstance(ran, int), ran
    assert isinstance(kept, list), kept
    for turn in turns:
        now = fresh(turn)
        if turn.pk in kept:
            assert (now.verdict, findings_of(turn)) == ("false_alarm", [("kv", "B-17", "false_alarm")])
            assert now.outcome == ActionTaken.OBSERVED
        else:
            assert (now.verdict, findings_of(turn)) == ("", [("kv", "B-17", "")])
            assert now.outcome == ActionTaken.REFUSE_REPLACED
    counted = ProfileCount.objects.for_tenant(tenant).filter(count__gt=0).values_list("verdict", "count")
    assert dict(counted) == {
        verdict: n for verdict, n in (("false_alarm", len(kept)), ("", len(turns) - len(kept))) if n
    }


# -- The audit sample


def test_the_audit_sample_stays_as_it_was_drawn(db):
    all_in, none_in = make_tenant("all", audit_sample_rate=1), make_tenant("none", audit_sample_rate=0)
    drawn, not_drawn = make_turn(all_in, "Hello."), make_turn(none_in, "Hello.")
    before = counts_of(all_in)
    rejudge(all_in, publish(all_in, audit_sample_rate=0))
    rejudge(none_in, publish(none_in, audit_sample_rate=1))
    assert (fresh(drawn).audit_rate, fresh(drawn).review_state) == (1.0, ReviewState.OPEN)
    assert (fresh(not_drawn).audit_rate, fresh(not_drawn).review_state) == (None, ReviewState.NONE)
    assert counts_of(all_in) == before
    # Also when the version detects nothing at all.
    rejudge(all_in, publish(all_in, fabrication_check_mode="off"))
    assert fresh(drawn).audit_rate == 1.0


def test_a_turn_that_is_flagged_leaves_the_sample_and_one_that_no_longer_is_may_enter_it(tenant):
    sampled = publish(tenant, audit_sample_rate=1, identifier_keys=[], ignored_keys=["order_id"])
    turn = make_turn(tenant, PAIR)
    assert (fresh(turn).audit_rate, fresh(turn).finding_count) == (1.0, 0)
    before = counts_of(tenant)
    rejudge(tenant, 1)
    assert (fresh(turn).audit_rate, fresh(turn).finding_count) == (None, 1)
    assert not [name for _, name in counts_of(tenant)["names"] if name.startswith("audit:")]
    rejudge(tenant, sampled)
    assert (fresh(turn).audit_rate, fresh(turn).review_state) == (1.0, ReviewState.OPEN)
    assert counts_of(tenant) == before


# -- Which turns, in which steps


def test_steps_of_two_turns_come_to_every_turn_once(tenant, monkeypatch):
    monkeypatch.setattr(rejudging, "TURNS_PER_STEP", 2)
    records = [
        make_record(PAIR, external_id=f"{n}", occurred_at=DAY + timedelta(days=n // 3)) for n in range(7)
    ]
    accept_turns(tenant=tenant, records=list(reversed(records)))
    analyse_pending()
    version = publish(tenant, **REFUSE)
    job = jobs.start_job(tenant=tenant, kind=JobKind.REJUDGE, parameters={"version": version}, actor=None)
    for done in (2, 4, 6, 7):
        jobs.run_jobs(max_steps=1)
        job.refresh_from_db()
        assert (job.done, job.total, len(changes_of(job))) == (done, 7, done)
        # What was done stands, and the rest is as it was: a worker may die between any two steps.
        assert Turn.objects.for_tenant(tenant).filter(outcome=ActionTaken.REFUSE_REPLACED).count() == done
    jobs.run_jobs()
    job.refresh_from_db()
    assert (job.state, job.result["looked_at"], job.result["applied"]) == (JobState.DONE, 7, 7)


def test_a_step_that_is_out_of_time_goes_on_at_the_next_turn(tenant, monkeypatch):
    monkeypatch.setattr(rejudging, "SECONDS_PER_STEP", 0)
    turns = [make_turn(tenant, PAIR) for _ in range(3)]
    job = rejudge(tenant, publish(tenant, **REFUSE))
    assert [row.turn_id for row in changes_of(job)] == [turn.pk for turn in turns]
    assert job.done == 3


def test_turns_that_come_in_after_the_start_are_not_the_jobs(tenant):
    make_turn(tenant, PAIR)
    version = publish(tenant, **REFUSE)
    publish(tenant)
    job = jobs.start_job(
        tenant=tenant, kind=JobKind.REJUDGE, parameters={"version": version, "since": None}, actor=None
    )
    jobs.run_jobs(max_steps=1)
    late = make_turn(tenant, PAIR)
    jobs.run_jobs()
    job.refresh_from_db()
    assert (job.state, job.result["looked_at"], job.total) == (JobState.DONE, 1, 1)
    assert (fresh(late).outcome, fresh(late).policy_version.number) == (ActionTaken.OBSERVED, 3)


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (None, ["0", "1", "2"]),
        ("2026-03-02", ["1", "2"]),
        ("2026-03-02T12:00:00Z", ["1", "2"]),
        ("2026-03-02T13:00:01+01:00", ["2"]),
        ("2027-01-01", []),
    ],
)
def test_only_turns_since_a_time(tenant, since, expected):
    for n in range(3):
        make_turn(tenant, PAIR, external_id=f"{n}", occurred_at=DAY + timedelta(days=n))
    rejudge(tenant, publish(tenant, **REFUSE), since)
    changed = Turn.objects.for_tenant(tenant).filter(outcome=ActionTaken.REFUSE_REPLACED)
    assert list(changed.order_by("external_id").values_list("external_id", flat=True)) == expected


def test_another_tenants_turns_are_not_touched(tenant, other_tenant):
    mine, theirs = make_turn(tenant, PAIR), make_turn(other_tenant, PAIR)
    rejudge(tenant, publish(tenant, **REFUSE))
    assert fresh(mine).outcome == ActionTaken.REFUSE_REPLACED
    assert (fresh(theirs).outcome, fresh(theirs).policy_version.number) == (ActionTaken.OBSERVED, 1)


def test_a_turn_that_cannot_be_judged_stays_as_it_is_and_holds_up_no_other(tenant, monkeypatch):
    broken, fine = make_turn(tenant, PAIR, external_id="broken"), make_turn(tenant, PAIR)

    def faulty(record, policy):
        if record.external_id == "broken":
            raise ValueError("cannot be read")
        return judge(record, policy)

    monkeypatch.setattr(rejudging, "judge", faulty)
    job = rejudge(tenant, publish(tenant, **REFUSE))
    assert (fresh(broken).outcome, fresh(fine).outcome) == (ActionTaken.OBSERVED, ActionTaken.REFUSE_REPLACED)
    assert (job.result["broken"], job.result["applied"]) == (1, 1)


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({}, ["version"]),
        ({"version": "1"}, ["version"]),
        ({"version": True}, ["version"]),
        ({"version": 1, "since": "yesterday"}, ["since"]),
        ({"version": 1, "since": "2026-02-30"}, ["since"]),
        ({"version": 1, "since": 20260101}, ["since"]),
        ({"version": 1, "until": "2026-01-01"}, ["until"]),
    ],
)
def test_wrong_parameters_are_named(tenant, parameters, wrong):
    with pytest.raises(InvalidError) as error:
        jobs.start_job(tenant=tenant, kind=JobKind.REJUDGE, parameters=parameters, actor=None)
    assert list(error.value.details["fields"]) == wrong


def test_a_version_that_is_not_there_is_told(tenant, other_tenant):
    publish(other_tenant)
    with pytest.raises(NotFoundError, match="no version 2"):
        jobs.start_job(tenant=tenant, kind=JobKind.REJUDGE, parameters={"version": 2}, actor=None)


def test_changed_turns_come_in_pages_of_one_tenant(tenant, other_tenant):
    turns = [make_turn(tenant, PAIR) for _ in range(3)]
    decide_turn(tenant=tenant, actor=make_member(tenant), turn_id=turns[1].pk, label="unsure", seen_version=0)
    job = rejudge(tenant, publish(tenant, **REFUSE))
    first = changed_turns(tenant=tenant, job_id=job.pk, limit=2)
    rest = changed_turns(tenant=tenant, job_id=job.pk, limit=2, after=first[-1].turn_id)
    assert [row.turn.external_id for row in (*first, *rest)] == [turn.external_id for turn in turns]
    left = changed_turns(tenant=tenant, job_id=job.pk, limit=9, applied=False)
    assert [row.turn_id for row in left] == [turns[1].pk]
    assert changed_turns(tenant=other_tenant, job_id=job.pk, limit=9) == []


def test_a_version_that_nobody_put_in_force_changes_no_stored_turn(tenant):
    draft = save_draft(tenant=tenant, author=None, values=REFUSE, based_on=1)
    with pytest.raises(InvalidError) as caught:
        jobs.start_job(tenant=tenant, kind=JobKind.REJUDGE, parameters={"version": draft.number}, actor=None)
    assert "never published" in caught.value.details["fields"]["version"]
