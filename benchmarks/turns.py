"""Turns for the intake benchmarks: native records of about 1.5 KB, the same for the same seed.

Each draft states three identifiers and one action; about half of them are in the turn's tool result, so
that the detector has something to search for and something to report.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from reviews.formats.native import encode_turn
from reviews.formats.record import ToolCall, TurnRecord

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
AGENTS = ("billing-bot", "booking-bot", "ops-bot", "research-bot", "support-bot")
TOOLS = ("fetch_invoice", "get_status", "query_orders", "search_tickets", "send_email", "update_record")
VERBS = ("checked", "created", "deleted", "fetched", "queried", "sent", "started", "updated")
KEYS = ("job_id", "order_id", "request_id", "ticket_id")
REQUESTS = (
    "Please check the last order and tell me what happened to it.",
    "Send the invoice for June to the new address and confirm when it is done.",
    "Why was the export of last night slower than usual?",
    "Can you restart the nightly import for the second warehouse?",
)
SENTENCES = (
    "The nightly export took longer than usual because two suppliers delivered their files late.",
    "Customers in the northern region can see the new prices from Monday morning.",
    "Nothing else changed since the last report, and the reserve stays where it was.",
    "The warehouse confirmed the count, so no further step is needed from your side.",
    "If the figures differ again, the finance team would like to hear of it the same day.",
    "All three reminders went out in the order in which the contracts were signed.",
)


def make_turns(count: int, *, size: int = 1500, seed: int = 1) -> Iterator[TurnRecord]:
    """``count`` turns whose native JSON is about ``size`` bytes (at least 700) each."""
    rng = random.Random(seed)
    for number in range(count):
        yield make_turn(number, rng, size=size, seed=seed)


def make_turn(number: int, rng: random.Random, *, size: int, seed: int) -> TurnRecord:
    unique = UUID(int=rng.getrandbits(128), version=4)
    commit = f"{rng.getrandbits(40) | 0xA << 36:010x}"
    job = f"job-{rng.randrange(10_000, 10_000_000)}"
    grounded = rng.random() < 0.5
    result = {"id": str(unique), "status": "done", "note": rng.choice(SENTENCES)}
    if grounded:
        result |= {"commit": commit, "job": job}
    claims = [
        f"The record {unique} is ready.",
        f"I {rng.choice(VERBS)} {commit} as you asked.",
        f"You can follow it under {rng.choice(KEYS)}={job}.",
    ]
    filler = size - 800
    while filler > 0:
        claims.append(rng.choice(SENTENCES))
        filler -= len(claims[-1])
    rng.shuffle(claims)
    return TurnRecord(
        external_id=f"run-{seed}-{number:08d}",
        draft=" ".join(claims),
        user_message=rng.choice(REQUESTS),
        hydrated_context=rng.choice(SENTENCES),
        tool_calls=[
            ToolCall(
                name=rng.choice(TOOLS),
                args={"query": rng.choice(REQUESTS)[:30], "limit": rng.randrange(5, 50)},
                result=result,
                ok=True,
                id=f"call_{rng.getrandbits(48):012x}",
                duration_ms=float(rng.randrange(20, 4000)),
            )
        ],
        conversation_id=f"conversation-{seed}-{number // 8:07d}",
        agent=rng.choice(AGENTS),
        model="house-model-2",
        occurred_at=START + timedelta(seconds=7 * number),
    )


def write_turns(path: Path, count: int, *, size: int = 1500, seed: int = 1) -> int:
    """Write a native file; returns its length in bytes."""
    with path.open("wb") as file:
        for record in make_turns(count, size=size, seed=seed):
            file.write(encode_turn(record) + b"\n")
        return file.tell()
