"""Which past turns a skill touches, and whether its order was kept there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.episodes import ToolUse
from reviews.core.replay import PastTurn, Touch, replay_rule, touches
from reviews.core.skill_text import SkillText, canonical_names

KNOWN = canonical_names(["issue_refund", "get_order", "refund"])


def touch(skill, user="", draft="", calls=()):
    made = [ToolUse(name.rstrip("!"), error="it failed" if name.endswith("!") else None) for name in calls]
    return touches(replay_rule(SkillText("1", *skill), KNOWN), PastTurn(user, draft, made))


PREFLIGHT = ("preflight", "before issue_refund for a gold customer", "get_order(order_id)")


def test_a_call_of_a_tool_that_the_skill_names():
    assert touch(PREFLIGHT, calls=["other", "issueRefund"]) == Touch(
        True, ("tool",), ("issue_refund",), (), precondition_held=False
    )
    assert touch(PREFLIGHT, calls=["get_order"]) == Touch(True, ("tool",), ("get_order",), (), None)
    assert touch(PREFLIGHT, calls=["other"]) == Touch(False)


def test_the_words_of_the_trigger_in_the_message():
    assert touch(PREFLIGHT, user="I am a GOLD-customer!") == Touch(
        True, ("words",), (), ("gold", "customer"), None
    )
    assert touch(PREFLIGHT, user="gold customers, please").touched
    assert not touch(PREFLIGHT, user="I am a customer").touched
    assert not touch(PREFLIGHT, user="a marigold customer").touched
    assert not touch(PREFLIGHT, draft="gold customer").touched


def test_a_tool_and_words():
    assert touch(PREFLIGHT, user="gold customer", calls=["get_order"]).why == ("tool", "words")


def test_one_word_is_too_common():
    assert not touch(("action", "a refund", "look it up"), user="a refund").touched


@pytest.mark.parametrize(
    ("calls", "held"),
    [
        ([], None),
        (["get_order"], None),
        (["get_order", "issue_refund"], True),
        (["issue_refund", "get_order"], False),
        (["issue_refund"], False),
        (["get_order!", "issue_refund"], False),
        (["get_order!", "get_order", "issue_refund"], True),
        (["get_order", "issue_refund", "issue_refund"], True),
        (["get_order", "issue_refund!"], True),
    ],
)
def test_the_earlier_tool_has_to_be_called_first(calls, held):
    assert touch(PREFLIGHT, calls=calls).precondition_held is held
    assert touch(("action", "x", "issue_refund", ("get_order",)), calls=calls).precondition_held is held


@pytest.mark.parametrize(
    ("calls", "held"),
    [
        (["a_b", "b_c", "c_d"], True),
        (["b_c", "a_b", "c_d"], False),
        (["a_b", "c_d"], False),
        (["a_b", "b_c"], True),
        (["b_c"], False),
        (["a_b"], None),
    ],
)
def test_required_steps_have_to_come_in_their_order(calls, held):
    assert touch(("preflight", "closing", "c_d", ("a_b", "b_c")), calls=calls).precondition_held is held


def test_a_recovery_reads_the_errors():
    skill = ("recovery", "after a quota exceeded error", "call wait_a_bit")
    turn = PastTurn("hello", "quota exceeded error", [ToolUse("x", error="Quota-Errors: limit exceeded")])
    rule = replay_rule(SkillText("1", *skill), KNOWN)
    assert touches(rule, turn) == Touch(True, ("words",), (), ("quota", "exceeded", "error"), None)
    assert not touches(rule, turn._replace(calls=[ToolUse("x", result="quota exceeded error")])).touched


def test_a_guardrail_is_touched_by_what_it_forbids():
    skill = ("guardrail", "never call issue_refund directly", "use request_approval instead")
    assert touch(skill, calls=["issue_refund"]).why == ("tool",)
    assert not touch(skill, calls=["request_approval"]).touched


def test_a_guardrail_reads_the_draft_for_a_forbidden_phrase():
    skill = ("guardrail", "support", "Never promise a delivery date")
    assert touch(skill, draft="I promised that the delivery date is Monday").why == ("words",)
    assert not touch(skill, draft="The delivery date is open").touched


def test_precondition_without_a_tool_says_nothing():
    assert (
        touch(("action", "x", "issue_refund", ("ask the user",)), calls=["issue_refund"]).precondition_held
        is None
    )


words = st.lists(
    st.sampled_from(["gold", "customer", "Refunds", "é", "over", "500", ",", "isn't"]), max_size=8
).map(" ".join)
calls = st.lists(
    st.builds(
        ToolUse,
        st.sampled_from(["get_order", "issue_refund", "x", ""]),
        error=st.none() | st.just("gold error"),
    ),
    max_size=6,
)
rules = st.builds(
    SkillText,
    st.just("1"),
    st.sampled_from(["action", "preflight", "recovery", "guardrail"]),
    words | st.text(max_size=20),
    st.sampled_from(["issue_refund", "never call issue_refund", "call get_order before issue_refund", ""]),
    st.just(()) | st.just(("get_order",)),
).map(lambda skill: replay_rule(skill, KNOWN))


@settings(database=None, deadline=None, max_examples=300)
@given(rules, words | st.text(max_size=30), words, calls)
def test_what_touches_says_why(rule, user, draft, made):
    found = touches(rule, PastTurn(user, draft, made))
    assert found.touched == bool(found.why)
    assert ("tool" in found.why) == bool(found.tools)
    assert ("words" in found.why) == bool(found.words)


@settings(database=None, deadline=None, max_examples=200)
@given(rules, words, words, calls, calls)
def test_more_in_a_turn_touches_no_less_and_mends_no_broken_order(rule, user, more, made, further):
    before = touches(rule, PastTurn(user, "", made))
    after = touches(rule, PastTurn(f"{user} {more}", "", [*made, *further]))
    assert after.touched >= before.touched
    if before.precondition_held is False:
        assert after.precondition_held is False
