"""Data in a prompt: one line each, nothing lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.fenced import fenced, json_line


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_is_one_line_reads_back_and_can_be_sent(text):
    line = json_line(text)
    assert line.splitlines() == [line]
    assert json.loads(line) == text
    assert line.encode()


@pytest.mark.parametrize("character", "\x7f\x85\u200e\u2028\u2029\u202e\u2060\u2066\ufeff\ud800\U000e0041")
def test_what_cannot_be_seen_is_written_out(character):
    assert json_line(f"a{character}b").isascii()


def test_what_people_write_stays_readable():
    assert json_line({"a": "Größe 漢 👩\u200d🔧"}) == '{"a": "Größe 漢 👩\u200d🔧"}'


def test_marks_stand_around():
    assert fenced("draft", ['"a"', '"b"'], fence="k3y") == '[k3y BEGIN draft]\n"a"\n"b"\n[k3y END draft]'
