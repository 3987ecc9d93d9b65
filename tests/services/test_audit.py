"""The audit log is a chain: whatever is changed, taken out or cut off shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from functools import partial

import pytest
from django.db import IntegrityError, transaction

from reviews.models import AuditEvent, AuditHead, Tenant
from reviews.services.audit import record_event, verify_chain
from tests.factories import make_member


@pytest.fixture
def chain(tenant):
    """Six events, the first being the policy that a tenant starts with."""
    for n in range(1, 6):
        record_event(tenant=tenant, actor=None, action="test.done", object_id=n, data={"n": n})
    assert events(tenant).count() == 6
    return tenant


def events(tenant):
    return AuditEvent.objects.for_tenant(tenant)


def problems(tenant):
    return list(verify_chain(tenant=tenant))


def test_a_chain_as_it_was_written_is_whole(chain):
    assert problems(chain) == []
    assert list(events(chain).order_by("sequence").values_list("sequence", flat=True)) == [1, 2, 3, 4, 5, 6]


def test_a_tenant_without_events_has_a_whole_chain(db):
    assert problems(Tenant.objects.create(slug="new", name="New")) == []


def test_an_event_tells_who_did_what_to_what_and_when(tenant):
    rita, at = make_member(tenant, username="rita"), datetime(2026, 5, 1, 10, 0, 0, 7, tzinfo=UTC)
    record_event(
        tenant=tenant,
        actor=rita,
        action="test.done",
        object_type="turn",
        object_id=7,
        data={"b": "ü🦊", "a": [1, None]},
        at=at,
    )
    event = events(tenant).latest("sequence")
    assert (event.actor, event.actor_name, event.action, event.at) == (rita, "rita", "test.done", at)
    assert (event.object_type, event.object_id) == ("turn", "7")
    assert event.data == '{"a":[1,null],"b":"ü🦊"}'
    assert problems(tenant) == []


@pytest.mark.parametrize(
    "at",
    [
        datetime(2026, 5, 1, tzinfo=UTC),
        datetime(2026, 5, 1, 10, 0, 0, 999999, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    ],
)
def test_a_chain_is_whole_whatever_the_zone_of_its_times(tenant, at):
    record_event(tenant=tenant, actor=None, action="test.done", at=at)
    assert problems(tenant) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("data", '{"n":99}'),
        ("action", "test.undone"),
        ("actor_name", "somebody"),
        ("object_type", "other"),
        ("object_id", "99"),
        ("at", datetime(2020, 1, 1, tzinfo=UTC)),
        ("digest", b"\1" * 32),
    ],
)
@pytest.mark.parametrize("sequence", [1, 3, 6])
def test_an_altered_event_is_reported(chain, sequence, field, value):
    events(chain).filter(sequence=sequence).update(**{field: value})
    found = problems(chain)
    assert found
    assert f"event {sequence} (" in found[0]
    assert "not as it was written" in found[0]
    assert all(chain.slug in problem for problem in found)


def test_an_event_put_in_another_persons_name_is_reported(chain):
    rita = make_member(chain)
    events(chain).filter(sequence=3).update(actor=rita)
    assert len(problems(chain)) == 1


def test_an_event_altered_together_with_its_digest_breaks_the_next_one(chain):
    from reviews.services.audit import digest_of

    before, event = events(chain).get(sequence=2), events(chain).get(sequence=3)
    event.data = '{"n":99}'
    events(chain).filter(pk=event.pk).update(data=event.data, digest=digest_of(event, bytes(before.digest)))
    found = problems(chain)
    assert len(found) == 1
    assert "event 4 (" in found[0]


@pytest.mark.parametrize(
    ("gone", "said"), [((3,), "events 3 to 3"), ((2, 3, 4), "events 2 to 4"), ((1,), "events 1 to 1")]
)
def test_deleted_events_are_reported(chain, gone, said):
    events(chain).filter(sequence__in=gone).delete()
    found = problems(chain)
    assert said in found[0]
    assert "missing" in found[0]


@pytest.mark.parametrize("kept", [5, 2, 0])
def test_a_tail_that_was_cut_off_is_reported(chain, kept):
    events(chain).filter(sequence__gt=kept).delete()
    (problem,) = problems(chain)
    assert f"ends at event {kept}, its head says 6" in problem


@pytest.mark.parametrize(
    "values", [{"sequence": 5}, {"sequence": 7}, {"digest": b"\2" * 32}, {"digest": b""}]
)
def test_an_altered_head_is_reported(chain, values):
    AuditHead.objects.for_tenant(chain).update(**values)
    assert len(problems(chain)) == 1


def test_a_missing_head_is_reported(chain):
    AuditHead.objects.for_tenant(chain).delete()
    assert len(problems(chain)) == 1


def test_two_events_that_changed_places_are_reported(chain):
    for old, new in ((2, 99), (3, 2), (99, 3)):
        events(chain).filter(sequence=old).update(sequence=new)
    assert any("event 2 (" in problem for problem in problems(chain))


def test_a_tail_cut_off_together_with_its_head_leaves_a_shorter_chain_that_goes_on(chain):
    """The known limit: who can rewrite the head too leaves a shorter chain that is whole."""
    last = events(chain).get(sequence=5)
    events(chain).filter(sequence=6).delete()
    AuditHead.objects.for_tenant(chain).update(sequence=5, digest=last.digest)
    assert problems(chain) == []
    record_event(tenant=chain, actor=None, action="test.done")
    assert events(chain).latest("sequence").sequence == 6


def test_tenants_have_chains_of_their_own(chain, other_tenant):
    record_event(tenant=other_tenant, actor=None, action="test.done")
    events(chain).filter(sequence=2).update(data="{}")
    assert len(problems(chain)) == 1
    assert problems(other_tenant) == []
    assert events(other_tenant).latest("sequence").sequence == 2


def test_an_event_moved_to_another_tenant_is_reported(chain, other_tenant):
    events(chain).filter(sequence=6).update(tenant=other_tenant, sequence=2)
    assert problems(chain)
    assert problems(other_tenant)


def test_an_event_stands_or_falls_with_what_it_tells_of(chain):
    def fail_after_the_event():
        with transaction.atomic():
            record_event(tenant=chain, actor=None, action="test.done")
            Tenant.objects.create(slug=chain.slug, name="Twice")

    with pytest.raises(IntegrityError):
        fail_after_the_event()
    assert events(chain).count() == 6
    record_event(tenant=chain, actor=None, action="test.done")
    assert problems(chain) == []


def test_writers_at_once_keep_the_chain_whole(in_threads, tenant, other_tenant):
    def write(mine, n):
        for k in range(8):
            record_event(tenant=mine, actor=None, action="test.done", data={"writer": n, "k": k})

    results = in_threads(
        *(partial(write, tenant, n) for n in range(4)), *(partial(write, other_tenant, n) for n in range(2))
    )
    assert results == [None] * 6
    assert problems(tenant) == problems(other_tenant) == []
    assert events(tenant).count() == 1 + 4 * 8
    assert events(other_tenant).count() == 1 + 2 * 8


def test_first_events_at_once_start_one_chain(in_threads, transactional_db):
    new = Tenant.objects.create(slug="new", name="New")
    results = in_threads(*[partial(record_event, tenant=new, actor=None, action="test.done")] * 5)
    assert sorted(event.sequence for event in results) == [1, 2, 3, 4, 5]
    assert AuditHead.objects.for_tenant(new).count() == 1
    assert problems(new) == []
