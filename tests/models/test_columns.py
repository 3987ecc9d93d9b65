"""Values come back from either database as they went in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from reviews.models import DailyCount, Turn, TurnPayload
from reviews.models.bulk import update_rows, upsert_counts
from reviews.models.turns import KIND_BITS, Kind
from reviews.services.queue import ORDERS, QueueFilter, queue_page
from tests.factories import call, make_turn


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": 2},
        {"nested": {"z": [1, 1.0, "1", None, True], "a": {}}},
        [{"id": 9007199254740993}],
        "plain text",
        3.25,
    ],
)
def test_json_keeps_its_spelling(tenant, value):
    turn = make_turn(tenant)
    payload = TurnPayload.objects.for_tenant(tenant).get(turn=turn)
    payload.attributes = value
    payload.save()
    again = TurnPayload.objects.for_tenant(tenant).get(turn=turn).attributes
    assert again == value
    assert repr(again) == repr(value)  # 1 and 1.0 are equal; so are dicts in any order


@pytest.mark.parametrize("nothing", [None, {}, [], ""])
def test_empty_json_is_nothing(tenant, nothing):
    turn = make_turn(tenant)
    TurnPayload.objects.for_tenant(tenant).filter(turn=turn).update(attributes=nothing)
    assert TurnPayload.objects.for_tenant(tenant).get(turn=turn, attributes__isnull=True).attributes is None


def test_a_tool_call_keeps_the_order_of_its_arguments(tenant):
    turn = make_turn(tenant, tool_calls=[call("send", args={"to": "b", "at": 1.0}, result=[3, 2, 1])])
    stored = TurnPayload.objects.for_tenant(tenant).get(turn=turn).tool_calls
    assert list(stored[0]["args"].items()) == [("to", "b"), ("at", 1.0)]
    assert repr(stored[0]["args"]["at"]) == "1.0"


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=2))),
        datetime(1999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=-9, minutes=-30))),
    ],
)
def test_a_time_written_in_bulk_is_the_time_that_django_reads_and_finds(tenant, moment):
    turn = make_turn(tenant, occurred_at=moment)
    assert turn.occurred_at == moment
    assert Turn.objects.for_tenant(tenant).filter(occurred_at=moment).exists()
    before = moment - timedelta(microseconds=1)
    assert Turn.objects.for_tenant(tenant).filter(occurred_at__gt=before, occurred_at__lte=moment).exists()
    assert not Turn.objects.for_tenant(tenant).filter(occurred_at__lte=before).exists()


def test_times_with_and_without_fractions_sort_as_times(tenant):
    base = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    steps = [timedelta(0), timedelta(microseconds=5), timedelta(milliseconds=500), timedelta(seconds=1)]
    turns = [make_turn(tenant, occurred_at=base + step) for step in reversed(steps)]
    page = queue_page(tenant=tenant, wanted=QueueFilter(state="open", order="oldest"))
    assert [t.pk for t in page.turns] == [t.pk for t in reversed(turns)]
    assert "oldest" in ORDERS


def test_each_kind_has_a_bit_of_its_own_and_a_column():
    assert list(KIND_BITS) == Kind.values
    assert len(set(KIND_BITS.values())) == len(KIND_BITS)
    assert all(bit.bit_count() == 1 for bit in KIND_BITS.values())
    names = {field.name for field in Turn._meta.get_fields()}
    assert {f"has_{kind}" for kind in KIND_BITS} <= names


def test_counts_add_up_and_may_be_taken_back(tenant, other_tenant):
    day, next_day = datetime(2026, 3, 1, tzinfo=UTC).date(), datetime(2026, 3, 2, tzinfo=UTC).date()
    upsert_counts(DailyCount, ("day", "name"), [(tenant.pk, day, "turns", 2), (tenant.pk, day, "flagged", 1)])
    upsert_counts(
        DailyCount, ("day", "name"), [(tenant.pk, day, "turns", 3), (tenant.pk, next_day, "turns", 7)]
    )
    upsert_counts(
        DailyCount, ("day", "name"), [(tenant.pk, day, "flagged", -1), (other_tenant.pk, day, "turns", 11)]
    )
    found = {(c.day, c.name): c.count for c in DailyCount.objects.for_tenant(tenant)}
    assert found == {(day, "turns"): 5, (day, "flagged"): 0, (next_day, "turns"): 7}


def test_many_rows_are_updated_each_with_its_own_values(tenant):
    turns = [make_turn(tenant) for _ in range(3)]
    update_rows(Turn, ("agent", "attempts"), [(f"bot-{n}", n, turn.pk) for n, turn in enumerate(turns[:2])])
    found = dict(Turn.objects.for_tenant(tenant).values_list("pk", "agent"))
    assert found == {turns[0].pk: "bot-0", turns[1].pk: "bot-1", turns[2].pk: "support-bot"}
