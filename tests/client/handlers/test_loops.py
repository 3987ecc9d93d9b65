"""Loops written by hand: the block, the decorator, and what they leave alone."""

from __future__ import annotations

import asyncio
import inspect
import threading
from decimal import Decimal
from typing import Any

import pytest

from reviews.client import AsyncReviewClient
from reviews.client.handlers import current_turn, reviewed, turn
from tests.client.handlers.recording import PATIENCE, recording

SAFE = "I could not verify that."
REFUSED = {"outcome": "refuse_replaced", "safe_refusal": SAFE, "findings": []}


def look_up(order: int, *, deep: bool = False) -> str:
    """Find an order."""
    if order < 0:
        raise LookupError(f"no order {order}")
    return f"order {order}"


def test_a_block_is_a_turn(client, sent):
    with turn(client, user_message="Where is it?", conversation_id="talk", model="m-1") as t:
        t.context("Be brief.")
        found = t.tool(look_up)(4711, deep=True)
        t.tool_call("notify", {"who": "me"}, {"sent": True}, duration_ms=2.5)
        t.describe(shift="night")
        assert t.answer(f"Here: {found}.") == "Here: order 4711."
    (told,) = sent()
    assert told["external_id"] == t.external_id
    assert (told["user_message"], told["draft"]) == ("Where is it?", "Here: order 4711.")
    assert (told["conversation_id"], told["model"], told["agent"]) == ("talk", "m-1", "ops")
    assert told["hydrated_context"] == "Be brief."
    assert told["attributes"] == {"shift": "night"}
    first, second = told["tool_calls"]
    assert first["name"] == "look_up"
    assert first["args"] == {"order": 4711, "deep": True}
    assert (first["result"], first["ok"]) == ("order 4711", True)
    assert first["duration_ms"] >= 0
    assert (second["result"], second["duration_ms"], second["ok"]) == ({"sent": True}, 2.5, True)


def test_a_tool_stays_what_it_was(client):
    with turn(client) as t:
        wrapped = t.tool(look_up)
        assert (wrapped.__name__, wrapped.__doc__) == ("look_up", "Find an order.")
        with pytest.raises(LookupError, match="no order -1"):
            wrapped(-1)
        with pytest.raises(TypeError):
            wrapped()

        async def later() -> int:
            return 5

        assert inspect.iscoroutinefunction(t.tool(later))
        assert asyncio.run(t.tool(later)()) == 5


def test_a_tool_that_fails_is_a_call_that_failed(client, sent):
    with turn(client) as t:
        with pytest.raises(LookupError):
            t.tool(look_up)(-1)
        t.tool_call("notify", error="no such person")
        t.answer("It is not there.")
    first, second = sent()[0]["tool_calls"]
    assert (first["ok"], first["error"]) == (False, "LookupError: no order -1")
    assert (second["ok"], second["error"]) == (False, "no such person")


def test_an_exception_goes_on_and_the_turn_is_recorded(client, sent):
    def divide() -> float:
        with turn(client, user_message="Divide") as t:
            t.tool(look_up)(1)
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        divide()
    (told,) = sent()
    assert told["draft"] == ""
    assert told["attributes"]["error"] == {"type": "ZeroDivisionError", "message": "division by zero"}
    assert len(told["tool_calls"]) == 1


def test_a_block_without_anything_to_review_is_no_turn(client, sent):
    with turn(client, user_message="Hello?"):
        pass
    assert sent() == []


def test_the_last_answer_is_the_draft(client, sent):
    with turn(client) as t:
        t.token("one ")
        t.token("two")
        t.answer("three")
        t.answer("four")
    assert sent()[0]["draft"] == "four"


def test_results_of_any_kind_are_told_in_a_form_that_can_be_sent(client, sent):
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    loop: list[Any] = []
    loop.append(loop)
    values = [
        float("nan"),
        2**70,
        "\ud800\x00",
        b"\xff",
        {
            1,
        },
        Odd(),
        Decimal("1.5"),
        {3: (4,)},
        loop,
    ]
    with turn(client) as t:
        for value in values:
            t.tool_call("odd", value, value)
        t.answer("x" * 3_000_000)
    (told,) = sent()
    results = [call["result"] for call in told["tool_calls"]]
    assert results[:3] == ["nan", str(2**70), "\ufffd\ufffd"]
    assert results[3:8] == ["\ufffd", [1], "<Odd>", "1.5", {"3": [4]}]
    assert len(told["draft"]) <= 400_000
    assert client.counters.reworded == client.counters.refused == 0


def test_a_huge_turn_still_fits_what_the_server_takes(client, sent):
    from reviews.client.handlers._values import size_of

    with turn(client, attributes={"prompt_recall": "é" * 500_000}) as t:
        t.context("ü" * 500_000)
        for _ in range(30):
            t.tool_call("big", "ä" * 300_000, ["ö" * 300_000])
        t.answer("ß" * 1_000_000)
    (told,) = sent()
    assert size_of(told) <= 4 * 1024 * 1024
    assert told["draft"].startswith("ßßß")
    assert len(told["tool_calls"]) == 30


def test_the_largest_turn_of_all_still_fits(client, sent):
    from reviews.client.handlers._values import size_of

    with turn(client, user_message="😀" * 500_000) as t:
        for _ in range(1_000):
            t.tool_call("big", "😀" * 400, "😀" * 400, error="😀" * 3_000)
        t.answer("😀" * 500_000)
    (told,) = sent()
    assert size_of(told) <= 4 * 1024 * 1024
    assert told["draft"].startswith("😀")
    assert len(told["tool_calls"]) == 1_000


def test_many_calls_are_bounded_and_counted(client, sent):
    with turn(client) as t:
        for number in range(1_100):
            t.tool_call("step", number)
        t.answer("Done.")
    (told,) = sent()
    assert len(told["tool_calls"]) == 1_000
    assert told["attributes"]["calls_left_out"] == 100


# -- The decorator


def test_a_function_is_a_turn(client, sent):
    @reviewed(client, agent="desk")
    def answer(question: str, times: int = 1) -> str:
        """Answer it."""
        return current_turn().tool(look_up)(4711) * times

    assert answer("Where?", times=2) == "order 4711order 4711"
    assert answer.__doc__ == "Answer it."
    (told,) = sent()
    assert (told["user_message"], told["draft"], told["agent"]) == ("Where?", "order 4711order 4711", "desk")
    assert told["tool_calls"][0]["result"] == "order 4711"
    with pytest.raises(LookupError):
        current_turn()


def test_an_answer_that_is_no_text_is_read_and_passed_on(client, sent):
    @reviewed(client, text=lambda answer: answer["said"], message="what")
    def answer(who: str, what: str) -> dict[str, str]:
        return {"said": f"{who}: {what}"}

    assert answer("me", what="hello") == {"said": "me: hello"}

    @reviewed(client, text=lambda answer: answer["said"])
    def other(what: str) -> None:
        current_turn().describe(seen=True)

    assert other("nothing") is None

    @reviewed(client, text=lambda answer: answer["said"])
    def third(what: str) -> list[str]:
        return [what]

    assert third("odd") == ["odd"]
    assert [(told["user_message"], told["draft"]) for told in sent()] == [
        ("hello", "me: hello"),
        ("odd", "['odd']"),
    ]


def test_a_coroutine_function_is_a_turn_and_tasks_do_not_mix(client, sent):
    @reviewed(client)
    async def answer(question: str) -> str:
        t = current_turn()
        await asyncio.sleep(0)
        t.tool(look_up)(int(question))
        await asyncio.sleep(0)
        assert current_turn() is t
        return f"answer {question}"

    async def main() -> list[str]:
        return await asyncio.gather(*(answer(str(n)) for n in range(8)))

    assert inspect.iscoroutinefunction(answer)
    assert asyncio.run(main()) == [f"answer {n}" for n in range(8)]
    told = {(t["user_message"], t["draft"], t["tool_calls"][0]["result"]) for t in sent()}
    assert told == {(str(n), f"answer {n}", f"order {n}") for n in range(8)}


def test_threads_do_not_mix(client, sent):
    @reviewed(client)
    def answer(question: str) -> str:
        return current_turn().tool(look_up)(int(question))

    threads = [threading.Thread(target=answer, args=(str(n),)) for n in range(8)]
    for started in threads:
        started.start()
    for started in threads:
        started.join(PATIENCE)
    assert {(t["user_message"], t["draft"]) for t in sent()} == {(str(n), f"order {n}") for n in range(8)}


def test_a_stream_goes_out_as_it_comes_and_is_a_turn(client, sent):
    reached = []

    @reviewed(client)
    def answer(question: str) -> Any:
        for number in range(3):
            reached.append(number)
            current_turn().tool(look_up)(number)
            yield f"{number} "

    stream = answer("Count")
    assert next(stream) == "0 "
    assert reached == [0]
    with pytest.raises(LookupError):
        current_turn()  # between two pieces it is the reader's time
    assert list(stream) == ["1 ", "2 "]
    (told,) = sent()
    assert told["draft"] == "0 1 2 "
    assert len(told["tool_calls"]) == 3


def test_a_stream_that_is_left_or_breaks_counts_as_far_as_it_came(client, sent):
    closed = []

    @reviewed(client)
    def answer(question: str) -> Any:
        try:
            yield "one "
            yield "two "
            raise OSError("gone")
        finally:
            closed.append(question)

    left = answer("left")
    next(left)
    left.close()
    with pytest.raises(OSError, match="gone"):
        list(answer("broken"))
    told = {t["user_message"]: t for t in sent()}
    assert told["left"]["draft"] == "one "
    assert told["left"]["attributes"] == {"stream_left": True}
    assert told["broken"]["draft"] == "one two "
    assert told["broken"]["attributes"]["error"]["type"] == "OSError"
    assert closed == ["left", "broken"]


def test_an_asynchronous_stream_is_a_turn(client, sent):
    @reviewed(client)
    async def answer(question: str) -> Any:
        for number in range(3):
            await asyncio.sleep(0)
            current_turn().tool(look_up)(number)
            yield f"{number} "

    async def main() -> list[str]:
        return [piece async for piece in answer("Count")]

    assert asyncio.run(main()) == ["0 ", "1 ", "2 "]
    assert sent()[0]["draft"] == "0 1 2 "


# -- Asking first


def test_a_refused_answer_does_not_go_out(client, server, sent):
    server.verdict = REFUSED
    with turn(client, user_message="Sent?", check=True, deadline=PATIENCE) as t:
        t.tool_call("look", ok=None)
        assert t.answer("I sent it.") == SAFE
    (check,) = server.checks
    assert (check["draft"], check["user_message"], check["external_id"]) == (
        "I sent it.",
        "Sent?",
        t.external_id,
    )
    assert check["tool_calls"] == [{"id": check["tool_calls"][0]["id"], "name": "look"}]
    assert sent() == []  # the check has stored it


@pytest.mark.parametrize(("on_failure", "goes_out"), [("allow", True), ("refuse", False)])
def test_without_an_answer_the_caller_has_said_what_happens(on_failure, goes_out, client, server, sent):
    server.away = True

    @reviewed(client, check=True, on_failure=on_failure, deadline=PATIENCE)
    def answer(question: str) -> str:
        return "I sent it."

    assert (answer("Sent?") == "I sent it.") is goes_out
    server.away = False
    assert [t["draft"] for t in sent()] == ["I sent it."]


def test_every_kind_of_function_can_be_checked(client, server, sent):
    server.verdict = REFUSED
    options = {"check": True, "deadline": PATIENCE}

    @reviewed(client, **options)
    def plain(question: str) -> str:
        return "draft"

    @reviewed(client, **options)
    async def later(question: str) -> str:
        return "draft"

    @reviewed(client, **options)
    def pieces(question: str) -> Any:
        yield "dra"
        yield "ft"

    @reviewed(client, **options)
    async def pieces_later(question: str) -> Any:
        yield "dra"
        yield "ft"

    @reviewed(client, **options)
    def by_itself(question: str) -> str:
        return current_turn().answer("draft")

    async def gathered() -> list[str]:
        return [piece async for piece in pieces_later("q")]

    assert plain("q") == asyncio.run(later("q")) == by_itself("q") == SAFE
    assert list(pieces("q")) == asyncio.run(gathered()) == [SAFE]
    assert [check["draft"] for check in server.checks] == ["draft"] * 5
    server.verdict = {"outcome": "observed", "findings": []}
    assert plain("q") == asyncio.run(later("q")) == "draft"
    assert list(pieces("q")) == asyncio.run(gathered()) == ["dra", "ft"]
    assert sent() == []


def test_the_asynchronous_client_asks_too():
    async def main(server: Any) -> None:
        server.verdict = REFUSED
        async with AsyncReviewClient(server.url, "sr_test_key") as client:

            @reviewed(client, check=True, deadline=PATIENCE)
            async def answer(question: str) -> str:
                return "draft"

            assert await answer("q") == SAFE
            async with turn(client, check=True) as t:
                with pytest.raises(TypeError, match="answer_async"):
                    t.answer("draft")

    with recording() as server:
        asyncio.run(main(server))


def test_an_error_of_ours_leaves_the_agent_alone(log):
    class Hostile:
        def record(self, turn: Any) -> bool:
            raise RuntimeError(turn["draft"])

    @reviewed(Hostile())
    def answer(question: str) -> str:
        return "secret"

    assert answer("q") == "secret"
    assert "RuntimeError" in "".join(log)
    assert "secret" not in "".join(log)
