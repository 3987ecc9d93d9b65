"""Drafts from repetition, without a model: what was done three times in a month is a habit.

What an episode did is its key: its ``action_type``; else its opening "(then) I <verb> <object>"; else, when
enabled, "call <the first tool's name>".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from reviews.core.drafts import PATTERN_SOURCE, MemoryEntry, ProceduralDraft, TenantScope
from reviews.core.episodes import Episode, eligible_episodes
from reviews.core.extraction import Extracted, Extraction

__all__ = ["PatternExtractor", "pattern_key"]

_VERBS: Final = (
    *("ran", "used", "deployed", "built", "tested", "called", "invoked", "opened"),
    *("sent", "created", "queried", "fetched", "pushed", "pulled", "wrote", "read"),
)
# The object ends with its sentence or line, after 80 characters at the latest.
_OPENING: Final = re.compile(rf"(?:then\s+)?i\s+({'|'.join(_VERBS)})\s+([^.\n]{{1,80}})", re.IGNORECASE)
_OBJECT_TOKENS: Final = 6

_STEPS: Final = 5
_STEP_CHARACTERS: Final = 200
_SOURCE_IDS: Final = 20
_LABEL_CHARACTERS: Final = 100


class PatternExtractor:
    """The default extractor. ``clock`` returns the current time with its zone.

    ``min_pattern_count``: so many repetitions make a draft. ``recency_days``: within so many days.
    ``max_drafts``: at most so many a run. Raises ``ValueError`` for one below 1.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        min_pattern_count: int = 3,
        recency_days: int = 30,
        max_drafts: int = 5,
        promote_assistant_content: bool = False,
        action_type_from_tool_calls: bool = True,
    ) -> None:
        limits = {
            "min_pattern_count": min_pattern_count,
            "recency_days": recency_days,
            "max_drafts": max_drafts,
        }
        for name, value in limits.items():
            if value < 1:
                raise ValueError(f"{name} must be 1 or more, not {value!r}")
        self._clock = clock
        self._min_count = min_pattern_count
        self._days = recency_days
        self._max_drafts = max_drafts
        self._assistant = promote_assistant_content
        self._tool_calls = action_type_from_tool_calls

    async def extract(
        self, episodes: Sequence[Episode], existing_skills: Sequence[MemoryEntry], scope: TenantScope
    ) -> list[ProceduralDraft]:
        """The drafts of ``run``, for a caller who asks for no more."""
        return [extracted.draft for extracted in self.run(episodes).drafts]

    def run(self, episodes: Sequence[Episode]) -> Extraction:
        """Drafts, the most frequent pattern first, equals in the order they were first seen. Never raises."""
        try:
            return self._run(episodes)
        except Exception as error:  # best effort, whatever an episode holds
            return Extraction((), 0, 0, "failed", f"The episodes could not be read ({type(error).__name__}).")

    def _run(self, episodes: Sequence[Episode]) -> Extraction:
        read = eligible_episodes(
            episodes,
            now=self._clock(),
            recency_days=self._days,
            promote_assistant_content=self._assistant,
        )
        contributors: dict[str, list[Episode]] = {}
        for episode in read:
            key = pattern_key(episode, from_tool_calls=self._tool_calls)
            if key is not None:
                contributors.setdefault(key, []).append(episode)
        repeated = [item for item in contributors.items() if len(item[1]) >= self._min_count]
        repeated.sort(key=lambda item: -len(item[1]))
        drafts = tuple(self._extracted(name, seen) for name, seen in repeated[: self._max_drafts])
        return Extraction(
            drafts=drafts,
            scanned=len(read),
            emitted=len(repeated),
            outcome="found" if drafts else "nothing",
            detail=f"{len(contributors)} different actions, {len(repeated)} of them often enough.",
        )

    def _extracted(self, name: str, seen: list[Episode]) -> Extracted:
        lines = [line for episode in seen[:_STEPS] if (line := _first_line(episode))]
        steps = tuple(lines) or (name,)
        return Extracted(
            draft=ProceduralDraft(
                kind="action",
                trigger=name,
                action=steps[0],
                rationale=f"Done {len(seen)} times within {self._days} days.",
                source_episode_ids=[episode.id for episode in seen[:_SOURCE_IDS] if episode.id],
            ),
            source=PATTERN_SOURCE,
            label=f"Auto-learned: {name}"[:_LABEL_CHARACTERS],
            steps=steps,
            context=f"Repeated in {len(seen)} episodes",
            pattern_count=len(seen),
            pattern_name=name,
        )


def pattern_key(episode: Episode, *, from_tool_calls: bool = True) -> str | None:
    """What the episode did, lower-cased and with single spaces; None when it does not say.

    >>> pattern_key(Episode("1", "Then I ran  the Tests. All green."))
    'ran the tests'
    """
    action_type = episode.metadata.get("action_type")
    if isinstance(action_type, str) and action_type.strip():
        return _folded(action_type)
    opening = _OPENING.match(episode.content.strip())
    if opening is not None:
        return _folded(" ".join([opening[1], *opening[2].split()[:_OBJECT_TOKENS]]))
    if from_tool_calls and episode.tool_calls:
        name = episode.tool_calls[0].name
        if isinstance(name, str) and name.strip():
            return _folded(f"call {name}")
    return None


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _first_line(episode: Episode) -> str:
    lines = episode.content.strip().splitlines()
    return lines[0][:_STEP_CHARACTERS] if lines else ""
