"""Why a model gave no answer: a word to store, a sentence to show, and when to ask again."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from reviews.core.model_provider import (
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelTimeout,
    ModelTooLarge,
    ModelUnavailable,
)

__all__ = ["FailureCause", "ModelFailure", "ModelOverBudget", "failure_of"]

FailureCause = Literal[
    "timeout", "refused", "too_large", "over_budget", "unavailable", "rate_limited", "rejected", "failed"
]

# Seconds to wait when a model does not say how long.
_RETRY_SECONDS: Final = 60.0


class ModelOverBudget(ModelError):  # noqa: N818  the name says what happened
    """The tenant's budget for calls or tokens is spent; raised by what stands before a model, not by it."""


class ModelFailure(NamedTuple):
    """``detail`` is a sentence that quotes nothing of the request. ``retry_after``: seconds after which
    another try may do better; None when it would not."""

    cause: FailureCause
    detail: str
    retry_after: float | None = None


def failure_of(error: Exception) -> ModelFailure:
    """The failure that ``error`` stands for; only its type is told, its text may repeat what it was about."""
    cause: FailureCause = "failed"
    detail, wait = f"The call broke off ({type(error).__name__}).", None
    match error:
        case ModelTimeout() | TimeoutError():
            cause, detail, wait = "timeout", "The model took too long.", _RETRY_SECONDS
        case ModelRefused():
            cause, detail = "refused", "The model refused to answer."
        case ModelTooLarge():
            cause, detail = "too_large", "The reply is larger than any answer."
        case ModelOverBudget():
            cause, detail = "over_budget", "The budget for model calls is spent."
        case ModelRejected():
            cause = "rejected"
            detail = f"The model's server rejects the request (HTTP status {error.status})."
        case ModelRateLimited():
            cause, detail = "rate_limited", "The model takes no more requests now."
            wait = _RETRY_SECONDS if error.retry_after is None else error.retry_after
        case ModelUnavailable():
            cause, detail, wait = "unavailable", "The model cannot be reached.", _RETRY_SECONDS
    return ModelFailure(cause, detail, wait)
