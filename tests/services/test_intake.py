"""A turn is accepted once per tenant and external id, whole or not at all."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

import msgspec
import pytest
from django.db import DatabaseError, IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone as django_timezone

from reviews.formats.native import decode_turn
from reviews.formats.record import CriticRecord, IntentRecord, ToolCall, ToolInfo, TurnRecord
from reviews.models import AgentName, DailyCount, Finding, Turn, TurnPayload
from reviews.models.turns import AnalysisState, ReviewState, Source
from reviews.services.analysis import analyse_pending, stored_record
from reviews.services.events import accept_event
from reviews.services.intake import Status, accept_turns, check_turn, store_prepared
from reviews.services.publishing import publish_settings
from reviews.services.review import label_finding
from reviews.services.rows import prepare
from tests.factories import CLAIM, call, make_event, make_member, make_record, make_tenant, make_turn

A, D, C = Status.ACCEPTED, Status.DUPLICATE, Status.CONFLICT


def statuses(tenant, *records):
    return [answer.status for answer in accept_turns(tenant=tenant, records=records)]


def turns_of(tenant):
    return Turn.objects.for_tenant(tenant)


def test_a_new_turn_is_accepted_and_waits_for_analysis(tenant):
    (answer,) = accept_turns(tenant=tenant, records=[make_record(external_id="run-a")])
    turn = turns_of(tenant).get()
    assert (answer.status, answer.external_id, answer.turn_id) == (A, "run-a", turn.pk)
    assert turn.analysis_state == AnalysisState.PENDING
    assert turn.review_state == ReviewState.NONE
    assert turn.source == Source.TURN
    assert not Finding.objects.for_tenant(tenant).exists()


def test_what_was_sent_is_what_is_stored(tenant):
    record = TurnRecord(
        external_id="run-a",
        draft="  Draft with ünïcode and 🦊\n",
        user_message="please",
        hydrated_context="memory",
        tool_calls=[ToolCall(name="send", args={"b": 1, "a": 1.0}, result="ok", ok=True, id="c1")],
        earlier_calls=[ToolCall(name="find", error="down", ok=False, duration_ms=1.5)],
        tools=[ToolInfo(name="send", description="Sends.")],
        conversation_id="talk-1",
        agent="bot",
        model="m-1",
        occurred_at=datetime(2026, 3, 1, 12, 30, 15, 250, tzinfo=UTC),
        intent=IntentRecord(label="action", confidence=0.7, matched_tool_keywords=["send"]),
        critic=CriticRecord(verdict="revise", revised_draft="Better."),
        activation={"activated_nodes": [{"score": 0.5}]},
        attributes={"prompt_recall": "x"},
    )
    accept_turns(tenant=tenant, records=[record])
    turn = turns_of(tenant).select_related("payload").get()
    assert stored_record(turn, turn.payload) == record


def test_the_same_turn_again_is_a_duplicate_and_is_stored_once(tenant):
    record = make_record()
    first = accept_turns(tenant=tenant, records=[record])[0]
    second = accept_turns(tenant=tenant, records=[record])[0]
    assert (first.status, second.status) == (A, D)
    assert first.turn_id == second.turn_id
    assert turns_of(tenant).count() == 1


def test_other_content_under_the_same_id_is_a_conflict_and_changes_nothing(tenant):
    accept_turns(tenant=tenant, records=[make_record("One.", external_id="run-a")])
    turn = turns_of(tenant).get()
    (answer,) = accept_turns(tenant=tenant, records=[make_record("Two.", external_id="run-a")])
    assert (answer.status, answer.turn_id) == (C, turn.pk)
    assert turns_of(tenant).select_related("payload").get().payload.draft == "One."


@pytest.mark.parametrize(
    "change",
    [
        {"draft": "Other."},
        {"user_message": "Other."},
        {"hydrated_context": "Other."},
        {"tool_calls": [ToolCall(name="other")]},
        {"earlier_calls": [ToolCall(name="other")]},
        {"tools": [ToolInfo(name="other")]},
        {"conversation_id": "other"},
        {"agent": "other"},
        {"model": "other"},
        {"occurred_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"intent": IntentRecord(label="knowledge", confidence=0.6)},
        {"critic": CriticRecord(verdict="approve")},
        {"activation": {"activated_nodes": []}},
        {"attributes": {"a": 1}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_difference_in_any_field_is_a_conflict(tenant, change):
    record = make_record()
    assert statuses(tenant, record, msgspec.structs.replace(record, **change)) == [A, C]


def test_in_one_batch_the_first_of_an_id_counts(tenant):
    one, other = make_record("One.", external_id="run-a"), make_record("Two.", external_id="run-a")
    answers = accept_turns(tenant=tenant, records=[one, one, other, make_record("Three."), other, one])
    assert [answer.status for answer in answers] == [A, D, C, A, C, D]
    assert len({answer.turn_id for answer in answers if answer.external_id == "run-a"}) == 1
    stored = turns_of(tenant).select_related("payload").get(external_id="run-a")
    assert (stored.pk, stored.payload.draft) == (answers[0].turn_id, "One.")
    assert turns_of(tenant).count() == 2


def test_the_last_of_an_id_in_one_batch_does_not_replace_the_first(tenant):
    records = [make_record(f"Version {n}.", external_id="run-a") for n in range(3)]
    assert statuses(tenant, *records) == [A, C, C]
    assert turns_of(tenant).select_related("payload").get().payload.draft == "Version 0."
    assert statuses(tenant, records[0]) == [D]


def test_new_and_known_turns_may_come_in_one_batch(tenant):
    known = make_record()
    accept_turns(tenant=tenant, records=[known])
    fresh = make_record()
    changed = msgspec.structs.replace(known, draft="Changed.")
    assert statuses(tenant, fresh, known, changed, make_record()) == [A, D, C, A]
    assert turns_of(tenant).count() == 3


def test_answers_are_in_the_order_of_the_records_and_name_their_rows(tenant):
    records = [
        make_record(f"Draft {n}.", external_id=f"run-{n:02}") for n in random.Random(1).sample(range(60), 60)
    ]
    answers = accept_turns(tenant=tenant, records=records)
    assert [answer.external_id for answer in answers] == [record.external_id for record in records]
    stored = dict(turns_of(tenant).values_list("external_id", "pk"))
    assert {answer.external_id: answer.turn_id for answer in answers} == stored
    drafts = dict(TurnPayload.objects.for_tenant(tenant).values_list("turn_id", "draft"))
    assert [drafts[answer.turn_id] for answer in answers] == [record.draft for record in records]


def test_an_empty_batch_is_answered_with_nothing(tenant):
    assert accept_turns(tenant=tenant, records=[]) == []


def test_the_same_id_in_two_tenants_names_two_turns(tenant, other_tenant):
    record = make_record("One.", external_id="run-a")
    other = make_record("Two.", external_id="run-a")
    assert statuses(tenant, record) == [A]
    assert statuses(other_tenant, other) == [A]
    assert statuses(tenant, record, other) == [D, C]
    assert statuses(other_tenant, other, record) == [D, C]
    assert turns_of(tenant).get().pk != turns_of(other_tenant).get().pk


def test_ids_are_compared_to_the_letter(tenant):
    assert (
        statuses(tenant, *(make_record(external_id=i) for i in ("run", "Run", "run ", "rün", "ru\u0308n")))
        == [A] * 5
    )


def test_an_id_of_the_greatest_length_is_kept_whole(tenant):
    record = make_record(external_id="x" * 200)
    assert statuses(tenant, record, record) == [A, D]
    assert turns_of(tenant).get().external_id == "x" * 200


@pytest.mark.parametrize(
    "again",
    [
        b'{"draft": "Hi.", "external_id": "run-a", "attributes": {"a": {"y": 2, "x": 1}}}',
        b'{"external_id":"run-a","draft":"Hi.","attributes":{"a":{"x":1,"y":2}},"user_message":"","tool_calls":[]}',
        b'{"external_id":"run-a","draft":"Hi.","attributes":{"a":{"x":1,"y":2}},"intent":null,"agent":""}',
        b'{"external_id":"run-a","draft":"H\\u0069.","attributes":{"a":{"x":1,"y":2}}}',
    ],
)
def test_another_spelling_of_the_same_content_is_a_duplicate(tenant, again):
    first = decode_turn(b'{"external_id":"run-a","draft":"Hi.","attributes":{"a":{"x":1,"y":2}}}')
    assert statuses(tenant, first, decode_turn(again)) == [A, D]
    assert statuses(tenant, decode_turn(again)) == [D]


def test_the_same_moment_in_another_zone_is_a_duplicate(tenant):
    moment = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    record = make_record(occurred_at=moment)
    elsewhere = msgspec.structs.replace(record, occurred_at=moment.astimezone(timezone(timedelta(hours=5))))
    assert statuses(tenant, record, elsewhere) == [A, D]


def test_a_list_in_another_order_is_other_content(tenant):
    record = make_record(tool_calls=[call("a"), call("b")])
    turned = msgspec.structs.replace(record, tool_calls=[call("b"), call("a")])
    assert statuses(tenant, record, turned) == [A, C]


def test_a_turn_without_a_time_occurred_when_it_was_received_and_stays_a_duplicate(tenant):
    record, before = make_record(), django_timezone.now()
    assert statuses(tenant, record) == [A]
    turn = turns_of(tenant).get()
    assert before <= turn.occurred_at <= django_timezone.now()
    assert turn.occurred_at == turn.received_at
    assert statuses(tenant, record) == [D]


def test_every_stored_turn_has_a_payload(tenant, other_tenant):
    for mine in (tenant, other_tenant):
        accept_turns(tenant=mine, records=[make_record() for _ in range(30)])
        assert TurnPayload.objects.for_tenant(mine).count() == turns_of(mine).count() == 30
        assert not turns_of(mine).filter(payload__isnull=True).exists()


def test_a_batch_that_cannot_be_stored_leaves_nothing_behind(tenant):
    records = [make_record() for _ in range(5)]
    prepared = [
        prepare(record, tenant_id=tenant.pk, source="turn", received_at=django_timezone.now())
        for record in records
    ]
    # Written last, after the turns and the payloads: a confidence that the database refuses.
    wrong = (tenant.pk, 0, "x", "kv", 2, "why", None, "kv", 2.0, None, 0, 1, None, None, "")
    prepared[3] = prepared[3]._replace(findings=[wrong], counters=["turns"])
    with pytest.raises(IntegrityError):
        store_prepared(tenant=tenant, prepared=prepared)
    for model in (Turn, TurnPayload, Finding, DailyCount, AgentName):
        assert not model.objects.for_tenant(tenant).exists(), model.__name__
    assert statuses(tenant, *records) == [A] * 5


def test_a_payload_that_cannot_be_stored_leaves_no_turn_behind(tenant):
    record = make_record()
    prepared = prepare(record, tenant_id=tenant.pk, source="turn", received_at=django_timezone.now())
    with pytest.raises(DatabaseError):
        store_prepared(
            tenant=tenant, prepared=[prepared._replace(payload=(tenant.pk, None, *prepared.payload[2:]))]
        )
    assert not turns_of(tenant).exists()


def test_agents_are_noted_once(tenant, other_tenant):
    accept_turns(tenant=tenant, records=[make_record(agent=name) for name in ("b", "a", "b", "")])
    accept_turns(tenant=tenant, records=[make_record(agent="a"), make_record(agent="c")])
    names = AgentName.objects.for_tenant(tenant).values_list("name", flat=True)
    assert sorted(names) == ["a", "b", "c"]
    assert not AgentName.objects.for_tenant(other_tenant).exists()


def test_the_queries_of_a_batch_do_not_grow_with_it(tenant):
    accept_turns(tenant=tenant, records=[make_record()])  # the agent is known from now on

    def queries(size):
        with CaptureQueriesContext(connection) as captured:
            accept_turns(tenant=tenant, records=[make_record() for _ in range(size)])
        return len(captured)

    assert queries(1) == queries(40) <= 10


# -- Inline checks


def test_an_inline_check_is_answered_and_stored_as_analysed(tenant):
    checked = check_turn(tenant=tenant, record=make_record())
    turn = turns_of(tenant).get()
    assert checked.accepted.status == A
    assert (turn.source, turn.analysis_state) == (Source.CHECK, AnalysisState.DONE)
    assert turn.finding_count == len(checked.judgement.findings) > 0
    assert turn.policy_version_id == checked.policy.id
    assert turn.findings.count() == turn.finding_count
    counts = dict(DailyCount.objects.for_tenant(tenant).values_list("name", "count"))
    assert (counts["turns"], counts["flagged"]) == (1, 1)


def test_an_inline_check_is_answered_the_same_when_it_is_repeated_and_counts_once(tenant):
    record = make_record()
    first, second = check_turn(tenant=tenant, record=record), check_turn(tenant=tenant, record=record)
    assert second.accepted == (D, record.external_id, first.accepted.turn_id, second.accepted.analysed, False)
    assert second.judgement == first.judgement
    counts = dict(DailyCount.objects.for_tenant(tenant).values_list("name", "count"))
    assert counts["turns"] == 1


def test_a_conflicting_check_judges_the_draft_just_sent_and_keeps_the_stored_one(tenant):
    check_turn(tenant=tenant, record=make_record("All is well.", external_id="run-a"))
    checked = check_turn(tenant=tenant, record=make_record(CLAIM, external_id="run-a"))
    assert checked.accepted.status == C
    assert checked.judgement.findings
    stored = turns_of(tenant).get()
    assert stored.finding_count == 0


def test_a_check_and_a_turn_of_the_same_content_are_the_same_turn(tenant):
    record = make_record()
    check_turn(tenant=tenant, record=record)
    assert statuses(tenant, record) == [D]


@pytest.mark.django_db
def test_a_check_uses_the_policy_in_force():
    tenant = make_tenant(fabrication_check_mode="refuse", fabrication_refuse_min_confidence=0.95)
    assert check_turn(tenant=tenant, record=make_record()).judgement.outcome.action_taken == "refuse_replaced"
    publish_settings(tenant=tenant, author=None, values={"fabrication_check_mode": "off"})
    off = check_turn(tenant=tenant, record=make_record())
    assert (off.judgement.findings, off.judgement.outcome.action_taken) == ((), "none")


# -- Turns known from an event only


def test_a_turn_fills_in_what_was_known_from_an_event_only(tenant):
    event = make_event("run-a", [{"identifier": "x", "kind": "kv"}], original_draft_preview="I sent x")
    stub = accept_event(tenant=tenant, event=event)
    turn = turns_of(tenant).get()
    assert turn.source == Source.EVENT
    record = make_record(external_id="run-a", agent="new-bot", conversation_id="talk-1", model="m-1")
    (answer,) = accept_turns(tenant=tenant, records=[record])
    assert (answer.status, answer.turn_id) == (A, stub.turn_id)
    turn.refresh_from_db()
    assert (turn.source, turn.analysis_state) == (Source.TURN, AnalysisState.PENDING)
    assert (turn.agent, turn.conversation_id, turn.model) == ("new-bot", "talk-1", "m-1")
    assert turn.payload.draft == CLAIM
    assert turn.payload.runtime_event["run_id"] == "run-a"
    assert AgentName.objects.for_tenant(tenant).filter(name="new-bot").exists()


def test_a_filled_in_turn_is_a_turn_like_any_other(tenant):
    accept_event(tenant=tenant, event=make_event("run-a", [{"identifier": "x", "kind": "kv"}]))
    record = make_record(external_id="run-a")
    changed = msgspec.structs.replace(record, draft="Changed.")
    assert statuses(tenant, record, record, changed) == [A, D, C]
    assert statuses(tenant, record, changed) == [D, C]
    assert turns_of(tenant).count() == 1


def test_of_two_contents_in_one_batch_the_first_fills_in(tenant):
    accept_event(tenant=tenant, event=make_event("run-a"))
    one, other = make_record("One.", external_id="run-a"), make_record("Two.", external_id="run-a")
    assert statuses(tenant, one, other) == [A, C]
    assert turns_of(tenant).select_related("payload").get().payload.draft == "One."


def test_analysis_of_a_filled_in_turn_replaces_what_the_event_told_and_counts_the_turn_once(tenant):
    found = [{"identifier": "x", "kind": "kv"}, {"identifier": "y", "kind": "short_hex_near_key"}]
    accept_event(tenant=tenant, event=make_event("run-a", found))
    accept_turns(tenant=tenant, records=[make_record("All is well.", external_id="run-a")])
    analyse_pending()
    turn = turns_of(tenant).get()
    assert (turn.finding_count, turn.kinds, turn.review_state) == (0, 0, ReviewState.NONE)
    assert not turn.findings.exists()
    counts = {c.name: c.count for c in DailyCount.objects.for_tenant(tenant) if c.count}
    assert counts == {"turns": 1, "gate:low_confidence": 1}


def test_a_reviewed_event_keeps_its_findings_when_the_turn_arrives(tenant):
    accept_event(tenant=tenant, event=make_event("run-a", [{"identifier": "x", "kind": "kv"}]))
    turn = turns_of(tenant).get()
    rita = make_member(tenant)
    label_finding(tenant=tenant, actor=rita, turn_id=turn.pk, position=0, label="fabricated", seen_version=0)
    assert statuses(tenant, make_record("All is well.", external_id="run-a")) == [A]
    analyse_pending()
    turn.refresh_from_db()
    assert (turn.review_state, turn.verdict, turn.version) == (ReviewState.DECIDED, "fabricated", 1)
    assert [f.label for f in turn.findings.all()] == ["fabricated"]
    assert turn.payload.draft == "All is well."
    assert turn.decisions.count() == 1


# -- At the same time


def post(tenant, records):
    return accept_turns(tenant=tenant, records=records)


def test_one_id_posted_by_many_at_once_is_accepted_once(in_threads, tenant):
    record = make_record(external_id="run-a")
    results = in_threads(*[partial(post, tenant, [record])] * 8)
    assert Counter(answer.status for (answer,) in results) == {A: 1, D: 7}
    assert len({answer.turn_id for (answer,) in results}) == 1
    assert turns_of(tenant).count() == TurnPayload.objects.for_tenant(tenant).count() == 1


def test_batches_of_the_same_ids_at_once_store_each_turn_once(in_threads, tenant):
    records = [make_record(f"Draft {n}.", external_id=f"run-{n:03}", agent=f"bot-{n % 7}") for n in range(60)]
    orders = [random.Random(seed).sample(records, len(records)) for seed in range(6)]
    results = in_threads(*(partial(post, tenant, order) for order in orders))
    accepted = Counter(a.external_id for answers in results for a in answers if a.status == A)
    assert accepted == {record.external_id: 1 for record in records}
    assert {a.status for answers in results for a in answers} <= {A, D}
    stored = dict(turns_of(tenant).values_list("external_id", "pk"))
    assert all(a.turn_id == stored[a.external_id] for answers in results for a in answers)
    assert len(stored) == TurnPayload.objects.for_tenant(tenant).count() == 60
    assert AgentName.objects.for_tenant(tenant).count() == 7


def test_of_different_contents_posted_at_once_one_is_accepted_and_the_others_conflict(in_threads, tenant):
    versions = [[make_record(f"Draft {n} {v}.", external_id=f"run-{n}") for n in range(10)] for v in range(5)]
    results = in_threads(*(partial(post, tenant, version) for version in versions))
    drafts = dict(TurnPayload.objects.for_tenant(tenant).values_list("turn__external_id", "draft"))
    assert len(drafts) == 10
    for version, answers in zip(versions, results, strict=True):
        for record, answer in zip(version, answers, strict=True):
            assert answer.status == (A if drafts[record.external_id] == record.draft else C)


def test_two_tenants_posting_the_same_ids_at_once_do_not_meet(in_threads, tenant, other_tenant):
    records = [make_record(external_id=f"run-{n}") for n in range(20)]
    results = in_threads(partial(post, tenant, records), partial(post, other_tenant, records))
    assert [{a.status for a in answers} for answers in results] == [{A}, {A}]
    assert turns_of(tenant).count() == turns_of(other_tenant).count() == 20


def test_checks_of_one_turn_at_once_count_it_once(in_threads, tenant):
    record = make_record()
    results = in_threads(*[partial(check_turn, tenant=tenant, record=record)] * 6)
    assert Counter(checked.accepted.status for checked in results) == {A: 1, D: 5}
    counts = dict(DailyCount.objects.for_tenant(tenant).values_list("name", "count"))
    assert counts["turns"] == 1
    turn = turns_of(tenant).get()
    assert turn.findings.count() == turn.finding_count


def test_batches_that_fill_in_events_in_opposite_orders_all_get_an_answer(in_threads, tenant):
    for n in range(20):
        accept_event(tenant=tenant, event=make_event(f"run-{n:02}"))
    records = [make_record(f"Draft {n}.", external_id=f"run-{n:02}") for n in range(20)]
    orders = [records, records[::-1]] * 3
    results = in_threads(*(partial(post, tenant, order) for order in orders))
    assert not [answers for answers in results if isinstance(answers, Exception)]
    accepted = Counter(a.external_id for answers in results for a in answers if a.status == A)
    assert accepted == {record.external_id: 1 for record in records}
    assert turns_of(tenant).filter(source=Source.TURN).count() == 20


def test_batches_with_new_agents_in_opposite_orders_all_get_an_answer(in_threads, tenant):
    sides = []
    for side in "pq":
        for n in range(60):
            accept_event(tenant=tenant, event=make_event(f"{side}-{n:02}"))
        sides.append(
            [make_record("Draft.", external_id=f"{side}-{n:02}", agent=f"agent-{n:02}") for n in range(60)]
        )
    results = in_threads(partial(post, tenant, sides[0]), partial(post, tenant, sides[1][::-1]))
    assert not [answers for answers in results if isinstance(answers, Exception)]
    assert AgentName.objects.for_tenant(tenant).count() == 60


def test_a_turn_and_its_event_at_once_become_one_turn(in_threads, tenant):
    records = [make_record(external_id=f"run-{n}") for n in range(60)]
    events = [make_event(record.external_id, [{"identifier": "x", "kind": "kv"}]) for record in records]

    def send_events():
        return [accept_event(tenant=tenant, event=event) for event in events]

    answers = in_threads(partial(post, tenant, records), send_events)
    assert [{a.status for a in side} for side in answers] == [{A}, {A}]
    analyse_pending()
    payloads = TurnPayload.objects.for_tenant(tenant)
    assert payloads.count() == 60
    assert all(p.draft == CLAIM and p.runtime_event["run_id"] for p in payloads)
    counts = dict(DailyCount.objects.for_tenant(tenant).values_list("name", "count"))
    assert counts["turns"] == 60


def test_a_turn_stored_before_is_found_by_its_id_whoever_asks(tenant):
    turn = make_turn(tenant, external_id="run-a", draft="One.")
    assert statuses(tenant, make_record("One.", external_id="run-a")) == [D]
    assert turns_of(tenant).get().pk == turn.pk
