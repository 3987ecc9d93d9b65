"""Each constructor error, verdict, digest and vacuity rule of section 3; and that nothing is given away."""

from __future__ import annotations

import hashlib
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.memory_assertions import (
    MemoryCategorySeparated,
    PromptRecallContains,
    PromptRecallExcludes,
    ResponseDoesNotContradictRecall,
)

SEPARATED = MemoryCategorySeparated({"billing": "ana", "travel": "leo"})


def record(record_id: str, category: str, subject: str) -> dict[str, str]:
    return {"record_id": record_id, "category": category, "subject": subject}


GOOD = [record("1", "billing", "ana"), record("2", "travel", "leo")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MemoryCategorySeparated({}), "requires category/subject pairs"),
        (lambda: MemoryCategorySeparated({"": "ana"}), "requires category/subject pairs"),
        (lambda: MemoryCategorySeparated({"billing": ""}), "requires category/subject pairs"),
        (lambda: MemoryCategorySeparated({"a": "b"}, attribute=""), "requires an attribute name"),
        (lambda: MemoryCategorySeparated({"a": "b"}, minimum_per_category=0), "must be positive"),
        (PromptRecallContains, "PromptRecallContains requires non-empty fragments"),
        (lambda: PromptRecallContains("a", ""), "PromptRecallContains requires non-empty fragments"),
        (lambda: PromptRecallContains("a", attribute=""), "requires an attribute name"),
        (PromptRecallExcludes, "PromptRecallExcludes requires non-empty fragments"),
        (lambda: PromptRecallExcludes("a", ""), "PromptRecallExcludes requires non-empty fragments"),
        (lambda: ResponseDoesNotContradictRecall(minimum=0), "minimum must be positive"),
    ],
)
def test_what_cannot_be_asserted_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_names_are_those_of_the_seed() -> None:
    assert SEPARATED.name == "memory_category_separated"
    assert PromptRecallContains("a").name == "prompt_recall_contains"
    assert PromptRecallExcludes("a").name == "prompt_recall_excludes"
    assert ResponseDoesNotContradictRecall().name == "response_does_not_contradict_recall"
    assert ResponseDoesNotContradictRecall(name="mine").name == "mine"


def test_assertions_cannot_be_changed_and_equal_ones_are_equal() -> None:
    assert MemoryCategorySeparated({"b": "x", "a": "y"}) == MemoryCategorySeparated({"a": "y", "b": "x"})
    with pytest.raises(FrozenInstanceError):
        SEPARATED.attribute = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("records", "options", "passes"),
    [
        (GOOD, {}, True),
        (tuple(GOOD), {}, True),
        ([], {}, False),
        (GOOD[:1], {}, False),  # too few of a declared category
        (GOOD, {"minimum_per_category": 2}, False),
        (
            [*GOOD, record("3", "billing", "ana"), record("4", "travel", "leo")],
            {"minimum_per_category": 2},
            True,
        ),
        # The same record told twice is one record.
        ([*GOOD, *GOOD], {"minimum_per_category": 2}, False),
        ([*GOOD, record("1", "travel", "leo")], {}, False),  # in two categories
        ([*GOOD, record("1", "travel", "leo")], {"allow_extra": True}, False),
        ([*GOOD, record("3", "health", "ana")], {}, False),  # undeclared
        ([*GOOD, record("3", "health", "ana")], {"allow_extra": True}, True),
        ([*GOOD, record("2", "health", "leo")], {"allow_extra": True}, False),
        ([*GOOD, record("3", "billing", "leo")], {}, False),  # another subject
        ([*GOOD, {"record_id": "3", "category": "billing"}], {}, False),
        ([*GOOD, "no record"], {}, False),
        ("no records", {}, False),
        (None, {}, False),
    ],
)
def test_records_keep_category_and_subject(records: Any, options: dict[str, Any], passes: bool) -> None:
    assertion = MemoryCategorySeparated({"billing": "ana", "travel": "leo"}, **options)
    assert assertion.evaluate({"memory_classifications": records}).passed is passes


def test_missing_evidence_fails() -> None:
    for assertion in (
        SEPARATED,
        PromptRecallContains("a"),
        PromptRecallExcludes("a"),
        ResponseDoesNotContradictRecall(),
    ):
        verdict = assertion.evaluate({})
        assert (verdict.passed, verdict.reason) == (False, "The turn brings no such evidence.")


def test_recall_contains_every_fragment() -> None:
    recall = {"prompt_recall": "Ana prefers the Window seat."}
    assert PromptRecallContains("window", "ANA").evaluate(recall).passed
    assert not PromptRecallContains("window", case_sensitive=True).evaluate(recall).passed
    verdict = PromptRecallContains("window", "aisle").evaluate(recall)
    assert (verdict.passed, dict(verdict.evidence)) == (False, {"fragments": 2, "found": 1})
    assert PromptRecallContains("x", attribute="mine").evaluate({"mine": "x"}).passed
    assert not PromptRecallContains("x").evaluate({"prompt_recall": ["x"]}).passed


def test_a_leak_is_named_by_its_digest_only() -> None:
    recall = {"prompt_recall": "card 4111-1111"}
    assert PromptRecallExcludes("5500").evaluate(recall).passed
    verdict = PromptRecallExcludes("4111-1111", "5500").evaluate(recall)
    assert not verdict.passed
    assert verdict.digests == (hashlib.sha256(b"4111-1111").hexdigest()[:12],)
    assert "4111" not in repr(verdict)
    assert not PromptRecallExcludes("CARD").evaluate(recall).passed
    assert PromptRecallExcludes("CARD", case_sensitive=True).evaluate(recall).passed


@pytest.mark.parametrize(
    ("recalled", "claimed", "minimum", "passes"),
    [
        ({"seat": "12A"}, {"seat": "12A"}, 1, True),
        ({"seat": "12A"}, {"seat": "14C"}, 1, False),
        ({"seat": "12A"}, {"meal": "vegan"}, 1, True),  # nothing to compare, but something was claimed
        ({"seat": "12A"}, {}, 1, False),
        ({"seat": "12A", "meal": "vegan"}, {"seat": "12A"}, 2, False),
        ({}, {"seat": "12A"}, 1, True),
        ({"seat": 12}, {"seat": 12}, 1, True),
        ([], {"seat": "12A"}, 1, False),
        ({"seat": "12A"}, "12A", 1, False),
    ],
)
def test_the_response_says_what_was_recalled(recalled: Any, claimed: Any, minimum: int, passes: bool) -> None:
    assertion = ResponseDoesNotContradictRecall(minimum=minimum)
    assert assertion.evaluate({"recall_claims": recalled, "response_claims": claimed}).passed is passes


SECRET = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=3, max_size=12)


@given(SECRET, SECRET, SECRET)
def test_nothing_of_the_evidence_is_given_away(one: str, two: str, three: str) -> None:
    attributes = {
        "memory_classifications": [record(one, two, three), record(one, three, two), {one: two}],
        "prompt_recall": f"{one} {two}",
        "recall_claims": {one: two},
        "response_claims": {one: three},
    }
    for assertion in (
        SEPARATED,
        PromptRecallContains(one, three),
        PromptRecallExcludes(one, two),
        ResponseDoesNotContradictRecall(),
    ):
        said = f"{assertion!r} {assertion.evaluate(attributes)!r}"
        assert not any(secret in said for secret in (one, two, three))
