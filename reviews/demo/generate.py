"""Turns a tenant's script into records: when each conversation happened, with whom, and who reviewed it."""

from __future__ import annotations

import hashlib
import random
from datetime import datetime, timedelta
from typing import Any

from reviews.demo.memory import memory_evidence
from reviews.demo.model import DemoTenant, DemoTurn
from reviews.demo.reviewing import add_reviews
from reviews.demo.script import Call, Scenario, Script, Turn
from reviews.demo.slots import Slots
from reviews.formats.record import CriticRecord, IntentRecord, ToolCall, ToolInfo, TurnRecord

__all__ = ["build_tenant"]

_DAYS = 14
_HOURS = (0.3, 0.2, 0.1, 0.1, 0.2, 0.8, 3, 9, 16, 22, 24, 22, 17, 18, 22, 21, 18, 14, 9, 7, 5, 4, 2, 1)
_WEEKEND = 0.22


def build_tenant(script: Script, *, now: datetime, seed: int) -> DemoTenant:
    """All turns of a tenant, oldest first, with their truth and reviews."""
    rng = random.Random(f"{seed}/{script.slug}")  # noqa: S311
    plays = [scenario for scenario in script.scenarios for _ in range(scenario.times * script.volume)]
    turns: list[DemoTurn] = []
    texts: dict[str, tuple[str, str]] = {}
    for number, scenario in enumerate(plays):
        turns.extend(_conversation(script, scenario, number, now=now, rng=rng, texts=texts))
    turns.sort(key=lambda turn: (turn.record.occurred_at or now, turn.record.external_id))
    return DemoTenant(
        slug=script.slug,
        name=script.name,
        identifier_keys=script.identifier_keys,
        tool_trigger_keywords=script.tool_trigger_keywords,
        mode=script.mode,
        refuse_min_confidence=script.refuse_min_confidence,
        users=script.users,
        turns=add_reviews(tuple(turns), script, now=now, rng=rng, texts=texts),
        skills=script.skills,
        detector=script.detector,
    )


def _conversation(
    script: Script,
    scenario: Scenario,
    number: int,
    *,
    now: datetime,
    rng: random.Random,
    texts: dict[str, tuple[str, str]],
) -> list[DemoTurn]:
    at = _start(now, rng)
    slots = Slots(rng, at, scenario.language)
    name = hashlib.blake2s(f"{script.slug}/{number}/{rng.random()}".encode(), digest_size=6).hexdigest()
    channel = rng.choice(script.channels)
    known = rng.sample(script.memory_notes, k=rng.randint(1, 2)) if rng.random() < 0.45 else []
    earlier: list[ToolCall] = []
    out: list[DemoTurn] = []
    for position, turn in enumerate(scenario.turns, start=1):
        calls = [_call(call, slots, rng) for call in turn.calls]
        context = slots.text("\n\n".join(part for part in (*known, scenario.context, turn.context) if part))
        user = slots.text(turn.user)
        draft = slots.text(turn.draft)
        fix = slots.text(turn.fix)
        external_id = f"{scenario.agent.split('-')[0]}-{name}-{number:03d}-{position}"
        memory = memory_evidence(context, external_id)
        record = TurnRecord(
            external_id=external_id,
            draft=draft,
            user_message=user,
            hydrated_context=context,
            tool_calls=calls,
            earlier_calls=list(earlier),
            tools=[
                ToolInfo(name=tool, description=script.tools[tool])
                for tool in script.agent_tools[scenario.agent]
            ],
            conversation_id=f"conv-{name}",
            agent=scenario.agent,
            model=script.models[scenario.agent],
            occurred_at=at,
            intent=_intent(turn, rng),
            critic=_critic(fix, rng),
            activation=_activation(script, rng) if context or rng.random() < 0.12 else None,
            attributes={
                "language": scenario.language,
                "channel": channel,
                "scenario": scenario.key,
                **({"tags": ["recalled"]} if memory else {}),
                **memory,
            },
        )
        truth = {slots.exact(key): label for key, label in (turn.truth or {}).items()}
        texts[record.external_id] = (slots.text(turn.note), fix)
        out.append(DemoTurn(record=record, truth=truth, fix=fix))
        earlier.extend(calls)
        at += timedelta(seconds=rng.randint(38, 260), milliseconds=rng.randint(0, 999))
    return out


def _start(now: datetime, rng: random.Random) -> datetime:
    """A moment in the two weeks before now: working hours rather than nights, more of late than before."""
    while True:
        back = rng.random() * (_DAYS * 86400 - 7200) + 1800
        at = now - timedelta(seconds=back)
        weight = _HOURS[at.hour] / 24 * (_WEEKEND if at.weekday() >= 5 else 1.0)
        recent = 0.45 + 0.55 * (1 - back / (_DAYS * 86400)) ** 2
        if rng.random() < weight * recent:
            return at.replace(microsecond=rng.randrange(1000) * 1000)


def _call(call: Call, slots: Slots, rng: random.Random) -> ToolCall:
    slow = call.error is not None and "time" in call.error.lower()
    return ToolCall(
        name=call.name,
        args=slots.json(call.args),
        result=slots.json(call.result),
        ok=call.error is None if rng.random() < 0.93 or call.error else None,
        error=None if call.error is None else slots.text(call.error),
        id="call_" + "".join(rng.choice("ghjkmnpqrstvwxyz23456789") for _ in range(12)),
        duration_ms=float(30000 + rng.randint(1, 40)) if slow else round(rng.lognormvariate(5.6, 0.8), 1),
    )


def _intent(turn: Turn, rng: random.Random) -> IntentRecord | None:
    """The runtime's own verdict: rare, and only on turns where it would change nothing."""
    if turn.truth or rng.random() >= 0.04:
        return None
    return IntentRecord(label="knowledge", confidence=0.9, reasoning="question_mark", knowledge_score=0.9)


def _critic(fix: str, rng: random.Random) -> CriticRecord | None:
    """The runtime's critic: it ran on few turns, and would have put the correction in place of the draft."""
    if rng.random() >= 0.06:
        return None
    return CriticRecord(
        verdict="revise" if fix else "approve",
        confidence_before=round(rng.uniform(0.31, 0.58), 3),
        revised_draft=fix or None,
        reflection_latency_ms=float(rng.randint(640, 2900)),
    )


def _activation(script: Script, rng: random.Random) -> dict[str, Any] | None:
    """What memory lit up for this turn, in the shape the runtime records."""
    if rng.random() >= 0.55:
        return None
    picked = rng.sample(script.memory_nodes, k=rng.randint(2, min(5, len(script.memory_nodes))))
    nodes: list[dict[str, Any]] = [
        {
            "id": f"mem-{index}-{label.lower().replace(' ', '-')}",
            "name": label,
            "layer": layer,
            "score": round(rng.uniform(0.22, 0.98), 2),
            **({"tags": list(tags)} if tags else {}),
        }
        for index, (label, layer, tags) in enumerate(picked)
    ]
    seed, rest = nodes[0], nodes[1 : rng.randint(1, len(nodes))]
    return {
        "activated_nodes": sorted(nodes, key=lambda node: -float(node["score"])),
        "inference_paths": [[seed["name"], node["name"]] for node in rest],
        "traversed_edges": [
            {
                "source_id": seed["id"],
                "target_id": node["id"],
                "source_label": seed["name"],
                "target_label": node["name"],
                "relationship": rng.choice(("relates_to", "requires", "owned_by", "associated")),
                "weight": round(rng.uniform(0.8, 4.8), 2),
            }
            for node in rest
        ],
    }
