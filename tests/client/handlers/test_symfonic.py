"""The handler inside of real symfonic agents: what the server is told of their runs."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from reviews.client import AsyncReviewClient, ReviewClient
from reviews.client.handlers import SymfonicReviewHandler
from tests.client.handlers.recording import PATIENCE, recording, wait_until

pytest.importorskip("symfonic")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from symfonic.agent.config import FrameworkConfig
from symfonic.core.callbacks import BaseCallbackHandler, CallbackHandler
from symfonic.core.contracts.callbacks import FabricationDetectedEvent
from symfonic.core.testing import MockModelProvider

from tests.client.handlers.agents import (
    FABRICATED,
    QUESTION,
    SCOPE,
    Scripted,
    asks_for,
    symfonic_agent,
)

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


class Witness(BaseCallbackHandler):
    """What the runtime says itself, to compare with."""

    def __init__(self) -> None:
        self.events: list[FabricationDetectedEvent] = []

    async def on_fabrication_detected(self, event: FabricationDetectedEvent) -> None:
        self.events.append(event)


@pytest.fixture
def handler(client):
    made = SymfonicReviewHandler(client, "acme")
    yield made
    assert made.counts.failures == 0


def test_it_is_a_callback_handler_of_the_runtime(handler):
    assert isinstance(handler, BaseCallbackHandler)
    assert isinstance(handler, CallbackHandler)


@pytest.mark.parametrize("mode", ["off", "observe", "refuse"])
@pytest.mark.parametrize("how", ["run", "callbacks"])
def test_the_draft_is_what_the_model_wanted_to_say_whatever_became_of_it(mode, how, handler, sent):
    agent = symfonic_agent(Scripted(asks_for("orders", "locked"), AIMessage(FABRICATED)),
                           fabrication_check_mode=mode)  # fmt: skip
    if how == "run":
        response = asyncio.run(handler.run(agent, QUESTION, scope=SCOPE, session_id="s1"))
    else:
        response = asyncio.run(agent.run(QUESTION, callbacks=[handler], scope=SCOPE, session_id="s1"))
    (turn,) = sent()
    assert (response.final_response == FABRICATED) == (mode != "refuse")
    assert turn["draft"] == FABRICATED
    assert turn["external_id"] == response.run_id
    assert turn["user_message"] == QUESTION
    assert turn["agent"] == "ops"
    assert turn["conversation_id"] == "acme:_:s1"
    assert turn["intent"] == response.intent_verdict
    good, bad = turn["tool_calls"]
    assert (good["id"], good["name"], good["args"]) == ("call-orders", "export_rows", {"table": "orders"})
    assert (good["result"], good["ok"]) == ("exported orders, job 17", True)
    assert bad["ok"] is False
    assert "the table is locked" in bad["error"]
    assert good["duration_ms"] >= 0


@pytest.mark.parametrize("mode", ["observe", "refuse"])
def test_the_event_of_the_runtime_follows_under_the_id_of_the_turn(mode, handler, server, sent):
    witness = Witness()
    agent = symfonic_agent(fabrication_check_mode=mode)
    asyncio.run(handler.run(agent, QUESTION, callbacks=[witness], scope=SCOPE))
    (turn,) = sent()
    assert handler.events.flush(PATIENCE)
    (event,) = server.events
    (said,) = witness.events
    assert event["run_id"] == turn["external_id"]
    assert event["findings"] == [{**finding, "span": list(finding["span"])} for finding in said.findings]
    assert event["action_taken"] == said.action_taken
    assert turn["attributes"]["runtime_check"] == {"mode": mode, "action_taken": said.action_taken}


def test_a_long_draft_is_whole_although_the_event_shows_its_beginning_only(handler, sent):
    draft = f"{FABRICATED} {'It went through all tables, one after the other. ' * 20}The end."
    agent = symfonic_agent(MockModelProvider(response=draft), fabrication_check_mode="refuse")
    asyncio.run(agent.run(QUESTION, callbacks=[handler], scope=SCOPE))
    assert sent()[0]["draft"] == draft


def test_a_handler_of_the_whole_agent_finds_the_draft_of_a_refusal_without_the_event(handler, server, sent):
    from symfonic.core.callbacks.manager import CallbackManager

    agent = symfonic_agent(fabrication_check_mode="refuse")
    agent._deps.register(CallbackManager, CallbackManager(handlers=[handler]))
    response = asyncio.run(agent.run(QUESTION, scope=SCOPE))
    assert response.final_response != FABRICATED
    assert sent()[0]["draft"] == FABRICATED
    assert not server.events


def test_what_the_runtime_takes_out_of_an_answer_is_no_part_of_the_draft(handler, sent):
    said = 'Exported [semantic].\n<MEMORY_EXTRACT>{"ops": []}</MEMORY_EXTRACT>'
    for run in ("run", "stream"):
        agent = symfonic_agent(MockModelProvider(response=said))
        asyncio.run(_drive(agent, run, handler))
    assert [turn["draft"] for turn in sent()] == ["Exported.", "Exported."]


async def _drive(agent: Any, method: str, handler: Any, **options: Any) -> None:
    called = getattr(agent, method)(QUESTION, callbacks=[handler], scope=SCOPE, session_id="s1", **options)
    if method == "run":
        await called
    else:
        async for _ in called:
            pass


@pytest.mark.parametrize("method", ["stream", "stream_typed"])
def test_a_stream_is_a_turn_with_its_whole_text(method, handler, sent):
    agent = symfonic_agent(Scripted(asks_for("orders"), AIMessage(FABRICATED)))

    async def main() -> None:
        with handler.given(conversation_id="talk-7", attributes={"prompt_recall": "nothing"}):
            await _drive(agent, method, handler)

    asyncio.run(main())
    (turn,) = sent()
    assert turn["draft"] == FABRICATED
    assert turn["conversation_id"] == "talk-7"
    assert turn["attributes"]["prompt_recall"] == "nothing"
    assert [call["result"] for call in turn["tool_calls"]] == ["exported orders, job 17"]


def test_a_stream_that_its_reader_leaves_is_recorded_once(handler, sent):
    """The runtime then tells of the end in a task of its own."""
    agent = symfonic_agent(Scripted(asks_for("orders"), AIMessage(FABRICATED)))

    async def main() -> None:
        stream = agent.stream(QUESTION, callbacks=[handler], scope=SCOPE)
        async for chunk in stream:
            if isinstance(chunk.data, dict) and chunk.data.get("react", {}).get("final_response"):
                break
        await stream.aclose()

        async def until_ended() -> None:
            while handler.assembler.open_count:
                await asyncio.sleep(0)

        await asyncio.wait_for(until_ended(), PATIENCE)

    asyncio.run(main())
    (turn,) = sent()
    assert turn["draft"] == FABRICATED
    assert "unended" not in turn.get("attributes", {})


def test_runs_at_once_in_tasks_and_threads_do_not_mix(handler, sent):
    async def some(numbers: range) -> None:
        async def one(number: int) -> None:
            agent = symfonic_agent(
                Scripted(
                    asks_for(f"table-{number}"), AIMessage(f"I ran it, task_id=aaaabbbbcccc{number:04d}.")
                ),
                fabrication_check_mode="refuse",
            )
            await handler.run(agent, f"question {number}", scope=SCOPE, run_id=f"run-{number}")

        await asyncio.gather(*(one(number) for number in numbers))

    threads = [threading.Thread(target=lambda k=k: asyncio.run(some(range(k, k + 5)))) for k in (0, 5, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    turns = {turn["external_id"]: turn for turn in sent()}
    assert len(turns) == 15
    for number in range(15):
        turn = turns[f"run-{number}"]
        assert turn["user_message"] == f"question {number}"
        assert turn["draft"].endswith(f"{number:04d}.")
        assert [call["args"]["table"] for call in turn["tool_calls"]] == [f"table-{number}"]


def test_a_run_that_fails_is_recorded_with_what_is_known_and_fails_as_before(handler, sent):
    class Broken(MockModelProvider):
        def get_chat_model(self, config: Any) -> Any:
            raise RuntimeError("no model today")

    with pytest.raises(Exception, match="no model today"):
        asyncio.run(handler.run(symfonic_agent(Broken()), QUESTION, callbacks=None, scope=SCOPE))
    (turn,) = sent()
    assert turn["draft"] == ""
    assert turn["user_message"] == QUESTION
    assert "no model today" in turn["attributes"]["error"]["message"]


def test_the_intent_of_one_run_is_not_told_of_the_next(handler, sent):
    async def main() -> None:
        await symfonic_agent().run(QUESTION, callbacks=[handler], scope=SCOPE)
        await symfonic_agent(intent_filter_mode="off").run(QUESTION, callbacks=[handler], scope=SCOPE)

    asyncio.run(main())
    first, second = sent()
    assert first["intent"]["label"] == "action"
    assert "intent" not in second


def test_earlier_turns_are_told_apart_from_this_one(handler, sent):
    history = [
        HumanMessage("Export the users"),
        AIMessage("", tool_calls=[{"name": "export_rows", "args": {"table": "users"}, "id": "old"}]),
        ToolMessage("exported users, job 16", tool_call_id="old"),
        AIMessage("Done, job 16."),
    ]
    agent = symfonic_agent(Scripted(asks_for("orders"), AIMessage("Done, job 17.")))
    asyncio.run(agent.run(QUESTION, callbacks=[handler], scope=SCOPE, history=history))
    (turn,) = sent()
    assert [call["id"] for call in turn["tool_calls"]] == ["call-orders"]
    assert [(c["id"], c["result"]) for c in turn["earlier_calls"]] == [("old", "exported users, job 16")]
    assert turn["draft"] == "Done, job 17."


def test_the_critic_of_the_runtime_is_told_with_the_turn(handler, sent):
    reply = (
        '{"verdict": "revise", "revised_draft": "I cannot confirm it.", "matched_preferences": ["honest"]}'
    )
    agent = symfonic_agent(
        Scripted(AIMessage("All orders were exported."), AIMessage(reply)), metacognition_enabled=True
    )
    response = asyncio.run(handler.run(agent, QUESTION, scope=SCOPE))
    (turn,) = sent()
    assert response.reflection_event["verdict"] == "revise"
    assert turn["critic"]["verdict"] == "revise"
    assert turn["critic"]["revised_draft"] == response.final_response == "I cannot confirm it."
    assert turn["critic"]["confidence_before"] == response.reflection_event["confidence_before"]
    assert turn["draft"] == "All orders were exported."


def test_an_error_of_ours_reaches_neither_the_agent_nor_with_its_text_the_log(log):
    class Hostile:
        def record(self, turn: Any) -> bool:
            raise RuntimeError(turn["draft"])

    handler = SymfonicReviewHandler(Hostile(), "acme")
    response = asyncio.run(symfonic_agent().run(QUESTION, callbacks=[handler], scope=SCOPE))
    assert response.final_response == FABRICATED
    assert handler.counts.failures == 1
    assert "RuntimeError" in "".join(log)
    assert "9f2b1e47" not in "".join(log)


# -- The policy


def _published(server: Any, **config: Any) -> None:
    server.policy = {"version": 3, "settings": {}, "framework_config": config}


def test_the_policy_becomes_a_configuration_of_the_runtime(handler, server):
    _published(server, fabrication_check_mode="refuse", read_only_tools=["look"], of_a_later_version=1)
    overrides = handler.policy_overrides()
    assert overrides == {"fabrication_check_mode": "refuse", "read_only_tools": ["look"]}
    assert FrameworkConfig(**overrides).fabrication_check_mode == "refuse"


def test_the_last_policy_holds_while_the_server_is_away(handler, server, client):
    _published(server, fabrication_check_mode="revise")
    known = handler.policy_overrides()
    server.away = True
    assert handler.policy_overrides() == known == {"fabrication_check_mode": "revise"}


def test_without_any_policy_there_are_no_overrides_but_a_warning(handler, server, log):
    server.away = True
    assert handler.policy_overrides() == {}
    assert "no policy is known" in "".join(log)


def test_the_asynchronous_client_does_all_of_it():
    async def main(server: Any) -> None:
        _published(server, fabrication_check_mode="refuse")
        async with AsyncReviewClient(server.url, "sr_test_key") as client:
            handler = SymfonicReviewHandler(client, "acme", agent="ops")
            overrides = await handler.policy_overrides_async()
            with pytest.raises(TypeError, match="policy_overrides_async"):
                handler.policy_overrides()
            agent = symfonic_agent(**overrides)
            response = await handler.run(agent, QUESTION, scope=SCOPE)
            assert response.final_response != FABRICATED
            assert await client.flush(PATIENCE)
            assert server.turn()["draft"] == FABRICATED

    with recording() as server:
        asyncio.run(main(server))


def test_a_synchronous_client_can_be_asked_from_an_event_loop(server, client):
    _published(server, fabrication_check_mode="refuse")
    handler = SymfonicReviewHandler(client, "acme")
    assert asyncio.run(handler.policy_overrides_async()) == {"fabrication_check_mode": "refuse"}


def test_events_are_sent_again_until_the_server_is_back(server):
    server.away = True
    with ReviewClient(server.url, "sr_test_key", retry_first=0.01, flush_seconds=0.0) as client:
        handler = SymfonicReviewHandler(client, "acme")
        asyncio.run(handler.run(symfonic_agent(fabrication_check_mode="observe"), QUESTION, scope=SCOPE))
        wait_until(lambda: any("events" in path for path in server.turned_away))
        server.away = False
        assert handler.events.flush(PATIENCE)
        assert client.flush(PATIENCE)
        assert handler.events.sent == 1
    assert server.turn()["external_id"] in {event["run_id"] for event in server.events}
