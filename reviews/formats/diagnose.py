"""The careful JSON parser: slower than ``strict`` needs for good input, but it can point at what is wrong."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from reviews.formats.errors import RecordError, pointer
from reviews.formats.limits import INT_MAX, INT_MIN, MAX_DEPTH

__all__ = ["diagnose"]

# Strings are taken whole, so brackets inside them do not count. A string that never ends swallows the rest:
# the parser refuses it anyway.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{},:]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT_CHARS = 20  # the longest 64-bit integer, with its sign


class _Pairs(list[tuple[str, Any]]):
    """An object as the list of its members, so that a repeated key stays visible."""


class _RefusedNumber:
    """A number that is not accepted, kept in place until its pointer is known."""

    def __init__(self, message: str) -> None:
        self.message = message


def _int(digits: str) -> int | _RefusedNumber:
    # The length is looked at first: Python refuses to convert thousands of digits, and rightly so.
    if len(digits) <= _INT_CHARS and INT_MIN <= (value := int(digits)) <= INT_MAX:
        return value
    return _RefusedNumber(
        f"found the integer {digits[:24]}{'…' * (len(digits) > 24)}, expected signed 64 bits"
    )


def _float(digits: str) -> float | _RefusedNumber:
    value = float(digits)
    if math.isfinite(value):
        return value
    return _RefusedNumber(f"found the number {digits[:24]}, which is too large for a double")


def _constant(name: str) -> _RefusedNumber:
    return _RefusedNumber(f"found {name}, expected a finite number")


_PARSER = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_int=_int, parse_float=_float, parse_constant=_constant
)


def diagnose(raw: bytes) -> Any:
    """The JSON value of ``raw``, or a ``RecordError`` that points at the first thing wrong with it.

    Raises nothing else, whatever the input. The caller has checked the size.
    """
    text = _text(raw)
    try:
        value = _PARSER.decode(text)
    except RecursionError:
        raise _abyss(text) from None
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode())
        where = f"line {error.lineno}, column {error.colno} (byte {offset})"
        raise RecordError("", f"not valid JSON: {error.msg}: {where}") from None
    try:
        return _checked(value, [])
    except RecursionError:
        raise _abyss(text) from None


def _text(raw: bytes) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        raise RecordError("", "not valid JSON: found a byte order mark at byte 0, expected plain UTF-8")
    if (nul := raw.find(b"\0")) >= 0:
        raise RecordError("", f"not valid JSON: found a NUL at byte {nul}")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise RecordError("", f"not valid UTF-8: {error.reason} at byte {error.start}") from None


def _too_deep(path: list[str | int]) -> RecordError:
    return RecordError(pointer(path), f"found nesting deeper than {MAX_DEPTH} levels")


def _abyss(text: str) -> RecordError:
    """The error for a document too deep for the recursive parser: finds the spot without recursion."""
    path: list[str | int] = []  # per open container: the index, or the key last seen
    is_list: list[bool] = []
    last = ""
    for match in _TOKEN.finditer(text):
        mark = match.group()
        if mark in "[{":
            if len(path) == MAX_DEPTH:
                return _too_deep(path)
            is_list.append(mark == "[")
            path.append(0 if mark == "[" else "")
        elif mark in "]}":
            if path:
                path.pop()
                is_list.pop()
        elif mark == ",":
            if path and is_list[-1]:
                path[-1] = int(path[-1]) + 1
        elif mark == ":":
            if path and not is_list[-1]:
                path[-1] = _key(last)
        else:
            last = mark
    # The parser gave up earlier than that: it was called with little stack left.
    return _too_deep([])


def _key(token: str) -> str:
    try:
        return str(json.loads(token[:2000], strict=False))
    except ValueError:
        return token[1:-1]


def _checked(value: Any, path: list[str | int]) -> Any:
    """``value`` with plain dicts; the path is shared and only rendered when something is wrong."""
    if isinstance(value, list) and len(path) == MAX_DEPTH:
        raise _too_deep(path)
    if isinstance(value, _Pairs):
        members: dict[str, Any] = {}
        for key, child in value:
            path.append(key)
            _check_text(key, path, "the key")
            if key in members:
                raise RecordError(pointer(path), "found this key twice in one object, expected it once")
            members[key] = _checked(child, path)
            path.pop()
        return members
    if isinstance(value, list):
        items = []
        for index, child in enumerate(value):
            path.append(index)
            items.append(_checked(child, path))
            path.pop()
        return items
    if isinstance(value, str):
        _check_text(value, path, "the text")
    elif isinstance(value, _RefusedNumber):
        raise RecordError(pointer(path), value.message)
    return value


def _check_text(text: str, path: list[str | int], what: str) -> None:
    if "\0" in text:
        raise RecordError(pointer(path), f"found a NUL character in {what} (\\u0000), which cannot be stored")
    if not text.isascii() and (found := _SURROGATE.search(text)):
        code = ord(found.group())
        raise RecordError(pointer(path), f"found a lone surrogate in {what} (\\u{code:04x}), expected a pair")
