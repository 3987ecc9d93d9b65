"""Real agents with models that say what a test wants."""

from __future__ import annotations

import warnings
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from symfonic.agent.config import FrameworkConfig
from symfonic.agent.engine import SymfonicAgent
from symfonic.agent.types import FrameworkTenantScope
from symfonic.core.testing import MockModelProvider

QUESTION = "Please export the orders"
FABRICATED = "I ran the export, task_id=9f2b1e47c0ffee00."
SCOPE = FrameworkTenantScope.from_state_dict({"tenant_id": "acme"})


class SaysInTurn(FakeMessagesListChatModel):
    """One message after the other, whatever tools it is given."""

    def bind_tools(self, tools: Any, **options: Any) -> SaysInTurn:
        return self


class Scripted(MockModelProvider):
    """symfonic's own stand-in for a provider, with a model that can first call tools and then answer."""

    def __init__(self, *messages: BaseMessage) -> None:
        super().__init__()
        self.model = SaysInTurn(responses=list(messages))

    def get_chat_model(self, config: Any) -> SaysInTurn:
        return self.model


@tool
def export_rows(table: str) -> str:
    """Export the rows of a table."""
    if table == "locked":
        raise ValueError("the table is locked")
    return f"exported {table}, job 17"


def asks_for(*tables: str) -> AIMessage:
    """The model's wish to export tables."""
    calls = [{"name": "export_rows", "args": {"table": t}, "id": f"call-{t}"} for t in tables]
    return AIMessage(content="", tool_calls=calls)


def symfonic_agent(provider: Any = None, **config: Any) -> SymfonicAgent:
    """An agent that fabricates unless a provider says otherwise."""
    with warnings.catch_warnings():
        # It recommends memory layers that these tests do not need.
        warnings.simplefilter("ignore")
        return SymfonicAgent(
            model_provider=provider or MockModelProvider(response=FABRICATED),
            config=FrameworkConfig(**{"intent_filter_mode": "observe"} | config),
            tools=[export_rows],
        )
