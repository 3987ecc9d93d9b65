"""Cutting one body or file into the raw bytes of its documents, without decoding them twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from reviews.formats.errors import RecordError
from reviews.formats.limits import MAX_DEPTH

__all__ = ["split_array", "split_lines"]

_RAW_LIST = msgspec.json.Decoder(list[msgspec.Raw])
# The quick split makes one small object per item before anything can be counted; beyond this many possible
# items the careful one, which stops at the limit, is the cheaper choice.
_QUICK_COMMAS = 500_000
# No row is worth looking for the end of this.
_HOPELESS_DEPTH = 10_000
_SPACE = " \t\r\n"
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def split_lines(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The non-blank lines of NDJSON with their number from 1; LF and CRLF end a line."""
    for number, line in enumerate(body.split(b"\n"), 1):
        if stripped := line.strip(b" \t\r"):
            yield number, stripped


def split_array(body: bytes, most: int) -> list[bytes]:
    """The items of a JSON list, each as it stands in ``body``.

    An item may still be wrong in ways that do not hide where it ends. Raises ``RecordError`` when the
    list itself is malformed (with the byte) or has more than ``most`` items.
    """
    if body.count(b",") <= _QUICK_COMMAS:
        try:
            items = _RAW_LIST.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            # A lone surrogate or an abyss in one item: the careful split keeps the others.
            pass
        else:
            if len(items) > most:
                raise _too_many(most)
            return [bytes(item) for item in items]
    return _split_carefully(body, most)


def _too_many(most: int) -> RecordError:
    return RecordError("", f"found more than {most} rows, expected at most {most} in one body")


def _split_carefully(body: bytes, most: int) -> list[bytes]:
    # Bytes that are not UTF-8 survive the round trip; the row that holds them is refused when decoded.
    text = body.decode("utf-8", "surrogateescape")
    scanner = json.JSONDecoder(parse_int=str, parse_float=str)
    items: list[bytes] = []
    at = _skip_space(text, _skip_space(text, 0) + 1)
    if text[at : at + 1] == "]":
        return _finished(text, at + 1, items)
    while True:
        if len(items) == most:
            raise _too_many(most)
        start, at = at, _end_of_item(text, at, scanner)
        items.append(text[start:at].encode("utf-8", "surrogateescape"))
        at = _skip_space(text, at)
        closing = text[at : at + 1]
        if closing == "]":
            return _finished(text, at + 1, items)
        if closing != ",":
            raise _malformed(text, at, "Expecting ',' delimiter")
        at = _skip_space(text, at + 1)


def _end_of_item(text: str, start: int, scanner: json.JSONDecoder) -> int:
    end: Any
    try:
        _value, end = scanner.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _malformed(text, error.pos, error.msg) from None
    except RecursionError:
        return _end_of_abyss(text, start)
    return int(end)


def _end_of_abyss(text: str, start: int) -> int:
    """Where an item ends that is nested too deep to be parsed: only brackets are counted."""
    depth = 0
    for match in _STRUCTURE.finditer(text, start):
        mark = match.group()
        if mark in "[{":
            depth += 1
            if depth > _HOPELESS_DEPTH:
                break
        elif mark in "]}":
            depth -= 1
            if depth == 0:
                return match.end()
    raise _malformed(text, start, f"a list or object nested deeper than {MAX_DEPTH} levels never ends")


def _finished(text: str, at: int, items: list[bytes]) -> list[bytes]:
    at = _skip_space(text, at)
    if at < len(text):
        raise _malformed(text, at, "Extra data")
    return items


def _skip_space(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _SPACE:
        at += 1
    return at


def _malformed(text: str, at: int, what: str) -> RecordError:
    before = text[:at]
    line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
    byte = len(before.encode("utf-8", "surrogateescape"))
    return RecordError("", f"not valid JSON: {what}: line {line}, column {column} (byte {byte})")
