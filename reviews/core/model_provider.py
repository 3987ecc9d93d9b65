"""The one way our engines talk to a language model; which model, over which wire, is set up elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

__all__ = [
    "ModelError",
    "ModelProvider",
    "ModelRateLimited",
    "ModelRefused",
    "ModelRejected",
    "ModelReply",
    "ModelTimeout",
    "ModelTooLarge",
    "ModelUnavailable",
]

# The words of OpenAI, Anthropic and Google for the same two endings.
_CUT_SHORT: Final = frozenset({"length", "max_tokens", "max_output_tokens"})
_REFUSED: Final = frozenset({"content_filter", "refusal", "safety"})


@dataclass(frozen=True)
class ModelReply:
    """A model's answer. Tokens are None when they were not counted, ``finish_reason`` is "" when unknown."""

    text: str
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str = ""

    @property
    def cut_short(self) -> bool:
        """Whether the answer ended because its length limit was reached."""
        return self.finish_reason.lower() in _CUT_SHORT

    @property
    def refused(self) -> bool:
        """Whether the model or its filter refused to answer."""
        return self.finish_reason.lower() in _REFUSED


class ModelError(Exception):
    """The model gave no answer."""


class ModelTimeout(ModelError):  # noqa: N818  the name says what happened
    """It took too long."""


class ModelRefused(ModelError):  # noqa: N818
    """It, or its content filter, refuses this request; asking again will not help."""


class ModelTooLarge(ModelError):  # noqa: N818
    """It wrote more than anybody would read."""


class ModelRejected(ModelError):  # noqa: N818
    """Its server rejects the request as such, with an HTTP ``status``: a wrong key, name or address."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status


class ModelUnavailable(ModelError):  # noqa: N818
    """It cannot be reached or fails on its side."""


class ModelRateLimited(ModelError):  # noqa: N818
    """Too many requests. ``retry_after``: seconds to wait, None when the model does not say."""

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelProvider(Protocol):
    """One question, one answer. Raises a ``ModelError`` when there is none."""

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> ModelReply: ...
