"""Why a model gave no answer."""

from __future__ import annotations

import pytest

from reviews.core.model_failure import ModelFailure, ModelOverBudget, failure_of
from reviews.core.model_provider import (
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelTimeout,
    ModelTooLarge,
    ModelUnavailable,
)


@pytest.mark.parametrize(
    ("error", "cause", "retry_after"),
    [
        (ModelTimeout("secret"), "timeout", 60.0),
        (TimeoutError("secret"), "timeout", 60.0),
        (ModelRefused("secret"), "refused", None),
        (ModelTooLarge("secret"), "too_large", None),
        (ModelOverBudget("secret"), "over_budget", None),
        (ModelRejected(401), "rejected", None),
        (ModelRateLimited("secret"), "rate_limited", 60.0),
        (ModelRateLimited("secret", retry_after=7.0), "rate_limited", 7.0),
        (ModelRateLimited("secret", retry_after=0.0), "rate_limited", 0.0),
        (ModelUnavailable("secret"), "unavailable", 60.0),
        (ValueError("secret"), "failed", None),
    ],
)
def test_each_error_has_a_cause_and_a_sentence_that_quotes_nothing(error, cause, retry_after):
    failure = failure_of(error)
    assert failure == ModelFailure(cause, failure.detail, retry_after)
    assert failure.detail.endswith(".")
    assert "secret" not in failure.detail


def test_the_status_and_the_type_are_told():
    assert "401" in failure_of(ModelRejected(401)).detail
    assert "ZeroDivisionError" in failure_of(ZeroDivisionError()).detail
