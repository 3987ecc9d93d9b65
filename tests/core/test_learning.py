"""Suggestions from labels: what repeated false alarms teach, and what they must not."""

from __future__ import annotations

import random

import pytest

from reviews.core.fabrication import detect_fabrication
from reviews.core.grounding_rules import GroundingRules
from reviews.core.learning import (
    FEWEST_AGREEING,
    MOST_TURNS,
    Example,
    Suggestion,
    silences,
    suggest,
)
from reviews.core.patterns import compile_pattern
from reviews.core.profiles import subject_of


def claims(n, verb, tools, *, fabricated=False, first=0):
    return [
        Example("verb_claim", verb, f"I {verb}", tools, fabricated, turn) for turn in range(first, first + n)
    ]


def pairs(values, key="ticket_id", *, fabricated=False, first=0, kind="kv"):
    return [Example(kind, key, value, (), fabricated, turn) for turn, value in enumerate(values, first)]


def brief(suggestions):
    return [(s.rule, s.subject, s.value, s.agree, s.against) for s in suggestions]


ORDER = ("get_order_details",)


# -- fragments of tool names --


def test_one_verb_beside_one_tool_again_and_again_teaches_its_first_word():
    """All words of the name explain as much; what a tool does stands first in its name."""
    assert suggest(claims(5, "checked", ORDER)) == [
        Suggestion("tool_fragment", "checked", "get", 5, 0, (0, 1, 2, 3, 4))
    ]


def test_the_word_that_several_tools_share_explains_more():
    examples = claims(3, "checked", ORDER) + claims(3, "checked", ("fetch_order",), first=10)
    assert brief(suggest(examples)) == [("tool_fragment", "checked", "order", 6, 0)]


def test_a_word_that_would_silence_true_findings_gives_way():
    """get: 8 for, 2 against; order: 7 for, none against."""
    examples = [
        *claims(7, "checked", ORDER),
        *claims(1, "checked", ("get_user",), first=20),
        *claims(2, "checked", ("get_weather",), fabricated=True, first=30),
    ]
    assert brief(suggest(examples)) == [("tool_fragment", "checked", "order", 7, 0)]


@pytest.mark.parametrize(("false_alarms", "true", "suggested"), [(5, 0, True), (6, 1, False), (9, 1, True)])
def test_most_silenced_findings_must_be_false_alarms_beyond_doubt(false_alarms, true, suggested):
    """Wilson's lower limits at 95 %: 5 of 5 0.57, 6 of 7 0.49, 9 of 10 0.60."""
    examples = claims(false_alarms, "checked", ORDER) + claims(
        true, "checked", ORDER, fabricated=True, first=50
    )
    assert bool(suggest(examples)) == suggested


def test_one_true_finding_outweighs_three_false_alarms():
    """30 of 41 are beyond one half (0.58 to 0.84), yet 30 false alarms are not worth 11 fabrications."""
    assert suggest(claims(30, "checked", ORDER) + claims(11, "checked", ORDER, fabricated=True)) == []


def test_too_few_labels_teach_nothing():
    assert suggest(claims(FEWEST_AGREEING - 1, "checked", ORDER)) == []
    assert suggest([]) == []


def test_many_labels_of_one_turn_are_one_mistake():
    same = [each._replace(turn=each.turn % 2) for each in claims(20, "checked", ORDER)]
    assert suggest(same) == []


def test_true_findings_alone_teach_nothing():
    assert suggest(claims(50, "checked", ORDER, fabricated=True)) == []


def test_no_tool_no_fragment():
    assert suggest(claims(20, "checked", ())) == []


@pytest.mark.parametrize(
    ("tool", "fragment"),
    [
        ("getOrder", "get"),
        ("HTTPLookup", "http"),
        ("Shop.Mall.viewCart", "shop"),
        ("mcp__the_tool__lookup", "lookup"),
        ("v2_of_lookup", "lookup"),
        ("buscar_año", "buscar"),
        ("查询订单", "查询订单"),
    ],
)
def test_names_are_split_at_separators_and_humps_and_generic_words_left_out(tool, fragment):
    assert [s.value for s in suggest(claims(6, "checked", (tool,)))] == [fragment]


@pytest.mark.parametrize("tool", ["tool", "mcp_api_server", "do_it", "x1"])
def test_a_name_of_generic_words_teaches_nothing(tool):
    assert suggest(claims(20, "checked", (tool,))) == []


def test_each_verb_learns_on_its_own():
    examples = claims(6, "checked", ORDER) + claims(5, "sent", ("book_flight",), first=10)
    assert brief(suggest(examples)) == [
        ("tool_fragment", "checked", "get", 6, 0),
        ("tool_fragment", "sent", "book", 5, 0),
    ]


def test_what_one_suggestion_explains_does_not_count_for_the_next():
    """get explains thirteen; of the twelve beside list three are left, which is too few."""
    examples = (
        claims(9, "checked", ("get_a", "list_b"))
        + claims(4, "checked", ("get_a",), first=20)
        + claims(3, "checked", ("list_b",), first=30)
    )
    assert [(s.value, s.agree) for s in suggest(examples)] == [("get", 13)]


def test_rules_in_force_are_not_suggested_again():
    examples = claims(6, "checked", ORDER) + pairs(
        ["economy", "basic", "first", "ground", "extra"], "service"
    )
    values = [(s.rule, s.subject) for s in suggest(examples)]
    assert values == [("tool_fragment", "checked"), ("ignored_key", "service")]
    rules = GroundingRules({"checked": ("order",)}, frozenset(["service"]))
    assert suggest(examples, rules) == []


def test_what_a_built_in_hint_grounds_is_no_lesson():
    """A finding that only another detector made: verify grounds "checked" here already."""
    assert suggest(claims(9, "checked", ("verify_order",))) == []


# -- keys --

WORDS = ["economy", "basic", "first", "ground", "extra"]


def test_a_key_before_plain_words_is_no_key():
    assert brief(suggest(pairs(WORDS, "service"))) == [("ignored_key", "service", "service", 5, 0)]


def test_a_key_with_true_findings_stays():
    examples = pairs(WORDS, "service") + pairs(["a", "bb", "ccc"], "service", fabricated=True, first=50)
    assert suggest(examples) == []


# -- values --


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        (["REQ-1024", "REQ-2048", "REQ-4096", "REQ-9", "REQ-77"], "REQ-[0-9]{1,4}"),
        (["2024-05-01", "2024-05-17", "2024-06-02", "2024-11-30", "2024-12-01"], "2024-[0-9]{2}-[0-9]{2}"),
        (["A1-x", "B2-x", "C3-x", "D4-x", "E5-x"], "[A-Z][0-9]-x"),
        (["job-3fa9", "job-b1", "job-17c", "job-x", "job-9-9"], r"job-[0-9\-a-z]{1,4}"),
        (["n/a.x"] * 5, r"n/a\.x"),
    ],
)
def test_values_of_one_shape_teach_that_shape(values, pattern):
    """Beside values of another key and shape that are true, so that the key cannot be ignored."""
    true = pairs(["zz"] * 3, fabricated=True, first=50)
    (found,) = suggest(pairs(values) + true)
    assert (found.rule, found.subject, found.value, found.agree, found.against) == (
        "ignored_value", "", found.value, 5, 0,
    )  # fmt: skip
    assert found.value == pattern
    compiled = compile_pattern(found.value)
    assert all(compiled.matches(value) for value in values)
    assert not compiled.matches("zz")


def test_a_value_is_narrower_than_its_key():
    values = [f"REQ-{n}" for n in range(100, 106)]
    assert brief(suggest(pairs(values))) == [("ignored_value", "", "REQ-[0-9]{3}", 6, 0)]


@pytest.mark.parametrize(
    "values", [WORDS, ["1", "22", "333", "4444", "55555"], ["a-b", "cc-d", "e-f", "g-hh", "i-j"]]
)
def test_a_shape_that_nearly_anything_has_is_no_lesson(values):
    true = pairs(["Z9"] * 4, fabricated=True, first=50)
    assert suggest(pairs(values) + true) == []


def test_hex_needs_a_common_start():
    rng = random.Random(1)
    anything = [f"{rng.getrandbits(32):08x}" for _ in range(40)]
    assert suggest(pairs(anything, "", kind="short_hex_near_verb")) == []
    seeded = ["00000000-0000-4000-8000-" + f"{n:012x}" for n in range(10, 20)]
    (found,) = suggest(pairs(seeded, "", kind="uuid"))
    assert found.value.startswith("00000000-0000-4000-8000-0000")
    assert silences(found, Example("uuid", "", seeded[3], (), True, 1))
    assert not silences(found, Example("uuid", "", "3f2b8c1e-7d4a-4e9b-9c55-0a1b2c3d4e5f", (), True, 1))


# -- what a suggestion silences --


def test_silences_is_what_the_detector_then_does():
    """Each suggestion, accepted, drops exactly the findings it says, of those in these drafts."""
    drafts = [
        ("I checked your order", [{"name": "get_order_details"}]),
        ("I checked your order", [{"name": "think"}]),
        ("I sent it; service: economy", [{"name": "get_order_details"}]),
        ("service: abcdef1", []),
        ("ticket_id=REQ-12 and pid=REQ-12x", []),
    ]
    for suggestion, rules in [
        (Suggestion("tool_fragment", "checked", "order", 5, 0, ()), GroundingRules({"checked": ("order",)})),
        (
            Suggestion("ignored_key", "service", "service", 5, 0, ()),
            GroundingRules({}, frozenset(["service"])),
        ),
        (
            Suggestion("ignored_value", "", "REQ-[0-9]+", 5, 0, ()),
            GroundingRules({}, frozenset(), (compile_pattern("REQ-[0-9]+"),)),
        ),
    ]:
        dropped = 0
        for draft, calls in drafts:
            before = detect_fabrication(draft, calls)
            tools = tuple(call["name"] for call in calls)
            kept = [
                f
                for f in before
                if not silences(suggestion, Example(f.kind, subject_of(f), f.identifier, tools, False, 0))
            ]
            assert detect_fabrication(draft, calls, rules=rules) == kept
            dropped += len(before) - len(kept)
        assert dropped


# -- the list --


def test_most_support_first_whatever_the_order_of_the_labels():
    examples = [
        *claims(6, "checked", ORDER),
        *claims(9, "sent", ("book_flight", "get_order_details"), first=100),
        *pairs(WORDS, "service", first=200),
        *pairs([f"REQ-{n}" for n in range(7)], first=300),
        *claims(2, "sent", ("get_order_details",), fabricated=True, first=400),
    ]
    expected = [
        ("tool_fragment", "sent", "book", 9, 0),
        ("ignored_value", "", "REQ-[0-9]", 7, 0),
        ("tool_fragment", "checked", "get", 6, 0),
        ("ignored_key", "service", "service", 5, 0),
    ]
    for seed in range(5):
        random.Random(seed).shuffle(examples)
        assert brief(suggest(examples)) == expected


def test_a_suggestion_shows_its_first_turns_each_once():
    examples = [each for each in claims(40, "checked", ORDER, first=7) for _ in range(2)]
    (found,) = suggest(examples)
    assert found.agree == 80
    assert found.turns == tuple(range(7, 7 + MOST_TURNS))
