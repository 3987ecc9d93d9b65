"""Drafts from repetition, by the documented rules."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.drafts import ProceduralDraft
from reviews.core.episodes import Episode, ToolUse
from reviews.core.extraction import Extraction
from reviews.core.pattern_extractor import PatternExtractor, pattern_key

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
SCOPE = SimpleNamespace(tenant_id="shop")


def extractor(**options):
    return PatternExtractor(clock=lambda: NOW, **options)


def episode(number, content="", **fields):
    return Episode(str(number), content, **{"speaker": "user", "occurred_at": NOW} | fields)


def repeated(text, times, first=0):
    return [episode(first + number, text) for number in range(times)]


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("I ran the tests", "ran the tests"),
        ("then I RAN   the\tTests", "ran the tests"),
        ("  Then  i sent it", "sent it"),
        ("I used one two three four five six seven", "used one two three four five six"),
        ("I queried the table. It was empty.", "queried the table"),
        ("I pulled main\nand more", "pulled main"),
        ("Now I ran the tests", None),
        ("I run the tests", None),
        ("I ran", None),
        ("Iran it", None),
        ("I read" + " x" * 50, "read x x x x x x"),
        ("", None),
    ],
)
def test_the_key_of_an_opening(content, key):
    assert pattern_key(Episode("1", content)) == key


@pytest.mark.parametrize(
    "verb",
    [
        "ran",
        "used",
        "deployed",
        "built",
        "tested",
        "called",
        "invoked",
        "opened",
        "sent",
        "created",
        "queried",
        "fetched",
        "pushed",
        "pulled",
        "wrote",
        "read",
    ],
)
def test_every_documented_verb_opens_a_pattern(verb):
    assert pattern_key(Episode("1", f"I {verb} it")) == f"{verb} it"


def test_the_action_type_comes_before_the_opening_and_the_opening_before_the_tool():
    calls = (ToolUse("Get_Order"), ToolUse("second"))
    said = Episode("1", "I ran it", metadata={"action_type": " Check  ORDER "}, tool_calls=calls)
    assert pattern_key(said) == "check order"
    assert pattern_key(Episode("1", "I ran it", metadata={"action_type": " "}, tool_calls=calls)) == "ran it"
    assert pattern_key(Episode("1", "hello", tool_calls=calls)) == "call get_order"
    assert pattern_key(Episode("1", "hello", tool_calls=calls), from_tool_calls=False) is None
    assert pattern_key(Episode("1", "hello", tool_calls=(ToolUse(" "), ToolUse("second")))) is None


def test_three_repetitions_make_a_draft():
    assert extractor().run(repeated("I ran it", 2)).outcome == "nothing"
    run = extractor().run(repeated("I ran it", 3))
    assert (run.outcome, run.scanned, run.emitted, len(run.drafts)) == ("found", 3, 1, 1)
    assert extractor(min_pattern_count=4).run(repeated("I ran it", 3)).outcome == "nothing"


def test_a_draft_and_its_memory_entry():
    episodes = [episode(number, f"I ran it. Time {number}\nsecond line") for number in range(25)]
    extracted = extractor().run(episodes).drafts[0]
    steps = tuple(f"I ran it. Time {number}" for number in range(5))
    assert extracted.draft == ProceduralDraft(
        kind="action",
        trigger="ran it",
        action="I ran it. Time 0",
        rationale="Done 25 times within 30 days.",
        source_episode_ids=[str(number) for number in range(20)],
    )
    assert (extracted.label, extracted.steps) == ("Auto-learned: ran it", steps)
    entry = extracted.to_memory_entry(SCOPE)
    assert (entry.layer, entry.tenant_id, entry.importance) == ("procedural", "shop", 5.0)
    assert entry.metadata == {
        "label": "Auto-learned: ran it",
        "steps": list(steps),
        "context": extracted.context,
        "source": "phase_12_promotion",
        "source_episodic_ids": [str(number) for number in range(20)],
        "pattern_count": 25,
        "pattern_name": "ran it",
    }


def test_long_labels_and_steps_are_cut():
    name = "x" * 300
    extracted = (
        extractor().run([episode(n, name, metadata={"action_type": name}) for n in range(3)]).drafts[0]
    )
    assert extracted.label == "Auto-learned: " + "x" * 86
    assert extracted.steps == ("x" * 200,) * 3
    assert extracted.pattern_name == name


def test_blank_contents_give_no_step_and_a_pattern_without_any_shows_its_name():
    calls = (ToolUse("get_order"),)
    mixed = [
        episode(1, " \n", tool_calls=calls),
        episode(2, "where is it?", tool_calls=calls),
        episode(3, "", tool_calls=calls),
    ]
    assert extractor().run(mixed).drafts[0].steps == ("where is it?",)
    blank = [episode(number, "", tool_calls=calls) for number in range(3)]
    assert extractor().run(blank).drafts[0].steps == ("call get_order",)


def test_the_most_frequent_come_first_equals_as_first_seen_and_five_at_most():
    letters = "abcdef"
    episodes = [
        item for number, text in enumerate(letters) for item in repeated(f"I ran {text}", 3, number * 10)
    ]
    episodes += repeated("I ran z", 4, 90)
    run = extractor().run(episodes)
    assert [extracted.pattern_name for extracted in run.drafts] == [
        "ran z",
        "ran a",
        "ran b",
        "ran c",
        "ran d",
    ]
    assert run.emitted == 7
    assert len(extractor(max_drafts=2).run(episodes).drafts) == 2


def test_old_and_assistant_episodes_are_not_counted():
    episodes = [
        *repeated("I ran it", 2),
        episode(5, "I ran it", occurred_at=NOW - timedelta(days=31)),
        episode(6, "I ran it", speaker="assistant"),
        episode(7, "I ran it", speaker=None),
    ]
    assert extractor().run(episodes).scanned == 2
    assert extractor(recency_days=31).run(episodes).drafts[0].pattern_count == 3
    assert extractor(promote_assistant_content=True).run(episodes).drafts[0].pattern_count == 4


def test_tool_calls_name_an_episode_only_when_the_tenant_wants_it():
    episodes = [episode(number, "hello", tool_calls=(ToolUse("get_order"),)) for number in range(3)]
    assert extractor().run(episodes).drafts[0].pattern_name == "call get_order"
    assert extractor(action_type_from_tool_calls=False).run(episodes).outcome == "nothing"


def test_extract_gives_the_drafts_alone():
    run = extractor()
    episodes = repeated("I ran it", 3)
    assert asyncio.run(run.extract(episodes, [], SCOPE)) == [item.draft for item in run.run(episodes).drafts]
    assert asyncio.run(run.extract([], [], SCOPE)) == []


@pytest.mark.parametrize("name", ["min_pattern_count", "recency_days", "max_drafts"])
def test_impossible_limits_are_refused_by_name(name):
    with pytest.raises(ValueError, match=name):
        extractor(**{name: 0})


def broken_clock():
    raise OSError("no clock here")


def test_whatever_breaks_is_told_and_not_raised():
    run = PatternExtractor(clock=broken_clock).run(repeated("I ran it", 3))
    assert (run.drafts, run.outcome) == ((), "failed")
    assert "OSError" in run.detail
    assert "no clock here" not in run.detail


odd = (
    st.none()
    | st.integers()
    | st.text(max_size=9)
    | st.binary(max_size=3)
    | st.lists(st.integers(), max_size=2)
)


@settings(database=None, deadline=None)
@given(
    st.lists(
        st.builds(
            Episode,
            id=odd,
            content=odd | st.just("I ran it"),
            speaker=odd | st.just("user"),
            occurred_at=odd | st.datetimes(),
            tool_calls=st.just(()) | st.lists(st.builds(ToolUse, odd) | odd, max_size=2).map(tuple) | odd,
            metadata=odd | st.dictionaries(st.just("action_type"), odd),
        )
        | odd,
        max_size=5,
    )
    | odd
)
def test_no_input_makes_it_raise(episodes):
    assert isinstance(extractor(min_pattern_count=1).run(episodes), Extraction)
