"""What a client's ``check`` is told of a turn that is still open."""

from __future__ import annotations

from typing import Any

from reviews.client.handlers._turns import OpenTurn

__all__ = ["check_options"]


def check_options(turn: OpenTurn, draft: str, *, agent: str = "") -> dict[str, Any]:
    """Keyword arguments for ``check(draft, …)``: all that is known of the turn so far."""
    known = turn.document(draft=draft, agent=agent)
    del known["draft"]
    return known
