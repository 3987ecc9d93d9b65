"""What extraction proposed to the tenants of the demo, and what people made of it the next morning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from reviews.core.drafts import ProceduralKind

__all__ = ["DemoDecision", "DemoSkill"]


@dataclass(frozen=True)
class DemoDecision:
    """Somebody's decision; ``into`` is the trigger of the skill that one is merged into."""

    action: Literal["approve", "edit", "reject", "merge", "retire"]
    username: str
    reason: str = ""
    text: str = ""
    into: str = ""
    content: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DemoSkill:
    """A draft as a model wrote it. It rests on turns of ``scenarios``; ``reworded`` are trigger and action of
    a later draft that says the same, and rests on further ones."""

    kind: ProceduralKind
    trigger: str
    action: str
    rationale: str
    confidence: float
    scenarios: tuple[str, ...]
    precondition: str | list[str] | None = None
    reworded: tuple[str, str] | None = None
    decisions: tuple[DemoDecision, ...] = ()
