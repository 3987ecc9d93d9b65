"""Text written by agents, made safe to look at: what cannot be seen is shown as a mark."""

from __future__ import annotations

import re
from typing import NamedTuple

#: Controls except tab and line feed, and characters that hide, reorder or imitate: bidi controls,
#: zero-width characters, tags, variation selectors, soft hyphen, line and paragraph separators.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)

_NAMES = {
    "\r": "CR", "\x1b": "ESC", "\x00": "NUL", "\x08": "BS", "\x7f": "DEL", "\xad": "SHY",
    "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u202e": "RLO", "\u202d": "LRO",
    "\u202c": "PDF", "\ufeff": "BOM", "\u2066": "LRI", "\u2067": "RLI", "\u2069": "PDI",
}  # fmt: skip


class Piece(NamedTuple):
    """A run of text; ``mark`` is the code point's name when the run stands for one invisible character."""

    text: str
    mark: str = ""


def pieces_of(text: str) -> list[Piece]:
    """Split text into visible runs and marks. A carriage return before a line feed is left out."""
    text = text.replace("\r\n", "\n")
    found, at = [], 0
    for match in INVISIBLE.finditer(text):
        if match.start() > at:
            found.append(Piece(text[at : match.start()]))
        found.append(Piece(short_name(match[0]), f"U+{ord(match[0]):04X}"))
        at = match.end()
    if at < len(text):
        found.append(Piece(text[at:]))
    return found


def short_name(character: str) -> str:
    return _NAMES.get(character) or f"U+{ord(character):04X}"


def visible(text: str) -> str:
    """One plain string in which invisible characters are spelled out, for titles and rows."""
    return INVISIBLE.sub(lambda m: f"⟨{short_name(m[0])}⟩", text)
