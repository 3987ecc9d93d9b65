"""What an edit changed: both texts can be read back from it, and a human sees whole changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.views.word_diff import MAX_WORDS, word_diff

WORDS = st.lists(st.sampled_from(["never", "refund", "get_order", "a", "\n", "  "]), max_size=12).map(
    " ".join
)


@given(WORDS, WORDS)
def test_both_texts_are_in_it(before, after):
    runs = word_diff(before, after)
    assert "".join(run.text for run in runs if run.change != "came") == before
    assert "".join(run.text for run in runs if run.change != "gone") == after
    assert all(run.text for run in runs)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", []),
        ("ask first", "ask first", [("ask first", "")]),
        ("", "ask", [("ask", "came")]),
        ("ask", "", [("ask", "gone")]),
        (
            "call get_order first",
            "call find_order first",
            [("call ", ""), ("get_order", "gone"), ("find_order", "came"), (" first", "")],
        ),
        # Two words in a row are one change, not two with a space between.
        (
            "never refund directly here",
            "never pay back here",
            [("never ", ""), ("refund directly", "gone"), ("pay back", "came"), (" here", "")],
        ),
    ],
)
def test_changes(before, after, expected):
    assert [tuple(run) for run in word_diff(before, after)] == expected


def test_a_long_text_is_not_compared_word_by_word():
    """A hostile draft must not hold up the page."""
    before, after = "a " * (MAX_WORDS + 1), "b " * (MAX_WORDS + 1)
    assert [run.change for run in word_diff(before, after)] == ["gone", "came"]
