"""A tenant's settings: the defaults, what is taken, and that everything wrong is named by its path."""

from __future__ import annotations

import json
import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.fabrication import FabricationKind
from reviews.core.lexicon import CLAIM_VERB_HINTS
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
    ("words", "spot"),
    [
        *((words, "") for words in ("ship", None, 7, {"ship": 1}, ["w"] * 101)),
        *(([word], "/0") for word in ("", "  ", 7, None, "x" * 101, "two\nlines", "\ud800")),
        (["ship", ""], "/1"),
    ],
)
def test_words_that_cannot_be_used_are_refused_by_their_tool(words, spot):
    wrong = {"tool_trigger_keywords": {"deploy": words, "fine": ["ship"]}}
    assert problems(wrong) == {f"tool_trigger_keywords/deploy{spot}"}


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
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=100).filter(
    str.strip
)
UNITS = st.integers(0, 1000).map(lambda n: n / 1000)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "fabrication_check_mode": st.sampled_from(MODES),
            "fabrication_refuse_min_confidence": UNITS,
            "fabrication_refuse_min_confidence_by_kind": st.dictionaries(
                st.sampled_from(get_args(FabricationKind)), UNITS
            ),
            "fabrication_confidence_source": st.sampled_from(["raw", "calibrated"]),
            "identifier_keys": st.lists(KEYS, max_size=8),
            "tool_trigger_keywords": st.dictionaries(WORDS, st.lists(WORDS, max_size=4), max_size=4),
            "grounding_tool_fragments": st.dictionaries(
                st.sampled_from(sorted(CLAIM_VERB_HINTS)), st.lists(WORDS, max_size=3), max_size=3
            ),
            "ignored_keys": st.lists(KEYS, max_size=4),
            "ignored_value_patterns": st.lists(st.sampled_from(["RECL-[0-9]+", "[a-f]{6}"]), max_size=2),
            "core_preferences": st.lists(
                st.fixed_dictionaries(
                    {"statement": WORDS},
                    optional={"priority": st.integers(1, 10), "sensitive_tags": st.lists(WORDS, max_size=2)},
                ),
                max_size=3,
            ),
            "audit_sample_rate": UNITS,
            "publish_needs_second_manager": st.booleans(),
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


@pytest.mark.parametrize(
    ("values", "spot"),
    [
        ({"fabrication_refuse_min_confidence": 0.1234}, "fabrication_refuse_min_confidence"),
        (
            {"fabrication_refuse_min_confidence_by_kind": {"kv": 1.5}},
            "fabrication_refuse_min_confidence_by_kind/kv",
        ),
        (
            {"fabrication_refuse_min_confidence_by_kind": {"x": 0.5}},
            "fabrication_refuse_min_confidence_by_kind/x",
        ),
        ({"fabrication_confidence_source": "best"}, "fabrication_confidence_source"),
        ({"grounding_tool_fragments": {"danced": ["get"]}}, "grounding_tool_fragments/danced"),
        ({"grounding_tool_fragments": {"checked": [""]}}, "grounding_tool_fragments/checked/0"),
        ({"ignored_keys": ["ok", "a b"]}, "ignored_keys/1"),
        ({"ignored_value_patterns": ["[a-z"]}, "ignored_value_patterns/0"),
        ({"ignored_value_patterns": [r"(a)\1"]}, "ignored_value_patterns/0"),
        ({"ignored_value_patterns": [7]}, "ignored_value_patterns/0"),
        ({"metacognition_confidence_threshold": -0.1}, "metacognition_confidence_threshold"),
        ({"metacognition_selective_gate": 1}, "metacognition_selective_gate"),
        ({"core_preferences": [{"priority": 3}]}, "core_preferences/0/statement"),
        ({"core_preferences": [{"statement": "Be kind.", "priority": 11}]}, "core_preferences/0/priority"),
        ({"core_preferences": [{"statement": "Be kind.", "colour": 1}]}, "core_preferences/0/colour"),
        ({"core_preferences": ["Be kind."]}, "core_preferences/0"),
        ({"promotion_min_pattern_count": 0}, "promotion_min_pattern_count"),
        ({"promotion_recency_days": 1.5}, "promotion_recency_days"),
        ({"phase_12_llm_max_episodes_per_run": 101}, "phase_12_llm_max_episodes_per_run"),
        ({"skill_auto_approve": True}, "skill_auto_approve"),
        ({"audit_sample_rate": 2}, "audit_sample_rate"),
        ({"publish_needs_second_manager": "yes"}, "publish_needs_second_manager"),
    ],
)
def test_each_setting_says_what_is_wrong_with_it_and_where(values, spot):
    assert problems(values) == {spot}


def test_the_defaults_are_those_of_the_behaviour_document():
    """Its last section, word for word, and no setting of it is missing."""
    defaults = TenantSettings()
    assert defaults.metacognition_confidence_threshold == 0.6
    assert defaults.metacognition_sensitive_tags == ()
    assert defaults.metacognition_selective_gate is False
    assert defaults.metacognition_trivial_ack_patterns == ()
    assert defaults.read_only_tools == ()
    assert defaults.core_preferences == ()
    assert defaults.promotion_min_pattern_count == 3
    assert defaults.promotion_recency_days == 30
    assert defaults.promotion_max_drafts_per_run == 5
    assert defaults.phase_12_use_llm_extractor is False
    assert defaults.phase_12_llm_max_episodes_per_run == 100
    assert defaults.phase_12_llm_max_drafts_per_run == 5
    assert defaults.phase_12_promote_assistant_content is False
    assert defaults.phase_12_action_type_from_tool_calls is True
    assert defaults.skill_auto_approve is False
    assert defaults.audit_sample_rate == 0.02


def test_a_preference_has_the_middle_priority_unless_it_says_another():
    settings = parse_settings({"core_preferences": [{"statement": " Never promise a refund. "}]})
    preference = settings.core_preferences[0]
    assert (preference.statement, preference.priority, preference.sensitive_tags) == (
        "Never promise a refund.",
        5,
        (),
    )


def test_the_learned_rules_reach_the_detector_in_its_own_terms():
    settings = parse_settings(
        {
            "grounding_tool_fragments": {"checked": ["GET"]},
            "ignored_keys": ["Service"],
            "ignored_value_patterns": ["RECL-[0-9]{5}"],
        }
    )
    rules = settings.grounding_rules()
    assert rules.tool_fragments == {"checked": ("get",)}
    assert rules.ignored_keys == {"service"}
    assert rules.ignored_values[0].matches("RECL-20391")
    assert TenantSettings().grounding_rules().is_empty
