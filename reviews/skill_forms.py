"""Forms of the Skills screen: a skill's text as a person edits it, and why it is rejected.

Whether a text may be used is decided by the services; their problems are mapped back to fields.
"""

from __future__ import annotations

from typing import Any

from django import forms

from reviews.forms import PlainForm
from reviews.models import Runtime, Skill
from reviews.models.skills import RejectReason

MAX_TEXT = 10_000
#: Typed one a line, kept as lists.
LISTS = ("precondition", "steps")


def _text(**options: Any) -> forms.CharField:
    return forms.CharField(max_length=MAX_TEXT, **options)


class SkillForm(PlainForm):
    """A skill's text. Preconditions and steps are typed one a line."""

    trigger = _text(label="When")
    precondition = _text(label="Before", required=False)
    action = _text(label="Do")
    rationale = _text(label="Why")
    steps = _text(label="Steps", required=False)

    @staticmethod
    def initial_from(skill: Skill) -> dict[str, str]:
        """What the form shows for a skill, by field."""
        return {
            "trigger": skill.trigger,
            "precondition": "\n".join(lines_of(skill.precondition)),
            "action": skill.action,
            "rationale": skill.rationale,
            "steps": "\n".join(lines_of(skill.steps)),
        }

    def content(self, skill: Skill) -> dict[str, Any]:
        """What was changed, by field; what reads as it did is left out and so keeps its very value."""
        before = {name: _lines(text) for name, text in self.initial_from(skill).items()}
        typed = {name: _lines(text) for name, text in self.cleaned_data.items() if name in self.data}
        return {
            name: lines if name in LISTS else "\n".join(lines)
            for name, lines in typed.items()
            if lines != before[name]
        }


class RejectForm(PlainForm):
    """Why skills are rejected."""

    reason = forms.ChoiceField(
        choices=RejectReason.choices,
        error_messages={"required": "Choose a reason.", "invalid_choice": "Choose a reason."},
    )
    text = forms.CharField(max_length=MAX_TEXT, required=False)


class RuntimeForm(PlainForm):
    """Where the agents run. An empty ``auth`` keeps what is stored, unless it is to be forgotten."""

    base_url = forms.CharField(max_length=500)
    runtime_tenant = forms.CharField(max_length=200)
    auth = forms.CharField(required=False)
    forget_auth = forms.BooleanField(required=False)
    is_active = forms.BooleanField(required=False)

    @staticmethod
    def initial_from(runtime: Runtime | None) -> dict[str, Any]:
        """What the form shows; never the authorization."""
        if runtime is None:
            return {"is_active": True}
        return {
            "base_url": runtime.base_url,
            "runtime_tenant": runtime.runtime_tenant,
            "is_active": runtime.is_active,
        }

    @property
    def values(self) -> dict[str, Any]:
        """As ``runtimes.set_runtime`` takes them."""
        typed = self.cleaned_data
        kept = None if not typed["forget_auth"] else ""
        return {
            "base_url": typed["base_url"],
            "runtime_tenant": typed["runtime_tenant"],
            "auth": typed["auth"] or kept,
            "is_active": typed["is_active"],
        }


def lines_of(value: str | list[str] | None) -> list[str]:
    """A precondition or steps as a list of texts."""
    if not value:
        return []
    return [value] if isinstance(value, str) else list(value)


def _lines(text: str) -> list[str]:
    """Without the second character of line breaks, which browsers add, and without blank ends."""
    return [line.rstrip() for line in text.strip().splitlines()]
