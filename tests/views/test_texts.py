"""What an agent hides in its text is seen on the page."""

from __future__ import annotations

import pytest
from django.template import Context, Template

from reviews.views.texts import Piece, pieces_of, visible


@pytest.mark.parametrize(
    "hidden", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x1b", "\x00", "\x7f", "\U000e0041"]
)
def test_hidden_characters_become_marks(hidden):
    pieces = pieces_of(f"a{hidden}b")
    assert [p.text for p in pieces if not p.mark] == ["a", "b"]
    assert [p.mark for p in pieces if p.mark] == [f"U+{ord(hidden):04X}"]
    assert hidden not in visible(f"a{hidden}b")


@pytest.mark.parametrize("plain", ["a\tb\nc", "Gráfica enviada 已发送 ✓", "👍🏽 e\u0301"])
def test_ordinary_text_stays_as_it_is(plain):
    assert pieces_of(plain) == [Piece(plain)]
    assert visible(plain) == plain


def test_a_line_end_of_windows_is_only_a_line_end():
    assert pieces_of("a\r\nb") == [Piece("a\nb")]
    assert pieces_of("a\rb")[1].mark == "U+000D"


def test_the_filters_escape_everything():
    template = Template("{% load agent_text %}{{ text|agent_text }} {{ text|visible }}")
    html = template.render(Context({"text": "<script>\u202e&'\""}))
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 2
    assert '<span class="ctl" title="U+202E">RLO</span>' in html
