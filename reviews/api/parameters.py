"""Query parameters, read strictly: an unknown name or a wrong value is refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import TypeVar

from django.http import QueryDict
from django.utils.dateparse import parse_datetime

from reviews.services.errors import InvalidError

T = TypeVar("T")


class Parameters:
    """Collects what is wrong with a query string, so that one answer names all of it."""

    def __init__(self, query: QueryDict, known: Collection[str]) -> None:
        self._query = query
        self._problems: dict[str, str] = {}
        for name in query:
            if name not in known:
                self._problems[name[:100]] = (
                    f"There is no such parameter; known are {', '.join(sorted(known))}."
                )
            elif len(query.getlist(name)) > 1:
                self._problems[name] = "Given more than once."

    def read(self, name: str, reader: Callable[[str], T], default: T) -> T:
        """The value of ``name`` by ``reader``, whose ``ValueError`` says what is wrong; else ``default``."""
        text = self._query.get(name)
        if text is None or name in self._problems:
            return default
        try:
            return reader(text)
        except ValueError as error:
            self._problems[name] = str(error)
            return default

    def done(self) -> None:
        """Raises ``InvalidError`` naming every problem."""
        if self._problems:
            raise InvalidError("Some parameters cannot be used.", fields=self._problems)


def text(longest: int) -> Callable[[str], str]:
    def reader(value: str) -> str:
        if len(value) > longest or "\0" in value:
            raise ValueError(f"Must be a text of at most {longest} characters.")
        return value

    return reader


def choice(options: Collection[str]) -> Callable[[str], str]:
    def reader(value: str) -> str:
        if value not in options:
            raise ValueError(f"Must be one of {', '.join(options)}.")
        return value

    return reader


def number(least: int, most: int) -> Callable[[str], int]:
    def reader(value: str) -> int:
        # The length first: Python takes its time over long numbers. Digits of other scripts are not meant.
        if len(value) > len(str(most)) or not (value.isascii() and value.isdigit()):
            raise ValueError(f"Must be a whole number from {least} to {most}.")
        if not least <= int(value) <= most:
            raise ValueError(f"Must be a whole number from {least} to {most}.")
        return int(value)

    return reader


def moment(value: str) -> datetime:
    """A time with its zone."""
    try:
        found = parse_datetime(value) if len(value) <= 40 else None
    except ValueError:
        found = None
    # The first and the last year may leave the calendar when moved to UTC.
    if found is None or found.tzinfo is None or not 1 < found.year < 9999:
        raise ValueError("Must be a time with its zone, like 2026-01-31T12:00:00Z (a + is written %2B here).")
    return found
