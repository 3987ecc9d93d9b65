"""Suites on turns: when they are evaluated, what is stored and counted, and who gets to see a failure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.core.memory_assertions import digest_of
from reviews.models import AssertionCount, AssertionResult, Job, Tenant, Turn
from reviews.models.jobs import JobKind, JobState
from reviews.services import jobs
from reviews.services.analysis import analyse_pending
from reviews.services.events import accept_events
from reviews.services.importing import import_files
from reviews.services.intake import Status, accept_turns, check_turn
from reviews.services.policies import current_policy
from reviews.services.queue import QueueFilter, queue_page
from reviews.services.review import decide_turn, undo_decision
from reviews.services.rows import FAILED_ASSERTION
from tests.factories import CLAIM, make_event, make_member, make_record, make_turn
from tests.services.asserted import CLEAN, CONTAINS, EXCLUDES, LEAK, NOON, PLAIN, publish, results, suite_of
from tests.services.recount import assert_counts_hold

pytestmark = pytest.mark.django_db


def counted(tenant: Tenant) -> dict[tuple[str, str, str, bool], int]:
    rows = AssertionCount.objects.for_tenant(tenant).exclude(count=0)
    return {(row.suite, row.assertion, row.agent, row.passed): row.count for row in rows}


def fresh(turn: Turn) -> Turn:
    return Turn.objects.for_tenant(turn.tenant_id).get(pk=turn.pk)


def rejudge(tenant: Tenant, version: int) -> Job:
    job = jobs.start_job(
        tenant=tenant, kind=JobKind.REJUDGE, parameters={"version": version, "since": None}, actor=None
    )
    jobs.run_jobs()
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, job.total), job.error
    return job


# -- Evaluated


def test_analysis_stores_a_verdict_an_assertion_and_no_content(tenant: Tenant) -> None:
    publish(tenant, suite_of("privacy", EXCLUDES, CONTAINS), suite_of("other", CONTAINS))
    turn = make_turn(tenant, PLAIN, attributes=LEAK, occurred_at=NOON, agent="bot")
    assert results(turn) == [
        ("other", "prompt_recall_contains", True),
        ("privacy", "no cards", False),
        ("privacy", "prompt_recall_contains", True),
    ]
    row = AssertionResult.objects.for_tenant(tenant).get(assertion="no cards")
    assert (row.position, row.reason) == (0, "1 fragment reached the model.")
    assert (row.evidence, row.digests) == ({"fragments": 1, "leaked": 1}, [digest_of("4111")])
    assert (row.agent, row.occurred_at) == ("bot", NOON)
    assert counted(tenant) == {
        ("other", "prompt_recall_contains", "bot", True): 1,
        ("privacy", "no cards", "bot", False): 1,
        ("privacy", "prompt_recall_contains", "bot", True): 1,
    }
    assert AssertionCount.objects.for_tenant(tenant).first().day == NOON.date()
    assert_counts_hold(tenant)


def test_a_turn_that_waits_has_no_results_yet(tenant: Tenant) -> None:
    publish(tenant, suite_of())
    turn = make_turn(tenant, PLAIN, attributes=LEAK, analysed=False)
    assert (results(turn), turn.assertions, counted(tenant)) == ([], "", {})
    analyse_pending()
    assert results(turn) == [("privacy", "no cards", False)]


def test_an_inline_check_evaluates_at_once_and_a_retry_adds_nothing(tenant: Tenant) -> None:
    publish(tenant, suite_of(queue=True))
    record = make_record(PLAIN, attributes=LEAK, agent="bot")
    checked = check_turn(tenant=tenant, record=record)
    assert [found.verdict.passed for found in checked.judgement.assertions] == [False]
    turn = Turn.objects.for_tenant(tenant).get(pk=checked.accepted.turn_id)
    assert results(turn) == [("privacy", "no cards", False)]
    assert (turn.review_state, turn.assertions) == ("open", "flagged")
    again = check_turn(tenant=tenant, record=record)
    assert (again.accepted.status, len(again.judgement.assertions)) == (Status.DUPLICATE, 1)
    analyse_pending()
    assert counted(tenant) == {("privacy", "no cards", "bot", False): 1}
    assert_counts_hold(tenant)


def test_an_import_evaluates_too(tenant: Tenant, tmp_path: Any) -> None:
    publish(tenant, suite_of())
    path = tmp_path / "turns.jsonl"
    path.write_text(
        '{"external_id": "a", "draft": "Hello.", "attributes": {"prompt_recall": "4111"}}\n'
        '{"external_id": "b", "draft": "Hello.", "attributes": {"prompt_recall": "none"}}\n'
    )
    import_files(tenant=tenant, format_name="native", paths=[path], jobs=1)
    assert counted(tenant) == {("privacy", "no cards", "", False): 1, ("privacy", "no cards", "", True): 1}
    assert_counts_hold(tenant)


def test_missing_evidence_fails_and_a_tenant_without_suites_has_no_results(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    publish(tenant, suite_of())
    bare, without = make_turn(tenant, PLAIN), make_turn(other_tenant, PLAIN, attributes=LEAK)
    assert (results(bare), bare.assertions) == ([("privacy", "no cards", False)], "failed")
    assert (results(without), without.assertions) == ([], "")
    for each in (tenant, other_tenant):
        assert_counts_hold(each)


def test_one_broken_turn_keeps_no_results(tenant: Tenant) -> None:
    """Analysis that ends in an error stores nothing of the turn; the next attempt stores all."""
    publish(tenant, suite_of())
    turn = make_turn(tenant, PLAIN, attributes=LEAK, analysed=False)
    payload = turn.payload
    calls, payload.tool_calls = payload.tool_calls, [{"nonsense": 1}]
    payload.save(update_fields=["tool_calls"])
    analyse_pending(max_batches=1)
    assert (results(turn), counted(tenant)) == ([], {})
    payload.tool_calls = calls
    payload.save(update_fields=["tool_calls"])
    analyse_pending()
    assert results(turn) == [("privacy", "no cards", False)]
    assert_counts_hold(tenant)


# -- Which turns


def test_agents_and_tags_choose_the_turns(tenant: Tenant) -> None:
    publish(
        tenant,
        suite_of("all"),
        suite_of("bots", agents=["bot-a", "bot-b"]),
        suite_of("gold", tags=["gold"]),
        suite_of("both", agents=["bot-a"], tags=["gold"]),
    )
    expected = {
        ("bot-a", "gold"): {"all", "bots", "gold", "both"},
        ("bot-b", "gold"): {"all", "bots", "gold"},
        ("bot-a", ""): {"all", "bots"},
        ("bot-c", ""): {"all"},
        ("", "gold"): {"all", "gold"},
    }
    for (agent, tag), suites in expected.items():
        attributes = {**CLEAN, **({"tags": [tag, "other"]} if tag else {})}
        turn = make_turn(tenant, PLAIN, agent=agent, attributes=attributes)
        assert {suite for suite, _, _ in results(turn)} == suites, (agent, tag)
    assert_counts_hold(tenant)


@pytest.mark.parametrize(("rate", "share"), [(0, 0), (1, 40)])
def test_a_sample_of_none_and_of_all(tenant: Tenant, rate: float, share: int) -> None:
    publish(tenant, suite_of(sampling=rate, queue=True))
    accept_turns(tenant=tenant, records=[make_record(PLAIN, attributes=LEAK) for _ in range(40)])
    analyse_pending()
    assert AssertionResult.objects.for_tenant(tenant).count() == share
    assert Turn.objects.for_tenant(tenant).filter(assertions="flagged", review_state="open").count() == share
    assert_counts_hold(tenant)


def test_a_sample_is_drawn_once_for_each_turn_and_suite(tenant: Tenant) -> None:
    publish(
        tenant, suite_of("one", sampling=0.5), suite_of("two", sampling=0.5), suite_of("few", sampling=0.2)
    )
    records = [make_record(PLAIN, external_id=f"t-{n}", attributes=CLEAN) for n in range(200)]
    accept_turns(tenant=tenant, records=records)
    analyse_pending()

    def drawn(suite: str) -> set[str]:
        rows = AssertionResult.objects.for_tenant(tenant).filter(suite=suite)
        return set(rows.values_list("turn__external_id", flat=True))

    one, two, few = drawn("one"), drawn("two"), drawn("few")
    # 200 turns at one half: outside of 60 to 140 once in some hundred million; at one fifth, of 10 to 80.
    assert 60 < len(one) < 140
    assert 60 < len(two) < 140
    assert 10 < len(few) < 80
    # Two suites draw each their own: about half of one is in the other.
    assert 20 < len(one & two) < 80
    number = publish(tenant, suite_of("one", sampling=0.5), suite_of("two", sampling=0.75))
    rejudge(tenant, number)
    assert drawn("one") == one
    assert drawn("two") > two
    assert drawn("few") == set()
    assert_counts_hold(tenant)


# -- The queue


@pytest.mark.parametrize(
    ("queues", "attributes", "standing", "state"),
    [
        ((True,), CLEAN, "passed", "none"),
        ((False,), LEAK, "failed", "none"),
        ((True,), LEAK, "flagged", "open"),
        ((False, True), LEAK, "flagged", "open"),
        ((True, False), LEAK, "flagged", "open"),
        ((False, False), CLEAN, "passed", "none"),
    ],
)
def test_a_failure_enters_the_queue_when_its_suite_says_so(
    tenant: Tenant, queues: tuple[bool, ...], attributes: dict[str, Any], standing: str, state: str
) -> None:
    publish(tenant, *(suite_of(f"s{n}", queue=queue) for n, queue in enumerate(queues)))
    turn = make_turn(tenant, PLAIN, attributes=attributes)
    assert (turn.assertions, turn.review_state) == (standing, state)
    assert turn.priority == (FAILED_ASSERTION if state == "open" else 0)
    found = queue_page(tenant=tenant, wanted=QueueFilter(assertions=True)).turns
    assert [row.pk for row in found] == ([turn.pk] if state == "open" else [])
    assert_counts_hold(tenant)


def test_one_suite_that_passes_does_not_hide_one_that_failed(tenant: Tenant) -> None:
    publish(tenant, suite_of("a", CONTAINS, queue=True), suite_of("b", EXCLUDES), suite_of("c", CONTAINS))
    turn = make_turn(tenant, PLAIN, attributes=LEAK)
    assert (turn.assertions, turn.review_state) == ("failed", "none")


def test_a_failure_raises_the_priority_and_never_lowers_it(tenant: Tenant) -> None:
    strong = make_turn(tenant, CLAIM, attributes=LEAK)
    weak = make_turn(tenant, 'The value is order_id="B-17".', attributes=LEAK)
    before = {turn.external_id: turn.priority for turn in (strong, weak)}
    assert strong.priority > FAILED_ASSERTION
    publish(tenant, suite_of(queue=True))
    for turn in (strong, weak):
        other = make_turn(
            tenant, turn.payload.draft, attributes=LEAK, external_id=f"{turn.external_id}-again"
        )
        assert other.review_state == "open"
        assert other.priority == max(before[turn.external_id], FAILED_ASSERTION)
        assert other.finding_count == turn.finding_count


def test_a_turn_without_findings_is_decided_and_undone_as_a_whole(tenant: Tenant) -> None:
    publish(tenant, suite_of(queue=True))
    turn, rita = make_turn(tenant, PLAIN, attributes=LEAK), make_member(tenant)
    decision = decide_turn(
        tenant=tenant, actor=rita, turn_id=turn.pk, label="fabricated", seen_version=0
    ).decision
    assert (fresh(turn).review_state, fresh(turn).verdict) == ("decided", "fabricated")
    assert_counts_hold(tenant)
    undo_decision(tenant=tenant, actor=rita, decision_id=decision.pk)
    assert (fresh(turn).review_state, fresh(turn).assertions) == ("open", "flagged")
    assert_counts_hold(tenant)


# -- Runtime events


EVENT = [{"identifier": "job-1", "kind": "kv"}]


def test_what_is_known_from_an_event_only_is_not_asserted_about(tenant: Tenant) -> None:
    publish(tenant, suite_of(queue=True))
    accept_events(tenant=tenant, events=[make_event("run-e", EVENT)])
    turn = Turn.objects.for_tenant(tenant).get()
    analyse_pending()
    assert (results(turn), turn.assertions, counted(tenant)) == ([], "", {})
    assert_counts_hold(tenant)


@pytest.mark.parametrize("how", ["recorded", "checked"])
def test_the_turn_that_follows_its_event_is_asserted_about(tenant: Tenant, how: str) -> None:
    publish(tenant, suite_of(queue=True))
    accept_events(tenant=tenant, events=[make_event("run-e", EVENT)])
    record = make_record(PLAIN, external_id="run-e", agent="bot", attributes=LEAK)
    if how == "recorded":
        accept_turns(tenant=tenant, records=[record])
    else:
        check_turn(tenant=tenant, record=record)
    analyse_pending()
    turn = Turn.objects.for_tenant(tenant).get()
    assert results(turn) == [("privacy", "no cards", False)]
    assert (turn.assertions, turn.agent) == ("flagged", "bot")
    assert counted(tenant) == {("privacy", "no cards", "bot", False): 1}
    assert_counts_hold(tenant)


@pytest.mark.parametrize("action", ["observed", "refuse_replaced"])
def test_an_event_that_follows_its_turn_takes_no_result_away(tenant: Tenant, action: str) -> None:
    publish(tenant, suite_of(queue=True))
    turn = make_turn(tenant, CLAIM, external_id="run-e", attributes=LEAK)
    before = results(turn)
    accept_events(tenant=tenant, events=[make_event("run-e", EVENT, action_taken=action)])
    analyse_pending()
    assert results(turn) == before == [("privacy", "no cards", False)]
    assert fresh(turn).assertions == "flagged"
    assert_counts_hold(tenant)


def test_a_decided_stub_keeps_its_decision_when_the_turn_follows(tenant: Tenant) -> None:
    publish(tenant, suite_of(queue=True))
    accept_events(tenant=tenant, events=[make_event("run-e", EVENT)])
    turn = Turn.objects.for_tenant(tenant).get()
    decide_turn(
        tenant=tenant, actor=make_member(tenant), turn_id=turn.pk, label="false_alarm", seen_version=0
    )
    record = make_record(PLAIN, external_id="run-e", agent="bot", attributes=LEAK)
    accept_turns(tenant=tenant, records=[record])
    analyse_pending()
    assert (fresh(turn).review_state, fresh(turn).verdict) == ("decided", "false_alarm")
    assert (results(turn), fresh(turn).assertions, counted(tenant)) == ([], "", {})


# -- Judged again


@pytest.mark.parametrize(
    ("suites", "expected", "standing", "state"),
    [
        ([], [], "", "none"),
        ([suite_of(queue=True)], [("privacy", "no cards", False)], "flagged", "open"),
        ([suite_of(queue=False)], [("privacy", "no cards", False)], "failed", "none"),
        (
            [suite_of("privacy", {**EXCLUDES, "label": "cards"})],
            [("privacy", "cards", False)],
            "failed",
            "none",
        ),
        ([suite_of("renamed")], [("renamed", "no cards", False)], "failed", "none"),
        (
            [suite_of("privacy", {**EXCLUDES, "fragments": ["5500"]}, queue=True)],
            [("privacy", "no cards", True)],
            "passed",
            "none",
        ),
        (
            [suite_of(queue=True), suite_of("z", CONTAINS)],
            [("privacy", "no cards", False), ("z", "prompt_recall_contains", True)],
            "flagged",
            "open",
        ),
        ([suite_of(agents=["other"])], [], "", "none"),
    ],
)
@pytest.mark.parametrize("first_queue", [True, False])
def test_another_version_replaces_results_counts_and_place(
    tenant: Tenant,
    suites: list[dict[str, Any]],
    expected: list[tuple[str, str, bool]],
    standing: str,
    state: str,
    first_queue: bool,
) -> None:
    """Nothing but the suites differs between the two versions."""
    publish(tenant, suite_of(queue=first_queue))
    turns = [
        make_turn(tenant, PLAIN, attributes=LEAK, occurred_at=NOON + timedelta(days=n)) for n in range(3)
    ]
    rejudge(tenant, publish(tenant, *suites))
    for turn in turns:
        assert results(turn) == expected
        assert (fresh(turn).assertions, fresh(turn).review_state) == (standing, state)
        assert fresh(turn).policy_version.number == 3
    assert_counts_hold(tenant)
    rejudge(tenant, 2)
    assert [results(turn) for turn in turns] == [[("privacy", "no cards", False)]] * 3
    assert {fresh(turn).assertions for turn in turns} == {"flagged" if first_queue else "failed"}
    assert_counts_hold(tenant)


def test_the_same_suites_again_change_no_row(tenant: Tenant) -> None:
    publish(tenant, suite_of(queue=True))
    make_turn(tenant, PLAIN, attributes=LEAK)
    rows = AssertionResult.objects.for_tenant(tenant)
    before = list(rows.values_list("pk", flat=True))
    rejudge(tenant, publish(tenant, suite_of(queue=True), fabrication_check_mode="refuse"))
    assert list(rows.values_list("pk", flat=True)) == before
    assert_counts_hold(tenant)


def test_a_change_of_findings_replaces_results_as_well(tenant: Tenant) -> None:
    publish(tenant, suite_of())
    turn = make_turn(tenant, CLAIM, attributes=LEAK)
    rejudge(tenant, publish(tenant, suite_of("new"), fabrication_check_mode="refuse"))
    assert results(turn) == [("new", "no cards", False)]
    assert_counts_hold(tenant)


@pytest.mark.parametrize("draft", [PLAIN, CLAIM])
def test_a_turn_that_was_decided_stays_as_it_is(tenant: Tenant, draft: str) -> None:
    publish(tenant, suite_of(queue=True))
    turn = make_turn(tenant, draft, attributes=LEAK)
    decide_turn(
        tenant=tenant, actor=make_member(tenant), turn_id=turn.pk, label="false_alarm", seen_version=0
    )
    rejudge(tenant, publish(tenant, suite_of("new"), fabrication_check_mode="refuse"))
    assert results(turn) == [("privacy", "no cards", False)]
    now = fresh(turn)
    assert (now.review_state, now.verdict, now.assertions) == ("decided", "false_alarm", "flagged")
    assert_counts_hold(tenant)


# -- What it costs


def test_queries_of_intake_and_analysis_do_not_grow_with_turns_and_suites(tenant: Tenant) -> None:
    def cost(count: int) -> int:
        current_policy(tenant=tenant)  # read once, whatever comes
        records = [make_record(PLAIN, attributes=LEAK, occurred_at=NOON) for _ in range(count)]
        with CaptureQueriesContext(connection) as queries:
            accept_turns(tenant=tenant, records=records)
            analyse_pending()
        return len(queries)

    publish(tenant, suite_of())
    cost(1)
    few = cost(2)
    publish(tenant, *(suite_of(f"s{n}", EXCLUDES, CONTAINS) for n in range(3)))
    assert cost(15) <= few
    assert_counts_hold(tenant)
