"""An agent runtime as symfonic-core makes it, in a process of its own: its router, served by uvicorn.

    python -m tests.server.agent_runtime < plan.json

The memory is symfonic's in-memory graph; every change to it goes into a journal that a later process starts
from, as a database would keep it. ``die_at`` has the process kill itself at one change, before or after it.
The first line printed is the port; it listens on loopback only.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from symfonic.agent.engine import SymfonicAgent
from symfonic.agent.factory import MemoryOrchestrator
from symfonic.agent.fastapi.dependencies import set_tenant_auth_verifier
from symfonic.agent.fastapi.router import create_agent_router
from symfonic.core.learning.procedural_extractor import ProceduralDraft
from symfonic.core.learning.procedural_extractor_llm import draft_to_memory_entry
from symfonic.core.testing import MockModelProvider
from symfonic.memory.backends import InMemoryGraphBackend
from symfonic.memory.graph.store import GraphMemoryStore
from symfonic.memory.layers import ProceduralLayer
from symfonic.memory.types import MemoryLayer, NodeId, TenantScope


class JournalledGraph(InMemoryGraphBackend):
    """The in-memory graph, with a journal of its changes and a moment to die at."""

    def __init__(self, journal: Path, die_at: dict[str, Any] | None) -> None:
        super().__init__()
        self._journal = journal
        self._die_at = die_at
        self._updates = 0

    async def start_from_journal(self, scope: TenantScope) -> None:
        if self._journal.exists():
            for line in self._journal.read_text().splitlines():
                entry = json.loads(line)
                await super().update_node(scope, NodeId(entry["node"]), {"properties": entry["properties"]})

    async def update_node(self, scope: TenantScope, node_id: NodeId, updates: dict[str, Any]) -> Any:
        if "properties" not in updates:
            return await super().update_node(scope, node_id, updates)  # only how often it was read
        self._updates += 1
        self._maybe_die("before")
        node = await super().update_node(scope, node_id, updates)
        with self._journal.open("a") as file:
            file.write(json.dumps({"node": str(node_id), "properties": node.properties}) + "\n")
        self._maybe_die("after")
        return node

    def _maybe_die(self, moment: str) -> None:
        if self._die_at == {"update": self._updates, "moment": moment}:
            os.kill(os.getpid(), signal.SIGKILL)


async def serve(plan: dict[str, Any]) -> None:
    scope = TenantScope(tenant_id=plan["tenant"])
    graph = JournalledGraph(Path(plan["journal"]), plan.get("die_at"))
    procedural = ProceduralLayer(graph_store=GraphMemoryStore(backend=graph))
    for node_id, draft in plan["drafts"].items():
        entry = draft_to_memory_entry(ProceduralDraft(**draft), scope)
        entry.node_id = NodeId(node_id)
        await procedural.store_skill(scope, entry)
    await graph.start_from_journal(scope)
    agent = SymfonicAgent(
        model_provider=MockModelProvider(),
        orchestrator=MemoryOrchestrator(layers={MemoryLayer.PROCEDURAL: procedural}, graph_backend=graph),
    )

    async def verify(request: Request, tenant_id: str) -> None:
        if (request.headers.get("Authorization"), tenant_id) != (plan["authorization"], plan["tenant"]):
            raise HTTPException(status_code=401, detail="Not yours.")

    set_tenant_auth_verifier(verify)
    app = FastAPI()
    app.include_router(create_agent_router(agent))
    listening = socket.create_server(("127.0.0.1", plan["port"]))
    print(listening.getsockname()[1], flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(serve(json.load(sys.stdin)))
