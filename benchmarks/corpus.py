"""Deterministic agent turns for the detector's benchmark: a grid of sizes, and worst cases.

Identifiers come in four shapes (UUID, short hex beside a claim, key=value, a bare claim); every other group
of four is grounded when there is a context.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from reviews.core.lexicon import BUILT_IN_KEYS, CLAIM_VERB_HINTS

VERBS = sorted(CLAIM_VERB_HINTS)
KEYS = sorted(BUILT_IN_KEYS)
TOOLS = ["run_shell", "send_email", "search_orders", "fetch_url", "create_ticket", "get_status", "delete_row"]
WORDS = (
    "your booking was moved to the later flight and the desk has confirmed both seats while the refund for "
    "the hotel is still waiting because its manager wants another day to look at the papers so please keep "
    "them at hand until we write again about costs baggage meals and everything else that was asked"
)


@dataclass(frozen=True)
class Turn:
    """One input of the detector."""

    draft: str
    context: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    user: str = "please have a look at my last order"

    @property
    def grounding(self) -> int:
        """Characters of grounding text."""
        return len(self.context) + len(self.user) + sum(len(call["result"]) for call in self.calls)


def prose(rng: random.Random, size: int) -> str:
    """``size`` characters of sentences."""
    words = WORDS.split()
    parts: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(rng.choice(words) for _ in range(rng.randint(6, 16))).capitalize() + ". "
        parts.append(sentence)
        length += len(sentence)
    return "".join(parts)[:size]


def hex_token(rng: random.Random, digits: int) -> str:
    """``digits`` hex digits, not all decimal."""
    while True:
        token = f"{rng.getrandbits(4 * digits):0{digits}x}"
        if not token.isdigit():
            return token


def filled(unit: Callable[[], str], size: int) -> str:
    """Units one after the other until ``size`` characters are reached."""
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(unit())
        length += len(parts[-1])
    return "".join(parts)


def context(rng: random.Random, size: int, tokens: list[str], records: float = 0.2) -> str:
    """About ``size`` characters of prose and JSON records (share ``records``), with ``tokens`` strewn in."""

    def unit() -> str:
        if rng.random() >= records:
            return prose(rng, 160)
        row = {
            "id": str(uuid.UUID(int=rng.getrandbits(128))),
            "sha": hex_token(rng, 12),
            "n": rng.randrange(10**6),
        }
        return json.dumps(row) + "\n"

    if not size:
        return ""
    parts = [unit()]
    while sum(map(len, parts)) < size and len(parts) < size:
        parts.append(filled(unit, min(4096, size)))
    for token in tokens:
        parts.insert(rng.randrange(len(parts) + 1), f" {token} ")
    return "".join(parts)


def turn(draft: int, grounding: int, identifiers: int, seed: int) -> Turn:
    """A turn with a draft and grounding of about these sizes (characters)."""
    rng = random.Random(f"{draft}/{grounding}/{identifiers}/{seed}")
    said: list[str] = []
    grounded: list[str] = []
    for number in range(identifiers):
        shape = number % 4
        if shape == 0:
            token = str(uuid.UUID(int=rng.getrandbits(128), version=4))
            said.append(f"record {token} is there")
        elif shape == 1:
            token = hex_token(rng, rng.randint(7, 12))
            said.append(f"I {rng.choice(VERBS)} {token} for you")
        elif shape == 2:
            token = f"ref-{rng.randrange(10**5, 10**8)}"
            said.append(f"{rng.choice(KEYS)}={token}")
        else:
            token = rng.choice(VERBS)
            said.append(f"I {token} the rest")
        if (number // 4) % 2 == 0:
            grounded.append(token)
    filler = max(0, draft - sum(len(text) + 3 for text in said)) // (len(said) + 1)
    text = prose(rng, filler)
    for phrase in said:
        text += f" {phrase}. " + prose(rng, filler)
    memory = context(rng, grounding, grounded)
    half = len(memory) // 2
    calls = [{"name": rng.choice(TOOLS), "args": {"q": "x"}, "result": memory[half:]}] if grounding else []
    return Turn(text, memory[:half], calls)


def worst_cases(size: int, grounding: int) -> Iterator[tuple[str, Turn]]:
    """Named hostile turns with drafts of ``size`` characters and contexts of ``grounding`` characters."""
    rng = random.Random(f"worst/{size}/{grounding}")
    mixed = context(rng, grounding, [])
    hexes = filled(lambda: hex_token(rng, 16) + "\n", grounding)

    def six() -> str:
        return hex_token(rng, 6) + " "

    def any_length() -> str:
        return hex_token(rng, rng.randint(6, 16)) + " "

    halves = filled(lambda: "I ran ", size // 2) + " " * 70 + "." + " " * 70 + filled(six, size // 2)
    yield "claims, then hex", Turn(halves, mixed)
    yield "claims and hex in turns", Turn(filled(lambda: "I ran " + six(), size), mixed)
    yield "claims and hex, 6..16 digits", Turn(filled(lambda: "I ran " + any_length(), size), mixed)
    yield "claims and hex, all-hex context", Turn(filled(lambda: "I ran " + six(), size), hexes)
    yield "hex without anchor", Turn(filled(six, size), mixed)
    yield "UUIDs", Turn(filled(lambda: f"{uuid.UUID(int=rng.getrandbits(128))} ", size), mixed)
    yield "pairs", Turn(filled(lambda: f"pid={hex_token(rng, 8)} ", size), mixed)
    yield "pairs, any value", Turn(filled(lambda: f"pid=job-{rng.getrandbits(30)} ", size), mixed)
    yield "periodic", Turn(filled(lambda: "I ran " + "a" * rng.randint(6, 14) + "b ", size), "a" * grounding)
    yield "wide characters", Turn(filled(lambda: "“I ran” é漢😀 " + six(), size), mixed + "😀")
    yield "I and white space", Turn(("I" + " " * (size // 4 - 1)) * 4)
    yield "key and white space", Turn(("task_id" + " " * (size // 4 - 7)) * 4)
    yield "separators", Turn(filled(lambda: "pid:", size), mixed)
    yield "one long word", Turn("a" * size)
    yield "cyrillic prose", Turn(filled(lambda: "ваш заказ уже отправлен, спасибо. ", size), mixed)
