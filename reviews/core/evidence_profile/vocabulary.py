"""Sets of words, written as they are read."""

from __future__ import annotations

__all__ = ["listed"]


def listed(text: str) -> frozenset[str]:
    """The words of ``text``, which has white space between them."""
    return frozenset(text.split())
