"""Where a line of a file stands, and the names its turns get from that."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

__all__ = ["FileOrigin", "LineOrigin"]

_CONVERSATION_CHARS = 180
"""Leaves room for the number of the turn in an ``external_id``."""


@dataclass(slots=True)
class FileOrigin:
    """One file being read: remembers the conversation names given out, as digests of 8 bytes."""

    stem: str
    _seen: dict[bytes, int] = field(default_factory=dict)
    """By the digest of a name: the number that was last put behind it."""

    def distinct(self, name: str) -> str:
        """``name``, or ``name~2``, ``name~3`` … when an earlier line took it; the same on every reading."""
        first = digest = _digest(name)
        candidate, number = name, self._seen.get(first, 1)
        while digest in self._seen:
            number += 1
            candidate = f"{name}~{number}"
            digest = _digest(candidate)
        self._seen[first] = number
        self._seen.setdefault(digest, 1)
        return candidate


def _digest(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """One document of the file; ``line`` counts from 1."""

    file: FileOrigin
    line: int

    def conversation_id(self, given: Any) -> str:
        """The document's own id, else the file's stem and the line; over-long ones are shortened, with a
        digest that keeps them apart."""
        if isinstance(given, int) and not isinstance(given, bool):
            given = str(given)
        name = given if isinstance(given, str) and given.strip() else f"{self.file.stem}:{self.line}"
        if len(name) > _CONVERSATION_CHARS:
            digest = blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()
            name = f"{name[: _CONVERSATION_CHARS - 17]}-{digest}"
        return self.file.distinct(name)
