"""Counters: which ones a turn or a label adds to, and that they add up whoever writes."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial

import pytest

from reviews.models import DailyCount
from reviews.models.turns import KIND_BITS
from reviews.services.counting import LabelChange, add_counts, label_counts, turn_names

DAY = date(2026, 5, 1)


def test_a_turn_without_findings_counts_as_a_turn_only():
    assert turn_names(outcome="none", kinds=0) == ["turns"]


def test_a_flagged_turn_counts_its_outcome_and_each_kind_once():
    kinds = KIND_BITS["kv"] | KIND_BITS["verb_claim"]
    assert Counter(turn_names(outcome="observed", kinds=kinds)) == Counter(
        ["turns", "flagged", "outcome:observed", "kind:verb_claim", "kind:kv"]
    )


@pytest.mark.parametrize("kind", KIND_BITS)
def test_every_kind_has_a_counter_that_fits_its_column(kind):
    names = turn_names(outcome="refuse_replaced", kinds=KIND_BITS[kind])
    assert f"kind:{kind}" in names
    longest = DailyCount._meta.get_field("name").max_length
    assert max(len(name) for name in [*names, f"label:{kind}:false_alarm"]) <= longest


def test_a_changed_label_moves_from_the_day_of_the_old_to_the_day_of_the_new():
    first, second = datetime(2026, 5, 1, 12, tzinfo=UTC), datetime(2026, 5, 2, 12, tzinfo=UTC)
    changes = [
        LabelChange("kv", "", None, "fabricated", second),
        LabelChange("kv", "unsure", first, "fabricated", second),
        LabelChange("uuid", "unsure", first, "", None),
    ]
    assert label_counts(changes) == {
        (date(2026, 5, 2), "label:kv:fabricated"): 2,
        (date(2026, 5, 1), "label:kv:unsure"): -1,
        (date(2026, 5, 1), "label:uuid:unsure"): -1,
    }


def test_days_are_those_of_utc():
    late = datetime(2026, 5, 1, 23, 30, tzinfo=timezone(timedelta(hours=-3)))
    assert list(label_counts([LabelChange("kv", "", None, "unsure", late)])) == [
        (date(2026, 5, 2), "label:kv:unsure")
    ]


def test_counts_add_up_and_nothing_is_written_for_nothing(tenant):
    add_counts(tenant_id=tenant.pk, counts={(DAY, "turns"): 2, (DAY, "flagged"): 0})
    add_counts(tenant_id=tenant.pk, counts={(DAY, "turns"): 3})
    add_counts(tenant_id=tenant.pk, counts={})
    assert [(c.day, c.name, c.count) for c in DailyCount.objects.for_tenant(tenant)] == [(DAY, "turns", 5)]


def test_writers_at_once_lose_no_count_and_never_deadlock(in_threads, tenant):
    names = [f"kind:{n}" for n in range(6)]

    def write(order):
        for _ in range(10):
            add_counts(tenant_id=tenant.pk, counts={(DAY, name): 1 for name in order})

    assert in_threads(*(partial(write, order) for order in (names, names[::-1]) * 2)) == [None] * 4
    assert dict(DailyCount.objects.for_tenant(tenant).values_list("name", "count")) == dict.fromkeys(
        names, 40
    )
