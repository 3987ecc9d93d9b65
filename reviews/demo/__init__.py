"""Demo data: three invented organisations, their agents' turns of two weeks, and what people decided."""

from __future__ import annotations

from datetime import datetime

from reviews.demo.alder import ALDER
from reviews.demo.generate import build_tenant
from reviews.demo.marlow import MARLOW
from reviews.demo.model import Demo, DemoReview, DemoTenant, DemoTurn, DemoUser, Label, Role
from reviews.demo.pipewright import PIPEWRIGHT
from reviews.demo.skills import DemoDecision, DemoSkill

__all__ = [
    "Demo",
    "DemoDecision",
    "DemoReview",
    "DemoSkill",
    "DemoTenant",
    "DemoTurn",
    "DemoUser",
    "Label",
    "Role",
    "build_demo",
]


def build_demo(now: datetime, seed: int = 7) -> Demo:
    """The demo's tenants with turns in the two weeks before ``now``; same arguments, same result.

    Raises ValueError when ``now`` has no time zone.
    """
    if now.tzinfo is None or now.utcoffset() is None:
        raise ValueError("now must be timezone-aware")
    return Demo(tuple(build_tenant(script, now=now, seed=seed) for script in (ALDER, PIPEWRIGHT, MARLOW)))
