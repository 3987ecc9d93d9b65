from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.skill_text import canonical_name, canonical_names, content_words, fold, split_words, stem

KNOWN = canonical_names(["refund", "orders.get", "Get-User", "sendMail"])


def tools(text, known=KNOWN):
    return [text[word.start : word.end] for word in split_words(text, known) if word.is_tool]


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Call getOrder_details(x)!", "call get order details x"),
        ("  a\tb\n", "a b"),
        ("ﬁle № ５", "file no 5"),
        ("STRASSE straße", "strasse strasse"),
        ("…", ""),
    ],
)
def test_folding(text, folded):
    assert fold(text) == folded


@settings(database=None, deadline=None)
@given(st.text(max_size=40))
def test_folding_twice_changes_nothing_in_ascii(text):
    text = text.encode("ascii", "ignore").decode()
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    "name", ["get_order", "getOrder", "get-order", "get.order", "GET_ORDER", "_get__order_"]
)
def test_one_spelling_of_a_tool(name):
    assert canonical_name(name) == "get_order"


def test_names_without_letters_are_no_names():
    assert canonical_names(["", "__", "a"]) == {"a"}


def test_words_without_meaning_are_left_out_unless_there_are_no_others():
    assert content_words("Before the refund, call get_order") == ("before", "refund", "get", "order")
    assert content_words("if it is") == ("if", "it", "is")


@pytest.mark.parametrize(
    ("word", "root"), [("orders", "order"), ("pass", "pass"), ("gas", "gas"), ("is", "is")]
)
def test_stems(word, root):
    assert stem(word) == root


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("never call issue_refund directly", ["issue_refund"]),
        ("before refund, call get_order", ["refund", "get_order"]),
        ("the user wants a refund", []),
        ("call refund", ["refund"]),
        ("refund", ["refund"]),
        (" refund ", ["refund"]),
        ("refund(order_id) now", ["refund"]),
        ("use lookup(order_id, get_user(x)) then do_it", ["lookup", "do_it"]),
        ("the order_id is missing", []),
        ("pass userId to findUser", ["findUser"]),
        ("then orders.get and get-user", ["orders.get", "get-user"]),
        ("do it with a.get_order/b", ["get_order"]),
        ("SendMail or send_mail", ["SendMail", "send_mail"]),
        ("JavaScript and PayPal are names", []),
        ("don't", []),
        ("open (see below", []),
        ("", []),
    ],
)
def test_tools_in_a_text(text, found):
    assert tools(text) == found


@settings(database=None, deadline=None, max_examples=300)
@given(
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(["refund", "get_order", "(", ")", ".", "'", "-", " ", "call", "İ", "x"]), max_size=15
    ).map("".join)
)
def test_words_are_in_order_and_inside_the_text(text):
    at = 0
    for word in split_words(text, KNOWN):
        assert at <= word.start < word.end <= len(text)
        assert word.name
        at = word.end
