from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reviews.formats.split import _split_carefully, split_array, split_lines
from tests.formats.samples import raw, refusal, values


@given(st.lists(values, max_size=5), st.sampled_from([None, 1]))
def test_both_ways_of_splitting_agree(items: list[Any], indent: int | None) -> None:
    body = raw(items, indent=indent)
    quick = split_array(body, 10)
    assert quick == _split_carefully(body, 10)
    assert [json.loads(item) for item in quick] == items


def test_items_come_as_they_stand() -> None:
    assert split_array(b' [ {"a" : 1.50} , "\\u0041" ] ', 2) == [b'{"a" : 1.50}', b'"\\u0041"']
    assert split_array(b'["\\ud800", "\xff"]', 2) == [b'"\\ud800"', b'"\xff"']


def test_the_limit_holds_on_both_ways() -> None:
    assert len(split_array(b"[1,2,3]", 3)) == 3
    assert "more than 2 rows" in refusal(split_array, b"[1,2,3]", 2).message
    assert "more than 2 rows" in refusal(split_array, b'["\\ud800",2,3]', 2).message


def test_lines_keep_their_numbers() -> None:
    assert list(split_lines(b"\n{}\r\n \t\n[]")) == [(2, b"{}"), (4, b"[]")]
