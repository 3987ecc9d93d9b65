"""Any Python value as a JSON value that the server takes.

What has an obvious form in JSON gets it: times, UUIDs, enumerations, dataclasses, sets, other mappings,
pydantic models. What has none becomes text, and so does what the server refuses: NaN, integers beyond 64
bits, and what is nested deeper than 64 levels. NUL and lone surrogates become U+FFFD, a key that would appear
twice gets ``~2``. Nothing vanishes without a trace.
"""

from __future__ import annotations

import dataclasses
import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from enum import Enum
from pathlib import PurePath
from typing import Any, Final, SupportsIndex
from uuid import UUID

__all__ = ["MAX_DEPTH", "Plainer", "clean_text", "obvious"]

#: Lists and objects nested in each other, the turn itself being the first (docs/native-format.md).
MAX_DEPTH: Final = 64
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")


def clean_text(text: str) -> str:
    return _UNSENDABLE.sub("\ufffd", text)


def _moment(value: datetime) -> str:
    return (value if value.tzinfo else value.astimezone()).isoformat()


#: The first type that fits.
_FORMS: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (datetime, _moment),
    ((date, time), lambda value: value.isoformat()),
    (Enum, lambda value: value.value),
    ((UUID, PurePath), str),
    (Mapping, dict),
    (AbstractSet, list),
)


def obvious(value: object) -> Any:
    """``value`` one step nearer to JSON, without loss; the ``default`` of an encoder.

    A time without a zone is taken for local time, as ``datetime.astimezone`` does. Raises TypeError when
    there is no obvious form.
    """
    for kind, form in _FORMS:
        if isinstance(value, kind):
            return form(value)
    if not isinstance(value, type):
        if dataclasses.is_dataclass(value):
            return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        if callable(dump := getattr(value, "model_dump", None)):
            return dump(mode="json")
        if isinstance(value, SupportsIndex):
            return operator.index(value)
    raise TypeError(type(value).__name__)


class Plainer:
    """Makes values plain, and remembers in ``reworded`` how many of them became other text."""

    def __init__(self) -> None:
        self.reworded = 0

    def plain(self, value: Any, depth: int = 1, above: tuple[int, ...] = ()) -> Any:
        """``value`` as str, int, float, bool, None, and lists and dicts of those, all sendable.

        ``depth`` is that of a container found here, ``above`` the identities of those around it.
        """
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str | int | float | bytes | bytearray | memoryview):
            return self._scalar(value)
        if isinstance(value, dict | list | tuple):
            return self._container(value, depth, above)
        try:
            nearer = obvious(value)
        except Exception:  # code of others: whatever goes wrong in it, the value is still told
            return self._reword(_told(value))
        if nearer is value or len(above) > MAX_DEPTH:
            return self._reword(_told(value))
        return self.plain(nearer, depth, (*above, id(value)))

    def _scalar(self, value: str | float | bytes | bytearray | memoryview) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return int(value) if _INT_MIN <= value <= _INT_MAX else self._reword(_digits(value))
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else self._reword(_not_finite(value))
        return self._reword(clean_text(bytes(value).decode("utf-8", "replace")))

    def _container(self, value: Any, depth: int, above: tuple[int, ...]) -> Any:
        if id(value) in above:
            return self._reword("<contains itself>")
        if depth > MAX_DEPTH:
            return self._reword(_as_json(value))
        inside = (*above, id(value))
        if not isinstance(value, dict):
            return [self.plain(item, depth + 1, inside) for item in list(value)]
        found: dict[str, Any] = {}
        for key, item in list(value.items()):
            found[self._free(self._key(key), found)] = self.plain(item, depth + 1, inside)
        return found

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return self._text(key)
        if key is None:
            return "null"
        if isinstance(key, int):
            return _digits(key)
        if isinstance(key, float):
            return float.__repr__(key) if math.isfinite(key) else _not_finite(key)
        return self._reword(_told(key))

    def _free(self, key: str, taken: Mapping[str, Any]) -> str:
        if key not in taken:
            return key
        number = 2
        while f"{key}~{number}" in taken:
            number += 1
        return self._reword(f"{key}~{number}")

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """An ``object_pairs_hook`` that loses no value of a key that is there twice."""
        found: dict[str, Any] = {}
        for key, value in pairs:
            found[self._free(key, found)] = value
        return found

    def _text(self, text: str) -> str:
        clean = clean_text(text)
        return self._reword(clean) if clean != text else clean

    def _reword(self, text: str) -> str:
        self.reworded += 1
        return text


def _digits(value: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return int.__repr__(value)
    except ValueError:  # longer than Python writes in decimal
        return hex(value)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _as_json(value: Any) -> str:
    try:
        return clean_text(json.dumps(value, ensure_ascii=False, default=_told))
    except Exception:
        return f"<{type(value).__name__}, nested too deep>"


def _told(value: object) -> str:
    try:
        return clean_text(str(value))
    except Exception:
        return f"<{type(value).__name__}>"
