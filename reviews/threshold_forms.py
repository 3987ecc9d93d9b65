"""Forms of the Thresholds screen: what a person tries, read into a policy's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms import BoundField

from reviews.core.settings import MODES, SettingsError, TenantSettings, parse_settings
from reviews.forms import PlainForm
from reviews.models.turns import Kind
from reviews.services.simulation import WINDOWS

MODE_NAMES = {"off": "Off", "observe": "Observe", "revise": "Revise", "refuse": "Refuse"}
BY_KIND = "fabrication_refuse_min_confidence_by_kind"
#: Where a setting stands in the form; the names are short because they stand in addresses.
FIELD_OF = {
    "fabrication_check_mode": "mode",
    "fabrication_refuse_min_confidence": "refuse",
    "fabrication_confidence_source": "source",
    "metacognition_confidence_threshold": "critic",
    **{f"{BY_KIND}/{kind}": f"refuse_{kind}" for kind in Kind.values},
}
#: The precision somebody wants when they do not say; a wish, and no part of the policy.
TARGET = "0.9"


def _confidence(**options: Any) -> forms.FloatField:
    return forms.FloatField(min_value=0, max_value=1, **options)


class ThresholdForm(PlainForm):
    """What is tried. Fields of single kinds may stay empty: as overall."""

    mode = forms.ChoiceField(choices=[(mode, MODE_NAMES[mode]) for mode in MODES])
    refuse = _confidence(label="Refuse at or above")
    source = forms.ChoiceField(choices=[("raw", "raw"), ("calibrated", "calibrated")], label="Confidences")
    critic = _confidence(label="Ask the critic below")
    days = forms.TypedChoiceField(
        choices=[(days, f"{days} days") for days in sorted(WINDOWS)], coerce=int, label="Tried on the last"
    )
    target = _confidence(label="Precision goal")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in Kind:
            label = f"Refuse at or above, {kind.label}"
            self.fields[f"refuse_{kind.value}"] = _confidence(required=False, label=label)

    @staticmethod
    def initial_from(settings: TenantSettings) -> dict[str, str]:
        """What the form shows for settings, by field, as text."""
        by_kind = settings.fabrication_refuse_min_confidence_by_kind
        return {
            "mode": settings.fabrication_check_mode,
            "refuse": f"{settings.fabrication_refuse_min_confidence:g}",
            "source": settings.fabrication_confidence_source,
            "critic": f"{settings.metacognition_confidence_threshold:g}",
            "days": str(WINDOWS[0]),
            "target": TARGET,
            **{f"refuse_{kind}": f"{by_kind[kind]:g}" if kind in by_kind else "" for kind in Kind.values},
        }

    def clean(self) -> dict[str, Any]:
        """Say all that is wrong at once, also what can be read but not used."""
        try:
            parse_settings(self.values)
        except SettingsError as error:
            self.add_problems(error.problems)
        return self.cleaned_data

    @property
    def values(self) -> dict[str, Any]:
        """The settings that the form is about, as far as they could be read."""
        typed = self.cleaned_data
        found = {path: typed[name] for path, name in FIELD_OF.items() if "/" not in path and name in typed}
        by_kind = {kind: typed.get(f"refuse_{kind}") for kind in Kind.values}
        return {**found, BY_KIND: {kind: value for kind, value in by_kind.items() if value is not None}}

    def add_problems(self, problems: Mapping[str, str]) -> None:
        super().add_problems({FIELD_OF.get(path, path): text for path, text in problems.items()})

    @property
    def kinds(self) -> list[tuple[str, BoundField]]:
        """The fields of single kinds, with the kinds' names."""
        return [(kind.label, self[f"refuse_{kind.value}"]) for kind in Kind]

    @property
    def has_kinds(self) -> bool:
        """Whether a kind has a threshold of its own, or something typed in its field."""
        return any(field.value() for _, field in self.kinds)

    @property
    def wrong(self) -> list[tuple[BoundField, str]]:
        """The fields that cannot be used, and why."""
        return [
            (self[name], " ".join(map(str, errors)))
            for name, errors in self.errors.items()
            if name != "__all__"
        ]


class DraftForm(ThresholdForm):
    """What is tried, to be saved as a draft."""

    note = forms.CharField(required=False, max_length=500)
    version = forms.IntegerField(min_value=0)
