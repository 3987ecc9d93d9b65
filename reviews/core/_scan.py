r"""Finds what a draft claims, exactly as four Unicode-aware regular expressions would, but faster.

The expensive part of those expressions is a leading ``\b`` tried at every character. Here the draft is
first mapped to one class byte per character (C speed), candidates are found in that view with
``bytes.find``, and only candidates meet a regular expression, on the real text.

The view is a superset filter: a character outside Latin-1 may be a letter yet reads as a gap. Whoever uses
the view confirms against the text, so results do not depend on the script the draft is written in.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from reviews.core.lexicon import CLAIM_VERB_HINTS, NEAR_KEY_WINDOW

__all__ = ["KeySet", "KeyValue", "Span", "claims", "hex_tokens", "key_before", "key_values", "view_of"]

# Plain tuples: drafts may hold thousands of them, and named ones take five times as long to make.
Span = tuple[int, int]  # (start, end) offsets in the text
KeyValue = tuple[str, str, Span]  # key as written, value, from the key's start to the value's end

# Classes of the view: gap (no word character, or not in Latin-1), hex digit, the letter i, other word.
_GAP: Final = ord(" ")


def _class_of(character: str) -> int:
    if character in "0123456789abcdefABCDEF":
        return ord("h")
    if character in "iI":
        return ord("i")
    return ord("w") if character.isalnum() or character == "_" else _GAP


_CLASSES: Final = bytes(_class_of(chr(code)) for code in range(256))

_CLAIM: Final = re.compile(rf"\bI\s+({'|'.join(CLAIM_VERB_HINTS)})\b", re.IGNORECASE)
_UUID: Final = re.compile(
    r"\b[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\b"
)
# Hex digits before the first hyphen of a UUID: 8, or more where leading hyphens are left out.
_UUID_OPENINGS: Final = frozenset((8, 12, 16, 20, 32))
_SHORT_HEX_MAX: Final = 16
_HEX_MAX: Final = 32  # a UUID without hyphens

_KEY: Final = r"[A-Za-z][A-Za-z0-9_]{1,31}"
_KEY_MAX: Final = 32
_WHOLE_KEY: Final = re.compile(_KEY)
_KEY_AT_END: Final = re.compile(rf"\b{_KEY}\Z")
# Beside short hex the key may be cut by the window or glued to other text, so it needs no boundary.
_LOOSE_KEY_AT_END: Final = re.compile(rf"{_KEY}\Z")
_VALUE_AT_START: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9_\-./]{0,127})\b")


class KeySet:
    """Lower-cased keys to look for. Strings that can never be a key in a draft only cost memory."""

    def __init__(self, keys: frozenset[str]) -> None:
        self.keys = keys
        # For a first sieve by str.endswith, which takes a tuple.
        self.endings = tuple(key for key in keys if _WHOLE_KEY.fullmatch(key))

    def __contains__(self, key: str) -> bool:
        return key in self.keys


def view_of(text: str) -> bytes:
    """One class byte per character of ``text``, with a gap added at either end (so offsets shift by one)."""
    return f" {text} ".encode("latin-1", "replace").translate(_CLASSES)


def claims(text: str, view: bytes) -> tuple[list[Span], list[re.Match[str]]]:
    """All spans of "I ran"-like claims in text order, and one match per wording, the first.

    Group 1 of a match is the verb. Only wordings are kept as matches: drafts may repeat a claim thousands of
    times, and every object that stays alive costs time in the garbage collector.
    """
    spans: list[Span] = []
    first: dict[str, re.Match[str]] = {}
    if not text.isascii() and ("ı" in text or "İ" in text):
        # Ignoring case, these two equal "I"; the view does not know them.
        for match in _CLAIM.finditer(text):
            spans.append(match.span())
            first.setdefault(match[0], match)
        return spans, list(first.values())
    at = view.find(b" i ")
    while at >= 0:
        if match := _CLAIM.match(text, at):  # type: ignore[assignment]
            spans.append(match.span())
            first.setdefault(match[0], match)
        at = view.find(b" i ", at + 2)
    return spans, list(first.values())


def hex_tokens(text: str, view: bytes) -> tuple[list[Span], list[Span]]:
    """Spans of the UUIDs (hyphens optional) and of the short hex tokens, both in text order.

    Short means word-bounded, 6 to 16 hex digits, not all decimal, outside every UUID.
    """
    uuids: list[Span] = []
    short: list[Span] = []
    exact = text.isascii()  # then the view's gaps are real
    start = view.find(b" hhhhhh")  # of the gap in the view, so of the token in the text
    while start >= 0:
        end = view.find(b" ", start + 7) - 1
        length = end - start
        # Longer words hold neither; a word with other letters neither, since a UUID's first part is all hex.
        if length <= _HEX_MAX and view.count(b"h", start, end + 1) == length:
            if length in _UUID_OPENINGS and (uuid := _UUID.match(text, start)):
                end = uuid.end()
                uuids.append((start, end))
            elif (
                length <= _SHORT_HEX_MAX
                and not text[start:end].isdigit()
                and (exact or _stands_alone(text, start, end))
            ):
                short.append((start, end))
        # Onwards behind the token: the later parts of a UUID are no short hex.
        start = view.find(b" hhhhhh", end + 1)
    return uuids, short


def _stands_alone(text: str, start: int, end: int) -> bool:
    # Slices, not indexes: at either end of the text they are empty, and an empty string is no letter.
    return not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum()


def key_before(text: str, start: int) -> str | None:
    """The lower-cased key of a ``key=`` that ends right before ``start``, within the near-key window."""
    window = text[max(0, start - NEAR_KEY_WINDOW) : start].rstrip()
    if not window.endswith((":", "=")):
        return None
    key = _LOOSE_KEY_AT_END.search(window[:-1].rstrip())
    return key[0].lower() if key else None


def key_values(text: str, keys: KeySet) -> list[KeyValue]:
    """Pairs with a known key, in text order.

    A value is used up by the pair it belongs to: in ``note: pid=7`` the word ``pid`` is the value of
    ``note``, so ``pid=7`` is not a pair. That is why pairs with unknown keys are followed as well.
    """
    found: list[KeyValue] = []
    if ":" not in text and "=" not in text:
        return found
    # No key or value holds a separator: cut there, and look for a key at the end of each piece and its
    # value at the start of the next.
    pieces = text.replace("=", ":").split(":")
    for piece in pieces[:-1]:
        if piece.rstrip()[-_KEY_MAX:].lower().endswith(keys.endings):
            break
    else:
        return found
    offset = used = 0  # of the piece in the text; characters at its start that belong to a value
    for piece, following in pairwise(pieces):
        value_offset = offset + len(piece) + 1
        end = len(piece.rstrip())
        key = _KEY_AT_END.search(piece, max(used, end - _KEY_MAX), end)
        value = _VALUE_AT_START.match(following) if key else None
        if key and value and key[0].lower() in keys:
            found.append((key[0], value[1], (offset + key.start(), value_offset + value.end())))
        used = value.end() if value else 0
        offset = value_offset
    return found
