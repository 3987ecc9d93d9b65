"""The handler inside of real LangGraph agents and LangChain runs."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest

from reviews.client import AsyncReviewClient, ReviewClient
from reviews.client.handlers import LangChainReviewHandler
from tests.client.handlers.recording import PATIENCE, recording

pytest.importorskip("langgraph")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import create_react_agent

from tests.client.handlers.agents import FABRICATED, QUESTION, SaysInTurn, asks_for, export_rows

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

SAFE = "I could not verify that."
REFUSED = {"outcome": "refuse_replaced", "safe_refusal": SAFE, "findings": []}


def agent(*messages: BaseMessage, **options: Any) -> Any:
    said = messages or (asks_for("orders"), AIMessage(FABRICATED))
    return create_react_agent(SaysInTurn(responses=list(said)), [export_rows], **options)


def asked(handler: Any, thread: str = "") -> dict[str, Any]:
    return {"callbacks": [handler], "configurable": {"thread_id": thread} if thread else {}}


def question(text: str = QUESTION) -> dict[str, Any]:
    return {"messages": [("user", text)]}


@pytest.fixture
def handler(client):
    made = LangChainReviewHandler(client)
    yield made
    assert made.counts.failures == 0


def test_it_is_a_callback_handler(handler):
    assert isinstance(handler, BaseCallbackHandler)


def _invoke(graph: Any, inputs: Any, config: Any) -> None:
    graph.invoke(inputs, config)


def _stream(graph: Any, inputs: Any, config: Any) -> None:
    for _ in graph.stream(inputs, config, stream_mode=["messages", "updates"]):
        pass


def _ainvoke(graph: Any, inputs: Any, config: Any) -> None:
    asyncio.run(graph.ainvoke(inputs, config))


def _astream(graph: Any, inputs: Any, config: Any) -> None:
    async def main() -> None:
        async for _ in graph.astream(inputs, config, stream_mode="messages"):
            pass

    asyncio.run(main())


@pytest.mark.parametrize("drive", [_invoke, _stream, _ainvoke, _astream])
def test_a_run_of_a_graph_is_a_turn(drive, handler, sent):
    drive(agent(prompt="Answer in English."), question(), asked(handler, "talk-7"))
    (turn,) = sent()
    assert turn["draft"] == FABRICATED
    assert turn["user_message"] == QUESTION
    assert turn["conversation_id"] == "talk-7"
    assert turn["agent"] == "ops"
    assert turn["hydrated_context"] == "Answer in English."
    (call,) = turn["tool_calls"]
    assert (call["id"], call["name"], call["args"]) == ("call-orders", "export_rows", {"table": "orders"})
    assert (call["result"], call["ok"]) == ("exported orders, job 17", True)
    assert call["duration_ms"] >= 0


def test_a_tool_that_fails_is_a_call_that_failed(handler, sent):
    from langgraph.prebuilt import ToolNode

    model = SaysInTurn(responses=[asks_for("locked"), AIMessage("It is locked.")])
    graph = create_react_agent(model, ToolNode([export_rows], handle_tool_errors=True))
    graph.invoke(question(), asked(handler))
    (turn,) = sent()
    (call,) = turn["tool_calls"]
    assert call["ok"] is False
    assert "the table is locked" in call["error"]
    assert turn["draft"] == "It is locked."


def test_a_run_that_fails_is_recorded_with_what_is_known(handler, sent):
    with pytest.raises(ValueError, match="the table is locked"):
        agent(asks_for("locked")).invoke(question(), asked(handler))
    (turn,) = sent()
    assert turn["draft"] == ""
    assert turn["attributes"]["error"] == {"type": "ValueError", "message": "the table is locked"}
    assert turn["tool_calls"][0]["ok"] is False


def test_only_what_is_new_in_a_conversation_belongs_to_a_turn(handler, sent):
    said = [asks_for("orders"), AIMessage("Orders: job 17."), asks_for("users"), AIMessage("Users: job 17.")]
    graph = agent(*said, checkpointer=InMemorySaver())
    graph.invoke(question("Export the orders"), asked(handler, "talk"))
    graph.invoke(question("Now the users"), asked(handler, "talk"))
    first, second = sent()
    assert first["draft"] == "Orders: job 17."
    assert second["draft"] == "Users: job 17."
    assert second["user_message"] == "Now the users"
    assert [call["id"] for call in second["tool_calls"]] == ["call-users"]
    assert [call["id"] for call in second["earlier_calls"]] == ["call-orders"]
    # What the user said before is known to the agent; what it said itself proves nothing.
    assert second["hydrated_context"] == "Export the orders"


def test_an_answer_that_never_came_does_not_become_the_one_before(handler, sent):
    graph = agent(AIMessage("Orders: job 17."), AIMessage(""), checkpointer=InMemorySaver())
    graph.invoke(question("Export the orders"), asked(handler, "talk"))
    graph.invoke(question("And now?"), asked(handler, "talk"))
    assert [turn["draft"] for turn in sent()] == ["Orders: job 17."]
    assert handler.counts.empty == 1


def test_an_agent_inside_of_a_tool_is_part_of_the_turn(handler, sent):
    from langchain_core.tools import tool

    inner = agent(asks_for("orders"), AIMessage("Inner answer, job 99."), prompt="Inner rules.")

    @tool
    def delegate(task: str) -> str:
        """Have somebody else do it."""
        return inner.invoke(question(task))["messages"][-1].content

    asks = AIMessage("", tool_calls=[{"name": "delegate", "args": {"task": "export"}, "id": "outer"}])
    outer = create_react_agent(SaysInTurn(responses=[asks, AIMessage("Done by others.")]), [delegate])
    outer.invoke(question(), asked(handler))
    (turn,) = sent()
    assert turn["draft"] == "Done by others."
    assert "hydrated_context" not in turn
    assert turn["user_message"] == QUESTION
    assert [call["name"] for call in turn["tool_calls"]] == ["delegate", "export_rows"]


def test_runs_at_once_in_threads_and_tasks_do_not_mix(handler, sent):
    def one(number: int) -> Any:
        graph = agent(asks_for(f"table-{number}"), AIMessage(f"answer {number}"))
        return graph, question(f"question {number}"), asked(handler, f"talk-{number}")

    async def tasks() -> None:
        await asyncio.gather(*(g.ainvoke(i, c) for g, i, c in map(one, range(6))))

    def thread(number: int) -> None:
        graph, inputs, config = one(number)
        graph.invoke(inputs, config)

    threads = [threading.Thread(target=thread, args=(n,)) for n in range(6, 12)]
    threads.append(threading.Thread(target=lambda: asyncio.run(tasks())))
    for started in threads:
        started.start()
    for started in threads:
        started.join(PATIENCE)
    turns = sent()
    told = {
        (t["conversation_id"], t["user_message"], t["draft"], t["tool_calls"][0]["args"]["table"])
        for t in turns
    }
    assert len(turns) == 12
    assert told == {(f"talk-{n}", f"question {n}", f"answer {n}", f"table-{n}") for n in range(12)}


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("The order is 4711.")]


def test_a_chain_without_messages_is_a_turn_too(handler, sent):
    model = GenericFakeChatModel(messages=iter([AIMessage("Order 4711.")]))

    def prompt(inputs: dict[str, Any]) -> list[BaseMessage]:
        found = Shelf().invoke(inputs["question"])
        return [SystemMessage(f"Known: {found[0].page_content}"), HumanMessage(inputs["question"])]

    chain = RunnableLambda(prompt) | model | (lambda message: {"answer": message.content})
    chain.invoke({"question": "Which order?"}, {"callbacks": [handler]})
    (turn,) = sent()
    assert (turn["user_message"], turn["draft"]) == ("Which order?", "Order 4711.")
    assert "The order is 4711." in turn["hydrated_context"]


def test_a_model_called_by_itself_is_a_turn_also_as_a_stream(handler, sent):
    model = GenericFakeChatModel(messages=iter([AIMessage("It is done, all of it.")]))
    assert list(model.stream([HumanMessage("Is it?")], {"callbacks": [handler]}))
    (turn,) = sent()
    assert (turn["user_message"], turn["draft"]) == ("Is it?", "It is done, all of it.")


def test_a_stream_that_breaks_leaves_what_was_said_so_far(handler, sent):
    class Breaks(GenericFakeChatModel):
        def _stream(self, *args: Any, **options: Any) -> Any:
            for number, chunk in enumerate(super()._stream(*args, **options)):
                if number == 3:
                    raise ConnectionError("the model went away")
                yield chunk

    def talk(inputs: str, config: Any = None) -> str:
        return "".join(
            c.content for c in Breaks(messages=iter([AIMessage("one two three four")])).stream(inputs)
        )

    with pytest.raises(ConnectionError):
        RunnableLambda(talk).invoke("Count", {"callbacks": [handler]})
    (turn,) = sent()
    assert "one two three four".startswith(turn["draft"])
    assert turn["draft"]
    assert turn["attributes"]["error"]["type"] == "ConnectionError"


# -- Asking first


def checked(client: Any, **options: Any) -> tuple[Any, Any]:
    handler = LangChainReviewHandler(client, agent="ops", deadline=PATIENCE, **options)
    graph = agent(asks_for("orders"), AIMessage(FABRICATED), post_model_hook=handler.check_node)
    return handler, graph


def test_a_refused_answer_is_replaced_in_the_graph(client, server, sent):
    server.verdict = REFUSED
    handler, graph = checked(client)
    answer = graph.invoke(question(), asked(handler, "talk"))
    assert [m.content for m in answer["messages"] if m.type == "ai"] == ["", SAFE]
    (check,) = server.checks
    assert check["draft"] == FABRICATED
    assert check["user_message"] == QUESTION
    assert check["conversation_id"] == "talk"
    assert check["agent"] == "ops"
    assert [call["result"] for call in check["tool_calls"]] == ["exported orders, job 17"]
    # The check has stored it.
    assert sent() == []
    assert handler.counts.checked == 1


def test_an_answer_that_may_go_out_does(client, server, sent):
    handler, graph = checked(client)
    answer = graph.invoke(question(), asked(handler))
    assert answer["messages"][-1].content == FABRICATED
    assert len(server.checks) == handler.counts.checked == 1
    assert sent() == []


@pytest.mark.parametrize(("on_failure", "shown"), [("allow", FABRICATED), ("refuse", None)])
def test_an_answer_that_could_not_be_judged_is_recorded_as_a_turn(on_failure, shown, client, server, sent):
    server.away = True
    handler, graph = checked(client, on_failure=on_failure)
    answer = graph.invoke(question(), asked(handler))["messages"][-1].content
    assert (answer == FABRICATED) == (shown is not None)
    server.away = False
    (turn,) = sent()
    assert turn["draft"] == FABRICATED


def test_a_second_draft_of_one_run_is_asked_about_under_another_id(client, server, sent):
    class State(TypedDict):
        messages: Annotated[list[Any], add_messages]

    handler = LangChainReviewHandler(client, deadline=PATIENCE)
    model = SaysInTurn(responses=[AIMessage("first draft"), AIMessage("second draft")])
    build = StateGraph(State)
    build.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    build.add_node("check", handler.check_node)
    build.add_edge(START, "model")
    build.add_edge("model", "check")
    build.add_conditional_edges("check", lambda s: END if len(s["messages"]) > 2 else "model")
    build.compile().invoke(question(), asked(handler))
    first, second = server.checks
    assert (first["draft"], second["draft"]) == ("first draft", "second draft")
    assert second["external_id"] == first["external_id"] + "/2"
    assert sent() == []


def test_a_graph_whose_callbacks_lack_the_handler_is_asked_about_as_well(client, server, sent):
    server.verdict = REFUSED
    handler, graph = checked(client)
    assert graph.invoke(question())["messages"][-1].content == SAFE
    assert graph.invoke(question(), {"callbacks": [BaseCallbackHandler()]})["messages"][-1].content == SAFE
    assert [check["user_message"] for check in server.checks] == [QUESTION, QUESTION]
    assert handler.assembler.open_count == 0


def test_an_error_of_ours_lets_no_answer_pass(client, server, log):
    server.verdict = REFUSED

    class Broken(LangChainReviewHandler):
        def _root_of(self, config: Any) -> str:
            return "a run"

    handler = Broken(client, agent="ops", deadline=PATIENCE)
    handler.assembler.with_run("a run", lambda run: run.calls.update({"x": None}))
    state = {"messages": [HumanMessage(QUESTION), AIMessage(FABRICATED, id="m")]}
    (replaced,) = handler.check_node(state)["messages"]
    assert (replaced.content, replaced.id) == (SAFE, "m")
    assert handler.counts.failures == 1
    assert "9f2b1e47" not in "".join(log)


def test_the_asynchronous_client_asks_too():
    async def main(server: Any) -> None:
        async with AsyncReviewClient(server.url, "sr_test_key") as client:
            handler = LangChainReviewHandler(client, deadline=PATIENCE)
            graph = agent(AIMessage(FABRICATED), post_model_hook=handler.check_node_async)
            answer = await graph.ainvoke(question(), asked(handler))
            assert answer["messages"][-1].content == SAFE
            assert handler.counts.failures == 0

    with recording() as server:
        server.verdict = REFUSED
        asyncio.run(main(server))


# -- What LangChain never does


def test_parts_of_a_run_may_be_told_before_the_whole(client, sent):
    handler = LangChainReviewHandler(client)
    root, node, call = uuid4(), uuid4(), uuid4()
    handler.on_tool_start({"name": "export"}, "", run_id=call, parent_run_id=node, inputs={"table": "orders"})
    handler.on_chain_start({}, {}, run_id=node, parent_run_id=root)
    handler.on_tool_end("job 17", run_id=call, parent_run_id=node)
    handler.on_chain_start({}, question(), run_id=root)
    handler.on_chain_end({"messages": [HumanMessage(QUESTION), AIMessage("Done.")]}, run_id=root)
    handler.on_chain_end({}, run_id=root)
    (turn,) = sent()
    assert turn["draft"] == "Done."
    assert [(c["name"], c["result"]) for c in turn["tool_calls"]] == [("export", "job 17")]


def test_parts_without_a_whole_are_no_turn(client, sent):
    handler = LangChainReviewHandler(client)
    handler.on_llm_new_token("secret ", run_id=uuid4(), parent_run_id=uuid4())
    handler.on_tool_end("job 17", run_id=uuid4(), parent_run_id=uuid4())
    handler.close()
    assert sent() == []


def test_nonsense_never_reaches_the_agent(client, sent, log):
    handler = LangChainReviewHandler(client)
    for name in ("on_chain_end", "on_llm_end", "on_tool_end", "on_chain_error", "on_retriever_end"):
        getattr(handler, name)(object(), run_id=uuid4())
    handler.on_chat_model_start(None, [[object()]], run_id=uuid4())
    handler.on_chain_start(None, {"messages": object()}, run_id=uuid4(), metadata={"thread_id": 7})
    assert handler.check_node({"messages": [object()]}) == {}
    assert handler.check_node(None) == {}


def test_the_server_of_a_client_that_is_closed_is_no_matter(server):
    with ReviewClient(server.url, "sr_test_key") as client:
        handler = LangChainReviewHandler(client)
    agent().invoke(question(), asked(handler))
    assert handler.counts.refused == 1
