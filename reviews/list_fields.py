"""Form fields for lists: one item a line or a row; each knows its place, for what is wrong with it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.http import QueryDict

from reviews.core.settings import Preference

#: Empty rows offered below the preferences there are, so that some can be added without any script.
SPARE_ROWS = 2
_LINE_END = re.compile(r"\r\n|\r|\n")


class Typed(NamedTuple):
    """What was typed into one field: a JSON value, and where each part of it stands.

    ``places`` maps a path within the value (``3``, ``send_invoice``) to words such as "Line 4".
    """

    value: Any
    places: dict[str, str]

    def place_of(self, path: str) -> str:
        """The place of the part that ``path`` is in; empty when that is the field as a whole."""
        while path and path not in self.places:
            path = path.rpartition("/")[0]
        return self.places.get(path, "")


class LinesField(forms.CharField):
    """A list with one item a line. Cleans to ``Typed`` with a list of text."""

    def __init__(self, *, max_length: int = 50_000) -> None:
        super().__init__(required=False, strip=False, max_length=max_length)

    def prepare_value(self, value: Any) -> str:
        return value if isinstance(value, str) else "\n".join(value or ())

    def clean(self, value: Any) -> Typed:
        lines = numbered_lines(super().clean(value))
        return Typed([text for _, text in lines], {str(n): f"Line {at}" for n, (at, _) in enumerate(lines)})


class PairsField(forms.CharField):
    """A map with one name and its words a line: ``send_invoice: invoice, bill``. Cleans to ``Typed``."""

    def __init__(self, *, what: str, max_length: int = 500_000) -> None:
        """``what`` names what stands before the colon: "the tool's name"."""
        super().__init__(required=False, strip=False, max_length=max_length)
        self.what = what

    def prepare_value(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        return "\n".join(f"{name}: {', '.join(map(_quoted, words))}" for name, words in (value or {}).items())

    def clean(self, value: Any) -> Typed:
        found: dict[str, list[str]] = {}
        places: dict[str, str] = {}
        problems = []
        for at, text in numbered_lines(super().clean(value)):
            name, colon, rest = (part.strip() for part in text.partition(": " if ": " in text else ":"))
            words = _words(rest)
            if not colon or not name:
                problems.append(f"Line {at}: write {self.what}, a colon, then its words.")
            elif not words:
                problems.append(f"Line {at}: no words after the colon.")
            elif name in found:
                problems.append(f"Line {at}: {name} stands on {places[name].lower()} already.")
            else:
                found[name], places[name] = words, f"Line {at}"
        if problems:
            raise forms.ValidationError(problems)
        return Typed(found, places)


class PreferenceRow(NamedTuple):
    """A preference as typed."""

    priority: str = ""
    statement: str = ""
    tags: str = ""


class PreferencesWidget(forms.Widget):
    """Reads rows of three inputs named ``<name>-priority``, ``-statement`` and ``-tags``."""

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[PreferenceRow]:
        read: Callable[[str], Iterable[str]] = (
            data.getlist if isinstance(data, QueryDict) else lambda key: data.get(key, [])
        )
        columns = (read(f"{name}-{column}") for column in PreferenceRow._fields)
        return [PreferenceRow(*row) for row in zip(*columns, strict=False)]


class PreferencesField(forms.Field):
    """The critic's preferences as rows; those that say nothing are left out. Cleans to ``Typed``."""

    widget = PreferencesWidget

    def __init__(self) -> None:
        super().__init__(required=False)

    def prepare_value(self, value: Sequence[Preference | PreferenceRow] | None) -> list[PreferenceRow]:
        rows = [_row_of(each) for each in value or ()]
        # In between, a row that says nothing stays: what is wrong is told by the number of the row.
        while rows and not rows[-1].statement and not rows[-1].tags:
            rows.pop()
        return rows + [PreferenceRow()] * SPARE_ROWS

    def clean(self, value: Sequence[PreferenceRow]) -> Typed:
        found: list[dict[str, Any]] = []
        places: dict[str, str] = {}
        for number, row in enumerate(value, 1):
            if row.statement.strip() or row.tags.strip():
                places[str(len(found))] = f"Row {number}"
                found.append(_preference(row))
        return Typed(found, places)


def _preference(row: PreferenceRow) -> dict[str, Any]:
    """As the settings take it; what is no number is left for them to refuse."""
    priority = row.priority.strip()
    is_number = priority.isascii() and priority.isdecimal() and len(priority) < 10
    return {
        "statement": row.statement,
        "sensitive_tags": _words(row.tags),
        **({"priority": int(priority) if is_number else priority} if priority else {}),
    }


def _row_of(value: Preference | PreferenceRow) -> PreferenceRow:
    if isinstance(value, PreferenceRow):
        return value
    return PreferenceRow(str(value.priority), value.statement, ", ".join(map(_quoted, value.sensitive_tags)))


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Lines that say something, with the numbers they have in the field."""
    return [(n, line.strip()) for n, line in enumerate(_LINE_END.split(text), 1) if line.strip()]


def _words(text: str) -> list[str]:
    """Words between commas; one that holds a comma itself stands in double quotes."""
    try:
        found = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:  # longer than the reader takes
        found = text.split(",")
    return [word.strip() for word in found if word.strip()]


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"' if "," in word or '"' in word else word
