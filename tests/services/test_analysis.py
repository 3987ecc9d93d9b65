"""Pending turns are analysed exactly once, by whichever worker lives to finish; none holds up another."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.core.fabrication import detect_fabrication
from reviews.core.intent import IntentClassifier
from reviews.core.settings import TenantSettings
from reviews.formats.record import IntentRecord
from reviews.models import DailyCount, Finding, Turn, TurnPayload
from reviews.models.turns import KIND_BITS, AnalysisState, ReviewState
from reviews.services import analysis
from reviews.services.analysis import analyse_pending, has_pending, release_expired, retry_failed
from reviews.services.events import accept_event
from reviews.services.intake import accept_turns
from reviews.services.judge import Policy, judge
from reviews.services.publishing import publish_settings
from reviews.services.review import decide_turn, undo_decision
from tests.factories import CLAIM, call, make_event, make_member, make_record, make_tenant, make_turn

SEVERITIES = {"low": 1, "medium": 2, "high": 3}
REFERENCE = Policy(None, 0, TenantSettings(detection_profile="reference"))
#: Kinds that only the evidence profile finds.
OTHERS = {"tool_output_shape", "claimed_identifier"}

DRAFTS = {
    "claims": make_record(CLAIM),
    "grounded": make_record("I sent it.", tool_calls=[call("send_mail", "ok")]),
    "nothing": make_record("Hello there."),
    "empty": make_record(""),
    "space": make_record("\n\t  I deleted task_id=abc-1 at once.  "),
    "hex near key": make_record("The run has job_id = deadbeef01 now."),
    "hex near verb": make_record("I launched deadbeef01 for you."),
    "uuid in context": make_record(CLAIM, hydrated_context="6f9619ff-8b86-4011-b42d-00c04fc964ff"),
    "asked, no tool": make_record("Of course.", user_message="please run deploy and restart the server"),
    "given intent": make_record("Of course.", intent=IntentRecord(label="action", confidence=0.9)),
    "error text": make_record("task_id=t-77 is gone.", tool_calls=[call("find", error="no t-77", ok=False)]),
    "wide": make_record("🦊 ünïcode I sent task_id=é1 and job_id=x-9."),
}


def turns_of(tenant):
    return Turn.objects.for_tenant(tenant)


def counts_of(tenant):
    """All counters but those of the critic's gate, of which each turn has one."""
    totals: Counter[str] = Counter()
    for row in DailyCount.objects.for_tenant(tenant).exclude(name__startswith="gate:"):
        totals[row.name] += row.count
    return {name: count for name, count in totals.items() if count}


def put(tenant, *records):
    return [a.turn_id for a in accept_turns(tenant=tenant, records=records or [make_record()])]


def fail_for(monkeypatch, *external_ids, message="cannot be read"):
    """Fault injection: judging these turns raises."""

    def faulty(record, policy):
        if record.external_id in external_ids:
            raise ValueError(message)
        return judge(record, policy)

    monkeypatch.setattr(analysis, "judge", faulty)


class WorkerKilledError(BaseException):
    """Ends a worker in the middle of its batch, as a kill would."""


def die_in_a_batch(monkeypatch):
    """A worker claims a batch and is gone before it stores anything."""
    with monkeypatch.context() as patch:
        patch.setattr(analysis, "judge", _die)
        with pytest.raises(WorkerKilledError):
            analyse_pending()


def _die(record, settings):
    raise WorkerKilledError


# -- What is stored


@pytest.mark.parametrize("name", DRAFTS)
def test_the_findings_are_those_of_the_detector_on_the_same_text(tenant, name):
    record = DRAFTS[name]
    (turn_id,) = put(tenant, record)
    analyse_pending()
    intent = record.intent
    if intent is None and record.user_message:
        intent = IntentClassifier().classify(record.user_message, {})
    expected = detect_fabrication(
        record.draft,
        [{"name": c.name, "args": c.args, "result": c.result, "output": c.error} for c in record.tool_calls],
        hydrated_context=record.hydrated_context,
        user_message=record.user_message,
        intent_verdict=intent,
    )
    turn = turns_of(tenant).get(pk=turn_id)
    stored = [
        (
            f.identifier,
            f.kind,
            f.severity,
            f.reason,
            f.key,
            f.pattern_kind,
            f.confidence,
            (f.span_start, f.span_end),
        )
        for f in turn.findings.all()
    ]
    assert stored == [
        (
            f.identifier,
            f.kind,
            SEVERITIES[f.severity],
            f.reason,
            f.key,
            f.pattern_kind or f.kind,
            f.confidence,
            f.span,
        )
        for f in expected
    ]
    assert [f.position for f in turn.findings.all()] == list(range(len(expected)))
    assert turn.analysis_state == AnalysisState.DONE
    assert turn.finding_count == len(expected)
    assert turn.kind_list == [kind for kind in KIND_BITS if kind in {f.kind for f in expected}]
    assert [kind for kind in KIND_BITS if getattr(turn, f"has_{kind}")] == turn.kind_list
    assert turn.max_confidence == max((f.confidence for f in expected), default=0.0)
    assert turn.max_severity == max((SEVERITIES[f.severity] for f in expected), default=0)
    assert turn.review_state == (ReviewState.OPEN if expected else ReviewState.NONE)
    assert turn.intent == (intent.label if intent else "")


def test_the_drafts_tried_here_have_every_kind_of_finding_and_none():
    kinds = {f.kind for record in DRAFTS.values() for f in judge(record, REFERENCE).findings}
    assert kinds == set(KIND_BITS) - OTHERS
    assert not judge(DRAFTS["grounded"], REFERENCE).findings


def test_spans_and_offset_lead_back_to_the_text_as_it_was_sent(tenant):
    draft = "\n\t  I deleted task_id=abc-1 at once.  "
    turn = make_turn(tenant, draft)
    assert turn.draft_offset == 4
    marked = [
        draft[turn.draft_offset + f.span_start : turn.draft_offset + f.span_end] for f in turn.findings.all()
    ]
    assert marked[0] == "I deleted"
    assert "abc-1" in marked[1]
    assert len(marked) == 2


def test_an_analysed_turn_is_claimed_by_nobody_and_has_a_time(tenant):
    before = timezone.now()
    turn = make_turn(tenant)
    assert (turn.claim, turn.lease_until, turn.attempts) == ("", None, 1)
    assert before <= turn.analysed_at <= timezone.now()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("mode", "threshold", "draft", "outcome"),
    [
        ("observe", 0.8, CLAIM, "observed"),
        ("revise", 0.8, CLAIM, "revise_forced"),
        ("refuse", 0.8, CLAIM, "refuse_replaced"),
        ("refuse", 0.95, CLAIM, "refuse_replaced"),  # its UUID has 0.95
        ("refuse", 0.951, CLAIM, "observed"),
        ("refuse", 0.8, "I sent it.", "refuse_replaced"),  # a claimed action has 0.8
        ("refuse", 0.81, "I sent it.", "observed"),
        ("refuse", 0.0, "I sent it.", "refuse_replaced"),
        ("observe", 0.8, "Hello.", "none"),
        ("revise", 0.8, "Hello.", "none"),
        ("refuse", 0.0, "Hello.", "none"),
    ],
)
def test_the_outcome_follows_the_mode_and_the_threshold(mode, threshold, draft, outcome):
    tenant = make_tenant(fabrication_check_mode=mode, fabrication_refuse_min_confidence=threshold)
    turn = make_turn(tenant, draft)
    assert turn.outcome == outcome
    assert turn.payload.draft == draft
    expected = {"turns": 1}
    if outcome != "none":
        expected |= {"flagged": 1, f"outcome:{outcome}": 1} | {f"kind:{kind}": 1 for kind in turn.kind_list}
    assert counts_of(tenant) == expected


@pytest.mark.django_db
def test_mode_off_looks_at_nothing():
    tenant = make_tenant(fabrication_check_mode="off")
    turn = make_turn(tenant, CLAIM, user_message="please run deploy and restart the server")
    assert (turn.finding_count, turn.outcome, turn.intent) == (0, "none", "")
    assert (turn.analysis_state, turn.review_state) == (AnalysisState.DONE, ReviewState.NONE)
    assert counts_of(tenant) == {"turns": 1}


@pytest.mark.django_db
def test_the_keys_of_a_tenant_are_looked_for_in_its_turns_only():
    tenant, other = make_tenant(slug="a", identifier_keys=["parcel"]), make_tenant(slug="b")
    put(tenant, make_record("parcel: P-77 is here."))
    put(other, make_record("parcel: P-77 is here."))
    analyse_pending()
    finding = Finding.objects.for_tenant(tenant).get()
    assert (finding.kind, finding.key, finding.severity) == ("kv", "parcel", SEVERITIES["medium"])
    assert not Finding.objects.for_tenant(other).exists()


def test_a_turn_remembers_the_policy_it_was_analysed_by(tenant):
    first = make_turn(tenant)
    second_version = publish_settings(tenant=tenant, author=None, values={"fabrication_check_mode": "off"})
    second = make_turn(tenant)
    first.refresh_from_db()
    assert first.policy_version.number == 1
    assert first.finding_count > 0
    assert second.policy_version == second_version
    assert second.finding_count == 0


def test_a_turn_received_before_a_policy_is_analysed_by_the_one_in_force(tenant):
    (turn_id,) = put(tenant)
    version = publish_settings(tenant=tenant, author=None, values={"fabrication_check_mode": "refuse"})
    analyse_pending()
    turn = turns_of(tenant).get(pk=turn_id)
    assert (turn.policy_version, turn.outcome) == (version, "refuse_replaced")


def test_counters_stand_on_the_day_the_turn_occurred(tenant):
    late = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    make_turn(tenant, "I sent it.", occurred_at=late)
    make_turn(tenant, "I sent it.", occurred_at=late + timedelta(hours=1))
    make_turn(tenant, "Hello.", occurred_at=late)
    counts = {(c.day.day, c.name): c.count for c in DailyCount.objects.for_tenant(tenant) if c.count}
    flagged = ("turns", "gate:low_confidence", "flagged", "outcome:observed", "kind:verb_claim")
    assert counts == {
        (1, "turns"): 2,
        (1, "gate:low_confidence"): 2,
        **{(1, name): 1 for name in flagged[2:]},
        **{(2, name): 1 for name in flagged},
    }


def test_counters_agree_with_the_rows(tenant, other_tenant):
    put(tenant, *DRAFTS.values())
    put(other_tenant, make_record())
    analyse_pending()
    turns = list(turns_of(tenant))
    expected = Counter(["turns"] * len(turns))
    for turn in turns:
        if turn.finding_count:
            expected.update(["flagged", f"outcome:{turn.outcome}"])
            expected.update({f"kind:{f.kind}" for f in turn.findings.all()})
    assert counts_of(tenant) == dict(expected)
    assert counts_of(other_tenant)["turns"] == 1


def test_all_pending_turns_are_analysed_in_batches(tenant, monkeypatch):
    monkeypatch.setattr(analysis, "BATCH_SIZE", 4)
    put(tenant, *(make_record() for _ in range(10)))
    progress = analyse_pending()
    assert (progress.analysed, progress.failed, progress.batches) == (10, 0, 3)
    assert not has_pending()
    assert turns_of(tenant).filter(analysis_state=AnalysisState.DONE).count() == 10


def test_a_run_ends_after_the_batches_it_may_do(tenant, monkeypatch):
    monkeypatch.setattr(analysis, "BATCH_SIZE", 4)
    ids = put(tenant, *(make_record() for _ in range(10)))
    assert analyse_pending(max_batches=2).analysed == 8
    assert has_pending()
    waiting = turns_of(tenant).filter(analysis_state=AnalysisState.PENDING).values_list("pk", flat=True)
    assert sorted(waiting) == sorted(ids)[8:], "the oldest come first"


def test_without_pending_turns_nothing_happens(tenant):
    make_turn(tenant)
    before = counts_of(tenant)
    progress = analyse_pending()
    assert (progress.analysed, progress.failed, progress.batches) == (0, 0, 0)
    assert counts_of(tenant) == before
    assert not has_pending()


def test_the_queries_of_a_batch_do_not_grow_with_it(tenant):
    def queries(size):
        put(tenant, *(make_record() for _ in range(size)))
        with CaptureQueriesContext(connection) as captured:
            assert analyse_pending(max_batches=1).analysed == size
        return len(captured)

    queries(1)  # reads the policy's settings, which are then known
    assert queries(2) == queries(60) <= 15


# -- A turn that cannot be analysed


def test_a_turn_that_fails_three_times_is_failed_and_the_others_are_analysed(tenant, monkeypatch):
    records = [make_record(external_id=f"run-{n}") for n in range(5)]
    put(tenant, *records)
    fail_for(monkeypatch, "run-2")
    progress = analyse_pending()
    assert (progress.analysed, progress.failed) == (4, 3)
    states = dict(turns_of(tenant).values_list("external_id", "analysis_state"))
    assert states.pop("run-2") == AnalysisState.FAILED
    assert set(states.values()) == {AnalysisState.DONE}
    poison = turns_of(tenant).select_related("payload").get(external_id="run-2")
    assert poison.payload.analysis_error == "ValueError: cannot be read"
    assert (poison.attempts, poison.claim, poison.lease_until) == (3, "", None)
    assert not poison.findings.exists()
    counts = counts_of(tenant)
    assert (counts["turns"], counts["failed"]) == (4, 1)
    assert not has_pending()


def test_the_first_failure_leaves_a_turn_in_line_with_its_error(tenant, monkeypatch):
    put(tenant, make_record(external_id="run-1"))
    fail_for(monkeypatch, "run-1")
    analyse_pending(max_batches=1)
    turn = turns_of(tenant).select_related("payload").get()
    assert (turn.analysis_state, turn.attempts) == (AnalysisState.PENDING, 1)
    assert turn.payload.analysis_error == "ValueError: cannot be read"
    assert "failed" not in counts_of(tenant)


def test_a_failure_that_passes_costs_nothing_but_an_attempt(tenant, monkeypatch):
    put(tenant, make_record(external_id="run-1"))
    with monkeypatch.context() as patch:
        fail_for(patch, "run-1")
        analyse_pending(max_batches=2)
    assert analyse_pending().analysed == 1
    turn = turns_of(tenant).get()
    assert (turn.analysis_state, turn.attempts) == (AnalysisState.DONE, 3)
    assert turn.findings.count() == turn.finding_count > 0
    assert counts_of(tenant)["turns"] == 1


def test_an_endless_error_text_is_cut(tenant, monkeypatch):
    put(tenant, make_record(external_id="run-1"))
    fail_for(monkeypatch, "run-1", message="x" * 100_000)
    analyse_pending()
    assert len(TurnPayload.objects.for_tenant(tenant).get().analysis_error) == 2000


def test_a_failed_turn_may_be_tried_again(tenant, other_tenant, monkeypatch):
    (turn_id,) = put(tenant, make_record(external_id="run-1"))
    with monkeypatch.context() as patch:
        fail_for(patch, "run-1")
        analyse_pending()
        assert retry_failed(tenant_id=other_tenant.pk, turn_ids=[turn_id]) == 0
        assert retry_failed(tenant_id=tenant.pk, turn_ids=[turn_id]) == 1
        turn = turns_of(tenant).get()
        assert (turn.analysis_state, turn.attempts) == (AnalysisState.PENDING, 0)
        assert analyse_pending().failed == 3, "with all its attempts"
    assert retry_failed(tenant_id=tenant.pk, turn_ids=[turn_id]) == 1
    analyse_pending()
    turn.refresh_from_db()
    assert (turn.analysis_state, turn.review_state) == (AnalysisState.DONE, ReviewState.OPEN)
    assert retry_failed(tenant_id=tenant.pk, turn_ids=[turn_id]) == 0, "it is not failed any more"


def test_a_failed_turn_that_a_reviewer_decided_is_not_tried_again(tenant, monkeypatch):
    (turn_id,) = put(tenant, make_record(external_id="run-1"))
    rita = make_member(tenant)
    with monkeypatch.context() as patch:
        fail_for(patch, "run-1")
        analyse_pending()
    decided = decide_turn(tenant=tenant, actor=rita, turn_id=turn_id, label="fabricated", seen_version=0)
    assert retry_failed(tenant_id=tenant.pk, turn_ids=[turn_id]) == 0
    undo_decision(tenant=tenant, actor=rita, decision_id=decided.decision_id)
    assert retry_failed(tenant_id=tenant.pk, turn_ids=[turn_id]) == 1


# -- A worker that dies, or is slow


def test_a_claimed_turn_is_left_alone_while_its_lease_lasts(tenant, monkeypatch):
    put(tenant)
    die_in_a_batch(monkeypatch)
    turn = turns_of(tenant).get()
    assert (turn.analysis_state, turn.attempts) == (AnalysisState.CLAIMED, 1)
    assert turn.claim
    assert turn.lease_until > timezone.now()
    assert release_expired() == 0
    assert analyse_pending().batches == 0


def test_an_expired_claim_is_released_and_another_worker_analyses_the_turn(tenant, monkeypatch, settings):
    put(tenant, make_record(), make_record())
    settings.ANALYSIS_LEASE_SECONDS = -1
    die_in_a_batch(monkeypatch)
    assert analyse_pending().batches == 0, "nothing is taken before it is released"
    assert release_expired() == 2
    assert analyse_pending().analysed == 2
    assert {(t.analysis_state, t.attempts, t.claim) for t in turns_of(tenant)} == {
        (AnalysisState.DONE, 2, "")
    }
    assert counts_of(tenant)["turns"] == 2
    assert release_expired() == 0


def test_the_turns_of_a_batch_that_died_are_claimed_one_by_one(tenant, monkeypatch, settings):
    settings.ANALYSIS_LEASE_SECONDS = -1
    put(tenant, *(make_record() for _ in range(3)))
    die_in_a_batch(monkeypatch)
    release_expired()
    settings.ANALYSIS_LEASE_SECONDS = 30
    progress = analyse_pending()
    assert (progress.analysed, progress.batches) == (3, 3)


def test_new_turns_are_not_claimed_together_with_one_whose_batch_died(tenant, monkeypatch, settings):
    settings.ANALYSIS_LEASE_SECONDS = -1
    put(tenant)
    die_in_a_batch(monkeypatch)
    release_expired()
    settings.ANALYSIS_LEASE_SECONDS = 30
    put(tenant, *(make_record() for _ in range(4)))
    progress = analyse_pending()
    assert (progress.analysed, progress.batches) == (5, 2)


def test_a_turn_that_kills_every_worker_is_failed_and_takes_no_other_with_it(tenant, monkeypatch, settings):
    settings.ANALYSIS_LEASE_SECONDS = -1
    put(tenant, *(make_record(external_id=f"run-{n}") for n in range(4)))

    def deadly(record, policy):
        if record.external_id == "run-1":
            raise WorkerKilledError
        return judge(record, policy)

    monkeypatch.setattr(analysis, "judge", deadly)
    deaths = 0
    while has_pending():
        try:
            analyse_pending()
        except WorkerKilledError:
            deaths += 1
            release_expired()
    assert deaths == 3
    turns = {turn.external_id: turn for turn in turns_of(tenant).select_related("payload")}
    poison = turns.pop("run-1")
    assert (poison.analysis_state, poison.attempts, poison.claim) == (AnalysisState.FAILED, 3, "")
    assert "3 times" in poison.payload.analysis_error
    assert {turn.analysis_state for turn in turns.values()} == {AnalysisState.DONE}
    counts = counts_of(tenant)
    assert (counts["turns"], counts["failed"]) == (3, 1)


def test_a_slow_worker_whose_claim_was_taken_stores_nothing(tenant, monkeypatch, settings):
    put(tenant, make_record(external_id="run-1"))
    settings.ANALYSIS_LEASE_SECONDS = -1
    nested = []

    def slow(record, policy):
        monkeypatch.setattr(analysis, "judge", judge)
        # While this worker is at it, its lease ends and another one does the whole work.
        assert release_expired() == 1
        nested.append(analyse_pending())
        return judge(make_record("Nothing at all.", external_id="run-1"), policy)

    monkeypatch.setattr(analysis, "judge", slow)
    progress = analyse_pending()
    assert (progress.analysed, nested[0].analysed) == (0, 1)
    turn = turns_of(tenant).get()
    expected = judge(make_record(), REFERENCE)
    assert (turn.finding_count, turn.attempts) == (len(expected.findings), 2)
    assert turn.findings.count() == len(expected.findings) > 0
    assert counts_of(tenant)["turns"] == 1


def test_a_slow_worker_stores_nothing_while_another_one_is_at_it(tenant, monkeypatch, settings):
    put(tenant, make_record(external_id="run-1"))
    settings.ANALYSIS_LEASE_SECONDS = -1

    def slow(record, policy):
        assert release_expired() == 1
        settings.ANALYSIS_LEASE_SECONDS = 30
        die_in_a_batch(monkeypatch)  # claimed by another one, which has not finished
        return judge(record, policy)

    monkeypatch.setattr(analysis, "judge", slow)
    assert analyse_pending().analysed == 0
    turn = turns_of(tenant).get()
    assert (turn.analysis_state, turn.attempts) == (AnalysisState.CLAIMED, 2)
    assert turn.claim
    assert not turn.findings.exists()
    assert counts_of(tenant) == {}


def test_the_error_of_a_slow_worker_does_not_touch_what_another_one_stored(tenant, monkeypatch, settings):
    put(tenant, make_record(external_id="run-1"))
    settings.ANALYSIS_LEASE_SECONDS = -1

    def slow(record, policy):
        monkeypatch.setattr(analysis, "judge", judge)
        release_expired()
        analyse_pending()
        raise ValueError("too late")

    monkeypatch.setattr(analysis, "judge", slow)
    analyse_pending()
    turn = turns_of(tenant).select_related("payload").get()
    assert (turn.analysis_state, turn.payload.analysis_error) == (AnalysisState.DONE, "")


def test_of_a_batch_the_turns_that_are_still_ours_are_stored(tenant, monkeypatch):
    ids = put(tenant, *(make_record(external_id=f"run-{n}") for n in range(3)))

    def slow(record, policy):
        if record.external_id == "run-1":
            turns_of(tenant).filter(pk=ids[1]).update(claim="another-worker")
        return judge(record, policy)

    monkeypatch.setattr(analysis, "judge", slow)
    assert analyse_pending(max_batches=1).analysed == 2
    states = dict(turns_of(tenant).values_list("external_id", "analysis_state"))
    assert states == {"run-0": "done", "run-1": "claimed", "run-2": "done"}
    assert counts_of(tenant)["turns"] == 2
    assert not Finding.objects.for_tenant(tenant).filter(turn_id=ids[1]).exists()


def test_what_a_runtime_did_is_the_outcome_when_its_event_came_before_the_analysis(tenant):
    put(tenant, make_record(external_id="run-1"))
    found = [{"identifier": "x", "kind": "kv"}]
    accept_event(tenant=tenant, event=make_event("run-1", found, action_taken="refuse_replaced"))
    analyse_pending()
    turn = turns_of(tenant).get()
    assert turn.outcome == "refuse_replaced"
    assert turn.finding_count == len(judge(make_record(), REFERENCE).findings)
    counts = counts_of(tenant)
    assert counts["outcome:refuse_replaced"] == 1
    assert "outcome:observed" not in counts


# -- At the same time


def test_workers_at_once_analyse_every_turn_exactly_once(in_threads, tenant, other_tenant, monkeypatch):
    monkeypatch.setattr(analysis, "BATCH_SIZE", 10)
    for mine in (tenant, other_tenant):
        put(mine, *(make_record() for _ in range(75)))
    progress = in_threads(*[analyse_pending] * 4)
    assert sum(p.analysed for p in progress) == 150
    per_turn = len(judge(make_record(), REFERENCE).findings)
    for mine in (tenant, other_tenant):
        assert {(t.analysis_state, t.attempts) for t in turns_of(mine)} == {(AnalysisState.DONE, 1)}
        assert Finding.objects.for_tenant(mine).count() == 75 * per_turn
        assert counts_of(mine)["turns"] == counts_of(mine)["flagged"] == 75


def test_turns_that_arrive_while_workers_are_busy_are_all_analysed(in_threads, tenant, monkeypatch):
    monkeypatch.setattr(analysis, "BATCH_SIZE", 5)

    def send():
        for _ in range(10):
            put(tenant, *(make_record() for _ in range(6)))

    results = in_threads(send, send, analyse_pending, analyse_pending)
    assert not [r for r in results if isinstance(r, Exception)]
    analyse_pending()
    assert {(t.analysis_state, t.attempts) for t in turns_of(tenant)} == {(AnalysisState.DONE, 1)}
    assert counts_of(tenant)["turns"] == turns_of(tenant).count() == 120


def test_sweeps_at_once_bury_and_count_a_dead_turn_once(in_threads, tenant):
    put(tenant, *(make_record() for _ in range(20)))
    past = timezone.now() - timedelta(minutes=1)
    turns_of(tenant).update(analysis_state=AnalysisState.CLAIMED, claim="gone", lease_until=past, attempts=3)
    results = in_threads(*[release_expired] * 4)
    assert sum(results) == 20
    assert counts_of(tenant) == {"failed": 20}
    assert set(turns_of(tenant).values_list("analysis_state", flat=True)) == {AnalysisState.FAILED}


def test_a_sweep_and_workers_at_once_lose_no_turn_and_count_none_twice(in_threads, tenant, monkeypatch):
    monkeypatch.setattr(analysis, "BATCH_SIZE", 5)
    put(tenant, *(make_record() for _ in range(40)))
    past = timezone.now() - timedelta(minutes=1)
    some = turns_of(tenant).order_by("id").values_list("pk", flat=True)[:20]
    turns_of(tenant).filter(pk__in=list(some)).update(
        analysis_state=AnalysisState.CLAIMED, claim="gone", lease_until=past, attempts=1
    )
    results = in_threads(release_expired, analyse_pending, release_expired, analyse_pending)
    assert not [r for r in results if isinstance(r, Exception)]
    analyse_pending()
    assert set(turns_of(tenant).values_list("analysis_state", flat=True)) == {AnalysisState.DONE}
    assert counts_of(tenant)["turns"] == 40
