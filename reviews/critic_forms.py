"""The form that a trial of the critic is started with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from reviews.forms import PlainForm
from reviews.services.critic_trials import DEFAULT_TURNS, MAX_BUDGET, MAX_TEMPLATE, MAX_TURNS

SOURCES = (("labelled", "the newest that reviewers decided"), ("recent", "the newest for the critic"))


class TrialForm(PlainForm):
    """One variant, or two to compare. ``budget`` is empty until the cost has been shown."""

    source = forms.ChoiceField(choices=SOURCES, initial="labelled")
    turns = forms.IntegerField(min_value=1, max_value=MAX_TURNS, initial=DEFAULT_TURNS)
    model_0 = forms.CharField(max_length=200)
    policy_0 = forms.IntegerField(min_value=0)
    template_0 = forms.CharField(required=False, max_length=MAX_TEMPLATE, strip=False)
    compare = forms.BooleanField(required=False)
    model_1 = forms.CharField(max_length=200, required=False)
    policy_1 = forms.IntegerField(min_value=0, required=False)
    template_1 = forms.CharField(required=False, max_length=MAX_TEMPLATE, strip=False)
    budget = forms.IntegerField(required=False, min_value=1, max_value=MAX_BUDGET)

    @classmethod
    def base_initial(cls) -> dict[str, Any]:
        """What the fields start with."""
        return {name: field.initial for name, field in cls.base_fields.items()}

    def variants(self) -> list[dict[str, Any]]:
        read = self.cleaned_data
        numbers = (0, 1) if read["compare"] else (0,)
        return [
            {
                "model": read[f"model_{n}"],
                "policy": read[f"policy_{n}"],
                "template": (read[f"template_{n}"] or "").strip() and read[f"template_{n}"],
            }
            for n in numbers
        ]

    def add_problems(self, problems: Mapping[str, str]) -> None:
        """``variants/1/model`` is about ``model_1``; what is about no field stands above the form."""
        found = {}
        for path, text in problems.items():
            place, _, rest = path.partition("/")
            number, _, name = rest.partition("/")
            found[f"{name}_{number}" if place == "variants" and name else path] = text
        for name, text in found.items():
            self.add_error(name if name in self.fields else None, text)
