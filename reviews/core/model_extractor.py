"""Drafts from a language model, which sees what repetition cannot: rules about order, errors and limits."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from reviews.core.draft_prompt import draft_prompt
from reviews.core.draft_reply import read_draft_reply
from reviews.core.drafts import MODEL_SOURCE, MemoryEntry, ProceduralDraft, TenantScope, draft_label
from reviews.core.episodes import Episode, eligible_episodes, newest_first
from reviews.core.extraction import Extracted, Extraction, ExtractionOutcome, ModelUse
from reviews.core.model_failure import failure_of
from reviews.core.model_provider import ModelProvider, ModelReply

__all__ = ["ModelExtractor"]

# Room for five drafts of 200 words each, and a model's thinking aloud before them.
_MAX_TOKENS: Final = 4_096
_TIMEOUT_SECONDS: Final = 60.0

_SAID: Final[dict[str, str]] = {
    "malformed": "The reply is not the JSON that was asked for.",
    "truncated": "The reply ends before its JSON does.",
    "too_large": "The reply is larger than any list of drafts.",
}


class ModelExtractor:
    """Asks ``provider`` once a run; None means that no model is set up.

    ``clock`` returns the current time with its zone. ``max_episodes``: so many of the newest are shown.
    ``max_drafts``: at most so many are asked for and kept. ``fence`` makes a text that nobody can guess.
    Raises ``ValueError`` for a limit below 1.
    """

    def __init__(
        self,
        provider: ModelProvider | None,
        *,
        clock: Callable[[], datetime],
        max_episodes: int = 100,
        max_drafts: int = 5,
        recency_days: int = 30,
        promote_assistant_content: bool = False,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        max_tokens: int = _MAX_TOKENS,
        fence: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        limits = {"max_episodes": max_episodes, "max_drafts": max_drafts, "recency_days": recency_days}
        for name, value in limits.items():
            if value < 1:
                raise ValueError(f"{name} must be 1 or more, not {value!r}")
        self._provider = provider
        self._clock = clock
        self._max_episodes = max_episodes
        self._max_drafts = max_drafts
        self._days = recency_days
        self._assistant = promote_assistant_content
        self._timeout = timeout_seconds
        self._max_tokens = max_tokens
        self._fence = fence

    async def extract(
        self, episodes: Sequence[Episode], existing_skills: Sequence[MemoryEntry], scope: TenantScope
    ) -> list[ProceduralDraft]:
        """The drafts of ``run``, for a caller who need not know why there are none."""
        return [extracted.draft for extracted in (await self.run(episodes, existing_skills)).drafts]

    async def run(
        self, episodes: Sequence[Episode], existing_skills: Sequence[MemoryEntry] = ()
    ) -> Extraction:
        """One question to the model. Never raises; being cancelled from outside is passed on."""
        if self._provider is None:
            return Extraction((), 0, 0, "no_model", "No model is set up.")
        try:
            return await self._run(self._provider, episodes, existing_skills)
        except Exception as error:  # best effort, whatever an episode or a provider does
            return _failed(error)

    async def _run(
        self, provider: ModelProvider, episodes: Sequence[Episode], skills: Sequence[MemoryEntry]
    ) -> Extraction:
        eligible = eligible_episodes(
            episodes,
            now=self._clock(),
            recency_days=self._days,
            promote_assistant_content=self._assistant,
        )
        shown = newest_first(eligible)[: self._max_episodes]
        if not shown:
            return Extraction((), 0, 0, "nothing", "There are no episodes to learn from.")
        asked = draft_prompt(shown, skills, max_drafts=self._max_drafts, fence=self._fence())
        try:
            async with asyncio.timeout(self._timeout):
                reply = await provider.complete(
                    system=asked.system, prompt=asked.prompt, max_tokens=self._max_tokens
                )
        except Exception as error:  # as above, but here it is known what was shown
            return replace(_failed(error), scanned=len(shown))
        return self._read(reply, shown)

    def _read(self, reply: ModelReply, shown: Sequence[Episode]) -> Extraction:
        cost = ModelUse(reply.model, reply.tokens_in, reply.tokens_out)
        if reply.refused:
            return Extraction((), len(shown), 0, "refused", "The model refused to answer.", cost)
        read = read_draft_reply(reply.text, max_drafts=self._max_drafts)
        if read.status != "read":
            outcome: ExtractionOutcome = read.status
            if outcome == "malformed" and reply.cut_short:
                outcome = "truncated"
            said = _SAID[outcome]
            if read.emitted:
                said = f"None of {read.emitted} items has a trigger, an action and a rationale."
            return Extraction((), len(shown), read.emitted, outcome, said, cost)
        ids = {episode.id for episode in shown}
        drafts = tuple(_extracted(draft, ids) for draft in read.drafts)
        return Extraction(
            drafts=drafts,
            scanned=len(shown),
            emitted=read.emitted,
            outcome="found" if drafts else "nothing",
            detail=f"{len(drafts)} of {read.emitted} proposals are drafts."
            if drafts
            else "Nothing to propose.",
            cost=cost,
        )


def _extracted(draft: ProceduralDraft, shown: set[str]) -> Extracted:
    return Extracted(
        draft=draft,
        source=MODEL_SOURCE,
        label=draft_label(draft),
        steps=(draft.action,),
        context=draft.rationale,
        unknown_episode_ids=tuple(source for source in draft.source_episode_ids if source not in shown),
    )


def _failed(error: Exception) -> Extraction:
    """The outcome of an exception; only its type is told, its text may repeat what it was about."""
    failure = failure_of(error)
    outcome: ExtractionOutcome = "failed"
    said = failure.detail
    match failure.cause:
        case "timeout" | "refused":
            outcome = failure.cause
        case "too_large":
            outcome, said = "too_large", _SAID["too_large"]
        case "failed":
            said = f"The run broke off ({type(error).__name__})."
    return Extraction((), 0, 0, outcome, said, retry_after=failure.retry_after)
