"""What agents hand over, as JSON values within bounds: copied when it is seen, for it may change later.

Tools return anything, of any size. ``reviews.client.plain`` says what a value looks like in JSON; here its
size is bounded as well, so that open turns take bounded memory, and none becomes too large to be taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import Any, Final

from reviews.client.plain import clean_text, obvious

__all__ = ["CUT_MARK", "plain", "size_of", "text_of"]

#: What stands in place of the rest of a text.
CUT_MARK: Final = " […]"
#: Levels of lists and objects in one value; the intake takes 64, counted from the turn itself.
MOST_DEPTH: Final = 40
#: Lists, objects and their members in one value.
MOST_PARTS: Final = 20_000
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def text_of(value: object, most: int) -> str:
    """A text of at most ``most`` characters that the intake takes; anything but a text is spelled out."""
    text = value if isinstance(value, str) else _spelled(value)
    if len(text) > most:
        text = text[: most - len(CUT_MARK)] + CUT_MARK if most > len(CUT_MARK) else text[:most]
    return clean_text(text)


def plain(value: object, most: int) -> Any:
    """``value`` as JSON values that share nothing with it, ``most`` characters in all its texts together.

    Never raises: of a value whose own methods misbehave, the name of its type is told.
    """
    return _Copier(most).copy(value, MOST_DEPTH)


def size_of(value: object) -> int:
    """Bytes of a JSON value as it is sent."""
    return len(json.dumps(value, ensure_ascii=False).encode())


class _Copier:
    def __init__(self, most: int) -> None:
        self._characters = most
        self._parts = MOST_PARTS

    def copy(self, value: object, depth: int) -> Any:
        match value:
            case None | bool():
                return value
            case int() | float() if _holds(value):
                return int(value) if isinstance(value, int) else float(value)
            case dict() if depth:
                return self._object(value, depth)
            case list() | tuple() if depth:
                return self._list(value, depth)
        if depth and not isinstance(value, str | int | float | bytes | bytearray):
            with suppress(Exception):  # code of others, which may go wrong in any way
                return self.copy(obvious(value), depth - 1)
        return self._text(value)

    def _text(self, value: object) -> str:
        text = text_of(value, self._characters)
        self._characters = max(0, self._characters - len(text))
        return text

    def _object(self, members: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for key, member in list(members.items()):
            if not self._goes_on():
                break
            copied[self._text(key)] = self.copy(member, depth - 1)
        return copied

    def _list(self, members: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        copied = []
        for member in list(members):
            if not self._goes_on():
                break
            copied.append(self.copy(member, depth - 1))
        return copied

    def _goes_on(self) -> bool:
        self._parts -= 1
        return self._parts >= 0 and self._characters > 0


def _holds(number: float) -> bool:
    """Whether JSON, as the server reads it, can hold the number."""
    return _SMALLEST <= number <= _LARGEST if isinstance(number, int) else isfinite(number)


def _spelled(value: object) -> str:
    try:
        if isinstance(value, bytes | bytearray):
            return bytes(value).decode("utf-8", "replace")
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"
