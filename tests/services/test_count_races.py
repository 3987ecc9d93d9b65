"""Writers of the same turns and counters at the same moment: nobody deadlocks, and every count is right."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from reviews.models import Job, ProfileCount, Turn
from reviews.models.jobs import JobKind
from reviews.services import events, profiles, rejudging
from reviews.services.analysis import analyse_pending
from reviews.services.events import accept_events
from reviews.services.intake import accept_turns
from reviews.services.policies import DEFAULTS
from reviews.services.profiles import fill_missing
from reviews.services.review import add_note, decide_turn
from reviews.services.simulation import last_days, simulate_policies
from tests.factories import make_event, make_member, make_record, make_tenant, make_turn
from tests.services.recount import assert_counts_hold

ROUNDS = 12


def stubs(tenant, actor, names):
    """Turns known from their events only, each with a note, so that they keep their findings."""
    found = [{"identifier": "I sent", "kind": "verb_claim", "confidence": 0.8}]
    accept_events(tenant=tenant, events=[make_event(name, found) for name in names])
    turns = {turn.external_id: turn for turn in Turn.objects.for_tenant(tenant).filter(external_id__in=names)}
    for turn in turns.values():
        add_note(tenant=tenant, actor=actor, turn_id=turn.pk, text="Look.", seen_version=0)
    return [turns[name] for name in names]


def unprofiled(*tenants):
    """As turns stood that an earlier release stored."""
    for tenant in tenants:
        Turn.objects.for_tenant(tenant).update(profile=None)
        ProfileCount.objects.for_tenant(tenant).delete()


def test_a_turn_that_arrives_while_it_is_decided_is_counted_once(in_threads, tenant):
    rita = make_member(tenant)
    for n, turn in enumerate(stubs(tenant, rita, [f"run-{n}" for n in range(ROUNDS)])):

        def decide(turn=turn):
            decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="fabricated", seen_version=1)

        def arrive(n=n):
            accept_turns(tenant=tenant, records=[make_record("I sent it.", external_id=f"run-{n}")])

        assert in_threads(decide, arrive) == [None, None]
    fill_missing()
    assert_counts_hold(tenant)


def test_a_turn_that_gets_its_profile_while_it_is_decided_is_counted_once(in_threads, tenant):
    rita = make_member(tenant)
    turns = [make_turn(tenant) for _ in range(ROUNDS)]
    for turn in turns:
        unprofiled(tenant)

        def decide(turn=turn):
            decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="fabricated", seen_version=0)

        assert in_threads(decide, fill_missing)[0] is None
        fill_missing()
        assert_counts_hold(tenant)


def test_batches_that_complete_stubs_in_opposite_orders_all_get_an_answer(in_threads, tenant):
    rita = make_member(tenant)
    for n in range(ROUNDS):
        names = [f"run-{n}-{m}" for m in range(6)]
        for turn in stubs(tenant, rita, names)[::2]:
            decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="unsure", seen_version=1)
        records = [make_record("I sent it.", external_id=name) for name in names]

        def send(batch):
            return [answer.status for answer in accept_turns(tenant=tenant, records=batch)]

        answers = in_threads(
            lambda records=records: send(records), lambda records=records: send(records[::-1])
        )
        assert sorted({str(status) for answer in answers for status in answer}) == ["accepted", "duplicate"]
    analyse_pending()
    fill_missing()
    assert_counts_hold(tenant)


def test_filling_in_and_analysing_several_tenants_at_once(in_threads, tenant, other_tenant, monkeypatch):
    monkeypatch.setattr(profiles, "FILL_SIZE", 3)
    for _ in range(ROUNDS // 2):
        for mine in (tenant, other_tenant):
            make_turn(mine)
            make_turn(mine, "I ran it, pid=77.")
        unprofiled(tenant, other_tenant)
        for mine in (other_tenant, tenant):
            accept_turns(tenant=mine, records=[make_record(), make_record("I ran it, pid=77.")])
        results = in_threads(lambda: fill_missing(seconds=5), analyse_pending)
        assert not [result for result in results if isinstance(result, Exception)]
        fill_missing(seconds=5)
    for mine in (tenant, other_tenant):
        assert_counts_hold(mine)


def test_judging_again_and_events_lock_turns_in_the_same_order(in_threads, tenant):
    """The turns' times run against their ids."""
    now = timezone.now()
    names = [f"run-{n}" for n in range(60)]
    accept_turns(
        tenant=tenant,
        records=[
            make_record("I sent it.", external_id=name, occurred_at=now - timedelta(minutes=n))
            for n, name in enumerate(names)
        ],
    )
    analyse_pending()
    job = Job(
        tenant=tenant,
        kind=JobKind.REJUDGE,
        parameters={"version": 1, "since": None},
        cursor={"after": None, "newest": 10**9},
    )

    def lock_as_the_job():
        for _ in range(40):
            with transaction.atomic():
                rejudging._next_turns(job)

    def lock_as_events():
        for _ in range(40):
            with transaction.atomic():
                events._known(tenant, set(names))

    assert in_threads(lock_as_the_job, lock_as_events) == [None, None]


def test_counts_below_zero_do_not_take_the_screen_away(tenant):
    make_turn(tenant)
    ProfileCount.objects.for_tenant(tenant).update(count=-1)
    found = simulate_policies(tenant=tenant, current=DEFAULTS, candidate=DEFAULTS, window=last_days(7))
    assert found.then.actions == (0, 0, 0)
    assert found.not_counted == 1


def test_what_is_still_to_be_counted_is_told(tenant):
    def simulated():
        return simulate_policies(tenant=tenant, current=DEFAULTS, candidate=DEFAULTS, window=last_days(7))

    make_turn(tenant)
    make_turn(tenant, "I ran it.")
    assert simulated().not_counted == 0
    unprofiled(make_tenant("another"), tenant)
    assert (simulated().not_counted, simulated().totals.turns) == (2, 2)
    fill_missing()
    assert simulated().not_counted == 0
