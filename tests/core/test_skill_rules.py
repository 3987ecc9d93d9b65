"""What skills say to do, in which order, and what they forbid: examples read by a person."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.skill_clauses import roles
from reviews.core.skill_rules import skill_rules
from reviews.core.skill_text import SkillText, canonical_names

KNOWN = canonical_names(["issue_refund", "get_order", "refund"])


def rules(kind, trigger, action, *precondition):
    return skill_rules(SkillText("1", kind, trigger, action, precondition), KNOWN)


def said(text, role):
    return [word.name for spoken, word in roles(text, KNOWN) if spoken == role]


@pytest.mark.parametrize(
    ("text", "forbidden", "do"),
    [
        ("never call a_b", ["a_b"], []),
        ("Never call a_b; call b_c", ["a_b"], ["b_c"]),
        ("do not use a_b -- use b_c instead", ["a_b"], ["b_c"]),
        ("don't call a_b or b_c, use c_d", ["a_b", "b_c"], ["c_d"]),
        ("never call a_b, b_c or c_d", ["a_b", "b_c", "c_d"], []),
        ("use a_b instead of b_c", ["b_c"], ["a_b"]),
        ("call a_b rather than b_c. Then c_d", ["b_c"], ["a_b", "c_d"]),
        ("instead of a_b, call b_c", ["a_b"], ["b_c"]),
        ("you must not call a_b but b_c", ["a_b"], ["b_c"]),
        ("if the order is not paid, call a_b", [], ["a_b"]),
        ("call a_b when b_c failed", [], ["a_b"]),
        ("avoid a_b use b_c", ["a_b"], ["b_c"]),
        ("Don’t call a_b", ["a_b"], []),
    ],
)
def test_what_is_forbidden_and_what_is_to_be_done(text, forbidden, do):
    assert said(text, "forbidden") == forbidden
    assert [name for name in said(text, "do") if "_" in name] == do


@pytest.mark.parametrize(
    ("text", "role", "found"),
    [
        ("before a_b, call b_c", "before", ["a_b"]),
        ("before you call a_b call b_c", "before", ["a_b"]),
        ("call b_c before a_b", "before", ["a_b"]),
        ("after a_b, call b_c", "after", ["a_b"]),
        ("never call a_b without b_c", "lifting", ["b_c"]),
        ("never call a_b before b_c, use c_d", "lifting", ["b_c"]),
        ("never call a_b unless b_c and c_d ran", "lifting", ["b_c", "c_d", "ran"]),
        ("never call a_b after b_c", "context", ["b_c"]),
        ("when a_b fails, call b_c", "context", ["a_b", "fails"]),
    ],
)
def test_phrases_have_their_role(text, role, found):
    assert said(text, role) == found


@pytest.mark.parametrize(
    ("skill", "orders"),
    [
        (("preflight", "before refund, call get_order", "get_order"), {("get_order", "refund")}),
        (("preflight", "before issue_refund", "get_order(order_id)"), {("get_order", "issue_refund")}),
        (("preflight", "billing", "call get_order before issue_refund"), {("get_order", "issue_refund")}),
        (("preflight", "after get_order", "issue_refund"), {("get_order", "issue_refund")}),
        (("preflight", "refunds", "issue_refund", "get_order"), {("get_order", "issue_refund")}),
        (
            ("preflight", "refunds", "c_d", "a_b(x)", "b_c"),
            {("a_b", "c_d"), ("b_c", "c_d"), ("a_b", "b_c")},
        ),
        (("recovery", "after get_order fails", "call get_user"), set()),
        (("action", "user asks", "a_b"), set()),
        (("preflight", "before a_b", "a_b"), set()),
        (("preflight", "before lunch time", "a_b"), set()),
    ],
)
def test_orders(skill, orders):
    assert {(order.first.name, order.then.name) for order in rules(*skill).orders} == orders


def test_mentions_say_where_in_which_field():
    found = rules("preflight", "before issue_refund", "Call getOrder(x)", "then check_user")
    assert {(at.field, at.start, at.end, at.name) for at in found.does} == {
        ("action", 5, 13, "get_order"),
        ("precondition.0", 5, 15, "check_user"),
    }


def test_only_a_guardrail_forbids():
    assert [p.what.name for p in rules("guardrail", "never call a_b", "use b_c").forbids] == ["a_b"]
    assert rules("action", "billing", "never call a_b, use b_c").forbids == ()


def test_a_prohibition_knows_what_lifts_it():
    found = rules("guardrail", "billing", "never call issue_refund without get_order").forbids[0]
    assert (found.what.name, found.lifted_by, found.words) == ("issue_refund", {"get_order"}, frozenset())


def test_a_phrase_without_a_tool_is_forbidden_by_its_words():
    found = rules("guardrail", "support", "Never promise any delivery dates.").forbids[0]
    assert found.words == {"promise", "delivery", "date"}
    assert (found.what.field, found.what.start, found.what.end) == ("action", 6, 32)
    assert rules("guardrail", "support", "Never lie.").forbids == ()


def test_what_a_trigger_is_about():
    assert rules("preflight", "before refund, call get_order", "get_order").about == ""
    assert rules("preflight", "before issue_refund for a gold customer", "get_order").about == "gold customer"


pieces = st.lists(
    st.sampled_from(
        [
            "never",
            "call",
            "use",
            "a_b",
            "b_c",
            "get_order",
            "refund",
            "before",
            "after",
            "without",
            "if",
            ",",
            ".",
            ";",
            "--",
            "instead",
            "of",
            "not",
            "do",
            "(",
            ")",
            "x",
            "the",
        ]
    ),
    max_size=20,
).map(" ".join)
skills = st.builds(
    SkillText,
    st.just("1"),
    st.sampled_from(["action", "preflight", "recovery", "guardrail"]),
    pieces | st.text(max_size=20),
    pieces,
    st.lists(pieces, max_size=2).map(tuple),
)


@settings(database=None, deadline=None, max_examples=300)
@given(skills)
def test_every_text_has_rules_and_every_mention_its_place(skill):
    found = skill_rules(skill, KNOWN)
    fields = {"trigger": skill.trigger, "action": skill.action}
    fields |= {f"precondition.{number}": text for number, text in enumerate(skill.precondition)}
    mentions = [
        *found.does,
        *(mention for order in found.orders for mention in order),
        *(prohibition.what for prohibition in found.forbids),
    ]
    for mention in mentions:
        assert 0 <= mention.start < mention.end <= len(fields[mention.field])
    assert all(order.first.name != order.then.name for order in found.orders)
    assert len({mention.name for mention in found.does}) == len(found.does)


def test_a_list_of_very_many_tools_stays_small():
    text = "call " + " ".join(f"tool_{number}x" for number in range(3000))
    found = rules("preflight", text.replace("call", "before"), text, text)
    assert len(found.orders) <= 3 * 20 * 20
