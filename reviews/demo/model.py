"""The shape of the demo data: tenants, people, turns, and what reviewers said about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from reviews.demo.skills import DemoSkill
from reviews.formats.record import TurnRecord

__all__ = ["Demo", "DemoReview", "DemoTenant", "DemoTurn", "DemoUser", "Label", "Role"]

Label = Literal["fabricated", "false_alarm", "unsure"]
Role = Literal["viewer", "reviewer", "manager", "owner"]


@dataclass(frozen=True)
class DemoUser:
    """A member of one tenant; the same username in two tenants is the same person."""

    username: str
    full_name: str
    role: Role


@dataclass(frozen=True)
class DemoReview:
    """One person's decision on a turn; ``labels`` maps a finding's identifier to its label."""

    username: str
    seconds_after: float
    spent_seconds: float
    labels: dict[str, Label]
    note: str = ""
    corrected_answer: str = ""


@dataclass(frozen=True)
class DemoTurn:
    """A turn, the truth about each of its findings ("" is the intent finding), and its reviews.

    ``fix`` is what the agent should have answered, "" where the draft is right.
    """

    record: TurnRecord
    truth: dict[str, Label] = field(default_factory=dict)
    reviews: tuple[DemoReview, ...] = ()
    fix: str = ""


@dataclass(frozen=True)
class DemoTenant:
    slug: str
    name: str
    identifier_keys: tuple[str, ...]
    tool_trigger_keywords: dict[str, list[str]]
    mode: str
    refuse_min_confidence: float
    users: tuple[DemoUser, ...]
    turns: tuple[DemoTurn, ...]
    skills: tuple[DemoSkill, ...] = ()
    detector: Literal["reference", "evidence"] = "reference"


@dataclass(frozen=True)
class Demo:
    tenants: tuple[DemoTenant, ...]
