"""The gate's confidence: values worked out by hand from the behaviour document's formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.confidence import activation_confidence, sensitive_hit


def nodes(*scores):
    return [{"score": score} for score in scores]


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        # No record, or no activated node: nothing speaks either way.
        (None, 0.5),
        ({}, 0.5),
        ({"activated_nodes": [], "inference_paths": [["a", "b"]] * 9}, 0.5),
        # 0.4 * mean score, and nothing else.
        ({"activated_nodes": nodes(0.5, 1.0)}, 0.3),
        # + 0.3 * min(1, 2 / 3)
        ({"activated_nodes": nodes(0.5, 1.0), "inference_paths": [[], []]}, 0.5),
        # + 0.3 * min(1, mean weight 2.5 / 5)
        (
            {
                "activated_nodes": nodes(0.5, 1.0),
                "inference_paths": [[], []],
                "traversed_edges": [{"weight": 1}, {"weight": 4}],
            },
            0.65,
        ),
        # Both capped: 0.4 + 0.3 + 0.3.
        (
            {
                "activated_nodes": nodes(1.0),
                "inference_paths": [[]] * 7,
                "traversed_edges": [{"weight": 50}],
            },
            1.0,
        ),
        # Clamped.
        ({"activated_nodes": nodes(9.0)}, 1.0),
        ({"activated_nodes": nodes(-9.0)}, 0.0),
    ],
)
def test_the_formula(activation, expected):
    assert activation_confidence(activation) == pytest.approx(expected)


def test_the_first_tag_in_order_that_is_sensitive_is_hit():
    activation = {
        "activated_nodes": [
            {"tags": ["weather"]},
            {"properties": {"tags": ["legal", "payment"]}},
            {"tags": ["payment"], "properties": {"tags": ["legal"]}},
        ]
    }
    assert sensitive_hit(activation, {"payment", "legal"}) == "legal"
    assert sensitive_hit(activation, {"payment"}) == "payment"
    assert sensitive_hit(activation, {"weather", "payment"}) == "weather"
    assert sensitive_hit(activation, {"other"}) is None
    assert sensitive_hit(activation, set()) is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "activated_nodes",
                    "inference_paths",
                    "traversed_edges",
                    "score",
                    "weight",
                    "tags",
                    "properties",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(JUNK)
def test_whatever_came_with_a_turn_is_read_without_raising(activation):
    assert 0 <= activation_confidence(activation) <= 1
    hit = sensitive_hit(activation, {"payment"})
    assert hit in (None, "payment")
