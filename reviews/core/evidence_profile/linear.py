"""Regular expressions that take linear time on whatever a draft holds, and stay silent about it.

Large bounds such as ``{1,400}`` are unrolled by RE2 and make its automaton huge; patterns here use ``*`` and
leave the length to their caller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import re2

__all__ = ["Pattern", "Span", "compiled"]

Span = tuple[int, int]

_MAX_BYTES: Final = 64 << 20
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


class Pattern:
    """A compiled pattern. Halves of surrogate pairs, which have no UTF-8 form, are read as U+FFFD."""

    __slots__ = ("_pattern",)

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern

    def search(self, text: str) -> Any:
        try:
            return self._pattern.search(text)
        except UnicodeEncodeError:
            return self._pattern.search(_repaired(text))

    def match(self, text: str) -> Any:
        try:
            return self._pattern.match(text)
        except UnicodeEncodeError:
            return self._pattern.match(_repaired(text))

    def finditer(self, text: str) -> Iterator[Any]:
        found: Iterator[Any] = self._pattern.finditer(text if text.isascii() else _repaired(text))
        return found

    def spans(self, text: str, *, reopening: bytes = b"") -> Iterable[Span]:
        """Spans of the matches in characters; the pattern is one of bytes, compiled without captures.

        The last character of a match may be the first of the next where one of the letters ``reopening``
        follows: a full stop ends one claim and opens another.
        """
        data = text.encode("utf-8", "replace")
        spans = self._byte_spans(data, reopening)
        return spans if len(data) == len(text) else _in_characters(data, spans)

    def _byte_spans(self, data: bytes, reopening: bytes) -> Iterator[Span]:
        at: int | None = 0
        while at is not None:
            again = None
            for match in self._pattern.finditer(data, at):
                start, end = match.span()
                yield start, end
                # ASCII, so that no character is cut in two.
                if reopening and end - start > 1 and data[end - 1] < 0x80:
                    following = data[end : end + 8].lstrip()
                    if following and following[0] in reopening:
                        again = end - 1
                        break
            at = again


def _in_characters(data: bytes, spans: Iterable[Span]) -> Iterator[Span]:
    characters = last = 0
    for start, end in spans:
        if start >= last:
            characters += len(data[last:start].decode("utf-8", "replace"))
        else:
            characters -= len(data[start:last].decode("utf-8", "replace"))
        length = len(data[start:end].decode("utf-8", "replace"))
        yield characters, characters + length
        characters += length
        last = end


def _repaired(text: str) -> str:
    return _SURROGATES.sub("\ufffd", text)


def compiled(
    pattern: str | bytes, *, longest: bool = False, captures: bool = True, any_case: bool = False
) -> Pattern:
    """``pattern`` by RE2. ``longest``: of several matches at one place the longest, not the first
    alternative.
    """
    options = re2.Options()
    options.log_errors = False
    options.never_capture = not captures
    options.longest_match = longest
    options.case_sensitive = not any_case
    options.max_mem = _MAX_BYTES
    return Pattern(re2.compile(pattern, options))
