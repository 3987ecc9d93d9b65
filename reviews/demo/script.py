"""The small language the demo scenarios are written in.

Text is written as folded blocks: a line break inside a paragraph is a space, a blank line starts a new
paragraph, and lines that open a list item, a heading, a table row or a quote keep their break (so does a
line that ends in ``¶``). ``{slot}`` and ``{slot.tag}`` are filled once per conversation (``slots.py``),
``{~slot}`` is the same value with one character changed, and ``[[one|other]]`` picks a wording.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from reviews.demo.model import DemoUser, Label
from reviews.demo.skills import DemoSkill

__all__ = [
    "FABRICATED",
    "FALSE_ALARM",
    "UNSURE",
    "A",
    "C",
    "Call",
    "F",
    "S",
    "Scenario",
    "Script",
    "T",
    "Turn",
    "U",
    "fold",
]

FABRICATED: Label = "fabricated"
FALSE_ALARM: Label = "false_alarm"
UNSURE: Label = "unsure"
F, A, U = FABRICATED, FALSE_ALARM, UNSURE

_KEEPS_BREAK = re.compile(r"(?:[-*•>|#]|\d+[.)]|```)\s?")


@dataclass(frozen=True)
class Call:
    name: str
    args: Any
    result: Any
    error: str | None = None


@dataclass(frozen=True)
class Turn:
    user: str
    draft: str
    calls: tuple[Call, ...] = ()
    context: str = ""
    truth: dict[str, Label] | None = None
    note: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Scenario:
    key: str
    agent: str
    language: str
    times: int
    turns: tuple[Turn, ...]
    context: str = ""


@dataclass(frozen=True)
class Script:
    """All that is fixed about a tenant: its people, agents, tools, memory and scenarios."""

    slug: str
    name: str
    identifier_keys: tuple[str, ...]
    tool_trigger_keywords: dict[str, list[str]]
    mode: str
    refuse_min_confidence: float
    users: tuple[DemoUser, ...]
    models: dict[str, str]
    tools: dict[str, str]
    agent_tools: dict[str, tuple[str, ...]]
    memory_nodes: tuple[tuple[str, str, tuple[str, ...]], ...]
    memory_notes: tuple[str, ...]
    channels: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    skills: tuple[DemoSkill, ...] = ()
    open_share: float = 0.4
    #: How often every scenario is played, times its own number.
    volume: int = 1
    #: Which detector looks at its turns. The truth of each finding is told in the reference one's terms.
    detector: Literal["reference", "evidence"] = "reference"


def C(name: str, args: Any = None, result: Any = None, error: str | None = None) -> Call:  # noqa: N802
    """A tool call."""
    return Call(name, args, result, error)


def T(  # noqa: N802
    user: str,
    draft: str,
    *calls: Call,
    context: str = "",
    truth: dict[str, Label] | None = None,
    note: str = "",
    fix: str = "",
) -> Turn:
    """A turn: what the user wrote, what the agent answered, and the calls in between."""
    return Turn(user, draft, calls, context, truth, note, fix)


def S(  # noqa: N802
    key: str,
    agent: str,
    language: str,
    times: int,
    *turns: Turn,
    context: str = "",
) -> Scenario:
    """A scenario: a conversation that occurs ``times`` times with different people and numbers."""
    return Scenario(key, agent, language, times, turns, context)


def fold(text: str) -> str:
    """Unfold a source block into running text; text without a line break is returned as it is."""
    if "\n" not in text:
        return text
    out: list[str] = []
    hard = True
    for raw in text.strip("\n").split("\n"):
        line = raw.strip(" ")
        ends_hard = line.endswith("¶")
        if ends_hard:
            line = line[:-1].rstrip(" ")
        if not line:
            if out and out[-1] != "\n\n":
                out.append("\n" if out[-1] == "\n" else "\n\n")
            hard = True
            continue
        if not hard:
            out.append("\n" if _KEEPS_BREAK.match(line) else " ")
        out.append(line)
        if ends_hard:
            out.append("\n")
        hard = ends_hard
    return "".join(out).strip()
