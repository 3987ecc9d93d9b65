"""Approved skills into a symfonic agent's procedural memory, by the memory's own public methods."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

__all__ = ["SOURCE_TAG", "Pulled", "pull"]

#: symfonic's mark of skills that somebody wrote: its janitor neither merges nor drops them.
SOURCE_TAG: Final = "authored:symfonic-review"
#: More than any memory holds; the layer wants a number.
_ALL: Final = 1_000_000


@dataclass(frozen=True)
class Pulled:
    """What a pull did. ``stored`` are new or changed skills, ``retired`` those that an earlier pull brought
    and that are approved no longer, ``unchanged`` the others. ``unreadable``: not for symfonic's memory."""

    stored: int = 0
    retired: int = 0
    unchanged: int = 0
    unreadable: int = 0


async def pull(client: Any, memory: Any, tenant: Any) -> Pulled:
    """See ``SymfonicReviewHandler.pull_skills``."""
    scope = _memory_scope(tenant)
    layer = _procedural_layer(memory)
    if inspect.iscoroutinefunction(client.skills):
        skills = await client.skills()
    else:
        skills = await asyncio.to_thread(client.skills)
    entries = await layer.query_skills(scope, "", _ALL, include_drafts=True)
    known = {str(entry.node_id): entry for entry in entries}
    prefix = _prefix(scope)
    counts = dict.fromkeys(("stored", "retired", "unchanged", "unreadable"), 0)
    approved = set()
    for skill in skills:
        # The runtime's own node where the skill was learned there; else one of ours.
        runtime_id = str(skill.get("runtime_id") or "")
        node_id = runtime_id if runtime_id in known else f"{prefix}{skill['id']}"
        if skill.get("entry") is not None:
            approved.add(node_id)
            counts[await _bring(layer, scope, node_id, skill["entry"], known.get(node_id))] += 1
    for node_id, entry in known.items():
        if node_id.startswith(prefix) and node_id not in approved and entry.metadata.get("active"):
            await layer.reject_skill(scope, entry.node_id)
            counts["retired"] += 1
    return Pulled(**counts)


def _prefix(scope: Any) -> str:
    """Of the ids of our nodes: another scope's, which the memory may show as well, begin otherwise."""
    whose = repr((scope.tenant_id, scope.sub_tenant_id, scope.namespace, getattr(scope, "path", None)))
    return f"symfonic-review-{sha256(whose.encode()).hexdigest()[:8]}-"


async def _bring(layer: Any, scope: Any, node_id: str, told: Mapping[str, Any], held: Any) -> str:
    from symfonic.memory.models.entry import MemoryEntry
    from symfonic.memory.types import NodeId

    try:
        metadata = dict(told.get("metadata") or {})
        metadata["learned_from"] = metadata.pop("source", "")
        precondition = metadata.pop("precondition", None)
        importance = float(told.get("importance", 5.0))
        entry = MemoryEntry(
            layer=told.get("layer", "procedural"),
            tenant_id=scope.tenant_id,
            content=told["content"],
            importance=importance,
            metadata=metadata,
            node_id=NodeId(node_id),
        )
    except (KeyError, TypeError, ValueError):
        return "unreadable"
    if held is not None:
        if _same(held, entry, precondition):
            return "unchanged"
        # Not every graph replaces a node that is there.
        await layer.delete(scope, NodeId(node_id))
    await layer.seed_authored_skill(scope, entry, source_tag=SOURCE_TAG, precondition=precondition)
    return "stored"


def _same(held: Any, entry: Any, precondition: Any) -> bool:
    """Whether the memory holds this skill, active and with this text, as far as its reading side shows."""
    shown = held.metadata
    return (
        bool(shown.get("active"))
        and shown.get("source") == SOURCE_TAG
        and held.content == entry.content
        and held.importance == entry.importance
        and list(shown.get("steps") or ()) == list(entry.metadata.get("steps") or ())
        and (shown.get("context") or "") == (entry.metadata.get("context") or "")
        and _steps(shown.get("precondition")) == _steps(precondition)
    )


def _steps(precondition: Any) -> list[Any]:
    """What has to come first, however it is written: the memory keeps a list of one as a text."""
    if isinstance(precondition, str):
        precondition = [precondition]
    return [step for step in precondition or () if not isinstance(step, str) or step.strip()]


def _memory_scope(tenant: Any) -> Any:
    if isinstance(tenant, str):
        from symfonic.agent.types import FrameworkTenantScope

        return FrameworkTenantScope.from_state_dict({"tenant_id": tenant}).to_memory_scope()
    to_memory = getattr(tenant, "to_memory_scope", None)
    return to_memory() if callable(to_memory) else tenant


def _procedural_layer(memory: Any) -> Any:
    from symfonic.memory.types import MemoryLayer

    if callable(getattr(memory, "seed_authored_skill", None)):
        return memory
    orchestrator = getattr(memory, "orchestrator", memory)
    get_layer = getattr(orchestrator, "get_layer", None)
    layer = get_layer(MemoryLayer.PROCEDURAL) if callable(get_layer) else None
    if layer is None:
        raise LookupError("the agent has no procedural memory")
    return layer
