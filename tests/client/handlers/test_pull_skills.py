"""Approved skills in a real procedural memory of symfonic."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reviews.client import AsyncReviewClient
from reviews.client.handlers import SymfonicReviewHandler
from reviews.core.drafts import ProceduralDraft, draft_to_memory_entry

pytest.importorskip("symfonic")

from symfonic.agent.engine import SymfonicAgent
from symfonic.agent.factory import MemoryOrchestrator
from symfonic.agent.types import FrameworkTenantScope
from symfonic.core.testing import MockModelProvider
from symfonic.memory.backends import InMemoryGraphBackend
from symfonic.memory.graph.store import GraphMemoryStore
from symfonic.memory.layers import ProceduralLayer
from symfonic.memory.types import MemoryLayer

from tests.client.handlers.agents import SCOPE

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore::UserWarning")]


class StrictGraph(InMemoryGraphBackend):
    """Refuses a node that is there already, as a database with unique ids does."""

    async def add_node(self, scope: Any, node: Any) -> Any:
        if await self.get_node(scope, node.id) is not None:
            raise ValueError("the id is taken")
        return await super().add_node(scope, node)


@pytest.fixture
def memory():
    graph = StrictGraph()
    layer = ProceduralLayer(graph_store=GraphMemoryStore(backend=graph))
    return MemoryOrchestrator(layers={MemoryLayer.PROCEDURAL: layer}, graph_backend=graph)


def skill(number: int, action: str = "call get_order first", **other: Any) -> dict[str, Any]:
    """One as ``GET /skills`` lists it."""
    draft = ProceduralDraft(
        kind="preflight",
        trigger=f"before issue_refund {number}",
        action=action,
        rationale="It was reversed.",
        confidence=0.8,
        precondition=["get_order", "get_customer"],
    )
    entry = draft_to_memory_entry(draft, SCOPE).to_json()
    return {"id": number, "state": "approved", "version": 1, "runtime_id": None, "entry": entry} | other


async def held(memory: Any) -> dict[str, Any]:
    layer = memory.get_layer(MemoryLayer.PROCEDURAL)
    found = await layer.query_skills(SCOPE.to_memory_scope(), "", 100, include_drafts=True)
    return {str(entry.node_id): entry for entry in found}


def counts(pulled: Any) -> tuple[int, int, int, int]:
    return pulled.stored, pulled.retired, pulled.unchanged, pulled.unreadable


def test_a_pull_brings_the_memory_to_the_state_of_the_approved_skills(client, server, memory):
    async def main() -> None:
        handler = SymfonicReviewHandler(client, "acme")
        server.skills = [skill(1), skill(2)]
        assert counts(await handler.pull_skills(memory)) == (2, 0, 0, 0)
        first = await held(memory)
        # Nearly the same text, and still two skills: what was approved is not merged.
        assert len(first) == 2
        for entry in first.values():
            assert entry.metadata["active"] is True
            assert entry.metadata["precondition"] == ["get_order", "get_customer"]
        assert {e.content for e in first.values()} == {s["entry"]["content"] for s in server.skills}

        assert counts(await handler.pull_skills(memory)) == (0, 0, 2, 0)
        again = await held(memory)
        assert {k: (e.content, e.created_at) for k, e in again.items()} == {
            k: (e.content, e.created_at) for k, e in first.items()
        }

        server.skills = [skill(1, action="call get_order and read it")]
        assert counts(await handler.pull_skills(memory)) == (1, 1, 0, 0)
        second = await held(memory)
        assert second.keys() == first.keys()
        active = [entry for entry in second.values() if entry.metadata["active"]]
        assert [entry.content for entry in active] == [server.skills[0]["entry"]["content"]]

        server.skills = [skill(1, action="call get_order and read it"), skill(2)]
        assert counts(await handler.pull_skills(memory)) == (1, 0, 1, 0)
        assert all(entry.metadata["active"] for entry in (await held(memory)).values())

    asyncio.run(main())


def test_what_others_put_into_the_memory_stays(client, server, memory):
    async def main() -> None:
        layer = memory.get_layer(MemoryLayer.PROCEDURAL)
        other = FrameworkTenantScope.from_state_dict({"tenant_id": "acme", "sub_tenant_id": "west"})
        from symfonic.memory.models.entry import MemoryEntry

        own = MemoryEntry(layer="procedural", tenant_id="acme", content="Always greet.", importance=5.0)
        await layer.store_skill(SCOPE.to_memory_scope(), own, status="approved")
        server.skills = [skill(1)]
        await SymfonicReviewHandler(client, SCOPE).pull_skills(layer)
        # A pull for a part of the tenant sees the tenant's nodes, and leaves them alone.
        server.skills = []
        assert counts(await SymfonicReviewHandler(client, other).pull_skills(layer)) == (0, 0, 0, 0)
        assert [e.metadata["active"] for e in (await held(memory)).values()] == [True, True]

    asyncio.run(main())


def test_a_skill_that_was_learned_there_keeps_its_node(client, server, memory):
    async def main() -> None:
        layer = memory.get_layer(MemoryLayer.PROCEDURAL)
        from symfonic.memory.models.entry import MemoryEntry

        entry = skill(7)["entry"]
        node = await layer.store_skill(SCOPE.to_memory_scope(), MemoryEntry(**entry))
        server.skills = [skill(7, runtime_id=str(node.id))]
        assert counts(await SymfonicReviewHandler(client, "acme").pull_skills(memory)) == (1, 0, 0, 0)
        (kept,) = (await held(memory)).values()
        assert kept.node_id == node.id
        assert kept.metadata["active"] is True
        assert counts(await SymfonicReviewHandler(client, "acme").pull_skills(memory)) == (0, 0, 1, 0)

    asyncio.run(main())


def test_an_agent_is_asked_for_its_memory_and_the_asynchronous_client_for_skills(server, memory):
    async def main() -> None:
        agent = SymfonicAgent(model_provider=MockModelProvider(), orchestrator=memory)
        async with AsyncReviewClient(server.url, "sr_test_key") as client:
            server.skills = [skill(1), skill(2, entry={"layer": "procedural"}), skill(3, entry=None)]
            pulled = await SymfonicReviewHandler(client, "acme").pull_skills(agent)
            assert counts(pulled) == (1, 0, 0, 1)

    asyncio.run(main())


def test_without_procedural_memory_it_says_so(client):
    agent = SymfonicAgent(model_provider=MockModelProvider())
    with pytest.raises(LookupError, match="no procedural memory"):
        asyncio.run(SymfonicReviewHandler(client, "acme").pull_skills(agent))
