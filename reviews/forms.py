"""Forms of the settings pages: what was typed, read into values, with errors beside the field they are about.

Whether a value may be used is decided by the services; their problems are mapped back to fields and lines.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils import timezone

from reviews.core.settings import MODES, SettingsError, TenantSettings, parse_settings
from reviews.models.tenants import Role, Scope

MODE_NAMES = {
    "off": "Off: look for nothing",
    "observe": "Observe: record findings, change nothing",
    "revise": "Revise: a finding sends the draft to the critic for revision",
    "refuse": "Refuse: a finding at or above the confidence below replaces the draft",
}

#: A day at the end of the calendar would leave it when moved to UTC.
LAST_YEAR = 2999

FIELD_NAMES = {
    "fabrication_check_mode": "Mode",
    "fabrication_refuse_min_confidence": "Refuse at or above",
    "identifier_keys": "Identifier keys",
    "tool_trigger_keywords": "Tool trigger keywords",
}


class PlainForm(forms.Form):
    """A form whose templates write the fields themselves."""

    def add_problems(self, problems: Mapping[str, str]) -> None:
        """Put what a service says of its values beside the fields they came from."""
        for path, text in problems.items():
            name = path if path in self.fields else None
            self.add_error(name, text if name else f"{path}: {text}")


class DetectionForm(PlainForm):
    """A tenant's detection settings, with lists as one item a line."""

    fabrication_check_mode = forms.ChoiceField(choices=[(mode, MODE_NAMES[mode]) for mode in MODES])
    fabrication_refuse_min_confidence = forms.FloatField(min_value=0, max_value=1)
    identifier_keys = forms.CharField(required=False, strip=False, max_length=20_000)
    tool_trigger_keywords = forms.CharField(required=False, strip=False, max_length=500_000)
    note = forms.CharField(required=False, max_length=500)
    based_on = forms.IntegerField(min_value=0)

    @staticmethod
    def initial_from(settings: TenantSettings, number: int) -> dict[str, Any]:
        """What the form shows for settings in force."""
        return {
            "fabrication_check_mode": settings.fabrication_check_mode,
            "fabrication_refuse_min_confidence": settings.fabrication_refuse_min_confidence,
            "identifier_keys": "\n".join(settings.identifier_keys),
            "tool_trigger_keywords": "\n".join(
                f"{tool}: {', '.join(map(_quoted, words))}"
                for tool, words in settings.tool_trigger_keywords.items()
            ),
            "note": "",
            "based_on": number,
        }

    def clean_identifier_keys(self) -> list[str]:
        lines = _lines(self.cleaned_data["identifier_keys"])
        self._key_lines = [number for number, _ in lines]
        return [text for _, text in lines]

    def clean_tool_trigger_keywords(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        self._tool_lines: dict[str, int] = {}
        problems = []
        for number, text in _lines(self.cleaned_data["tool_trigger_keywords"]):
            tool, colon, rest = (part.strip() for part in text.partition(": " if ": " in text else ":"))
            words = _words(rest)
            if not colon or not tool:
                problems.append(f"Line {number}: write the tool's name, a colon, then its words.")
            elif not words:
                problems.append(f"Line {number}: no words after the colon.")
            elif tool in found:
                problems.append(f"Line {number}: {tool} stands on line {self._tool_lines[tool]} already.")
            else:
                found[tool], self._tool_lines[tool] = words, number
        if problems:
            raise forms.ValidationError(problems)
        return found

    def clean(self) -> dict[str, Any]:
        """Say all that is wrong at once: also what can be read but not used, in fields that were read."""
        values = {name: self.cleaned_data[name] for name in FIELD_NAMES if name in self.cleaned_data}
        try:
            parse_settings(values)
        except SettingsError as error:
            self.add_problems(error.problems)
        return self.cleaned_data

    def add_problems(self, problems: Mapping[str, str]) -> None:
        for path, text in problems.items():
            name, _, item = path.partition("/")
            if name == "identifier_keys" and item:
                self.add_error(name, f"Line {self._key_lines[int(item)]}: {text}")
            elif name == "tool_trigger_keywords" and item:
                self.add_error(name, f"Line {self._tool_lines[item]}: {text}")
            else:
                super().add_problems({path: text})


class MemberForm(PlainForm):
    """Adding a person by name."""

    username = forms.CharField(
        max_length=150,
        validators=[UnicodeUsernameValidator(message="Letters, digits and @ . + - _ only.")],
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.REVIEWER)


class RoleForm(PlainForm):
    role = forms.ChoiceField(choices=Role.choices)


class ApiKeyForm(PlainForm):
    """A new key. An expiry date holds until the end of that day in the installation's time zone."""

    name = forms.CharField(max_length=100)
    scopes = forms.MultipleChoiceField(choices=Scope.choices, initial=[Scope.INGEST])
    expires_on = forms.DateField(required=False)

    def clean_expires_on(self) -> date | None:
        day: date | None = self.cleaned_data["expires_on"]
        if day is not None and day.year > LAST_YEAR:
            raise forms.ValidationError(f"No later than the year {LAST_YEAR}; leave it empty for no end.")
        return day

    @property
    def expires_at(self) -> datetime | None:
        day = self.cleaned_data["expires_on"]
        return timezone.make_aware(datetime.combine(day, time(23, 59, 59))) if day else None

    def add_problems(self, problems: Mapping[str, str]) -> None:
        super().add_problems({{"expires_at": "expires_on"}.get(p, p): text for p, text in problems.items()})


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines that say something, with the numbers they have in the field."""
    return [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]


def _words(text: str) -> list[str]:
    """Words between commas; one that holds a comma itself stands in double quotes."""
    try:
        found = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:  # longer than the reader takes
        found = text.split(",")
    return [word.strip() for word in found if word.strip()]


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"' if "," in word or '"' in word else word
