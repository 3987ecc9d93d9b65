"""Parts of a draft that are not the agent's own statements: code, quotations, thoughts, addresses."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from reviews.core.evidence_profile.linear import Pattern, compiled

__all__ = ["Fence", "Zones", "zones_of"]

Span = tuple[int, int]

_MAX_QUOTE: Final = 400
_FENCE: Final = compiled(r"(?m)^[ \t]*(```+|~~~+)[ \t]*([\w+.-]*)[^\n]*$")
_INLINE: Final = compiled(r"`[^`\n]+`")
_QUOTE_MARKS: Final = re.compile('["“”„«»「」『』\n]')
_CLOSES: Final = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
# More quotations than this are no quotations.
_MAX_QUOTES: Final = 2_000
_ADDRESS: Final = compiled(
    r"(?i)\b(?:https?://|www\.|file:|s3://|git@)[^\s<>\"')\]]+|[\w.+-]+@[\w-]+\.[\w.-]+"
)
_CITED: Final = compiled(r"(?mi)^[ \t]*>[^\n]*$|(?s:<think(?:ing)?>.*?</think(?:ing)?>)")


@dataclass(frozen=True)
class Fence:
    """A fenced block: the span of the whole, of its content, and the language after the marks, lower case."""

    start: int
    end: int
    content: Span
    language: str


class Zones:
    """Where ``text`` is fenced, in-line code, quoted or an address."""

    def __init__(self, text: str) -> None:
        ticked = "`" in text
        fenced = (ticked and "```" in text) or ("~" in text and "~~~" in text)
        self.fences: tuple[Fence, ...] = _fences(text) if fenced else ()
        self.fenced = _Spans([(fence.start, fence.end) for fence in self.fences]) if self.fences else _NOWHERE
        self.code = _found(_INLINE, text) if ticked else _NOWHERE
        self.quoted = _quotations(text) if '"' in text or not text.isascii() else _NOWHERE
        self.cited = _found(_CITED, text) if ">" in text else _NOWHERE
        linked = "@" in text or ("/" in text and "://" in text)
        self.addresses = _found(_ADDRESS, text) if linked else _NOWHERE
        self._all_spoken = self.fenced is self.code is self.quoted is self.cited is _NOWHERE

    def spoken(self, at: int) -> bool:
        """Whether the character at ``at`` is the agent's own words."""
        return self._all_spoken or not (
            self.fenced.holds(at) or self.code.holds(at) or self.quoted.holds(at) or self.cited.holds(at)
        )


class _Spans:
    """Spans in order that do not overlap."""

    def __init__(self, spans: list[Span]) -> None:
        self._starts = [start for start, _ in spans]
        self._spans = spans

    def holds(self, at: int) -> bool:
        if not self._spans:
            return False
        index = bisect_right(self._starts, at) - 1
        return index >= 0 and at < self._spans[index][1]


_NOWHERE: Final = _Spans([])


def _found(pattern: Pattern, text: str) -> _Spans:
    return _Spans([match.span() for match in pattern.finditer(text)])


def _quotations(text: str) -> _Spans:
    """Quotations within a line, at most ``_MAX_QUOTE`` characters long. One pass: a mark without its
    fellow must not make every other one look for it to the end of the line.
    """
    spans: list[Span] = []
    opened = -1
    for count, match in enumerate(_QUOTE_MARKS.finditer(text)):
        mark, at = match[0], match.start()
        if mark == "\n" or count > 4 * _MAX_QUOTES:
            opened = -1
        elif opened >= 0 and mark in _CLOSES[text[opened]]:
            if at - opened <= _MAX_QUOTE:
                spans.append((opened, at + 1))
            opened = -1
        elif mark in _CLOSES and (opened < 0 or at - opened > _MAX_QUOTE):
            opened = at
        if len(spans) >= _MAX_QUOTES:
            break
    return _Spans(spans) if spans else _NOWHERE


def zones_of(text: str) -> Zones:
    return Zones(text)


def _fences(text: str) -> tuple[Fence, ...]:
    """Fenced blocks in order; one that is never closed reaches to the end."""
    found: list[Fence] = []
    opened: tuple[int, int, str, str] | None = None  # start, start of the content, mark, language
    for match in _FENCE.finditer(text):
        mark = match[1]
        if opened is None:
            opened = (match.start(), match.end(), mark, match[2].lower())
        elif mark[0] == opened[2][0] and len(mark) >= len(opened[2]) and not match[2]:
            found.append(Fence(opened[0], match.end(), (opened[1], match.start()), opened[3]))
            opened = None
    if opened is not None:
        found.append(Fence(opened[0], len(text), (opened[1], len(text)), opened[3]))
    return tuple(found)
