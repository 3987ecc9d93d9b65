"""Suites: what is read, what is wrong by its path, which turns they are about, and what they never repeat."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core import memory_assertions
from reviews.core.assertion_suites import (
    ASSERTION_TYPES,
    MAX_ASSERTIONS,
    MAX_SUITES,
    AssertionSpec,
    AssertionSuite,
    read_suite,
    read_suites,
    tags_of,
)
from reviews.core.settings import SettingsError, TenantSettings, parse_settings
from reviews.core.settings_diff import settings_diff

CLASSES = {
    "memory_category_separated": memory_assertions.MemoryCategorySeparated,
    "prompt_recall_contains": memory_assertions.PromptRecallContains,
    "prompt_recall_excludes": memory_assertions.PromptRecallExcludes,
    "response_does_not_contradict_recall": memory_assertions.ResponseDoesNotContradictRecall,
}
EXCLUDES = {"type": "prompt_recall_excludes", "fragments": ["4111 1111", "hunter2"]}
SEPARATED = {"type": "memory_category_separated", "expected": {"billing": "ana"}}
CLAIMS = {"type": "response_does_not_contradict_recall"}
#: Every option of every type, none at its default.
FULL = {
    "name": "privacy",
    "agents": ["support", "sales"],
    "tags": ["gold"],
    "sampling": 0.25,
    "queue": True,
    "assertions": [
        {
            "type": "prompt_recall_excludes",
            "label": "no cards",
            "fragments": ["4111"],
            "attribute": "mine",
            "case_sensitive": True,
        },
        {
            "type": "prompt_recall_contains",
            "fragments": ["vegan", "window"],
            "attribute": "yours",
            "case_sensitive": True,
        },
        {
            "type": "memory_category_separated",
            "expected": {"billing": "ana", "mail:in": "leo: work"},
            "attribute": "records",
            "minimum_per_category": 3,
            "allow_extra": True,
        },
        {
            "type": "response_does_not_contradict_recall",
            "recall_attribute": "recalled",
            "response_attribute": "said",
            "minimum": 2,
        },
    ],
}


def suite_of(*assertions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "s", "assertions": list(assertions) or [EXCLUDES], **fields}


def read(value: Any) -> AssertionSuite:
    problems: dict[str, str] = {}
    suite = read_suite(value, "suite", problems)
    assert problems == {}
    return suite


def wrong(value: Any) -> dict[str, str]:
    """What is wrong with a suite, by path; nothing of it is returned then."""
    problems: dict[str, str] = {}
    suite = read_suite(value, "suite", problems)
    assert problems
    assert suite == AssertionSuite("")
    assert all(text.endswith(".") for text in problems.values()), problems
    return problems


# -- Reading


def test_a_suite_needs_a_name_and_assertions_and_the_rest_has_defaults() -> None:
    suite = read(suite_of())
    assert (suite.name, suite.agents, suite.tags, suite.sampling, suite.queue) == ("s", (), (), 1.0, False)
    assert suite.assertions[0].assertion == memory_assertions.PromptRecallExcludes("4111 1111", "hunter2")


def test_each_option_reaches_its_assertion() -> None:
    excludes, contains, separated, claims = (spec.assertion for spec in read(FULL).assertions)
    assert excludes == CLASSES["prompt_recall_excludes"]("4111", attribute="mine", case_sensitive=True)
    assert contains == CLASSES["prompt_recall_contains"](
        "vegan", "window", attribute="yours", case_sensitive=True
    )
    assert separated == CLASSES["memory_category_separated"](
        {"billing": "ana", "mail:in": "leo: work"},
        attribute="records",
        minimum_per_category=3,
        allow_extra=True,
    )
    assert claims == CLASSES["response_does_not_contradict_recall"]("recalled", "said", 2)


def test_the_types_and_options_are_the_assertions_and_their_arguments() -> None:
    """All but ``name`` of the one assertion whose name can be chosen: a suite has labels for that."""
    exported = {
        cls
        for name in memory_assertions.__all__
        if isinstance(cls := getattr(memory_assertions, name), type) and hasattr(cls, "evaluate")
    } - {memory_assertions.MemoryAssertion}
    assert exported == set(CLASSES.values())
    assert ASSERTION_TYPES.keys() == CLASSES.keys()
    for kind, cls in CLASSES.items():
        assert ASSERTION_TYPES[kind].keys() == inspect.signature(cls).parameters.keys() - {"name"}, kind
    for spec in read(FULL).assertions:
        assert spec.options.keys() == ASSERTION_TYPES[spec.type].keys()
        assert spec.assertion.name == spec.type


def test_an_option_that_is_left_out_has_the_constructors_default() -> None:
    assert read(suite_of(CLAIMS)).assertions[0].assertion == CLASSES[CLAIMS["type"]]()
    assert read(suite_of(SEPARATED)).assertions[0].assertion == CLASSES[SEPARATED["type"]]({"billing": "ana"})


def test_text_is_trimmed_and_the_same_thing_twice_is_one() -> None:
    suite = read(
        suite_of(
            {"type": "prompt_recall_excludes", "label": " cards ", "fragments": [" 4111 ", "4111", "A b"]},
            name=" privacy ",
            agents=["bot", "bot "],
        )
    )
    assert (suite.name, suite.agents, suite.labels()) == ("privacy", ("bot",), ["cards"])
    assert suite.assertions[0].options["fragments"] == ("4111", "A b")


@pytest.mark.parametrize("label", ["", None])
def test_no_label_may_be_written_in_two_ways(label: Any) -> None:
    assert read(suite_of({**EXCLUDES, "label": label})).assertions[0].label == ""


TOO_MANY = [{**CLAIMS, "minimum": n} for n in range(1, MAX_ASSERTIONS + 2)]


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        *((value, {""}) for value in (None, [], "privacy", 7, True)),
        ({}, {"/name", "/assertions"}),
        ({"name": "s"}, {"/assertions"}),
        ({"assertions": [EXCLUDES]}, {"/name"}),
        *(
            (suite_of(name=name), {"/name"})
            for name in ("", "  ", "x" * 61, "a\nb", "a\0", "\ud800", None, 5)
        ),
        *(
            (suite_of(agents=agents), {"/agents"})
            for agents in ("bot", None, {"bot": 1}, [str(n) for n in range(201)])
        ),
        *((suite_of(agents=["ok", agent]), {"/agents/1"}) for agent in ("", 5, "x" * 201, "a\nb")),
        (suite_of(tags="gold"), {"/tags"}),
        (suite_of(tags=["gold", "x" * 101]), {"/tags/1"}),
        *(
            (suite_of(sampling=rate), {"/sampling"})
            for rate in (-0.1, 1.001, 0.0001, "1", True, None, float("nan"))
        ),
        *((suite_of(queue=queue), {"/queue"}) for queue in (1, "yes", None)),
        *((suite_of(assertions=value), {"/assertions"}) for value in (None, {}, "x", [], TOO_MANY)),
        *((suite_of(each), {"/assertions/0"}) for each in (None, "prompt_recall_excludes", [], 7)),
        *(
            (suite_of({**EXCLUDES, "type": kind}), {"/assertions/0/type"})
            for kind in (None, "", "other", 7, ["prompt_recall_excludes"], "PROMPT_RECALL_EXCLUDES")
        ),
        (suite_of({"fragments": ["x"]}), {"/assertions/0/type"}),
        *(
            (suite_of({**EXCLUDES, "label": label}), {"/assertions/0/label"})
            for label in ("  ", "x" * 61, "a\nb", 5, 0, False, [])
        ),
        (suite_of({**EXCLUDES, "expected": {}}), {"/assertions/0/expected"}),
        (suite_of({**CLAIMS, "name": "mine"}), {"/assertions/0/name"}),
        (suite_of(colour="green", size=1), {"/colour", "/size"}),
        *(
            (suite_of({**EXCLUDES, "fragments": value}), {"/assertions/0/fragments"})
            for value in ("4111", None, {"4111": 1}, [f"f{n}" for n in range(51)])
        ),
        *(
            (suite_of({**EXCLUDES, "fragments": ["ok", value]}), {"/assertions/0/fragments/1"})
            for value in ("", " ", None, 4111, "x" * 501, "a\0b", "a\ud800", "one\ntwo", "one\rtwo")
        ),
        (suite_of({**EXCLUDES, "attribute": ""}), {"/assertions/0/attribute"}),
        (suite_of({**EXCLUDES, "case_sensitive": 1}), {"/assertions/0/case_sensitive"}),
        # What only the constructor knows stands beside the assertion.
        (suite_of({"type": "prompt_recall_contains"}), {"/assertions/0"}),
        (suite_of(CLAIMS, {**EXCLUDES, "fragments": []}), {"/assertions/1"}),
        (suite_of({"type": "memory_category_separated"}), {"/assertions/0"}),
        (suite_of({**SEPARATED, "expected": {}}), {"/assertions/0"}),
        *(
            (suite_of({**SEPARATED, "expected": value}), {"/assertions/0/expected"})
            for value in ([], "a: b", None)
        ),
        (suite_of({**SEPARATED, "expected": {"a": "x", "b": ""}}), {"/assertions/0/expected/b"}),
        (suite_of({**SEPARATED, "expected": {"": "x"}}), {"/assertions/0/expected/"}),
        (suite_of({**SEPARATED, "expected": {"a: b": "x"}}), {"/assertions/0/expected/a: b"}),
        *(
            (suite_of({**SEPARATED, "minimum_per_category": n}), {"/assertions/0/minimum_per_category"})
            for n in (0, -1, 1001, 1.5, "1", True)
        ),
        (suite_of({**SEPARATED, "allow_extra": "no"}), {"/assertions/0/allow_extra"}),
        *((suite_of({**CLAIMS, "minimum": n}), {"/assertions/0/minimum"}) for n in (0, 1001, None)),
        (suite_of({**CLAIMS, "recall_attribute": " "}), {"/assertions/0/recall_attribute"}),
        (suite_of({**CLAIMS, "response_attribute": 5}), {"/assertions/0/response_attribute"}),
        # All at once, each at its place.
        (
            suite_of(
                CLAIMS, {**EXCLUDES, "fragments": [""], "x": 1}, {**SEPARATED, "label": 5}, queue=0, name=""
            ),
            {"/name", "/queue", "/assertions/1/fragments/0", "/assertions/1/x", "/assertions/2/label"},
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_path(value: Any, paths: set[str]) -> None:
    assert {path.removeprefix("suite") for path in wrong(value)} == paths


def test_a_refusal_of_the_constructor_is_told_in_its_words() -> None:
    problems = wrong(suite_of({"type": "prompt_recall_excludes"}))
    assert problems == {"suite/assertions/0": "PromptRecallExcludes requires non-empty fragments."}


def test_suites_are_a_list_with_different_names() -> None:
    def found(value: Any) -> tuple[int, set[str]]:
        problems: dict[str, str] = {}
        suites = read_suites(value, "suites", problems)
        assert not (suites and problems)
        return len(suites), set(problems)

    assert found([]) == (0, set())
    assert found((suite_of(),)) == (1, set())
    many = [suite_of(name=f"s{n}") for n in range(MAX_SUITES + 1)]
    assert found(many[:-1]) == (MAX_SUITES, set())
    assert found(many) == (0, {"suites"})
    for value in (None, {}, "x", suite_of()):
        assert found(value) == (0, {"suites"})
    assert found([suite_of(), suite_of(name="t"), suite_of(name=" s")]) == (0, {"suites/2/name"})
    assert found([suite_of(), suite_of(name="S")]) == (2, set())
    assert found([suite_of(), 7, suite_of(name="")]) == (0, {"suites/1", "suites/2/name"})


# -- Writing

LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=40)
TEXT = LINE.filter(str.strip)
UNITS = st.integers(0, 1000).map(lambda n: n / 1000)
FRAGMENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["prompt_recall_contains", "prompt_recall_excludes"]),
        "fragments": st.lists(TEXT, min_size=1, max_size=4),
    },
    optional={"label": TEXT, "attribute": TEXT, "case_sensitive": st.booleans()},
)
CATEGORIES = st.fixed_dictionaries(
    {
        "type": st.just("memory_category_separated"),
        "expected": st.dictionaries(TEXT.filter(lambda text: ": " not in text), TEXT, min_size=1, max_size=3),
    },
    optional={
        "label": TEXT,
        "attribute": TEXT,
        "minimum_per_category": st.integers(1, 1000),
        "allow_extra": st.booleans(),
    },
)
CONTRADICTIONS = st.fixed_dictionaries(
    {"type": st.just("response_does_not_contradict_recall")},
    optional={
        "label": TEXT,
        "recall_attribute": TEXT,
        "response_attribute": TEXT,
        "minimum": st.integers(1, 1000),
    },
)
SUITES = st.lists(
    st.fixed_dictionaries(
        {
            "name": TEXT,
            "assertions": st.lists(FRAGMENTS | CATEGORIES | CONTRADICTIONS, min_size=1, max_size=4),
        },
        optional={
            "agents": st.lists(TEXT, max_size=3),
            "tags": st.lists(TEXT, max_size=3),
            "sampling": UNITS,
            "queue": st.booleans(),
        },
    ),
    max_size=3,
    unique_by=lambda suite: suite["name"].strip(),
)


@given(SUITES)
def test_suites_written_as_json_read_back_equal(values: list[dict[str, Any]]) -> None:
    settings = parse_settings({"assertion_suites": values})
    assert len(settings.assertion_suites) == len(values)
    again = parse_settings(json.loads(json.dumps(settings.to_json())))
    assert again == settings
    assert parse_settings(settings.to_json()) == settings
    for suite, other in zip(settings.assertion_suites, again.assertion_suites, strict=True):
        assert [spec.assertion for spec in suite.assertions] == [spec.assertion for spec in other.assertions]
        assert suite.labels() == other.labels()
    assert settings_diff(settings, again) == []


def test_suites_made_in_code_are_settings_like_any_others() -> None:
    suite = AssertionSuite(
        "privacy", assertions=(AssertionSpec("prompt_recall_excludes", "x", {"fragments": ("4111",)}),)
    )
    settings = TenantSettings(assertion_suites=(suite,), audit_sample_rate=0.5)
    assert parse_settings(settings.to_json()) == settings
    assert TenantSettings(**settings.__dict__) == settings


def test_settings_name_a_wrong_suite_by_its_path() -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings({"assertion_suites": [suite_of(), suite_of({**EXCLUDES, "fragments": [7]}, name="t")]})
    assert set(caught.value.problems) == {"assertion_suites/1/assertions/0/fragments/0"}


def test_a_diff_tells_which_suites_came_and_went() -> None:
    def settings(*suites: dict[str, Any]) -> TenantSettings:
        return parse_settings({"assertion_suites": list(suites)})

    one, two = suite_of(name="one"), suite_of(name="two")
    changed = suite_of(name="one", queue=True)
    (change,) = settings_diff(settings(one), settings(changed, two))
    assert change.path == "assertion_suites"
    assert [(suite["name"], suite["queue"]) for suite in change.added] == [("one", True), ("two", False)]
    assert [(suite["name"], suite["queue"]) for suite in change.removed] == [("one", False)]
    assert settings_diff(settings(one, two), settings(one, two)) == []
    (order,) = settings_diff(settings(one, two), settings(two, one))
    assert [suite["name"] for suite in order.after] == ["two", "one"]


# -- What a suite is about


@pytest.mark.parametrize(
    ("agents", "tags", "agent", "attributes", "applies"),
    [
        ([], [], "", {}, True),
        ([], [], "anyone", {"tags": ["x"]}, True),
        (["bot"], [], "bot", {}, True),
        (["bot", "sales"], [], "sales", {}, True),
        (["bot"], [], "bots", {}, False),
        (["bot"], [], "Bot", {}, False),
        (["bot"], [], "", {}, False),
        ([], ["gold"], "bot", {"tags": ["gold"]}, True),
        ([], ["gold", "silver"], "bot", {"tags": ["bronze", "silver"]}, True),
        ([], ["gold"], "bot", {"tags": ("gold",)}, True),
        ([], ["gold"], "bot", {"tags": "gold"}, True),
        # A single text is one tag, not its letters or parts.
        ([], ["gold"], "bot", {"tags": "golden"}, False),
        ([], ["g"], "bot", {"tags": "gold"}, False),
        ([], ["gold"], "bot", {"tags": []}, False),
        ([], ["gold"], "bot", {}, False),
        ([], ["gold"], "bot", {"tags": None}, False),
        ([], ["gold"], "bot", {"tags": {"gold": True}}, False),
        ([], ["gold"], "bot", {"tags": [["gold"], 7, None]}, False),
        ([], ["gold"], "bot", {"labels": ["gold"]}, False),
        (["bot"], ["gold"], "bot", {"tags": ["gold"]}, True),
        (["bot"], ["gold"], "other", {"tags": ["gold"]}, False),
        (["bot"], ["gold"], "bot", {"tags": ["silver"]}, False),
    ],
)
def test_it_is_about_turns_of_its_agents_with_one_of_its_tags(
    agents, tags, agent, attributes, applies
) -> None:
    suite = read(suite_of(agents=agents, tags=tags))
    assert suite.applies(agent=agent, attributes=attributes) is applies


def test_tags_are_the_texts_among_them() -> None:
    assert tags_of({"tags": ["a", 7, None, ["b"], "c", "a"]}) == {"a", "c"}
    assert tags_of({"tags": 7}) == tags_of({}) == frozenset()


# -- Labels and verdicts


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["", "", ""], ["prompt_recall_excludes", "prompt_recall_excludes 2", "prompt_recall_excludes 3"]),
        (["x", "x", "y", "x"], ["x", "x 2", "y", "x 3"]),
        # One that is written as a number would be is not taken for that.
        (["x", "x 2", "x"], ["x", "x 2", "x 3"]),
        (["x 2", "x", "x"], ["x 2", "x", "x 3"]),
        (["x", "x", "x 2"], ["x", "x 2", "x 2 2"]),
        (["prompt_recall_excludes 2", "", ""], [
            "prompt_recall_excludes 2", "prompt_recall_excludes", "prompt_recall_excludes 3"
        ]),
    ],
)  # fmt: skip
def test_labels_differ_from_each_other(labels: list[str], expected: list[str]) -> None:
    suite = read(suite_of(*({**EXCLUDES, "label": label} for label in labels)))
    assert suite.labels() == expected


@given(st.lists(st.sampled_from(["", "x", "x 2", "x 3", "y" * 60]), min_size=1, max_size=MAX_ASSERTIONS))
def test_labels_are_unique_and_fit_their_column(labels: list[str]) -> None:
    found = read(suite_of(*({**EXCLUDES, "label": label} for label in labels))).labels()
    assert len(set(found)) == len(labels)
    assert all(len(label) <= 70 for label in found)


def test_one_verdict_an_assertion_in_order() -> None:
    suite = read(suite_of(EXCLUDES, {**CLAIMS, "label": "no contradiction"}, EXCLUDES, queue=True))
    attributes = {"prompt_recall": "hunter2", "recall_claims": {"a": 1}, "response_claims": {"a": 1}}
    found = suite.evaluate(attributes)
    assert [(v.suite, v.position, v.label, v.verdict.passed, v.queue) for v in found] == [
        ("s", 0, "prompt_recall_excludes", False, True),
        ("s", 1, "no contradiction", True, True),
        ("s", 2, "prompt_recall_excludes 2", False, True),
    ]


# -- What is never repeated

WORD = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=4, max_size=12)


@given(WORD, WORD)
def test_what_is_looked_for_is_in_no_representation_and_no_message(one: str, two: str) -> None:
    excludes = {"type": "prompt_recall_excludes", "fragments": [one, two]}
    settings = parse_settings({"assertion_suites": [suite_of(excludes, {**excludes, "label": "x"})]})
    suite = settings.assertion_suites[0]
    verdicts = suite.evaluate({"prompt_recall": f"{one} and {two}"})
    assert not any(found.verdict.passed for found in verdicts)
    said = [repr(settings), repr(suite), repr(suite.assertions[0]), repr(verdicts), str(verdicts)]
    for broken in (
        {**excludes, "fragments": [one, two, f"{one}\0"]},
        {**excludes, "fragments": [one * 200]},
        {**excludes, "fragments": f"{one}"},
        {**excludes, "fragments": {one: two}},
        {**excludes, "fragments": [[one]]},
        {**excludes, "fragments": [one], "attribute": 7},
        {**excludes, "colour": one},
    ):
        with pytest.raises(SettingsError) as caught:
            parse_settings({"assertion_suites": [suite_of(broken)]})
        said += [str(caught.value), repr(caught.value), *caught.value.problems]
    assert not any(secret in text for secret in (one, two) for text in said)
