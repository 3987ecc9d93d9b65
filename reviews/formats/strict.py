"""Strict JSON: what the intake accepts, decided quickly for good input and explained exactly for bad input.

Two parsers look at every document. The standard library's scanner, with a hook on objects, is the only one
that shows duplicate keys; msgspec refuses lone surrogates and numbers beyond a double, and builds the typed
record. What both accept is good. Everything else goes to ``diagnose``, which is slower, finds the spot, and
has the last word: it may also find that nothing is wrong (a text that merely mentions ``u0000``).
"""

from __future__ import annotations

import json
from typing import Any, TypeVar, cast

import msgspec

from reviews.formats.diagnose import diagnose
from reviews.formats.errors import RecordError
from reviews.formats.limits import MAX_DEPTH, TURN_BYTES
from reviews.formats.typed import convert

__all__ = ["RecordError", "decode_strict", "looks_clean", "parse_strict"]

T = TypeVar("T")

# Any integer with this many characters fits 64 bits; longer ones are left to the careful path.
_SAFE_INT_CHARS = 18


class _SuspectError(ValueError):
    """Raised by a hook to leave the scanner; the careful path then decides."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _SuspectError
    return found


def _int(digits: str) -> int:
    if len(digits) > _SAFE_INT_CHARS:
        raise _SuspectError
    return int(digits)


def _constant(_name: str) -> Any:
    raise _SuspectError


_SCANNER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_int, parse_constant=_constant)
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def parse_strict(raw: bytes, *, max_bytes: int = TURN_BYTES) -> Any:
    """The JSON value of one document.

    Raises ``RecordError``, and nothing else, for: more than ``max_bytes``; invalid UTF-8 or JSON; nesting
    beyond ``MAX_DEPTH``; NUL; lone surrogates; NaN, Infinity and numbers that overflow to it; integers
    beyond signed 64 bits; a key that appears twice in one object.
    """
    _check_size(raw, max_bytes)
    if looks_clean(raw):
        try:
            return _ANY.decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
    return diagnose(raw)


def decode_strict(raw: bytes, decoder: msgspec.json.Decoder[T], *, max_bytes: int = TURN_BYTES) -> T:
    """The document as ``decoder.type``; in addition to ``parse_strict`` it refuses wrong types, missing and
    unknown fields. Raises only ``RecordError``.
    """
    _check_size(raw, max_bytes)
    if looks_clean(raw):
        try:
            return decoder.decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
    return convert(diagnose(raw), cast("type[T]", decoder.type))


def looks_clean(raw: bytes) -> bool:
    """False when ``raw`` needs the careful path.

    True rules out duplicate keys, NUL, NaN, integers beyond 64 bits, over-deep nesting and malformed JSON;
    lone surrogates and 1e400 are left to msgspec. Never raises.
    """
    # An escaped NUL ends in these five bytes; a raw one is refused by the scanner as a control character.
    if b"u0000" in raw:
        return False
    try:
        value = _SCANNER.decode(raw.decode())
    except (ValueError, RecursionError):
        return False
    return raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH or _is_shallow(value)


def _is_shallow(value: Any) -> bool:
    """Whether containers nest at most ``MAX_DEPTH`` deep; goes level by level, so it cannot recurse."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return True
    return False


def _check_size(raw: bytes, max_bytes: int) -> None:
    if len(raw) > max_bytes:
        raise RecordError("", f"found {len(raw)} bytes, expected at most {max_bytes}")
