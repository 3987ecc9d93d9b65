"""Template filters for text from agents. Everything is escaped; nothing is ever marked safe as it came."""

from __future__ import annotations

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from reviews.views.texts import INVISIBLE, pieces_of
from reviews.views.texts import visible as visible_text

register = template.Library()


@register.filter
def agent_text(value: str) -> SafeString:
    """Escaped text with invisible characters as marks that can be seen and hovered."""
    text = str(value)
    if not INVISIBLE.search(text):
        return escape(text)
    return format_html_join(
        "",
        "{}",
        (
            (format_html('<span class="ctl" title="{}">{}</span>', piece.mark, piece.text),)
            if piece.mark
            else (piece.text,)
            for piece in pieces_of(text)
        ),
    )


@register.filter
def visible(value: str) -> str:
    """Plain text with invisible characters spelled out; autoescaping does the rest."""
    return visible_text(str(value))
