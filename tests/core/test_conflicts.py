"""Contradictions between skills: examples read by a person, and laws that hold for all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.conflicts import Conflict, ConflictIndex
from reviews.core.skill_rules import Mention
from reviews.core.skill_text import SkillText, canonical_names

KNOWN = canonical_names(["issue_refund", "get_order", "refund"])


def skill(name, kind, trigger, action, *precondition):
    return SkillText(name, kind, trigger, action, precondition)


def find(mine, *others, **options):
    return ConflictIndex(others, known_tools=KNOWN).find(mine, **options)


NEVER = skill("never", "guardrail", "never call issue_refund directly", "use request_approval instead")


@pytest.mark.parametrize(
    "other",
    [
        skill("s", "action", "customer wants money back", "issue_refund(order_id)"),
        skill("s", "action", "customer wants money back", "call issueRefund"),
        skill("s", "preflight", "before close_case", "issue_refund"),
        skill("s", "preflight", "closing a case", "close_case", "issue_refund"),
        skill("s", "recovery", "after a failed payment", "issue_refund and tell the customer"),
        skill("s", "guardrail", "never call close_case", "use issue_refund instead"),
    ],
)
def test_a_guardrail_forbids_what_another_skill_does(other):
    found = find(NEVER, other)
    assert [(c.rule, c.strength, c.skill_id, c.tools) for c in found] == [
        ("forbidden", "conflict", "s", ("issue_refund",))
    ]
    assert (found[0].mine.field, found[0].mine.start, found[0].mine.end) == ("trigger", 11, 23)


@pytest.mark.parametrize(
    "other",
    [
        skill("s", "action", "customer wants money back", "get_order"),
        skill("s", "action", "customer wants money back", "never call issue_refund, call get_order"),
        skill("s", "preflight", "before issue_refund", "get_order"),
        skill("s", "recovery", "after issue_refund failed", "get_order"),
        skill("s", "action", "customer asks about issue_refund", "explain the policy"),
        skill("s", "guardrail", "never call issue_refund", "use request_approval"),
    ],
)
def test_a_guardrail_leaves_alone_what_does_not_do_it(other):
    assert find(NEVER, other) == []


def test_a_prohibition_is_lifted_by_what_it_asks_for():
    guardrail = skill("g", "guardrail", "billing", "never call issue_refund without get_order")
    assert find(guardrail, skill("s", "action", "billing", "issue_refund"))
    assert find(guardrail, skill("s", "action", "billing", "issue_refund", "get_user"))
    assert not find(guardrail, skill("s", "action", "billing", "issue_refund", "get_order"))
    assert not find(guardrail, skill("s", "preflight", "before issue_refund, call get_order", "issue_refund"))


def test_a_forbidden_phrase_is_found_by_its_words():
    guardrail = skill("g", "guardrail", "support", "Never promise a delivery date")
    promising = skill("s", "action", "customer asks when", "look it up and promise the delivery dates")
    assert find(guardrail, promising) == [
        Conflict(
            "forbidden",
            "s",
            Mention("action", 6, 29, "promise delivery date"),
            Mention("action", 0, len(promising.action), ""),
        )
    ]
    assert not find(guardrail, skill("s", "action", "customer asks when", "tell the delivery date"))
    assert not find(guardrail, skill("s", "action", "ask", "do not promise a delivery date"))
    assert find(
        skill("g", "guardrail", "x", "never issue a refund"), skill("s", "action", "x", "issue_refund")
    )


def test_two_preflights_in_opposite_order():
    mine = skill("a", "preflight", "before refund, call get_order", "get_order")
    theirs = skill("b", "preflight", "before get_order, call refund", "refund")
    assert find(mine, theirs) == [
        Conflict(
            "opposite_order",
            "b",
            Mention("trigger", 20, 29, "get_order"),
            Mention("trigger", 23, 29, "refund"),
            ("get_order", "refund"),
        )
    ]


@pytest.mark.parametrize(
    ("one", "other", "conflicts"),
    [
        ("refund of a gold customer", "Refunds of gold customers", True),
        ("refund of a gold customer", "cancelling a late booking", False),
        ("before issue_refund", "refund of a gold customer", True),
    ],
)
def test_the_order_matters_for_the_same_trigger(one, other, conflicts):
    mine = skill("a", "preflight", one, "issue_refund", "get_order")
    theirs = skill("b", "preflight", other, "get_order", "issue_refund")
    assert bool(find(mine, theirs)) == conflicts


def test_steps_of_one_list_have_an_order_too():
    mine = skill("a", "preflight", "closing", "close_case", "get_order", "get_user")
    assert [
        c.tools for c in find(mine, skill("b", "preflight", "closing", "close_case", "get_user", "get_order"))
    ] == [("get_order", "get_user")]


def test_only_preflights_have_an_opposite_order():
    mine = skill("a", "preflight", "closing", "issue_refund", "get_order")
    assert not find(mine, skill("b", "action", "closing", "get_order", "issue_refund"))


@pytest.mark.parametrize(
    ("trigger", "action", "differs"),
    [
        ("search_flights returned a timeout", "ask the user to wait", True),
        ("search_flights returned a timeout", "call search_hotels", True),
        ("search_flights returns timeouts", "Retry search_flights once more", False),
        ("search_hotels returned a timeout", "ask the user to wait", False),
        ("search_flights returned error 503", "ask the user to wait", False),
    ],
)
def test_recoveries_from_the_same_error_may_differ(trigger, action, differs):
    mine = skill("a", "recovery", "search_flights returned a timeout", "retry search_flights once")
    found = find(mine, skill("b", "recovery", trigger, action))
    assert [(c.rule, c.strength) for c in found] == ([("different_recovery", "differs")] if differs else [])


def test_a_skill_does_not_conflict_with_itself():
    assert find(NEVER, NEVER, skill("never", "action", "x", "issue_refund")) == []


def test_one_conflict_for_each_rule_and_skill_and_no_more_than_asked_for():
    both = skill("g", "guardrail", "never call a_b or b_c", "never call a_b")
    assert len(find(both, skill("s", "action", "x", "call a_b, then b_c"))) == 1
    many = [skill(str(number), "action", "x", "issue_refund") for number in range(9)]
    assert [c.skill_id for c in find(NEVER, *many, limit=3)] == ["0", "1", "2"]


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
            ",",
            ";",
            "instead",
            "of",
            "promise",
            "date",
            "the",
            "error",
        ]
    ),
    min_size=1,
    max_size=9,
).map(" ".join)
kinds = st.sampled_from(["action", "preflight", "recovery", "guardrail"])


def skills(name):
    return st.builds(SkillText, st.just(name), kinds, pieces, pieces, st.lists(pieces, max_size=2).map(tuple))


@settings(database=None, deadline=None, max_examples=500)
@given(skills("a"), skills("b"))
def test_a_conflict_goes_both_ways(one, other):
    assert {c.rule for c in find(one, other)} == {c.rule for c in find(other, one)}


@settings(database=None, deadline=None, max_examples=100)
@given(skills("new"), st.lists(kinds.flatmap(lambda _: skills("x")), max_size=5))
def test_other_skills_change_nothing_between_two(mine, others):
    named = [other._replace(id=str(number)) for number, other in enumerate(others)]
    together = {(c.rule, c.skill_id) for c in find(mine, *named)}
    assert together == {(c.rule, c.skill_id) for other in named for c in find(mine, other)}
    assert together == {(c.rule, c.skill_id) for c in find(mine, *reversed(named))}


@settings(database=None, deadline=None, max_examples=200)
@given(st.builds(SkillText, st.just("a"), kinds, st.text(max_size=30), st.text(max_size=30)), skills("b"))
def test_no_text_makes_it_raise(one, other):
    assert all(conflict.skill_id == "b" for conflict in find(one, other))


def test_an_index_made_from_an_earlier_one_finds_what_a_new_one_does():
    refund = skill("s", "action", "customer wants money back", "issue_refund(order_id)")
    closing = skill("c", "preflight", "closing a case", "close_case", "refund")
    asking = skill("a", "guardrail", "never call close_case", "ask first")
    edited = refund._replace(action="get_order")
    before = ConflictIndex([refund, closing, asking], known_tools=KNOWN)
    for now, known in (
        ([edited, closing], KNOWN),
        ([refund, asking], KNOWN),
        ([refund, closing], frozenset()),
    ):
        again = ConflictIndex(now, known_tools=known, earlier=before)
        anew = ConflictIndex(now, known_tools=known)
        for asked in (NEVER, asking, closing, skill("r", "guardrail", "never call refund", "ask first")):
            assert again.find(asked) == anew.find(asked)
    assert before.find(NEVER) == find(NEVER, refund, closing, asking)
