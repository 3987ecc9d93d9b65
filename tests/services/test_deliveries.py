"""Every decision about a skill arrives at its runtime, in order, whatever fails on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from reviews.models import AuditEvent, Delivery, Runtime, Skill
from reviews.models.runtimes import DeliveryAction, DeliveryState
from reviews.models.tenants import Role
from reviews.services import deliveries, outbound
from reviews.services.deliveries import (
    BASE_SECONDS,
    LEASE_MARGIN_SECONDS,
    LONGEST_SECONDS,
    MAX_ATTEMPTS,
    TRIES_FOR_ALL,
    deliver_due,
    enqueue,
    has_due,
    retry,
    retry_all,
    state_of,
)
from reviews.services.errors import ConflictError, ForbiddenError, NotFoundError
from reviews.services.runtimes import remove_runtime, set_runtime
from tests.factories import make_member, make_skill
from tests.services.peers import Peer, Reply, Seen, peer, reply

pytestmark = pytest.mark.django_db

#: Four requests of at most ten seconds, and the margin.
LEASE_SECONDS = 4 * 10 + LEASE_MARGIN_SECONDS

APPROVE, REJECT, PATCH = DeliveryAction.APPROVE, DeliveryAction.REJECT, DeliveryAction.PATCH


@pytest.fixture(autouse=True)
def _open_inside(settings):
    settings.OUTBOUND_ALLOW_PRIVATE = True


class Time:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = timezone.now() + timedelta(seconds=1)

    def __call__(self):
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Time:
    return Time()


def most() -> float:
    """The draw that waits longest."""
    return 1.0


@contextmanager
def runtime_at(tenant, answer: Callable[[Seen], Reply] = lambda seen: reply(200, {})) -> Iterator[Peer]:
    """What it shows of a skill is nothing else than what was approved; ``answer`` is for what it is told."""
    with peer(lambda seen: reply(200, {}) if seen.method == "GET" else answer(seen)) as server:
        connect(tenant, server.url)
        yield server


def told(server: Peer) -> list[str]:
    """What the runtime was told; what was only read there is left out."""
    return [asked for asked in server.asked if not asked.startswith("GET ")]


def connect(tenant, url: str, **fields: Any) -> Runtime:
    fields = {"runtime_tenant": "acme-prod", "auth": "Bearer sk-4711", **fields}
    return set_runtime(tenant=tenant, actor=None, base_url=f"{url}/api/v1", **fields)


def known(tenant, runtime_id: str = "rt-1", **fields: Any):
    return make_skill(tenant, runtime_id=runtime_id, **fields)


def stored(message: Delivery | None) -> Delivery:
    assert message is not None
    return Delivery.objects.across_tenants().get(pk=message.pk)


def counts(progress: deliveries.Progress) -> tuple[int, int, int]:
    return (progress.delivered, progress.put_off, progress.dead)


def failing(*statuses: int, **headers: str) -> Callable[[Seen], Reply]:
    """Answers with these statuses in turn, then with 200."""
    left = list(statuses)
    return lambda seen: reply(left.pop(0) if left else 200, {}, **headers)


# -- Writing messages


def test_a_message_needs_a_runtime_and_a_skill_that_it_knows(tenant, other_tenant):
    assert enqueue(skill=known(tenant), action=APPROVE) is None
    connect(other_tenant, "http://127.0.0.1:8000")
    assert enqueue(skill=known(tenant, "rt-2"), action=APPROVE) is None
    connect(tenant, "http://127.0.0.1:8000")
    assert enqueue(skill=make_skill(tenant), action=APPROVE) is None
    assert stored(enqueue(skill=known(tenant, "rt-3"), action=APPROVE)).state == DeliveryState.WAITING
    assert Delivery.objects.across_tenants().count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_decision_that_is_taken_back_before_its_commit_leaves_no_message(tenant, clock):
    with runtime_at(tenant) as server:
        skill = known(tenant)

        def undecided() -> None:
            with transaction.atomic():
                enqueue(skill=skill, action=APPROVE)
                raise ConflictError("Somebody was quicker.")

        with pytest.raises(ConflictError):
            undecided()
        assert deliver_due(clock=clock).sent == 0
        assert server.seen == []


# -- Sending them


def test_what_the_runtime_is_told(tenant, clock):
    body = {"steps": ["look it up"], "properties": {"rationale": "é"}}
    with runtime_at(tenant) as server:
        skill = known(tenant, "rt/1 ?#")
        messages = [enqueue(skill=skill, action=PATCH, body=body), enqueue(skill=skill, action=APPROVE)]
        messages.append(enqueue(skill=known(tenant, "rt-2"), action=REJECT))
        assert has_due(clock=clock)
        assert counts(deliver_due(clock=clock)) == (3, 0, 0)
        assert not has_due(clock=clock)
    assert sorted(told(server)) == [
        "PATCH /api/v1/procedures/rt%2F1%20%3F%23",
        "POST /api/v1/procedures/rt%2F1%20%3F%23/approve",
        "POST /api/v1/procedures/rt-2/reject",
    ]
    assert [seen.json for seen in server.seen if seen.method == "PATCH"] == [body]
    for seen in server.seen:
        assert (seen.headers["x-tenant-id"], seen.headers["authorization"]) == ("acme-prod", "Bearer sk-4711")
    for message in map(stored, messages):
        assert (message.state, message.attempts, message.claim) == (DeliveryState.DELIVERED, 1, "")
        assert (message.delivered_at, message.last_error, message.lease_until) == (clock.now, "", None)


def test_a_runtime_without_authorization_is_sent_none(tenant, clock):
    with peer(lambda seen: reply(200, {})) as server:
        connect(tenant, server.url, auth="")
        enqueue(skill=known(tenant), action=APPROVE)
        deliver_due(clock=clock)
    assert "authorization" not in server.seen[0].headers


def test_each_tenants_messages_go_to_its_own_runtime(tenant, other_tenant, clock):
    with runtime_at(tenant) as ours, runtime_at(other_tenant) as theirs:
        enqueue(skill=known(tenant, "ours"), action=APPROVE)
        enqueue(skill=known(other_tenant, "theirs"), action=APPROVE)
        assert deliver_due(clock=clock).delivered == 2
    assert told(ours) == ["POST /api/v1/procedures/ours/approve"]
    assert told(theirs) == ["POST /api/v1/procedures/theirs/approve"]


def test_a_run_ends_when_it_is_told_to(tenant, clock):
    with runtime_at(tenant):
        for number in range(3):
            enqueue(skill=known(tenant, f"rt-{number}"), action=APPROVE)
        assert deliver_due(max_deliveries=1, clock=clock).sent == 1
        assert deliver_due(seconds=0, clock=clock).sent == 1
        assert deliver_due(clock=clock).sent == 1


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_the_runtime_is_asked(tenant, clock, monkeypatch):
    open_transactions = []
    really = outbound.request

    def watched(*args, **kwargs):
        open_transactions.append(connection.in_atomic_block)
        return really(*args, **kwargs)

    monkeypatch.setattr(outbound, "request", watched)
    with runtime_at(tenant):
        enqueue(skill=known(tenant), action=APPROVE)
        assert deliver_due(clock=clock).delivered == 1
    assert open_transactions == [False] * 2


# -- In order


def test_messages_about_one_skill_keep_their_order_and_others_pass_by(tenant, clock):
    answers = failing(500)
    with runtime_at(tenant, answers) as server:
        skill = known(tenant, "first")
        enqueue(skill=skill, action=PATCH, body={"steps": ["x"]})
        enqueue(skill=skill, action=APPROVE)
        enqueue(skill=known(tenant, "second"), action=APPROVE)
        assert counts(deliver_due(clock=clock, draw=most)) == (1, 1, 0)
        assert told(server) == [
            "PATCH /api/v1/procedures/first",
            "POST /api/v1/procedures/second/approve",
        ]
        clock.pass_by(BASE_SECONDS)
        assert counts(deliver_due(clock=clock)) == (2, 0, 0)
        assert told(server)[2:] == [
            "PATCH /api/v1/procedures/first",
            "POST /api/v1/procedures/first/approve",
        ]


def test_a_message_waits_behind_one_that_was_given_up(tenant, clock):
    """The approval is of the edited text; without the edit it would put the other one in force."""
    with runtime_at(tenant, failing(422)) as server:
        skill = known(tenant)
        edit = enqueue(skill=skill, action=PATCH, body={"steps": ["x"]})
        enqueue(skill=skill, action=APPROVE)
        assert counts(deliver_due(clock=clock)) == (0, 0, 1)
        clock.pass_by(30 * 24 * 3600)
        assert not has_due(clock=clock)
        assert deliver_due(clock=clock).sent == 0
        retry(tenant=tenant, actor=None, delivery_id=stored(edit).pk)
        assert counts(deliver_due(clock=clock)) == (2, 0, 0)
    assert [asked.split()[0] for asked in told(server)] == ["PATCH", "PATCH", "POST"]


# -- What is approved is what was seen


def copy_of(skill, **properties: Any) -> dict[str, Any]:
    """A skill as the runtime shows it that it was pulled from."""
    said = {"trigger": skill.trigger, "rationale": skill.rationale, "kind": skill.kind, **properties}
    return {"id": skill.runtime_id, "label": skill.label, "steps": skill.steps, "properties": said}


@contextmanager
def keeping(tenant, copy: dict[str, Any], *, takes_edits: bool = True) -> Iterator[Peer]:
    """A runtime that holds one skill."""

    def answer(seen: Seen) -> Reply:
        if seen.method == "PATCH" and takes_edits:
            copy["steps"] = seen.json["steps"]
            copy["properties"] |= seen.json["properties"]
        return reply(200, copy)

    with peer(answer) as server:
        connect(tenant, server.url)
        yield server


def test_the_same_text_is_approved_as_it_is(tenant, clock):
    skill = known(tenant)
    with keeping(tenant, copy_of(skill, hits=7)) as server:
        enqueue(skill=skill, action=APPROVE)
        assert counts(deliver_due(clock=clock)) == (1, 0, 0)
    assert server.asked == ["GET /api/v1/procedures/rt-1", "POST /api/v1/procedures/rt-1/approve"]
    assert server.seen[1].body == b""


def test_another_text_is_written_over_before_it_is_approved(tenant, clock):
    skill = known(tenant)
    copy = copy_of(skill, trigger="anything at all")
    with keeping(tenant, copy) as server:
        enqueue(skill=skill, action=APPROVE)
        # What is written is the text at the moment of the approval, not a later one.
        Skill.objects.for_tenant(tenant).update(action="not approved", steps=["not approved"])
        assert counts(deliver_due(clock=clock)) == (1, 0, 0)
    assert [asked.split()[0] for asked in server.asked] == ["GET", "PATCH", "GET", "POST"]
    assert (copy["properties"]["trigger"], copy["steps"]) == (skill.trigger, skill.steps)
    event = AuditEvent.objects.for_tenant(tenant).get(action="delivery.text_replaced")
    assert (event.actor, event.object_id) == (None, str(skill.pk))


def test_a_runtime_that_does_not_take_the_approved_text_is_told_of_no_approval(tenant, clock):
    skill = known(tenant)
    with keeping(tenant, copy_of(skill, trigger="anything at all"), takes_edits=False) as server:
        message = enqueue(skill=skill, action=APPROVE)
        assert counts(deliver_due(clock=clock)) == (0, 0, 1)
    assert "POST" not in {asked.split()[0] for asked in server.asked}
    assert stored(message).last_error == (
        "The agent runtime holds another text than the approved one and does not take that one."
    )
    assert not AuditEvent.objects.for_tenant(tenant).filter(action="delivery.text_replaced").exists()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"[" * 100_000, b'{"a":' * 5_000])
def test_a_copy_that_cannot_be_read_is_not_approved_and_holds_up_no_other(tenant, clock, body):
    def answer(seen: Seen) -> Reply:
        return reply(200, body if seen.path.endswith("/odd") else {})

    with peer(answer) as server:
        connect(tenant, server.url)
        message = enqueue(skill=known(tenant, "odd"), action=APPROVE)
        enqueue(skill=known(tenant, "other"), action=APPROVE)
        assert counts(deliver_due(clock=clock, draw=most)) == (1, 1, 0)
    assert told(server) == ["POST /api/v1/procedures/other/approve"]
    assert stored(message).last_error == "The agent runtime shows something else than a skill."


# -- Failing


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "The agent runtime no longer knows this skill (HTTP 404)."),
        (410, "The agent runtime no longer knows this skill (HTTP 410)."),
        (400, "The agent runtime does not accept this message (HTTP 400)."),
        (405, "The agent runtime does not accept this message (HTTP 405)."),
        (422, "The agent runtime does not accept this message (HTTP 422)."),
    ],
)
def test_a_final_refusal_is_given_up_at_once_with_the_reason(tenant, clock, status, words):
    with runtime_at(tenant, failing(status)) as server:
        skill = known(tenant)
        message = enqueue(skill=skill, action=APPROVE)
        assert counts(deliver_due(clock=clock)) == (0, 0, 1)
        clock.pass_by(10 * LONGEST_SECONDS)
        assert deliver_due(clock=clock).sent == 0
    assert len(told(server)) == 1
    assert (stored(message).state, stored(message).last_error) == (DeliveryState.DEAD, words)
    assert state_of(skill)[:2] == (DeliveryState.DEAD, f"Approve: given up. {words}")


@pytest.mark.parametrize("status", [408, 409, 423, 425, 500, 501, 599])
def test_a_failure_at_one_message_is_tried_again_and_holds_up_no_other(tenant, clock, status):
    with runtime_at(tenant, failing(status)) as server:
        enqueue(skill=known(tenant, "rt-1"), action=APPROVE)
        enqueue(skill=known(tenant, "rt-2"), action=APPROVE)
        assert counts(deliver_due(clock=clock, draw=most)) == (1, 1, 0)
        clock.pass_by(BASE_SECONDS)
        assert counts(deliver_due(clock=clock)) == (1, 0, 0)
    assert len(told(server)) == 3


@pytest.mark.parametrize("status", [301, 307, 401, 403, 429, 502, 503, 504])
def test_trouble_with_the_whole_runtime_has_one_message_try_for_all(tenant, other_tenant, clock, status):
    with runtime_at(tenant, failing(status, status)) as server, runtime_at(other_tenant) as theirs:
        for number in range(3):
            enqueue(skill=known(tenant, f"rt-{number}"), action=APPROVE)
        enqueue(skill=known(other_tenant), action=APPROVE)
        assert counts(deliver_due(clock=clock, draw=most)) == (1, 1, 0)
        assert len(told(theirs)) == 1
        assert f"HTTP {status}" in Runtime.objects.for_tenant(tenant).get().last_error
        clock.pass_by(BASE_SECONDS)
        assert counts(deliver_due(clock=clock, draw=most)) == (0, 1, 0)
        clock.pass_by(2 * BASE_SECONDS)
        assert counts(deliver_due(clock=clock)) == (3, 0, 0)
        assert Runtime.objects.for_tenant(tenant).get().last_error == ""
    # The same one tried each time.
    assert told(server)[:3] == ["POST /api/v1/procedures/rt-0/approve"] * 3


def test_one_message_that_always_looks_like_trouble_with_all_does_not_hold_up_the_others_for_long(
    tenant, clock
):
    """A proxy that gives up on one slow skill answers 504 just as it does when the runtime is gone."""
    with runtime_at(tenant, lambda seen: reply(504 if "slow" in seen.path else 200, {})):
        slow = enqueue(skill=known(tenant, "slow"), action=APPROVE)
        other = enqueue(skill=known(tenant, "other"), action=APPROVE)
        for _ in range(TRIES_FOR_ALL):
            assert counts(deliver_due(clock=clock, draw=most)) == (0, 1, 0)
            clock.pass_by(LONGEST_SECONDS)
        assert counts(deliver_due(clock=clock, draw=most)) == (1, 1, 0)
    assert (stored(slow).state, stored(other).state) == (DeliveryState.WAITING, DeliveryState.DELIVERED)


def test_an_answer_that_is_too_large_holds_up_no_other(tenant, clock):
    huge = reply(200, b" " * (outbound.MAX_ANSWER_BYTES + 1))
    with runtime_at(tenant, lambda seen: huge if "huge" in seen.path else reply(200, {})):
        message = enqueue(skill=known(tenant, "huge"), action=APPROVE)
        enqueue(skill=known(tenant, "other"), action=APPROVE)
        assert counts(deliver_due(clock=clock, draw=most)) == (1, 1, 0)
    assert stored(message).last_error == "The answer is larger than 1024 KiB."
    assert Runtime.objects.for_tenant(tenant).get().last_error == ""


def test_a_failure_of_our_own_at_one_message_holds_up_no_other(tenant, clock, monkeypatch):
    really = outbound.request

    def broken(method, url, **kwargs):
        if "odd" in url:
            raise RuntimeError("Bearer sk-4711")
        return really(method, url, **kwargs)

    monkeypatch.setattr(outbound, "request", broken)
    with runtime_at(tenant):
        message = enqueue(skill=known(tenant, "odd"), action=APPROVE)
        enqueue(skill=known(tenant, "other"), action=APPROVE)
        assert counts(deliver_due(clock=clock, draw=most)) == (1, 1, 0)
    assert stored(message).last_error == "It could not be sent; the server's log says why."
    assert (stored(message).claim, stored(message).lease_until) == ("", None)


def test_a_runtime_that_is_not_there_is_told_in_words_and_waited_for(tenant, clock):
    with peer(lambda seen: None) as gone:
        connect(tenant, gone.url)
    skill = known(tenant)
    enqueue(skill=skill, action=REJECT)
    assert counts(deliver_due(clock=clock, draw=most)) == (0, 1, 0)
    state, words, at, _ = state_of(skill)
    assert (state, words) == (DeliveryState.WAITING, "Reject: tried once. The connection was refused.")
    assert at == clock.now + timedelta(seconds=BASE_SECONDS)
    assert Runtime.objects.for_tenant(tenant).get().last_error == "The connection was refused."


def test_an_address_that_became_forbidden_is_not_asked(tenant, clock, settings):
    with runtime_at(tenant) as server:
        message = enqueue(skill=known(tenant), action=APPROVE)
        settings.OUTBOUND_ALLOW_PRIVATE = False
        assert counts(deliver_due(clock=clock)) == (0, 1, 0)
        assert server.seen == []
    assert "private network" in stored(message).last_error


def test_the_waits_double_up_to_an_hour_and_end(tenant, clock):
    """With the longest draw: 5, 10, 20 … 2560 seconds, then an hour each; sixty attempts and no more."""
    with runtime_at(tenant, lambda seen: reply(500, {})) as server:
        message = enqueue(skill=known(tenant), action=APPROVE)
        waits = []
        while stored(message).state == DeliveryState.WAITING:
            deliver_due(clock=clock, draw=most)
            waits.append((stored(message).next_at - clock.now).total_seconds())
            clock.pass_by(LONGEST_SECONDS)
    assert waits[:10] == [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]
    assert set(waits[10:-1]) == {3600}
    assert len(told(server)) == MAX_ATTEMPTS == 60
    assert stored(message).state == DeliveryState.DEAD


def test_the_wait_is_drawn_from_nothing_to_the_longest(tenant, clock):
    with runtime_at(tenant, lambda seen: reply(500, {})):
        message = enqueue(skill=known(tenant), action=APPROVE)
        draws = iter([0.25, 0.5])
        deliver_due(max_deliveries=1, clock=clock, draw=lambda: next(draws))
        assert stored(message).next_at == clock.now + timedelta(seconds=0.25 * 5)
        clock.pass_by(5)
        deliver_due(max_deliveries=1, clock=clock, draw=lambda: next(draws))
        assert stored(message).next_at == clock.now + timedelta(seconds=0.5 * 10)


@pytest.mark.parametrize("status", [429, 503, 500])
def test_a_runtime_that_asks_for_time_is_given_it(tenant, clock, status):
    with runtime_at(tenant, failing(status, Retry_After="120")) as server:
        enqueue(skill=known(tenant), action=APPROVE)
        assert counts(deliver_due(clock=clock)) == (0, 1, 0)
        clock.pass_by(119)
        assert deliver_due(clock=clock).sent == 0
        clock.pass_by(1)
        assert deliver_due(clock=clock).delivered == 1
    assert len(told(server)) == 2


def test_a_runtime_cannot_silence_itself_for_ever(tenant, clock):
    with runtime_at(tenant, failing(503, Retry_After="99999999999999999999")):
        message = enqueue(skill=known(tenant), action=APPROVE)
        deliver_due(clock=clock)
        assert stored(message).next_at == clock.now + timedelta(days=1)


# -- Workers that die


class WorkerKilledError(BaseException):
    """Ends a worker at a chosen moment, as a kill would."""


@pytest.mark.parametrize("arrived", [False, True])
def test_a_worker_killed_while_it_sends_loses_nothing(tenant, clock, monkeypatch, arrived):
    really = outbound.request

    def killed(method, *args, **kwargs):
        if method == "GET" or arrived:
            answer = really(method, *args, **kwargs)
        if method == "GET":
            return answer
        raise WorkerKilledError

    with runtime_at(tenant) as server:
        skill = known(tenant)
        first, second = enqueue(skill=skill, action=APPROVE), enqueue(skill=skill, action=REJECT)
        with monkeypatch.context() as patched:
            patched.setattr(outbound, "request", killed)
            with pytest.raises(WorkerKilledError):
                deliver_due(clock=clock)
        # Until the lease is over it may still be at it.
        assert (stored(first).state, deliver_due(clock=clock).sent) == (DeliveryState.WAITING, 0)
        clock.pass_by(LEASE_SECONDS + 1)
        assert counts(deliver_due(clock=clock)) == (2, 0, 0)
    assert stored(first).attempts == 2
    assert [asked.rsplit("/")[-1] for asked in told(server)] == ["approve"] * (1 + arrived) + ["reject"]
    assert stored(second).state == DeliveryState.DELIVERED


def test_a_message_whose_worker_is_lost_each_time_is_given_up(tenant, clock):
    """It may be the message that ends the workers; then it would go on for ever."""
    with runtime_at(tenant) as server:
        message = stored(enqueue(skill=known(tenant), action=APPROVE))
        message.attempts, message.claim = MAX_ATTEMPTS, "gone"
        message.lease_until = clock.now - timedelta(seconds=1)
        message.save()
        assert counts(deliver_due(clock=clock)) == (0, 0, 1)
        assert told(server) == []
    assert (stored(message).state, stored(message).claim) == (DeliveryState.DEAD, "")
    assert "worker stopped" in stored(message).last_error


def test_a_message_on_its_way_while_the_runtime_moves_is_sent_to_the_new_place(tenant, clock, monkeypatch):
    """The old place took it; the new one has never heard of it."""
    really = outbound.request
    with peer(lambda seen: reply(200, {})) as new, runtime_at(tenant) as old:

        def moving(*args, **kwargs):
            monkeypatch.setattr(outbound, "request", really)
            answer = really(*args, **kwargs)
            connect(tenant, new.url)
            return answer

        monkeypatch.setattr(outbound, "request", moving)
        message = enqueue(skill=known(tenant), action=REJECT)
        deliver_due(clock=clock)
    assert told(old) == told(new) == ["POST /api/v1/procedures/rt-1/reject"]
    assert stored(message).state == DeliveryState.DELIVERED


def test_a_worker_that_was_only_slow_changes_nothing_any_more(tenant, clock, monkeypatch):
    """Its lease ran out while it waited; another one delivered the message and its answer stands."""
    really = outbound.request

    def slow(*args, **kwargs):
        monkeypatch.setattr(outbound, "request", really)
        clock.pass_by(LEASE_SECONDS + 1)
        assert counts(deliver_due(clock=clock)) == (1, 0, 0)
        return outbound.Answer(422, {}, b"")

    monkeypatch.setattr(outbound, "request", slow)
    with runtime_at(tenant):
        message = enqueue(skill=known(tenant), action=APPROVE)
        assert deliver_due(clock=clock).dead == 0
    assert (stored(message).state, stored(message).attempts) == (DeliveryState.DELIVERED, 2)


def test_several_workers_send_each_message_once(tenant, in_threads):
    with runtime_at(tenant) as server:
        for number in range(20):
            skill = known(tenant, f"rt-{number:02}")
            enqueue(skill=skill, action=PATCH, body={"steps": ["x"]})
            enqueue(skill=skill, action=APPROVE)
        done = in_threads(*[deliver_due] * 4)
        assert sum(progress.delivered for progress in done) == 40
    assert len(told(server)) == len(set(told(server))) == 40
    for number in range(20):
        about = [asked.split()[0] for asked in told(server) if f"rt-{number:02}" in asked]
        assert about == ["PATCH", "POST"]


# -- Switched off and removed


def test_a_runtime_that_is_switched_off_keeps_its_messages_waiting(tenant, clock):
    with runtime_at(tenant) as server:
        skill = known(tenant)
        enqueue(skill=skill, action=APPROVE)
        connect(tenant, server.url, auth=None, is_active=False)
        enqueue(skill=skill, action=REJECT)
        assert not has_due(clock=clock)
        assert deliver_due(clock=clock).sent == 0
        assert state_of(skill).words == "Approve: waits until the agent runtime is switched on again."
        connect(tenant, server.url, auth=None)
        assert counts(deliver_due(clock=clock)) == (2, 0, 0)


def test_new_settings_are_tried_at_once(tenant, clock):
    with peer(lambda seen: None) as gone:
        connect(tenant, gone.url)
    message = enqueue(skill=known(tenant), action=APPROVE)
    for _ in range(9):
        deliver_due(clock=clock, draw=most)
        clock.pass_by(LONGEST_SECONDS)
    assert stored(message).attempts == 9
    with runtime_at(tenant):
        assert counts(deliver_due(clock=clock)) == (1, 0, 0)
    assert stored(message).attempts == 1


def test_what_is_left_for_a_runtime_that_is_removed_is_dropped(tenant, clock):
    with runtime_at(tenant, failing(422)) as server:
        skills = [known(tenant, f"rt-{number}") for number in range(2)]
        messages = [enqueue(skill=skill, action=APPROVE) for skill in skills]
        deliver_due(max_deliveries=1, clock=clock)
        remove_runtime(tenant=tenant, actor=None)
        connect(tenant, server.url)
        assert deliver_due(clock=clock).sent == 0
    assert [stored(message).state for message in messages] == [DeliveryState.DROPPED] * 2
    assert state_of(skills[1])[:2] == (
        DeliveryState.DROPPED,
        "Approve: not sent, the agent runtime was removed.",
    )


# -- Sending again


def test_a_message_given_up_is_sent_again_when_somebody_asks(tenant, clock):
    rita = make_member(tenant)
    with runtime_at(tenant, failing(404)):
        skill = known(tenant)
        message = enqueue(skill=skill, action=APPROVE)
        deliver_due(clock=clock)
        again = retry(tenant=tenant, actor=rita, delivery_id=stored(message).pk)
        assert (again.state, again.attempts, again.last_error) == (DeliveryState.WAITING, 0, "")
        assert state_of(skill).words == "Approve: waits to be sent."
        assert deliver_due(clock=clock).delivered == 1
        with pytest.raises(ConflictError, match="delivered"):
            retry(tenant=tenant, actor=rita, delivery_id=again.pk)
    event = AuditEvent.objects.for_tenant(tenant).filter(action="delivery.retried").get()
    assert (event.actor, event.object_type, event.object_id) == (rita, "skill", str(skill.pk))


def test_all_that_was_given_up_is_sent_again(tenant, other_tenant, clock):
    rita = make_member(tenant)
    with runtime_at(tenant, failing(404, 404)), runtime_at(other_tenant, failing(404)):
        for number in range(2):
            enqueue(skill=known(tenant, f"rt-{number}"), action=APPROVE)
        enqueue(skill=known(other_tenant), action=APPROVE)
        assert deliver_due(clock=clock).dead == 3
        assert retry_all(tenant=tenant, actor=rita) == 2
        assert retry_all(tenant=tenant, actor=rita) == 0
        assert deliver_due(clock=clock).delivered == 2
    assert Delivery.objects.for_tenant(other_tenant).get().state == DeliveryState.DEAD
    event = AuditEvent.objects.for_tenant(tenant).get(action="delivery.retried_all")
    assert event.data == '{"count":2}'


def test_who_may_not_send_again(tenant, other_tenant, clock):
    vera, stranger = make_member(tenant, Role.VIEWER), make_member(other_tenant, Role.OWNER)
    with runtime_at(tenant, failing(404)):
        message = stored(enqueue(skill=known(tenant), action=APPROVE))
        deliver_due(clock=clock)
    for actor in (vera, stranger):
        with pytest.raises(ForbiddenError):
            retry(tenant=tenant, actor=actor, delivery_id=message.pk)
        with pytest.raises(ForbiddenError):
            retry_all(tenant=tenant, actor=actor)
    with pytest.raises(NotFoundError):
        retry(tenant=other_tenant, actor=stranger, delivery_id=message.pk)
    assert stored(message).state == DeliveryState.DEAD


# -- What a page says


def test_a_skill_says_how_it_stands_with_the_runtime(tenant, clock, django_assert_max_num_queries):
    with runtime_at(tenant, failing(500, 500)):
        unknown, skill = make_skill(tenant), known(tenant)
        assert state_of(unknown).state == ""
        assert "does not know this skill" in state_of(unknown).words
        assert state_of(skill)[:2] == ("", "Nothing has been sent to the agent runtime yet.")
        edit = enqueue(skill=skill, action=PATCH, body={"steps": ["x"]})
        enqueue(skill=skill, action=APPROVE)
        assert state_of(skill)[:2] == (DeliveryState.WAITING, "Edit: waits to be sent.")
        deliver_due(clock=clock, draw=most)
        clock.pass_by(BASE_SECONDS)
        deliver_due(clock=clock, draw=most)
        with django_assert_max_num_queries(3):
            state, words, at, message = state_of(skill)
        assert (state, message) == (DeliveryState.WAITING, edit)
        assert words == "Edit: tried 2 times. The agent runtime failed at this message (HTTP 500)."
        assert at == clock.now + timedelta(seconds=2 * BASE_SECONDS)
        clock.pass_by(2 * BASE_SECONDS)
        deliver_due(clock=clock)
        assert state_of(skill)[:3] == (
            DeliveryState.DELIVERED,
            "Approve: the agent runtime has it.",
            clock.now,
        )


def test_what_a_runtime_answers_is_not_repeated(tenant, clock):
    said = {"detail": "<script>Bearer sk-4711</script>"}
    with runtime_at(tenant, lambda seen: reply(422, said)):
        message = enqueue(skill=known(tenant), action=APPROVE)
        deliver_due(clock=clock)
    assert "script" not in stored(message).last_error
    assert "sk-" not in stored(message).last_error
