"""A check is answered in time, by the server or by what its caller has decided beforehand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from reviews.client import AsyncReviewClient, CheckResult, ReviewClient
from tests.client.conftest import KEY, QUICK
from tests.client.fake_server import (
    FakeServer,
    Fault,
    drips_body,
    drips_headers,
    free_port,
    hangs_up,
    judgement,
    never,
    says,
    talks_nonsense,
)

MakeClient = Callable[..., ReviewClient]

SILENT: dict[str, Fault] = {
    "never": never,
    "drips its headers": drips_headers,
    "drips its body": drips_body,
}
BROKEN: dict[str, Fault] = {
    "hangs up": hangs_up,
    "nonsense": talks_nonsense,
    "500": says(500, {"code": "internal"}),
    "503": says(503, {"code": "unavailable"}, Retry_After="30"),
    "401": says(401, {"code": "not_authenticated"}),
    "a log-in page": says(200, b"<html>"),
    "another object": says(200, {"outcome": "splendid"}),
    "a list": says(200, [1]),
    "redirect": says(302, b"", Location="https://elsewhere.example/"),
}


def test_the_servers_judgement_is_told(fake: FakeServer, client: ReviewClient) -> None:
    result = client.check(
        "I sent the invoice.",
        user_message="Did you?",
        tool_calls=[{"name": "lookup", "result": None}],
        hydrated_context="memory",
        external_id="run-19",
        agent="ops",
        conversation_id="c",
    )
    assert result == CheckResult(
        external_id="run-19",
        answered=True,
        refused=True,
        outcome="refuse_replaced",
        mode="refuse",
        findings=tuple(judgement("run-19")["findings"]),
        safe_refusal="I could not verify that.",
        max_finding_confidence=0.8,
        refuse_threshold=0.8,
        policy_version=3,
        status="accepted",
    )
    stored = fake.turns["run-19"]
    assert (stored.user_message, stored.hydrated_context, stored.agent) == ("Did you?", "memory", "ops")
    assert (stored.tool_calls[0].name, stored.conversation_id) == ("lookup", "c")


@pytest.mark.parametrize(
    ("outcome", "refused", "revise"),
    [
        ("none", False, False),
        ("observed", False, False),
        ("revise_forced", False, True),
        ("refuse_replaced", True, False),
    ],
)
@pytest.mark.parametrize("on_failure", ["allow", "refuse"])
def test_an_answer_outweighs_what_was_decided_beforehand(
    fake: FakeServer, client: ReviewClient, outcome: str, refused: bool, revise: bool, on_failure: Any
) -> None:
    fake.always = says(200, {**judgement("a"), "outcome": outcome})
    result = client.check("d", on_failure=on_failure)
    assert (result.answered, result.refused, result.revise) == (True, refused, revise)


@pytest.mark.parametrize("on_failure", ["allow", "refuse"])
@pytest.mark.parametrize("fault", SILENT.values(), ids=SILENT.keys())
def test_a_server_that_never_finishes_is_left_at_the_deadline(
    fake: FakeServer, make_client: MakeClient, fault: Fault, on_failure: Any
) -> None:
    """The server goes on until the test is over: that ``check`` returns at all is the proof."""
    fake.always = fault
    client = make_client(fake.url, timeout=3600)
    result = client.check("d", deadline=0.15, on_failure=on_failure)
    assert (result.answered, result.refused, result.outcome) == (False, on_failure == "refuse", "")
    assert result.reason == "no complete answer within 0.15 s"
    # The connection that was given up does not stand in the way of the next one.
    fake.always = None
    assert client.check("d").answered


@pytest.mark.parametrize("on_failure", ["allow", "refuse"])
@pytest.mark.parametrize("fault", BROKEN.values(), ids=BROKEN.keys())
def test_without_a_judgement_the_caller_has_decided(
    fake: FakeServer, client: ReviewClient, fault: Fault, on_failure: Any
) -> None:
    fake.always = fault
    result = client.check("d", on_failure=on_failure, external_id="x")
    assert (result.answered, result.refused, result.external_id) == (False, on_failure == "refuse", "x")
    assert result.reason


@pytest.mark.parametrize("on_failure", ["allow", "refuse"])
def test_a_server_that_is_away_is_no_error(make_client: MakeClient, on_failure: Any) -> None:
    client = make_client(f"http://127.0.0.1:{free_port()}")
    result = client.check("d", deadline=30, on_failure=on_failure)
    assert (result.answered, result.refused) == (False, on_failure == "refuse")
    assert result.reason == "the connection was refused"


def test_a_name_that_does_not_exist_is_no_error(make_client: MakeClient) -> None:
    # RFC 6761: nothing is ever registered under .invalid.
    result = make_client("http://reviews.invalid").check("d", deadline=30)
    assert not result.answered


def test_a_broken_connection_is_tried_once_more(fake: FakeServer, client: ReviewClient) -> None:
    fake.faults = [hangs_up]
    assert client.check("d").answered
    assert client.counters.retries == 1


def test_another_turn_under_the_same_id_is_judged_all_the_same(
    fake: FakeServer, client: ReviewClient
) -> None:
    fake.always = says(409, {**judgement("a"), "status": "conflict", "code": "conflict", "message": "…"})
    result = client.check("d", external_id="a")
    assert (result.answered, result.refused, result.status) == (True, True, "conflict")


def test_what_the_server_does_not_take_is_told_to_the_caller(fake: FakeServer, client: ReviewClient) -> None:
    result = client.check("d", agent="x" * 300, on_failure="refuse")
    assert (result.answered, result.refused) == (False, True)
    assert "/agent" in result.reason


def test_hostile_values_are_mended_before_the_question(fake: FakeServer, client: ReviewClient) -> None:
    calls = [{"name": "t", "args": {"n": 2**70, "f": float("inf"), "o": object()}, "result": "\ud800\0"}]
    assert client.check("d\0", tool_calls=calls, external_id="a").answered
    assert fake.turns["a"].tool_calls[0].args["n"] == str(2**70)
    assert fake.turns["a"].draft == "d\ufffd"


def test_an_id_is_made_up_and_told(fake: FakeServer, client: ReviewClient) -> None:
    result = client.check("d")
    assert list(fake.turns) == [result.external_id]


def test_only_two_words_say_what_to_do_on_failure(client: ReviewClient) -> None:
    with pytest.raises(ValueError, match="on_failure"):
        client.check("d", on_failure="panic")  # type: ignore[arg-type]


def test_a_closed_client_answers_as_decided(fake: FakeServer, client: ReviewClient) -> None:
    client.close()
    assert client.check("d", on_failure="refuse").refused
    assert fake.seen == []


def test_what_was_found_does_not_show(client: ReviewClient) -> None:
    shown = repr(client.check("I sent the invoice."))
    assert "I sent" not in shown
    assert "verify" not in shown


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), 1e-9])
def test_a_deadline_that_has_passed_is_no_error(client: ReviewClient, deadline: float) -> None:
    assert not client.check("d", deadline=deadline).answered


@pytest.mark.parametrize("deadline", [float("inf"), 1e300])
def test_a_deadline_beyond_all_measure_is_no_error(client: ReviewClient, deadline: float) -> None:
    assert client.check("d", deadline=deadline).answered


def test_connections_that_were_given_up_are_not_used_up(fake: FakeServer, client: ReviewClient) -> None:
    """More than a pool holds."""
    fake.always = never
    threads = [Thread(target=client.check, args=("d",), kwargs={"deadline": 0.2}) for _ in range(250)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fake.always = None
    assert client.check("d", deadline=30).answered


def test_many_threads_may_check_at_once(fake: FakeServer, client: ReviewClient) -> None:
    results: list[CheckResult] = []
    threads = [
        Thread(target=lambda n=n: results.append(client.check("d", external_id=str(n), deadline=30)))
        for n in range(30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result.answered for result in results)
    assert {result.external_id for result in results} == set(fake.turns) == {str(n) for n in range(30)}


def test_a_check_passes_turns_that_wait(fake: FakeServer, make_client: MakeClient) -> None:
    """Turns hang in a request that is never answered; a check is asked beside it."""
    fake.faults = [never]
    client = make_client(fake.url)
    client.record({"draft": "d"})
    fake.wait_for(lambda: len(fake.seen) == 1)
    assert client.check("d").answered


# -- The same, to be awaited


def test_the_asynchronous_client_does_the_same(fake: FakeServer) -> None:
    fake.pages = {"": {"skills": [{"id": 1}], "next_cursor": None}}

    async def talk() -> None:
        async with AsyncReviewClient(fake.url, KEY, **QUICK) as client:
            assert client.record({"external_id": "r", "draft": "d"})
            results = await asyncio.gather(*(client.check("d", external_id=str(n)) for n in range(20)))
            assert all(result.answered and result.refused for result in results)
            assert (await client.policy()).version == 3
            assert await client.skills() == [{"id": 1}]
            assert await client.flush()
            assert client.counters.sent == 1
        assert client.record({"draft": "d"}) is False
        assert not (await client.check("d")).answered
        assert await client.close()

    asyncio.run(talk())
    assert len(fake.turns) == 21


@pytest.mark.parametrize("fault", SILENT.values(), ids=SILENT.keys())
def test_the_agents_loop_goes_on_while_a_check_waits(fake: FakeServer, fault: Fault) -> None:
    fake.always = fault
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async def talk() -> CheckResult:
        ticking = asyncio.create_task(tick())
        async with AsyncReviewClient(fake.url, KEY) as client:
            result = await client.check("d", deadline=0.15, on_failure="refuse")
        ticking.cancel()
        return result

    assert asyncio.run(talk()).refused
    assert ticks > 10


def test_a_check_that_its_caller_gives_up_is_cancelled(fake: FakeServer) -> None:
    fake.always = never

    async def talk() -> None:
        async with AsyncReviewClient(fake.url, KEY, **QUICK) as client:
            asked = asyncio.create_task(client.check("d", deadline=3600))
            while not fake.seen:
                await asyncio.sleep(0.001)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked

    asyncio.run(talk())


def test_the_body_is_one_object_and_the_fields_the_caller_gave(
    fake: FakeServer, client: ReviewClient
) -> None:
    client.check("d", external_id="a", model="m")
    sent = json.loads(fake.seen[0].body)
    assert sent == {
        "external_id": "a",
        "draft": "d",
        "user_message": "",
        "tool_calls": [],
        "hydrated_context": "",
        "model": "m",
    }
    assert fake.seen[0].path == "/api/v1/check"
