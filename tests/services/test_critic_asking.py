"""Asking the critic over real HTTP: answers, failures, budget, circuit, claims."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from threading import Barrier, Event
from typing import Any

import pytest
from django.utils import timezone

from reviews.core.model_provider import ModelUnavailable
from reviews.models import CriticCircuit, CriticVerdict, DailyCount, ModelUse, Tenant, Turn
from reviews.models.turns import Source
from reviews.services import analysis, critic_asking, critic_calls, intake, publishing, review
from tests.factories import CLAIM, make_member, make_record, make_skill, make_tenant, make_turn
from tests.services.critic_model import draft_of, judging, token_of
from tests.services.model_server import ModelServer, fails, hangs_up, never, says, serving
from tests.services.recount import assert_counts_hold

pytestmark = pytest.mark.django_db

PLAIN = "The shop opens at nine on weekdays."


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant(critic_enabled=True)


def use(settings: Any, server: ModelServer, *, timeout: float = 30.0) -> None:
    settings.MODEL_BASE_URL, settings.MODEL_NAME = server.url, "judge"
    settings.MODEL_API_KEY, settings.MODEL_TIMEOUT_SECONDS = "sk-secret", timeout
    settings.MODEL_PRICES = (1.0, 10.0)


def later(minutes: float) -> Callable[[], Any]:
    return lambda: timezone.now() + timedelta(minutes=minutes)


def verdict_of(turn: Turn) -> CriticVerdict:
    return CriticVerdict.objects.across_tenants().get(turn=turn)


def counted(tenant: Tenant, prefix: str) -> dict[str, int]:
    rows = DailyCount.objects.for_tenant(tenant).filter(name__startswith=prefix, count__gt=0)
    return {row.name: row.count for row in rows}


def test_a_turn_enters_the_queue_at_once_and_its_verdict_follows(settings, tenant) -> None:
    with serving(judging("revise", revised_draft="We have not sent it yet.")) as server:
        use(settings, server)
        turn = make_turn(tenant)
        assert (turn.review_state, turn.critic, turn.gate_reason) == ("open", "waiting", "low_confidence")
        priority = turn.priority
        assert critic_asking.has_due()
        progress = critic_asking.ask_due()
    turn.refresh_from_db()
    found = verdict_of(turn)
    assert (progress.answered, progress.put_off, progress.given_up) == (1, 0, 0)
    assert (found.state, found.verdict, found.said, found.cause) == ("done", "revise", "revise", "")
    assert found.revised_draft == "We have not sent it yet."
    assert (found.model, found.tokens_in, found.tokens_out) == ("served-model", 1200, 300)
    # 1,200 tokens in at 1.0 a million, 300 out at 10.0.
    assert found.cost == pytest.approx(0.0012 + 0.003)
    assert turn.critic == "revise"
    assert turn.priority == max(priority, 8003)
    assert len(server.requests) == 1
    assert draft_of(server.requests[0]) == CLAIM
    assert counted(tenant, "critic:") == {"critic:revise": 1}
    assert counted(tenant, "gate:") == {"gate:low_confidence": 1}
    assert_counts_hold(tenant)


@pytest.mark.parametrize(("verdict", "priority"), [("revise", 8003), ("refuse", 8003)])
def test_caution_brings_an_unflagged_turn_before_reviewers(settings, tenant, verdict, priority) -> None:
    fields = {"revised_draft": "It opens at ten."} if verdict == "revise" else {"refusal_message": "No."}
    with serving(judging(verdict, **fields)) as server:
        use(settings, server)
        turn = make_turn(tenant, PLAIN)
        assert (turn.review_state, turn.priority) == ("none", 0)
        critic_asking.ask_due()
    turn.refresh_from_db()
    assert (turn.review_state, turn.priority, turn.critic) == ("open", priority, verdict)
    assert_counts_hold(tenant)


def test_an_approval_leaves_a_turn_where_it_is(settings, tenant) -> None:
    with serving(judging("approve")) as server:
        use(settings, server)
        flagged, plain = make_turn(tenant), make_turn(tenant, PLAIN)
        before = flagged.priority
        critic_asking.ask_due()
    for turn in (flagged, plain):
        turn.refresh_from_db()
    assert (flagged.review_state, flagged.priority, flagged.critic) == ("open", before, "approve")
    assert (plain.review_state, plain.priority, plain.critic) == ("none", 0, "approve")


def test_preferences_rules_and_tag_are_shown_to_the_model(settings) -> None:
    tenant = make_tenant(
        critic_enabled=True,
        core_preferences=[{"statement": "Never promise a date.", "priority": 9, "sensitive_tags": ["date"]}],
    )
    skill = make_skill(tenant, trigger="the customer asks for a refund", action="call get_order")
    type(skill).objects.for_tenant(tenant).update(state="approved")
    make_skill(tenant, trigger="the customer asks for a refund twice", action="never shown: not approved")
    activation = {
        "activated_nodes": [{"score": 0.9, "tags": ["date"]}],
        "inference_paths": [["refund", "customer"]],
    }
    with serving(judging("approve", matched_preferences=["Never promise a date.", "Made up."])) as server:
        use(settings, server)
        turn = make_turn(tenant, PLAIN, activation=activation)
        critic_asking.ask_due()
    prompt = server.requests[0]["messages"][1]["content"]
    assert "Never promise a date." in prompt
    assert "when the customer asks for a refund, call get_order" in prompt
    assert "never shown" not in prompt
    found = verdict_of(turn)
    assert found.gate_reason == "sensitive_tag"
    assert found.sensitive_tag == "date"
    assert found.matched_preferences == ["Never promise a date."]
    assert found.rules == ["action: when the customer asks for a refund, call get_order"]


def test_mode_revise_forces_a_revision_whatever_the_model_says(settings) -> None:
    tenant = make_tenant(critic_enabled=True, fabrication_check_mode="revise")
    with serving(judging("approve")) as server:
        use(settings, server)
        turn = make_turn(tenant)
        critic_asking.ask_due()
    found = verdict_of(turn)
    assert found.gate_reason == "fabrication_revise"
    assert (found.verdict, found.said, found.forced) == ("revise", "approve", True)
    turn.refresh_from_db()
    assert turn.critic == "revise"


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (says("no JSON at all"), "malformed"),
        (says('{"verdict": "approve"}'), "malformed"),  # the token is missing: not tied to the question
        (says("", finish="length"), "truncated"),
        (says(None, refusal="I will not"), "refused"),
        (fails(400, "wrong"), "rejected"),
        (fails(401, "wrong key"), "rejected"),
    ],
)
def test_what_cannot_be_read_is_named_at_once(settings, tenant, answer, cause) -> None:
    with serving(answer) as server:
        use(settings, server)
        turn = make_turn(tenant)
        critic_asking.ask_due()
    found = verdict_of(turn)
    assert (found.state, found.verdict, found.cause, found.degraded) == ("done", "approve", cause, True)
    assert found.detail
    turn.refresh_from_db()
    assert turn.critic == "degraded"
    assert counted(tenant, "cause:") == {f"cause:{cause}": 1}
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [fails(503), hangs_up, never])
def test_what_may_pass_is_tried_again_later(settings, tenant, answer) -> None:
    with serving(answer, judging("approve")) as server:
        use(settings, server, timeout=0.3)
        turn = make_turn(tenant)
        progress = critic_asking.ask_due()
        waiting = verdict_of(turn)
        assert (progress.put_off, waiting.state, waiting.attempts, waiting.claim) == (1, "waiting", 1, "")
        assert waiting.next_at > timezone.now()
        critic_asking.ask_due(clock=later(2))
    assert (verdict_of(turn).verdict, verdict_of(turn).cause) == ("approve", "")


def test_retry_after_is_heeded(settings, tenant) -> None:
    with serving(fails(429, retry_after="120"), judging("approve")) as server:
        use(settings, server)
        turn = make_turn(tenant)
        begun = timezone.now()
        critic_asking.ask_due()
        wait = (verdict_of(turn).next_at - begun).total_seconds()
        assert 120 <= wait < 180
        assert critic_asking.ask_due(clock=later(1.5)).answered == 0
        assert critic_asking.ask_due(clock=later(3)).answered == 1


def test_a_call_that_keeps_failing_is_given_up_with_its_cause(settings, tenant) -> None:
    with serving(fails(503)) as server:
        use(settings, server)
        turn = make_turn(tenant)
        for attempt in range(1, 12):
            critic_asking.ask_due(clock=later(2 * attempt))
            if verdict_of(turn).state == "done":
                break
    found = verdict_of(turn)
    assert (found.verdict, found.cause, found.attempts) == ("approve", "unavailable", 5)
    assert len(server.requests) == 5
    assert ModelUse.objects.for_tenant(tenant).get().reserved == 0


def test_who_waits_for_an_hour_is_told_so(settings, tenant) -> None:
    with serving(fails(503)) as server:
        use(settings, server)
        turns = [make_turn(tenant) for _ in range(12)]
        for minute in (0, 61):
            critic_asking.ask_due(clock=later(minute))
    states = {verdict_of(turn).cause for turn in turns}
    assert states == {"unavailable"}
    assert all(verdict_of(turn).state == "done" for turn in turns)


def test_the_circuit_opens_and_one_success_closes_it(settings) -> None:
    tenant = make_tenant(critic_enabled=True, critic_concurrency=1)
    answers = [*[fails(503)] * 8, judging("approve")]
    with serving(*answers) as server:
        use(settings, server)
        for _ in range(10):
            make_turn(tenant)
        critic_asking.ask_due()
        circuit = CriticCircuit.objects.for_tenant(tenant).get()
        assert circuit.failures == len(server.requests) == 8
        assert circuit.open_until is not None
        # Open: nobody is asked. Half open: one first, then the others.
        critic_asking.ask_due()
        assert len(server.requests) == 8
        critic_asking.ask_due(clock=later(5))
        circuit.refresh_from_db()
        assert (circuit.failures, circuit.open_until) == (0, None)
        critic_asking.ask_due(clock=later(6))
    assert counted(tenant, "critic:") == {"critic:approve": 10}


def test_the_budget_of_calls_is_kept(settings) -> None:
    tenant = make_tenant(critic_enabled=True, critic_daily_calls=3)
    with serving(judging("approve")) as server:
        use(settings, server)
        for _ in range(5):
            make_turn(tenant)
        critic_asking.ask_due()
    assert len(server.requests) == 3
    assert counted(tenant, "critic:") == {"critic:approve": 3, "critic:degraded": 2}
    assert counted(tenant, "cause:") == {"cause:over_budget": 2}
    used = ModelUse.objects.for_tenant(tenant).get()
    assert (used.calls, used.answered, used.reserved) == (3, 3, 0)
    assert (used.tokens_in, used.tokens_out) == (3600, 900)


def test_the_budget_of_tokens_is_never_exceeded(settings) -> None:
    """A call may use some 4,100 tokens of answer and its question; each uses 1,500 really."""
    tenant = make_tenant(critic_enabled=True, critic_daily_tokens=20_000)
    with serving(judging("approve")) as server:
        use(settings, server)
        for _ in range(12):
            make_turn(tenant)
        critic_asking.ask_due()
    used = ModelUse.objects.for_tenant(tenant).get()
    assert used.reserved == 0
    assert used.tokens_in + used.tokens_out == 1500 * len(server.requests)
    assert used.tokens_in + used.tokens_out <= 20_000
    assert 0 < len(server.requests) < 12
    assert set(counted(tenant, "critic:")) == {"critic:approve", "critic:degraded"}


def test_tomorrow_has_a_budget_of_its_own(settings) -> None:
    tenant = make_tenant(critic_enabled=True, critic_daily_calls=1)
    with serving(judging("approve")) as server:
        use(settings, server)
        make_turn(tenant)
        critic_asking.ask_due()
        make_turn(tenant)
        row = CriticVerdict.objects.for_tenant(tenant).get(state="waiting")
        CriticVerdict.objects.for_tenant(tenant).filter(pk=row.pk).update(
            created_at=timezone.now() + timedelta(days=1)
        )
        assert critic_asking.ask_due(clock=later(24 * 60)).answered == 1


def test_calls_at_once_are_bounded(settings) -> None:
    tenant = make_tenant(critic_enabled=True, critic_concurrency=2)
    together = Barrier(3)
    running: list[int] = [0]
    most: list[int] = [0]

    def answer(handler: Any) -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        try:
            together.wait(timeout=0.2)  # never met: a third call would let all go on
        except Exception:
            together.reset()
        running[0] -= 1
        judging("approve")(handler)

    with serving(answer) as server:
        use(settings, server)
        for _ in range(6):
            make_turn(tenant)
        critic_asking.ask_due()
    assert len(server.requests) == 6
    assert most[0] == 2


def test_a_lost_worker_s_call_counts_and_is_made_again(settings, tenant) -> None:
    with serving(judging("approve")) as server:
        use(settings, server)
        turn = make_turn(tenant)
        # What a worker leaves that is killed in the middle of a call.
        day = timezone.now().date()
        ModelUse.objects.across_tenants().create(
            tenant=tenant, day=day, purpose="critic", calls=1, reserved=5000
        )
        CriticVerdict.objects.for_tenant(tenant).filter(pk=turn.pk).update(
            claim="gone",
            attempts=1,
            reserved=5000,
            reserved_on=day,
            lease_until=timezone.now() - timedelta(seconds=1),
        )
        assert critic_asking.ask_due().answered == 0
        assert critic_asking.release_expired() == 1
        used = ModelUse.objects.for_tenant(tenant).get()
        assert (used.calls, used.reserved, used.tokens_in) == (1, 0, 5000)
        assert critic_asking.ask_due().answered == 1
    assert verdict_of(turn).attempts == 2


def test_without_a_model_it_is_said_so_and_everything_else_works(settings, tenant) -> None:
    settings.MODEL_BASE_URL = ""
    turn = make_turn(tenant)
    found = verdict_of(turn)
    assert (turn.critic, found.state, found.verdict, found.cause) == (
        "degraded",
        "done",
        "approve",
        "no_model",
    )
    assert not critic_asking.has_due()


def test_a_critic_that_is_off_is_not_asked_and_its_gate_is_known_all_the_same(settings) -> None:
    tenant = make_tenant()
    with serving(judging("approve")) as server:
        use(settings, server)
        turn = make_turn(tenant)
        critic_asking.ask_due()
    assert (turn.critic, turn.gate_reason) == ("", "low_confidence")
    assert not CriticVerdict.objects.for_tenant(tenant).exists()
    assert server.requests == []


def test_switched_off_while_turns_wait(settings, tenant) -> None:
    with serving(judging("approve")) as server:
        use(settings, server)
        turn = make_turn(tenant)
        publishing.publish_settings(tenant=tenant, author=None, values={"critic_enabled": False})
        critic_asking.ask_due()
    assert server.requests == []
    assert verdict_of(turn).cause == "switched_off"


def test_imported_history_is_not_asked_about(settings, tenant) -> None:
    with serving(judging("approve")) as server:
        use(settings, server)
        intake.accept_turns(tenant=tenant, records=[make_record()], source=Source.IMPORT)
        analysis.analyse_pending()
        critic_asking.ask_due()
    assert server.requests == []


def test_a_decided_turn_stays_decided(settings, tenant) -> None:
    with serving(judging("refuse", refusal_message="No.")) as server:
        use(settings, server)
        turn = make_turn(tenant, PLAIN)
        review.decide_turn(
            tenant=tenant, actor=make_member(tenant), turn_id=turn.pk, label="false_alarm", seen_version=0
        )
        critic_asking.ask_due()
    turn.refresh_from_db()
    assert (turn.review_state, turn.verdict, turn.critic) == ("decided", "false_alarm", "refuse")


def test_workers_at_once_ask_each_turn_once_and_keep_the_budget(settings, in_threads) -> None:
    tenant = make_tenant(critic_enabled=True, critic_daily_calls=15, critic_concurrency=8)
    with serving(judging("approve")) as server:
        use(settings, server)
        intake.accept_turns(tenant=tenant, records=[make_record() for _ in range(30)], source=Source.TURN)
        analysis.analyse_pending()
        # A process asks once at a time; two processes are two of these.
        in_threads(*[lambda: critic_asking.run_asking(critic_asking.Progress())] * 3)
        critic_asking.ask_due()
    assert len(server.requests) == 15
    assert len({draft_of(request) + token_of(request) for request in server.requests}) == 15
    assert counted(tenant, "critic:") == {"critic:approve": 15, "critic:degraded": 15}
    used = ModelUse.objects.for_tenant(tenant).get()
    assert (used.calls, used.reserved) == (15, 0)
    assert_counts_hold(tenant)


class Stuck:
    """A model whose calls do not end, not even when they are cancelled, until ``free`` is set."""

    def __init__(self) -> None:
        self.free = Event()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Stuck]:
        yield self

    async def complete(self, **_: Any) -> Any:
        while not self.free.is_set():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue
        raise ModelUnavailable


def test_a_call_that_does_not_end_holds_nobody_up(settings, tenant, monkeypatch) -> None:
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://127.0.0.1:9/v1", "stuck"
    settings.MODEL_TIMEOUT_SECONDS = 0.1
    monkeypatch.setattr(critic_asking, "_CALL_MARGIN_SECONDS", 0.1)
    monkeypatch.setattr(critic_calls, "CLOSING_SECONDS", 0.2)
    stuck = Stuck()
    monkeypatch.setattr(critic_asking, "provider_of", lambda *_, **__: stuck)
    turn = make_turn(tenant)
    try:
        progress = critic_asking.ask_due()
    finally:
        stuck.free.set()
    waiting = verdict_of(turn)
    assert (progress.put_off, waiting.state, waiting.cause, waiting.claim) == (1, "waiting", "failed", "")
    # Nobody knows what it used: all that was set aside.
    used = ModelUse.objects.for_tenant(tenant).get()
    assert (used.calls, used.reserved) == (1, 0)
    assert used.tokens_in > 4_096
