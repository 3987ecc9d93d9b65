"""Near-duplicates among skills, measured on pairs that were made up for it.

The first of each two lists was used to set the rules and the threshold; of the second, written afterwards,
the highest different pair that no rule tells apart moved the threshold from 80 to 83.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.similar import SIMILAR_SCORE, SimilarIndex, difference, reading, text_score
from reviews.core.skill_text import SkillText, canonical_names

# trigger and action of one skill, then of the other
REWORDED = [
    ("before refund", "get_order", "before issuing a refund", "get_order"),
    ("before refund", "call get_order", "Before a refund:", "Call get_order()."),
    (
        "User asks for a refund",
        "issue_refund(order_id)",
        "A user asks for a refund",
        "issue_refund(order_id)",
    ),
    (
        "When a customer asks to cancel a flight",
        "cancel_reservation(reservation_id)",
        "Customer asks to cancel their flight",
        "cancel_reservation",
    ),
    (
        "customer wants to change the shipping address",
        "update_address(order_id, address)",
        "The customer wants the shipping address changed",
        "update_address(order_id, new_address)",
    ),
    (
        "search_flights returns a timeout error",
        "retry search_flights once",
        "search_flights returned timeout error",
        "retry search_flights once more",
    ),
    (
        "after a 429 from the payments API",
        "wait 30 seconds and retry charge_card",
        "after 429 from payments API",
        "wait 30 s, then retry charge_card",
    ),
    (
        "never promise a delivery date",
        "use get_tracking instead",
        "Never promise any delivery date.",
        "Use get_tracking instead!",
    ),
    (
        "Before cancelling an order",
        "call get_order_details",
        "before cancelling orders",
        "call get_order_details",
    ),
    (
        "user reports a login problem",
        "reset_password(user_id)",
        "User reports login problems",
        "reset_password(user_id)",
    ),
    ("ran the tests", "I ran the tests before the release", "ran the test", "I ran the tests before release"),
    ("call getOrder", "getOrder", "call get_order", "get_order"),
    (
        "before booking a flight, check the passenger's membership",
        "get_user_details",
        "Before booking flights check membership of the passenger",
        "get_user_details",
    ),
    (
        "a deploy fails its health check",
        "run rollback_release",
        "deployment fails its health check",
        "run rollback_release",
    ),
    (
        "never call issue_refund directly",
        "use request_refund_approval",
        "Never call issue_refund directly",
        "use request_refund_approval instead",
    ),
    ("antes de un reembolso", "llamar a get_order", "Antes de hacer un reembolso", "llamar a get_order"),
    ("Vor einer Erstattung", "get_order aufrufen", "vor der Erstattung", "get_order aufrufen"),
    ("the order is already delivered", "offer return_order", "order already delivered", "offer return_order"),
    (
        "customer asks where the package is",
        "get_tracking(order_id)",
        "Customer asks where their package is",
        "get_tracking(order_id)",
    ),
    ("REFUND OVER 500 EUR", "request_approval", "refund over 500 EUR", "request_approval"),
]
REWORDED_LATER = [
    (
        "Customer wants a copy of the invoice",
        "send_invoice(order_id)",
        "customer wants copy of invoice",
        "send_invoice",
    ),
    (
        "create_ticket failed with a validation error",
        "fix the missing field and call create_ticket again",
        "create_ticket fails with validation error",
        "fix missing fields and call create_ticket again",
    ),
    (
        "Before deleting an account",
        "confirm with the user",
        "before you delete an account",
        "confirm with user",
    ),
    (
        "A passenger asks for a seat upgrade",
        "check get_seat_map first",
        "passenger asks for seat upgrades",
        "check get_seat_map",
    ),
    ("deploying on Fridays", "ask the release manager", "Deploying on a Friday", "ask the release manager"),
    (
        "don't share internal notes",
        "summarise them instead",
        "Don't share the internal notes",
        "summarise them instead",
    ),
    (
        "queried the orders table",
        "I queried the orders table for order",
        "queried the order table",
        "I queried the orders table for the order",
    ),
    (
        "user is angry",
        "apologise and offer a voucher",
        "the user is angry",
        "apologise, then offer a voucher",
    ),
]
DIFFERENT = [
    ("before refund", "get_order", "before refund", "get_user"),
    ("before refund", "get_order", "before cancel", "get_order"),
    (
        "user asks for a refund",
        "issue_refund(order_id)",
        "user asks for an invoice",
        "issue_invoice(order_id)",
    ),
    (
        "customer wants to change the shipping address",
        "update_address(order_id, address)",
        "customer wants to change the billing address",
        "update_billing(order_id, address)",
    ),
    (
        "customer asks to cancel a flight",
        "cancel_reservation",
        "customer asks to book a flight",
        "book_reservation",
    ),
    (
        "search_flights returns a timeout error",
        "retry search_flights once",
        "search_hotels returns a timeout error",
        "retry search_hotels once",
    ),
    (
        "after 429 from payments API",
        "wait 30 seconds and retry charge_card",
        "after 500 from payments API",
        "call report_incident",
    ),
    (
        "never promise a delivery date",
        "use get_tracking instead",
        "never promise a refund",
        "use get_refund_policy instead",
    ),
    (
        "a deploy fails its health check",
        "run rollback_release",
        "a deploy fails its health check",
        "page the on-call engineer",
    ),
    ("before booking a flight", "get_user_details", "before booking a flight", "get_flight_status"),
    ("refund over 500 EUR", "request_approval", "refund", "issue_refund"),
    ("refund over 500 EUR", "request_approval", "refund over 50 EUR", "request_approval"),
    ("ran the tests", "pytest -q", "ran the server", "manage.py runserver"),
    ("call get_order", "get_order", "call get_orders", "get_orders"),
    ("call get_order", "get_order", "call delete_order", "delete_order"),
    ("call enable_account", "enable_account", "call disable_account", "disable_account"),
    (
        "user reports a login problem",
        "reset_password(user_id)",
        "user reports a payment problem",
        "reset_payment(user_id)",
    ),
    (
        "customer asks where the package is",
        "get_tracking(order_id)",
        "customer asks what the package weighs",
        "get_package(order_id)",
    ),
    (
        "the order is already delivered",
        "offer return_order",
        "the order is not delivered",
        "offer cancel_order",
    ),
    ("the user is verified", "call show_balance", "the user is not verified", "call show_balance"),
    ("before issue_refund", "get_order", "before get_order", "issue_refund"),
    ("always ask before delete_record", "confirm", "never ask before delete_record", "confirm"),
]
DIFFERENT_LATER = [
    (
        "customer asks to cancel a flight",
        "transfer to a human agent",
        "customer asks to book a flight",
        "transfer to a human agent",
    ),
    (
        "customer wants to change the shipping address",
        "ask for confirmation",
        "customer wants to change the billing address",
        "ask for confirmation",
    ),
    ("user reports a login problem", "open a ticket", "user reports a payment problem", "open a ticket"),
    ("customer asks for a refund", "explain the policy", "customer asks for a return", "explain the policy"),
    ("deploying on Fridays", "ask the release manager", "deploying on Mondays", "ask the release manager"),
    ("user is angry", "apologise", "user is happy", "apologise"),
    (
        "passenger has a gold membership",
        "waive the baggage fee",
        "passenger has a silver membership",
        "waive the baggage fee",
    ),
    ("after a failed payment", "retry after 5 minutes", "after a failed payment", "retry after 15 minutes"),
    (
        "customer asks for a refund",
        "explain the policy",
        "a business customer asks for a refund of a prepaid booking",
        "explain the policy",
    ),
]


def skill(number, trigger, action, kind="preflight", precondition=()):
    return SkillText(str(number), kind, trigger, action, precondition)


def nearest(pair, **options):
    index = SimilarIndex([skill(1, *pair[:2])])
    return index.nearest(skill(2, *pair[2:]), **options)


@pytest.mark.parametrize("pair", [*REWORDED, *REWORDED_LATER])
def test_reworded_skills_are_duplicates(pair):
    found = nearest(pair)
    assert [(similar.skill_id, similar.duplicate) for similar in found] == [("1", True)]


@pytest.mark.parametrize("pair", [*DIFFERENT, *DIFFERENT_LATER])
def test_different_skills_are_none(pair):
    assert not any(similar.duplicate for similar in nearest(pair))


def test_the_threshold_lies_between_them():
    """The margin, so that a change of the rules that eats it up is seen."""
    lowest = min(nearest(pair, at_least=0)[0].score for pair in [*REWORDED, *REWORDED_LATER])
    scores = [nearest(pair, at_least=0)[0] for pair in [*DIFFERENT, *DIFFERENT_LATER]]
    highest = max(similar.score for similar in scores if similar.differs is None)
    assert highest + 2 <= SIMILAR_SCORE <= lowest - 2


@pytest.mark.parametrize(
    ("pair", "differs"),
    [
        (("refund over 50 EUR", "ask first", "refund over 500 EUR", "ask first"), "numbers"),
        (("the user is verified", "show it", "the user isn't verified", "show it"), "negation"),
        (("user asks for it", "call get_order", "user asks for it", "call get_orders"), "tools"),
        (("asks about shipping address", "look", "asks about billing address", "look"), "words"),
    ],
)
def test_what_reads_alike_and_differs_is_shown_with_the_difference(pair, differs):
    assert [similar.differs for similar in nearest(pair, at_least=60)] == [differs]


def test_only_skills_of_the_same_kind_and_no_skill_itself():
    index = SimilarIndex(
        [skill(1, "before refund", "get_order"), skill(2, "before refund", "get_order", "action")]
    )
    assert [similar.skill_id for similar in index.nearest(skill(3, "before refund", "get_order"))] == ["1"]
    assert index.nearest(skill(1, "before refund", "get_order")) == []
    assert index.nearest(skill(3, "before refund", "get_order", "recovery")) == []
    assert SimilarIndex([]).nearest(skill(1, "a", "b")) == []


def test_a_precondition_is_part_of_what_a_skill_does():
    index = SimilarIndex([skill(1, "refunds", "issue_refund", precondition=("get_order",))])
    assert index.nearest(skill(2, "refunds", "issue_refund", precondition=("get_order",)))[0].duplicate
    assert not index.nearest(skill(2, "refunds", "issue_refund", precondition=("get_customer",)))


def test_known_tools_tell_skills_apart_that_words_do_not():
    one, other = ("when it is late", "call pay"), ("when it is late", "call wait")
    index = SimilarIndex([skill(1, *one)], known_tools=canonical_names(["pay", "wait"]))
    assert index.nearest(skill(2, *other), at_least=0)[0].differs == "tools"


def test_duplicates_come_first_then_the_score_and_equals_in_their_order():
    index = SimilarIndex(
        [
            skill("number", "refund over 600 EUR now", "ask first"),
            skill("near", "refunds over 500 EUR", "ask first"),
            skill("same", "refund over 500 EUR", "ask first"),
            skill("same again", "Refund over 500 EUR!", "ask first"),
        ]
    )
    found = index.nearest(skill("new", "refund over 500 EUR", "ask first"), at_least=60)
    assert [similar.skill_id for similar in found] == ["same", "same again", "near", "number"]
    assert [similar.duplicate for similar in found] == [True, True, True, False]
    assert found == index.nearest(skill("new", "refund over 500 EUR", "ask first"), at_least=60, limit=4)
    assert len(index.nearest(skill("new", "refund over 500 EUR", "ask first"), limit=2)) == 2


def test_the_end_of_a_very_long_text_is_not_compared():
    index = SimilarIndex([skill(1, "refund " * 100_000, "x" * 1_000_000)])
    assert index.nearest(skill(2, "refund " * 200_000, "x" * 2_000_000))[0].score == 100


texts = st.text(max_size=25) | st.lists(
    st.sampled_from(["refund", "order", "not", "500", "get_order", "a", "Before", "."]), max_size=6
).map(" ".join)


@settings(database=None, deadline=None, max_examples=300)
@given(texts, texts)
def test_likeness_goes_both_ways(one, other):
    mine, theirs = reading(one), reading(other)
    assert text_score(mine.words, theirs.words) == pytest.approx(text_score(theirs.words, mine.words))
    assert difference(mine, theirs) == difference(theirs, mine)
    assert difference(mine, mine) is None


@settings(database=None, deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(texts, texts), max_size=6), texts, texts, st.sampled_from([0, 60, SIMILAR_SCORE, 95])
)
def test_the_quick_look_up_misses_nothing(pairs, trigger, action, at_least):
    """Against scoring every skill one by one, which is what the index saves."""
    index = SimilarIndex([skill(number, *pair) for number, pair in enumerate(pairs)])
    found = index.nearest(skill("new", trigger, action), at_least=at_least)
    expected = set()
    for number, pair in enumerate(pairs):
        scores = (
            text_score(reading(text).words, reading(other).words)
            for text, other in zip((trigger, action), pair, strict=True)
        )
        if min(scores) >= at_least:
            expected.add(str(number))
    assert {similar.skill_id for similar in found} == expected or len(found) == 5 < len(expected)
