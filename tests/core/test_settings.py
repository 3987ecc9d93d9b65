"""A tenant's settings: the defaults, what is taken, and that everything wrong is named by its path."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.settings import MODES, SettingsError, TenantSettings, parse_settings


def problems(values):
    with pytest.raises(SettingsError) as caught:
        parse_settings(values)
    assert all(text.endswith(".") for text in caught.value.problems.values())
    return set(caught.value.problems)


@pytest.mark.parametrize("nothing", [None, {}])
def test_nothing_given_means_the_defaults(nothing):
    settings = parse_settings(nothing)
    assert settings == TenantSettings()
    assert settings.fabrication_check_mode == "observe"
    assert settings.fabrication_refuse_min_confidence == 0.8
    assert settings.identifier_keys == ()
    assert dict(settings.tool_trigger_keywords) == {}


@pytest.mark.parametrize("mode", ["off", "observe", "revise", "refuse"])
def test_every_mode_is_taken(mode):
    assert mode in MODES
    assert parse_settings({"fabrication_check_mode": mode}).fabrication_check_mode == mode


@pytest.mark.parametrize("mode", ["", "OFF", "loud", None, 1, ["off"], {"off": 1}])
def test_another_mode_is_refused(mode):
    assert problems({"fabrication_check_mode": mode}) == {"fabrication_check_mode"}


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.8, 0.001])
def test_a_threshold_from_0_to_1_is_taken(value):
    settings = parse_settings({"fabrication_refuse_min_confidence": value})
    assert settings.fabrication_refuse_min_confidence == value
    assert isinstance(settings.fabrication_refuse_min_confidence, float)


@pytest.mark.parametrize(
    "value", [-0.001, 1.001, math.nan, math.inf, -math.inf, 10**400, True, False, "0.8", None, [0.8]]
)
def test_another_threshold_is_refused(value):
    assert problems({"fabrication_refuse_min_confidence": value}) == {"fabrication_refuse_min_confidence"}


@pytest.mark.parametrize("key", ["ab", "a1", "a_", "Parcel", "x" * 32, "case_no_2"])
def test_a_key_that_the_detector_can_read_is_taken_in_lower_case(key):
    assert parse_settings({"identifier_keys": [key]}).identifier_keys == (key.lower(),)


@pytest.mark.parametrize(
    "key", ["", "a", "1a", "_a", "a-b", "a b", "a.b", "x" * 33, "ключ", "aé", "a\n", None, 7, ["ab"]]
)
def test_a_key_that_the_detector_cannot_read_is_refused_by_its_place(key):
    assert problems({"identifier_keys": ["fine", key, "also_fine"]}) == {"identifier_keys/1"}


def test_the_same_key_twice_counts_once_in_the_order_given():
    assert parse_settings({"identifier_keys": ["bb", "aa", "BB", "Aa"]}).identifier_keys == ("bb", "aa")


@pytest.mark.parametrize("value", ["parcel", None, {"parcel": 1}, 7])
def test_keys_must_be_a_list(value):
    assert problems({"identifier_keys": value}) == {"identifier_keys"}


def test_too_many_keys_are_refused():
    keys = [f"key{n}" for n in range(201)]
    assert len(parse_settings({"identifier_keys": keys[:200]}).identifier_keys) == 200
    assert problems({"identifier_keys": keys}) == {"identifier_keys"}


def test_words_are_trimmed_and_taken_once():
    settings = parse_settings(
        {"tool_trigger_keywords": {" deploy ": ["ship", " ship ", "roll out"], "none": []}}
    )
    assert dict(settings.tool_trigger_keywords) == {"deploy": ("ship", "roll out"), "none": ()}


@pytest.mark.parametrize(
    "words", ["ship", None, 7, {"ship": 1}, [""], ["  "], [7], [None], ["x" * 101], ["w"] * 101]
)
def test_words_that_cannot_be_used_are_refused_by_their_tool(words):
    wrong = {"tool_trigger_keywords": {"deploy": words, "fine": ["ship"]}}
    assert problems(wrong) == {"tool_trigger_keywords/deploy"}


@pytest.mark.parametrize("tool", ["", "  "])
def test_a_tool_needs_a_name(tool):
    assert problems({"tool_trigger_keywords": {tool: ["ship"]}}) == {f"tool_trigger_keywords/{tool}"}


@pytest.mark.parametrize("value", [["deploy"], "deploy", None, 7])
def test_words_must_be_listed_by_tool(value):
    assert problems({"tool_trigger_keywords": value}) == {"tool_trigger_keywords"}


def test_too_many_tools_are_refused():
    tools = {f"tool-{n}": ["x"] for n in range(501)}
    assert problems({"tool_trigger_keywords": tools}) == {"tool_trigger_keywords"}
    del tools["tool-500"]
    assert len(parse_settings({"tool_trigger_keywords": tools}).tool_trigger_keywords) == 500


def test_an_unknown_setting_is_refused():
    assert problems({"colour": "green"}) == {"colour"}


def test_everything_wrong_is_named_at_once_and_told_in_the_error():
    wrong = {"colour": 1, "fabrication_check_mode": "x", "identifier_keys": ["-", "--"]}
    found = problems(wrong)
    assert found == {"colour", "fabrication_check_mode", "identifier_keys/0", "identifier_keys/1"}
    with pytest.raises(SettingsError, match="identifier_keys/1: "):
        parse_settings(wrong)


KEYS = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{1,31}", fullmatch=True)
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=100).filter(str.strip)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "fabrication_check_mode": st.sampled_from(MODES),
            "fabrication_refuse_min_confidence": st.floats(0, 1),
            "identifier_keys": st.lists(KEYS, max_size=8),
            "tool_trigger_keywords": st.dictionaries(WORDS, st.lists(WORDS, max_size=4), max_size=4),
        },
    )
)
def test_settings_written_as_json_read_back_equal(values):
    settings = parse_settings(values)
    assert parse_settings(json.loads(json.dumps(settings.to_json()))) == settings


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([*TenantSettings.__dataclass_fields__, "other"])


@given(st.dictionaries(NAMES, ANYTHING, max_size=4))
def test_any_json_is_either_taken_or_refused_with_names(values):
    try:
        settings = parse_settings(values)
    except SettingsError as error:
        named = {path.split("/")[0] for path in error.problems}
    else:
        named = None
        assert settings.fabrication_check_mode in MODES
        assert 0 <= settings.fabrication_refuse_min_confidence <= 1
    assert named is None or (named and named <= set(values))
