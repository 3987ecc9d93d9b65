"""Reading a transcript file: what HTTP refuses is repaired here, since nobody can be asked to send it again.

NUL and lone surrogates become U+FFFD, invalid UTF-8 likewise; integers beyond 64 bits and numbers that
are not finite become strings with the same digits, so nothing vanishes; of a repeated key the last counts.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from reviews.formats.errors import RecordError
from reviews.formats.limits import INT_MAX, INT_MIN, MAX_DEPTH

__all__ = ["clean_text", "parse_arguments", "parse_lenient", "parse_transcript"]

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_INT_CHARS = 18
# Arguments move from a message into a record a few levels down; this keeps the record within MAX_DEPTH.
_ARGUMENT_DEPTH = MAX_DEPTH - 8
# A value may stand one level deeper in a record than it stood in a bare document.
_TRANSCRIPT_DEPTH = MAX_DEPTH - 1


def clean_text(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def _int(digits: str) -> int | str:
    if len(digits) <= _INT_CHARS:
        return int(digits)
    if len(digits) <= _INT_CHARS + 2 and INT_MIN <= (value := int(digits)) <= INT_MAX:
        return value
    return digits


def _float(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits


_PARSER = json.JSONDecoder(parse_int=_int, parse_float=_float, parse_constant=str, strict=False)


def parse_lenient(raw: bytes, *, depth: int = MAX_DEPTH) -> Any:
    """The JSON value of one line of a file; raises only ``RecordError``: not JSON, or nested too deep."""
    text = raw.decode("utf-8", "replace")
    try:
        value = _PARSER.decode(text)
    except RecursionError:
        raise _too_deep(depth) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise RecordError("", f"not valid JSON: {error.msg}: {where}") from None
    return _repaired(value, depth, depth)


def parse_transcript(raw: bytes) -> Any:
    """As ``parse_lenient``, within the nesting that every value may have which a reader takes from it."""
    return parse_lenient(raw, depth=_TRANSCRIPT_DEPTH)


def parse_arguments(value: Any) -> Any:
    """A call's arguments: a JSON value as it is, a string as the JSON inside it, else the string itself."""
    if not isinstance(value, str):
        return value
    try:
        return _repaired(_PARSER.decode(value), _ARGUMENT_DEPTH, _ARGUMENT_DEPTH)
    except (ValueError, RecursionError):
        return value


def _too_deep(most: int) -> RecordError:
    return RecordError("", f"found nesting deeper than {most} levels")


def _repaired(value: Any, depth: int, most: int) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise _too_deep(most)
    if isinstance(value, list):
        return [_repaired(item, depth - 1, most) for item in value]
    return {clean_text(key): _repaired(item, depth - 1, most) for key, item in value.items()}
