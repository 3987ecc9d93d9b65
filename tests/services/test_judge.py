"""Judging a turn: what the detector is shown, and what the queue shows of the result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.settings import TenantSettings
from reviews.formats.record import IntentRecord
from reviews.models import Turn
from reviews.services.judge import (
    SNIPPET_LENGTH,
    TOOLS_NOTE_LENGTH,
    Policy,
    judge,
    priority_of,
    tools_note,
    with_runtime,
)
from tests.factories import CLAIM, call, make_record


def policy_with(mode="observe", **settings):
    settings.setdefault("detection_profile", "reference")
    return Policy(None, 0, TenantSettings(mode, **settings))


OBSERVE = policy_with()


def kinds(record, policy=OBSERVE):
    return [finding.kind for finding in judge(record, policy).findings]


def test_a_tool_that_ran_grounds_what_the_draft_claims():
    assert kinds(make_record("I sent it.")) == ["verb_claim"]
    assert kinds(make_record("I sent it.", tool_calls=[call("send_mail")])) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"user_message": "What of T-77?"},
        {"hydrated_context": "T-77 is open."},
        {"tool_calls": [call("find", "T-77: open")]},
        {"tool_calls": [call("find", {"id": ["T-77"]})]},
        {"tool_calls": [call("find", args={"id": "T-77"})]},
        {"tool_calls": [call("find", error="T-77 is locked", ok=False)]},
    ],
)
def test_whatever_the_turn_was_shown_grounds_an_identifier(fields):
    assert kinds(make_record("ticket_id=T-77 is done.")) == ["kv"]
    assert kinds(make_record("ticket_id=T-77 is done.", **fields)) == []


def test_calls_of_earlier_turns_ground_nothing():
    record = make_record("ticket_id=T-77 is done.", earlier_calls=[call("find", "T-77")])
    assert kinds(record) == ["kv"]


def test_a_verdict_that_came_with_the_turn_is_used_and_not_our_own():
    question = make_record("Sure.", user_message="please run deploy and restart the server")
    assert judge(question, OBSERVE).intent.label == "action"
    given = IntentRecord(label="knowledge", confidence=0.9, reasoning="asked", knowledge_score=0.9)
    told = judge(make_record("Sure.", user_message=question.user_message, intent=given), OBSERVE)
    assert (told.intent.label, told.intent.reasoning, told.findings) == ("knowledge", "asked", ())


def test_without_a_user_message_there_is_no_intent():
    assert judge(make_record("Sure."), OBSERVE).intent is None


def test_the_trigger_words_of_a_tenant_count_towards_an_action():
    record = make_record("Sure.", user_message="deploy the shop window")
    assert kinds(record) == ["intent_action_no_tool"]
    assert kinds(make_record("Sure.", user_message="the shop window and run it")) == []
    policy = policy_with(tool_trigger_keywords={"dresser": ("shop window",)})
    assert kinds(make_record("Sure.", user_message="the shop window and run it"), policy) == [
        "intent_action_no_tool"
    ]


def test_mode_off_runs_nothing():
    judged = judge(make_record(CLAIM, user_message="please run deploy"), policy_with("off"))
    assert (judged.intent, judged.findings, judged.outcome.action_taken) == (None, (), "none")
    assert (judged.priority, judged.max_severity) == (0, 0)


def test_the_more_confident_comes_first_then_the_more_severe():
    by_place = [(1.0, 1), (0.95, 3), (0.95, 1), (0.8, 3), (0.8, 2), (0.799, 3), (0.0, 3), (0.0, 0)]
    priorities = [priority_of(confidence, severity) for confidence, severity in by_place]
    assert priorities == sorted(priorities, reverse=True)
    assert len(set(priorities)) == len(priorities)


@pytest.mark.parametrize("thousandths", range(0, 1001, 7))
def test_a_least_confidence_is_a_range_of_the_priority(thousandths):
    confidence = thousandths / 1000
    assert priority_of(confidence, 0) <= priority_of(confidence, 3) < priority_of(confidence + 0.001, 0)


def test_a_snippet_shows_the_most_confident_claim_and_what_is_before_it():
    key = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
    draft = "x " * 200 + f"I sent it, the key is {key}, as told." + " y" * 300
    text, start, end = judge(make_record(draft), OBSERVE).snippet
    assert f"the key is {key}, as told." in text
    assert text[start:end] == key
    assert text.startswith("…")
    assert text.endswith("…")
    assert len(text) <= SNIPPET_LENGTH + 1


def test_a_snippet_without_a_claim_is_the_beginning_on_one_line():
    def shown(draft):
        text, start, end = judge(make_record(draft), OBSERVE).snippet
        assert start == end
        return text.strip()

    assert shown("\n Hello\n\n\tthere.  ") == "Hello there."
    assert shown("") == shown("  \n ") == ""
    assert shown("word " * 100).endswith("…")


@pytest.mark.parametrize("draft", ["I sent it.", "  I sent it.  ", "Well,\n\n I \t sent it."])
def test_a_short_draft_with_a_claim_is_shown_whole(draft):
    text, start, end = judge(make_record(draft), OBSERVE).snippet
    assert text.strip() == " ".join(draft.split())
    assert text[start:end] == "I sent"


@given(
    st.text(st.sampled_from("ab \n\t…🦊"), max_size=400),
    st.sampled_from(["I sent", "I   \n sent", "I" + " " * 500 + "sent"]),
    st.text(st.sampled_from("ab \n.,"), max_size=400),
)
def test_a_snippet_is_one_line_that_fits_its_column_and_holds_the_claim(before, claim, after):
    text, start, end = judge(make_record(f"{before} {claim} {after}"), OBSERVE).snippet
    assert len(text) <= Turn._meta.get_field("snippet").max_length
    assert not set(text) & set("\n\t")
    assert 0 <= start <= end <= len(text)
    assert text[start:end] == ("I sent" if len(claim) < 100 else "I ")


@pytest.mark.parametrize(
    ("names", "note"),
    [
        ([], "no tool ran"),
        (["send"], "ran send"),
        (["send", "find"], "ran send +1"),
        (["send"] * 12, "ran send +11"),
    ],
)
def test_the_note_on_tools_tells_what_ran(names, note):
    assert tools_note([call(name) for name in names]) == note


def test_the_note_on_tools_fits_its_column_whatever_the_name():
    assert len(tools_note([call("x" * 500)] * 1000)) <= TOOLS_NOTE_LENGTH


@pytest.mark.parametrize("done", ["revise_forced", "refuse_replaced"])
def test_what_a_runtime_did_to_the_draft_is_a_fact(done):
    judged = judge(make_record(CLAIM), OBSERVE)
    told = with_runtime(judged, {"action_taken": done})
    assert told.outcome.action_taken == done
    assert told.findings == judged.findings


@pytest.mark.parametrize("event", [None, {}, {"action_taken": "observed"}, {"action_taken": "none"}])
def test_a_runtime_that_did_nothing_leaves_our_outcome(event):
    judged = judge(make_record(CLAIM), policy_with("refuse"))
    assert with_runtime(judged, event).outcome.action_taken == "refuse_replaced"
