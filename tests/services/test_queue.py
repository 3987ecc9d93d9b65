"""Pages of the queue are complete, in order and without repetition, whatever is filtered."""

from __future__ import annotations

import random
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from django.db import connection
from django.utils import timezone

from reviews.models import Turn
from reviews.models.tenants import Role
from reviews.models.turns import KIND_BITS, AnalysisState, ReviewState
from reviews.services import queue
from reviews.services.analysis import analyse_pending
from reviews.services.errors import InvalidError
from reviews.services.events import accept_events
from reviews.services.intake import accept_turns
from reviews.services.queue import (
    ORDERS,
    STATES,
    QueueFilter,
    capped_count,
    cursor_of,
    decode_cursor,
    encode_cursor,
    neighbour,
    parse_filter,
    queue_page,
)
from reviews.services.review import assign_turn, decide_turn
from tests.factories import call, make_event, make_member, make_record, make_turn

KINDS = list(KIND_BITS)
DRAFTS = [
    "I sent the Invoice.",
    "The task_id=job-{n} is queued.",
    "I launched deadbeef{n:02} for you.",
    "Your key is 6f9619ff-8b86-4011-b42d-00c04fc9{n:04}.",
    "Hello number {n}, no claim here.",
    "job_id = deadbeef{n:02}, as told in the invoice.",
]
AGES = {"1h": 1 / 24, "24h": 1.0, "7d": 7.0, "30d": 30.0}


@pytest.fixture
def crowd(tenant, other_tenant):
    """120 turns of several agents, kinds, severities, times and states, and another tenant's beside them."""
    rng = random.Random(7)
    reviewers = [make_member(tenant, Role.REVIEWER), make_member(tenant, Role.MANAGER)]
    records = [
        make_record(
            DRAFTS[n % len(DRAFTS)].format(n=n),
            external_id=f"turn-{n:03}",
            agent=rng.choice(["bot-a", "bot-b", "bot-c", ""]),
            conversation_id=rng.choice(["", "talk-1", "talk-2"]),
            user_message=rng.choice(["", "", "please send the invoice"]),
            tool_calls=rng.choice([[], [], [call("send_mail", "ok")]]),
        )
        for n in range(70)
    ]
    accept_turns(tenant=tenant, records=records)
    analyse_pending()
    accept_events(
        tenant=tenant,
        events=[
            make_event(
                f"event-{n:03}",
                [
                    {
                        "identifier": f"id-{n}-{k}",
                        "kind": rng.choice(KINDS),
                        "severity": rng.choice(["low", "medium", "high"]),
                        "confidence": rng.choice([0.55, 0.6, 0.7, 0.8, 0.95]),
                    }
                    for k in range(rng.randrange(4))
                ],
                action_taken=rng.choice(["observed", "revise_forced", "refuse_replaced"]),
                original_draft_preview=rng.choice(["Invoice paid.", "Nothing to see."]),
            )
            for n in range(50)
        ],
    )
    turns = Turn.objects.for_tenant(tenant)
    now = timezone.now()
    for turn in turns.order_by("id"):
        # Far from the edges of the ages, with many at the same moment.
        days = rng.choice([0.01, 0.4, 0.4, 3.0, 3.0, 3.0, 20.0, 45.0])
        turns.filter(pk=turn.pk).update(
            occurred_at=now - timedelta(days=days), agent=turn.agent or rng.choice(["", "bot-a", "bot-d"])
        )
        version = 0
        if rng.random() < 0.3:
            assign_turn(
                tenant=tenant,
                actor=reviewers[0],
                turn_id=turn.pk,
                assignee_id=rng.choice(reviewers).pk,
                seen_version=0,
            )
            version = 1
        if turn.finding_count and rng.random() < 0.3:
            label = rng.choice(["fabricated", "false_alarm", "unsure"])
            decide_turn(tenant=tenant, actor=reviewers[0], turn_id=turn.pk, label=label, seen_version=version)
        elif rng.random() < 0.1:
            turns.filter(pk=turn.pk).update(analysis_state=AnalysisState.FAILED)
        elif not turn.finding_count and rng.random() < 0.5:
            turns.filter(pk=turn.pk).update(audit_rate=0.5, review_state=ReviewState.OPEN)
            if rng.random() < 0.4:
                label = rng.choice(["fabricated", "false_alarm", "unsure"])
                decide_turn(
                    tenant=tenant, actor=reviewers[0], turn_id=turn.pk, label=label, seen_version=version
                )
    # Each standing in every state. A draw of its own, so that the states are those drawn above.
    drawn = random.Random(11)
    for turn in turns.order_by("id"):
        turns.filter(pk=turn.pk).update(
            assertions=drawn.choice(["", "passed", "failed", "flagged", "flagged"])
        )
    for n in range(20):
        make_turn(other_tenant, DRAFTS[n % len(DRAFTS)].format(n=n), external_id=f"turn-{n:03}")
    tenant.reviewers = reviewers
    assert turns.count() == 120
    return tenant


def everything_in(tenant):
    return list(Turn.objects.for_tenant(tenant).select_related("payload").prefetch_related("findings"))


def oracle(tenant, wanted, rows=None):
    """The turns of a filter in its order, looked for one by one."""
    now = timezone.now()

    def matches(turn):
        text = wanted.text.lower()
        return all(
            (
                {
                    "open": turn.review_state == "open",
                    "decided": turn.review_state == "decided",
                    "clean": (turn.review_state, turn.analysis_state) == ("none", "done"),
                    "failed": turn.analysis_state == "failed",
                    "all": True,
                }[wanted.state],
                not wanted.kind or wanted.kind in {f.kind for f in turn.findings.all()},
                not wanted.severity
                or wanted.severity == max((f.severity for f in turn.findings.all()), default=0),
                wanted.min_confidence <= max((f.confidence for f in turn.findings.all()), default=0.0),
                not wanted.agent or wanted.agent == turn.agent,
                not wanted.outcome or wanted.outcome == turn.outcome,
                wanted.assignee is None or wanted.assignee == turn.assignee_id,
                not wanted.sample or turn.audit_rate is not None,
                not wanted.assertions or turn.assertions == "flagged",
                not wanted.age or turn.occurred_at >= now - timedelta(days=AGES[wanted.age]),
                not text
                or text in turn.payload.draft.lower()
                or text in turn.payload.user_message.lower()
                or wanted.text in (turn.external_id, turn.conversation_id),
            )
        )

    def place(turn):
        found = turn.findings.all()
        strongest = max((f.confidence for f in found), default=0.0)
        severest = max((f.severity for f in found), default=0)
        return (strongest, severest, turn.pk) if wanted.order == "priority" else (turn.occurred_at, turn.pk)

    rows = everything_in(tenant) if rows is None else rows
    return [turn.pk for turn in sorted(filter(matches, rows), key=place, reverse=wanted.order != "oldest")]


def pages(tenant, wanted, size):
    """All pages from the beginning, by following the cursors."""
    found, cursor = [], ""
    for _ in range(400):
        page = queue_page(tenant=tenant, wanted=wanted, cursor=cursor, size=size)
        assert len(page.turns) <= size
        found.append(page)
        cursor = page.cursor
        if not cursor:
            return found
    raise AssertionError("the cursors lead nowhere")


def ids_of(found):
    return [turn.pk for page in found for turn in page.turns]


def filters(tenant):
    """Each filter alone, each pair of them, and all at once."""
    single = {
        "kind": "verb_claim",
        "severity": 3,
        "min_confidence": 0.7,
        "agent": "bot-a",
        "outcome": "observed",
        "assignee": tenant.reviewers[0].pk,
        "age": "7d",
        "text": "invoice",
        "sample": True,
        "assertions": True,
    }
    chosen = [{}, *({name: single[name]} for name in single)]
    chosen += [{a: single[a], b: single[b]} for a, b in combinations(single, 2)]
    chosen += [single, {"kind": "uuid"}, {"kind": "kv", "severity": 2}, {"severity": 1}]
    chosen += [{"outcome": "refuse_replaced"}, {"age": "1h"}, {"age": "24h"}, {"age": "30d"}]
    chosen += [{"text": "turn-012"}, {"text": "talk-1"}, {"text": "100%"}, {"agent": "nobody"}]
    chosen += [{"sample": True, "agent": "bot-a", "age": "7d"}]
    chosen += [{"assertions": True, "agent": "bot-a", "age": "7d"}]
    chosen += [{"min_confidence": 0.8, "kind": "verb_claim", "agent": "bot-a"}, {"min_confidence": 1.0}]
    return chosen


# -- Pages


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("state", STATES)
def test_pages_hold_every_matching_turn_once_and_in_order(crowd, state, order):
    sizes, some, rows = random.Random(3), 0, everything_in(crowd)
    for chosen in filters(crowd):
        wanted = QueueFilter(state=state, order=order, **chosen)
        expected = oracle(crowd, wanted, rows)
        some += bool(expected)
        found = pages(crowd, wanted, size=sizes.choice([3, 7, 20, 120]))
        assert ids_of(found) == expected, wanted
        assert not any(page.looked_at for page in found)
        count, more = capped_count(tenant=crowd, wanted=wanted)
        assert (count, more) == (len(expected), False), wanted
    assert some > 5, "most of these filters must find something, or nothing is tried"


@pytest.mark.parametrize("order", ORDERS)
def test_a_full_last_page_has_no_cursor(crowd, order):
    wanted = QueueFilter(state="all", order=order)
    assert [len(page.turns) for page in pages(crowd, wanted, size=40)] == [40, 40, 40]
    assert [len(page.turns) for page in pages(crowd, wanted, size=50)] == [50, 50, 20]
    assert [len(page.turns) for page in pages(crowd, wanted, size=120)] == [120]


def test_an_empty_queue_is_one_empty_page(tenant):
    for order in ORDERS:
        page = queue_page(tenant=tenant, wanted=QueueFilter(order=order))
        assert (page.turns, page.cursor, page.looked_at) == ([], "", 0)
    assert capped_count(tenant=tenant, wanted=QueueFilter()) == (0, False)


def test_the_most_confident_turn_comes_first_then_the_most_severe(tenant):
    def event(name, confidence, severity):
        return make_event(
            name, [{"identifier": "x", "kind": "kv", "confidence": confidence, "severity": severity}]
        )

    accept_events(
        tenant=tenant,
        events=[
            event("c", 0.8, "low"),
            event("d", 0.6, "high"),
            event("a", 0.95, "low"),
            event("b", 0.8, "high"),
        ],
    )
    found = queue_page(tenant=tenant, wanted=QueueFilter()).turns
    assert [turn.external_id for turn in found] == ["a", "b", "c", "d"]


def test_a_turn_decided_while_pages_are_read_does_not_repeat_or_hide_another(crowd):
    wanted = QueueFilter()
    expected = oracle(crowd, wanted)
    first = queue_page(tenant=crowd, wanted=wanted, size=10)
    for turn in first.turns:
        version = Turn.objects.for_tenant(crowd).get(pk=turn.pk).version
        decide_turn(
            tenant=crowd, actor=crowd.reviewers[0], turn_id=turn.pk, label="unsure", seen_version=version
        )
    rest, cursor = [], first.cursor
    while cursor:
        page = queue_page(tenant=crowd, wanted=wanted, cursor=cursor, size=10)
        rest += [turn.pk for turn in page.turns]
        cursor = page.cursor
    assert [turn.pk for turn in first.turns] + rest == expected


def test_a_foreign_cursor_shows_nothing_foreign(crowd, other_tenant):
    strange = queue_page(tenant=other_tenant, wanted=QueueFilter(), size=3).cursor
    assert strange
    for turn in queue_page(tenant=crowd, wanted=QueueFilter(), cursor=strange).turns:
        assert Turn.objects.for_tenant(crowd).filter(pk=turn.pk).exists()


# -- Neighbours


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"state": "decided"},
        {"state": "all"},
        {"kind": "verb_claim"},
        {"agent": "bot-a", "min_confidence": 0.8},
        {"text": "invoice"},
        {"state": "all", "age": "7d", "severity": 3},
    ],
)
def test_neighbours_follow_the_order_of_the_pages_also_for_a_turn_that_does_not_match(crowd, order, chosen):
    wanted = QueueFilter(order=order, **chosen)
    expected = ids_of(pages(crowd, wanted, size=50))
    everything = oracle(crowd, QueueFilter(state="all", order=order))
    place = {pk: n for n, pk in enumerate(everything)}
    turns = Turn.objects.for_tenant(crowd).in_bulk()
    outside = 0
    for pk in everything:
        behind = [other for other in expected if place[other] > place[pk]]
        ahead = [other for other in expected if place[other] < place[pk]]
        outside += pk not in expected
        after = neighbour(tenant=crowd, wanted=wanted, turn=turns[pk])
        before = neighbour(tenant=crowd, wanted=wanted, turn=turns[pk], forward=False)
        assert after == (behind[0] if behind else None)
        assert before == (ahead[-1] if ahead else None)
    assert len(expected) > 3
    assert outside or chosen == {"state": "all"}


def test_a_turn_just_decided_still_has_the_neighbours_it_had(crowd):
    wanted = QueueFilter(kind="verb_claim")
    expected = ids_of(pages(crowd, wanted, size=50))
    middle = len(expected) // 2
    turn = Turn.objects.for_tenant(crowd).get(pk=expected[middle])
    decide_turn(
        tenant=crowd, actor=crowd.reviewers[0], turn_id=turn.pk, label="unsure", seen_version=turn.version
    )
    turn.refresh_from_db()
    assert neighbour(tenant=crowd, wanted=wanted, turn=turn) == expected[middle + 1]
    assert neighbour(tenant=crowd, wanted=wanted, turn=turn, forward=False) == expected[middle - 1]


# -- Limits


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", [1, 7])
@pytest.mark.parametrize(
    "chosen", [{"agent": "bot-a", "severity": 3}, {"state": "all", "kind": "uuid"}, {"text": "invoice"}]
)
def test_a_page_ended_by_the_limit_says_so_and_its_cursor_leads_on_until_all_is_seen(
    crowd, monkeypatch, order, limit, chosen
):
    monkeypatch.setattr(queue, "SCAN_LIMIT", limit)
    monkeypatch.setattr(queue, "TEXT_SCAN_LIMIT", limit)
    wanted = QueueFilter(order=order, **chosen)
    expected = oracle(crowd, wanted)
    found = pages(crowd, wanted, size=5)
    assert ids_of(found) == expected
    assert all(page.looked_at <= limit for page in found)
    if limit == 1:
        assert all(page.looked_at == 1 for page in found[:-1])
        assert all(len(page.turns) <= 1 for page in found)
    assert found[-1].looked_at == 0


def test_a_filter_with_an_index_needs_no_limit(crowd, monkeypatch):
    monkeypatch.setattr(queue, "SCAN_LIMIT", 1)
    for chosen in (
        {},
        {"agent": "bot-a"},
        {"kind": "uuid"},
        {"severity": 3},
        {"outcome": "observed"},
        {"sample": True},
        {"assertions": True},
    ):
        wanted = QueueFilter(**chosen)
        found = pages(crowd, wanted, size=5)
        assert ids_of(found) == oracle(crowd, wanted)
        assert not any(page.looked_at for page in found)


def test_counts_stop_at_their_limit_and_say_that_there_may_be_more(crowd, monkeypatch):
    monkeypatch.setattr(queue, "COUNT_LIMIT", 20)
    everything = QueueFilter(state="all")
    assert capped_count(tenant=crowd, wanted=everything) == (20, True)
    combined = QueueFilter(state="all", severity=3, order="newest")
    assert len(oracle(crowd, combined)) > 20
    assert capped_count(tenant=crowd, wanted=combined) == (20, True)
    monkeypatch.setattr(queue, "COUNT_LIMIT", 120)
    assert capped_count(tenant=crowd, wanted=everything) == (120, False)
    monkeypatch.setattr(queue, "COUNT_LIMIT", 119)
    assert capped_count(tenant=crowd, wanted=everything) == (119, True)


def test_a_count_ended_by_the_scan_limit_says_that_there_may_be_more(crowd, monkeypatch):
    wanted = QueueFilter(agent="bot-a", severity=3)
    total = len(oracle(crowd, wanted))
    monkeypatch.setattr(queue, "SCAN_LIMIT", 5)
    count, more = capped_count(tenant=crowd, wanted=wanted)
    assert count < total
    assert more


# -- Query budgets and indexes


def test_queries_do_not_grow_with_the_rows(tenant, django_assert_max_num_queries):
    rita = make_member(tenant)

    def budgets():
        plain, combined = QueueFilter(), QueueFilter(agent="support-bot", severity=3)
        with django_assert_max_num_queries(1):
            page = queue_page(tenant=tenant, wanted=plain)
            # What the list shows is in the rows, and needs no further query.
            shown = [(t.external_id, t.snippet, t.tools_note, t.kind_list, t.assignee_id) for t in page.turns]
        assert shown
        with django_assert_max_num_queries(1):
            queue_page(tenant=tenant, wanted=QueueFilter(kind="uuid"))
        with django_assert_max_num_queries(1):
            queue_page(tenant=tenant, wanted=QueueFilter(sample=True))
        with django_assert_max_num_queries(1):
            queue_page(tenant=tenant, wanted=QueueFilter(assertions=True))
        with django_assert_max_num_queries(2):
            assert queue_page(tenant=tenant, wanted=combined).turns
        with django_assert_max_num_queries(3):
            assert queue_page(tenant=tenant, wanted=QueueFilter(text="invoice")).turns
        with django_assert_max_num_queries(1):
            capped_count(tenant=tenant, wanted=plain)
        with django_assert_max_num_queries(1):
            neighbour(tenant=tenant, wanted=plain, turn=page.turns[0])
        with django_assert_max_num_queries(1):
            queue_page(tenant=tenant, wanted=QueueFilter(assignee=rita.pk))

    accept_turns(tenant=tenant, records=[make_record() for _ in range(2)])
    analyse_pending()
    budgets()
    accept_turns(tenant=tenant, records=[make_record() for _ in range(200)])
    analyse_pending()
    budgets()


SEEKS = [
    ({}, "turn_queue"),
    ({"order": "newest"}, "turn_queue_time"),
    ({"order": "oldest"}, "turn_queue_time"),
    ({"state": "decided"}, "turn_queue"),
    ({"state": "decided", "order": "newest"}, "turn_queue_time"),
    ({"state": "clean", "order": "newest"}, "turn_queue_time"),
    ({"state": "all", "order": "newest"}, "turn_time"),
    ({"state": "all", "order": "oldest"}, "turn_time"),
    ({"state": "all", "order": "newest", "agent": "bot-a"}, "turn_agent_time"),
    ({"state": "all", "order": "newest", "age": "24h"}, "turn_time"),
    ({"agent": "bot-a"}, "turn_q_agent"),
    ({"severity": 3}, "turn_q_severity"),
    ({"outcome": "observed"}, "turn_q_outcome"),
    ({"assignee": 1}, "turn_q_assignee"),
    ({"min_confidence": 0.8}, "turn_queue"),
    ({"min_confidence": 0.8, "agent": "bot-a"}, "turn_q_agent"),
    ({"order": "newest", "age": "24h"}, "turn_queue_time"),
    ({"sample": True}, "turn_q_audit"),
    ({"sample": True, "state": "decided"}, "turn_q_audit"),
    ({"sample": True, "agent": "bot-a"}, "turn_q_audit"),
    ({"sample": True, "order": "newest"}, "turn_queue_time"),
    ({"assertions": True}, "turn_q_assertions"),
    ({"assertions": True, "state": "decided"}, "turn_q_assertions"),
    ({"assertions": True, "agent": "bot-a"}, "turn_q_assertions"),
    ({"assertions": True, "order": "newest"}, "turn_queue_time"),
    ({"state": "decided", "agent": "bot-a"}, "turn_q_agent"),
    *(({"kind": kind}, f"turn_q_{kind}"[:30]) for kind in KINDS),
]


@pytest.mark.django_db
@pytest.mark.sqlite  # reads its query plans
@pytest.mark.parametrize("later_page", [False, True])
@pytest.mark.parametrize(("chosen", "index"), SEEKS, ids=str)
def test_every_filter_and_order_is_found_through_its_index(tenant, chosen, index, later_page):
    wanted = QueueFilter(**chosen)
    key = 9503 if wanted.order == "priority" else timezone.now()
    cursor = encode_cursor(wanted.order, key, 1000) if later_page else ""
    statements = []

    def note(execute, sql, params, many, context):
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        queue_page(tenant=tenant, wanted=wanted, cursor=cursor)
    sql, params = statements[0]
    with connection.cursor() as plan:
        plan.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        steps = [row[3] for row in plan.fetchall()]
    assert len(steps) == 1, steps
    assert steps[0].startswith("SEARCH reviews_turn USING INDEX " + index + " "), steps


@pytest.mark.django_db
@pytest.mark.postgresql  # reads its query plans
@pytest.mark.parametrize("later_page", [False, True])
@pytest.mark.parametrize("state", ["open", "decided"])
@pytest.mark.parametrize(
    ("chosen", "values", "index"),
    [
        ({"sample": True}, {"audit_rate": 0.02}, "turn_q_audit"),
        ({"assertions": True}, {"assertions": "flagged"}, "turn_q_assertions"),
    ],
    ids=["sample", "assertions"],
)
def test_the_few_are_found_through_their_index_on_postgresql_too(
    tenant, chosen, values, index, state, later_page
):
    """With enough turns for the planner to care: a thousand, of which twenty are sought."""
    accepted = accept_turns(tenant=tenant, records=[make_record("Hello.") for _ in range(1000)])
    analyse_pending()
    turns = Turn.objects.for_tenant(tenant)
    turns.update(review_state=state)
    turns.filter(pk__in=[row.turn_id for row in accepted[::50]]).update(**values)
    cursor = encode_cursor("priority", 0, accepted[-1].turn_id) if later_page else ""
    statements = []

    def note(execute, sql, params, many, context):
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.cursor() as plan:
        plan.execute("ANALYZE reviews_turn")
        with connection.execute_wrapper(note):
            page = queue_page(tenant=tenant, wanted=QueueFilter(state=state, **chosen), cursor=cursor)
        assert len(page.turns) == 20
        sql, params = statements[0]
        plan.execute(f"EXPLAIN {sql}", params)
        steps = "\n".join(row[0] for row in plan.fetchall())
    assert index in steps
    assert "Seq Scan" not in steps


# -- Cursors


@pytest.mark.parametrize("order", ORDERS)
def test_a_cursor_marks_a_turns_place(tenant, order):
    turn = make_turn(tenant)
    key, turn_id = decode_cursor(cursor_of(turn, order), order)
    assert (key, turn_id) == (turn.priority if order == "priority" else turn.occurred_at, turn.pk)


def _encoded(text):
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


BAD_CURSORS = {
    "not base64": "!!!",
    "one letter": "a",
    "not ascii": "ünïcode",
    "not JSON": _encoded("hello"),
    "not UTF-8": urlsafe_b64encode(b"\xff\xfe\xfd").decode(),
    "a number": _encoded("5"),
    "null": _encoded("null"),
    "too short": _encoded('["priority", 1]'),
    "too long": _encoded('["priority", 1, 1, 1]'),
    "an object": _encoded('{"priority": 1, "b": 2, "c": 3}'),
    "another order": encode_cursor("newest", datetime(2026, 1, 1, tzinfo=UTC), 1),
    "a text for a number": _encoded('["priority", "1", 1]'),
    "a text for an id": _encoded('["priority", 1, "1"]'),
    "a fraction": _encoded('["priority", 1.5, 1]'),
    "a huge priority": _encoded('["priority", 99999999999999999999, 1]'),
    "a huge id": _encoded('["priority", 1, 99999999999999999999999]'),
    "endless digits": _encoded('["priority", 1, ' + "9" * 10_000 + "]"),
    "endless nesting": _encoded("[" * 100_000),
    "infinity": _encoded('["priority", Infinity, 1]'),
}
BAD_TIMES = {
    "not a time": '["newest", "yesterday", 1]',
    "no zone": '["newest", "2026-01-01T00:00:00", 1]',
    "a number": '["newest", 5, 1]',
    "null": '["newest", null, 1]',
    "before all time": '["newest", "0001-01-01T00:00:00+14:00", 1]',
    "after all time": '["newest", "9999-12-31T23:59:59-14:00", 1]',
    "another order": '["oldest", "2026-01-01T00:00:00+00:00", 1]',
}


@pytest.mark.parametrize("name", BAD_CURSORS)
def test_a_cursor_that_is_not_ours_is_refused_by_name(tenant, name):
    with pytest.raises(InvalidError) as caught:
        queue_page(tenant=tenant, wanted=QueueFilter(), cursor=BAD_CURSORS[name])
    assert set(caught.value.details["fields"]) == {"cursor"}


@pytest.mark.parametrize("name", BAD_TIMES)
def test_a_cursor_of_time_that_is_not_ours_is_refused_by_name(tenant, name):
    with pytest.raises(InvalidError) as caught:
        queue_page(tenant=tenant, wanted=QueueFilter(order="newest"), cursor=_encoded(BAD_TIMES[name]))
    assert set(caught.value.details["fields"]) == {"cursor"}


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"])
def test_the_ends_of_time_are_places_too(tenant, when):
    make_turn(tenant)
    queue_page(tenant=tenant, wanted=QueueFilter(order="newest"), cursor=_encoded(f'["newest", "{when}", 1]'))


# -- Reading a filter from parameters


def test_without_parameters_the_open_queue_by_priority_is_meant():
    assert parse_filter({}) == QueueFilter(state="open", order="priority")
    names = "state kind severity confidence agent outcome assignee age text sample assertions order"
    empty = dict.fromkeys(names.split(), "")
    assert parse_filter(empty) == QueueFilter()
    assert QueueFilter(order="newest").is_plain
    assert not QueueFilter(text="x").is_plain
    assert not QueueFilter(sample=True).is_plain
    assert not QueueFilter(assertions=True).is_plain


def test_every_parameter_is_read():
    values = {
        "state": "decided",
        "kind": "uuid",
        "severity": "high",
        "confidence": "0.75",
        "agent": "bot",
        "outcome": "observed",
        "assignee": "7",
        "age": "24h",
        "text": "  invoice ",
        "sample": "audit",
        "assertions": "failed",
        "order": "oldest",
        "page": "of no meaning here",
    }
    assert parse_filter(values) == QueueFilter(
        state="decided",
        kind="uuid",
        severity=3,
        min_confidence=0.75,
        agent="bot",
        outcome="observed",
        assignee=7,
        age="24h",
        text="invoice",
        sample=True,
        assertions=True,
        order="oldest",
    )
    assert parse_filter({"assignee": "me"}, me=12).assignee == 12


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("state", "closed"),
        ("state", "OPEN"),
        ("kind", "guess"),
        ("severity", "none"),
        ("severity", "3"),
        ("confidence", "high"),
        ("confidence", "1.01"),
        ("confidence", "-0.1"),
        ("confidence", "nan"),
        ("confidence", "inf"),
        ("outcome", "shrugged"),
        ("assignee", "rita"),
        ("assignee", "-1"),
        ("assignee", "1" * 30),
        ("assignee", "me"),  # and nobody is logged in
        ("age", "5m"),
        ("text", "x" * 201),
        ("text", "a\0b"),
        ("sample", "yes"),
        ("sample", "AUDIT"),
        ("assertions", "flagged"),
        ("assertions", "FAILED"),
        ("order", "random"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(name, value):
    with pytest.raises(InvalidError) as caught:
        parse_filter({name: value, "agent": "bot"})
    assert set(caught.value.details["fields"]) == {name}


def test_every_wrong_parameter_is_named_at_once():
    with pytest.raises(InvalidError) as caught:
        parse_filter({"state": "x", "kind": "x", "severity": "high", "confidence": "x", "order": "x"})
    assert set(caught.value.details["fields"]) == {"state", "kind", "confidence", "order"}
