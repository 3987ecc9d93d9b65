"""Forms of the settings pages: what was typed, read into values, with errors beside the field they are about.

Whether a value may be used is decided by the services; their problems are mapped back to fields. The form of
the policy is in ``policy_forms``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils import timezone

from reviews.models.tenants import Role, Scope

#: A day at the end of the calendar would leave it when moved to UTC.
LAST_YEAR = 2999


class PlainForm(forms.Form):
    """A form whose templates write the fields themselves."""

    def add_problems(self, problems: Mapping[str, str]) -> None:
        """Put what a service says of its values beside the fields they came from."""
        for path, text in problems.items():
            name = path if path in self.fields else None
            self.add_error(name, text if name else f"{path}: {text}")


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
