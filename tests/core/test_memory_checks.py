"""Memory assertions as a test of an agent uses them."""

from __future__ import annotations

import pytest

from reviews.core.memory_assertions import (
    PromptRecallContains,
    PromptRecallExcludes,
    ResponseDoesNotContradictRecall,
    digest_of,
)
from reviews.core.memory_checks import check_memory

EVIDENCE = {
    "prompt_recall": "Ada likes window seats",
    "recall_claims": {"seat": "12A"},
    "response_claims": {},
}


def test_verdicts_come_back_when_all_have_passed():
    passed = check_memory(EVIDENCE, PromptRecallContains("window"), PromptRecallExcludes("4111"))
    assert [v.name for v in passed] == ["prompt_recall_contains", "prompt_recall_excludes"]


def test_all_that_failed_is_told_and_nothing_that_was_looked_at():
    with pytest.raises(AssertionError) as failure:
        check_memory(
            EVIDENCE,
            PromptRecallExcludes("window seats"),
            PromptRecallContains("Ada"),
            ResponseDoesNotContradictRecall(),
        )
    words = str(failure.value)
    assert words.count("\n") == 1
    assert "prompt_recall_excludes" in words
    assert "response_does_not_contradict_recall" in words
    assert "prompt_recall_contains" not in words
    assert digest_of("window seats") in words
    assert "leaked 1" in words
    for secret in ("window", "Ada", "12A"):
        assert secret not in words


def test_no_assertion_is_no_test():
    with pytest.raises(ValueError, match="at least one"):
        check_memory(EVIDENCE)
