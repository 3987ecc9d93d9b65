"""A LangGraph agent that asks before it answers.

    REVIEWS_URL=http://127.0.0.1:8000 REVIEWS_KEY=sr_… python docs/examples/langgraph_agent.py

The key needs the scope ingest. The model is a stand-in from langchain-core, and makes something up.
"""

import os

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from reviews.client import ReviewClient
from reviews.client.handlers import LangChainReviewHandler

model = GenericFakeChatModel(messages=iter([AIMessage("I ran the export, task_id=9f2b1e47c0ffee00.")]))


def main(client: ReviewClient) -> None:
    review = LangChainReviewHandler(client, agent="exporter")
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("check", review.check_node)
    graph.add_edge(START, "model")
    graph.add_edge("model", "check")
    config = {"callbacks": [review], "configurable": {"thread_id": "talk-1"}}
    answer = graph.compile().invoke({"messages": [("user", "Please export the orders")]}, config)
    print(answer["messages"][-1].content)


if __name__ == "__main__":
    with ReviewClient(os.environ["REVIEWS_URL"], os.environ["REVIEWS_KEY"]) as client:
        main(client)
