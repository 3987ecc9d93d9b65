"""The selective gate: each condition of the behaviour document, one at a time."""

from __future__ import annotations

import pytest

from reviews.core.acknowledgments import is_trivial_acknowledgment as trivial
from reviews.core.fabrication import FabricationFinding
from reviews.core.intent import IntentVerdict
from reviews.core.patterns import compile_pattern

FINDING = FabricationFinding("A-17", "kv", "high", "It is nowhere.")


@pytest.mark.parametrize(
    "draft",
    [
        "Sure, will do!",
        "OK",
        "You're welcome.",
        "  Thanks \n",
        "Vale, de acuerdo.",
        "Por supuesto",
        "Alles klar!",
        "Natürlich.",
        "D'accord, merci.",
        "Bien sûr !",
        "Obrigada!",
        "Com certeza",
    ],
)
def test_acknowledgments_in_five_languages(draft):
    assert trivial(draft)


@pytest.mark.parametrize(
    "draft",
    [
        "",
        "   ",
        # No acknowledgment: another language, a part of a word, something said.
        "Tamam, oldu.",
        "Wokeness",
        "The parcel is lost.",
        # A digit, of any script.
        "Sure, on the 4th.",
        "Sure, ٣ of them.",
        # An amount.
        "Done, $",
        "Done, €",
        "Done, £",
        "Done, ¥",
        # An identifier.
        "Done: deadbeef",
        "Done: ABCDEF",
        # A name.
        "Done, Ana Torres will call.",
        "Sure, New\n York",
    ],
)
def test_what_says_more_is_none(draft):
    assert not trivial(draft)


def test_shorter_hex_and_single_capitals_are_no_claims():
    assert trivial("Done, added.")
    assert trivial("Sure, Ana.")
    assert trivial("Sure, A B.")


@pytest.mark.parametrize(("length", "expected"), [(159, True), (160, True), (161, False)])
def test_at_most_160_characters_without_the_space_around(length, expected):
    assert trivial("  Sure " + "x" * (length - 5) + "\n\n") is expected


def test_signals_beside_the_draft():
    assert trivial("Sure!", intent=IntentVerdict("knowledge", 0.9))
    assert not trivial("Sure!", intent=IntentVerdict("action", 0.9))
    assert not trivial("Sure!", intent=IntentVerdict("ambiguous", 0.0))
    assert not trivial("Sure!", sensitive_hit="payment")
    assert not trivial("Sure!", findings=[FINDING])


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], True),
        (None, True),
        ([{"name": "search"}], True),
        ([{"name": "search"}, {"name": "get"}], True),
        ([{"name": "search"}, {"name": "refund"}], False),
        ([{"name": "Search"}], False),
        ([{"name": ""}], False),
        ([{"name": None}], False),
        ([{"name": ["search"]}], False),
        ([{"tool": "search"}], False),
        (["search"], False),
    ],
)
def test_only_tools_that_are_known_to_read(calls, expected):
    assert trivial("Sure!", tool_calls=calls, read_only_tools={"search", "get"}) is expected


def test_without_read_only_tools_every_call_counts():
    assert not trivial("Sure!", tool_calls=[{"name": "search"}])


def test_a_nameless_tool_is_never_known_to_read():
    assert not trivial("Sure!", tool_calls=[{"name": ""}], read_only_tools={"", "search"})


def test_own_patterns_match_the_whole_draft_in_either_case():
    patterns = [compile_pattern("tamam[.!]?"), compile_pattern("Roger that")]
    assert trivial("Tamam!", patterns=patterns)
    assert trivial("Roger that", patterns=patterns)
    assert not trivial("Tamam, oldu", patterns=patterns)
    assert not trivial("roger that", patterns=patterns)
    # The built-in ones stay, and so do the other conditions.
    assert trivial("Sure!", patterns=patterns)
    assert not trivial("Code 7", patterns=[compile_pattern("Code [0-9]")])
