"""Episodes: what the extractors read. One is made of a turn, or of an entry of an episodic memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

__all__ = ["Episode", "ToolUse", "eligible_episodes", "newest_first"]

_ASSISTANT: Final = frozenset({"assistant", "ai"})
# What a memory marks as passing must not become a habit.
_PASSING: Final = frozenset({"transient", "expired"})


@dataclass(frozen=True)
class ToolUse:
    """One tool call. ``args`` and ``result`` are any JSON value, None when not seen."""

    name: str
    args: Any = None
    result: Any = None
    error: str | None = None


@dataclass(frozen=True)
class Episode:
    """Something that happened: ``content`` as told by ``speaker``, and the calls made, in order.

    ``speaker`` None means that nobody knows who tells it. ``occurred_at`` without a zone is UTC, None is
    unknown. Of ``metadata`` the extractors read ``action_type``, a name for what was done, and
    ``durability``.
    """

    id: str
    content: str
    speaker: str | None = None
    occurred_at: datetime | None = None
    tool_calls: tuple[ToolUse, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def eligible_episodes(
    episodes: Iterable[Episode], *, now: datetime, recency_days: int, promote_assistant_content: bool = False
) -> list[Episode]:
    """The episodes that may teach something, in the given order.

    Those of the last ``recency_days`` days (the first instant included); an unknown time counts as recent.
    Unless ``promote_assistant_content``, what the assistant tells, and what nobody knows who tells (a blank
    speaker too), is left out: an agent must not learn from its own words. What the memory marks as transient
    or expired is left out always.
    """
    since = now - timedelta(days=recency_days)
    return [
        episode
        for episode in episodes
        if _recent(episode.occurred_at, since)
        and (promote_assistant_content or _told_by_someone_else(episode.speaker))
        and not _passing(episode)
    ]


def newest_first(episodes: Iterable[Episode]) -> list[Episode]:
    """By time, newest first; equals and those of unknown time, which come last, in the given order."""
    return sorted(
        episodes,
        key=lambda episode: _aware(episode.occurred_at).timestamp() if episode.occurred_at else float("-inf"),
        reverse=True,
    )


def _recent(occurred_at: datetime | None, since: datetime) -> bool:
    return occurred_at is None or _aware(occurred_at) >= since


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _told_by_someone_else(speaker: object) -> bool:
    if not isinstance(speaker, str):
        return False
    name = speaker.strip().lower()
    return bool(name) and name not in _ASSISTANT


def _passing(episode: Episode) -> bool:
    durability = episode.metadata.get("durability")
    return isinstance(durability, str) and durability in _PASSING
