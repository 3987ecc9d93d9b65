"""The form of a suite of memory assertions: a fieldset an assertion, with the fields that its type takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.http import QueryDict

from reviews.core.assertion_suites import AssertionSpec, AssertionSuite, read_suite
from reviews.list_fields import LinesField, Typed, numbered_lines
from reviews.policy_forms import NoteForm

TYPE_NAMES: Final = {
    "prompt_recall_excludes": "Recall holds none of …",
    "prompt_recall_contains": "Recall holds all of …",
    "memory_category_separated": "Memories keep their category",
    "response_does_not_contradict_recall": "Answer does not contradict recall",
}
TYPE_HINTS: Final = {
    "prompt_recall_excludes": "Fails when any of the texts reached the model in the recalled memory.",
    "prompt_recall_contains": "Fails when any of the texts is missing from the recalled memory.",
    "memory_category_separated": (
        "Fails when a memory is in two categories, in one that is not declared, or about another subject."
    ),
    "response_does_not_contradict_recall": (
        "Fails when a claim of the answer has another value than the same claim in the recalled memory."
    ),
}


class MapField(forms.CharField):
    """A map with one ``name: value`` a line. Cleans to ``Typed``."""

    def __init__(self) -> None:
        super().__init__(required=False, strip=False, max_length=50_000)

    def prepare_value(self, value: Any) -> str:
        return value if isinstance(value, str) else "\n".join(f"{k}: {v}" for k, v in (value or {}).items())

    def clean(self, value: Any) -> Typed:
        found: dict[str, str] = {}
        places: dict[str, str] = {}
        problems = []
        for at, text in numbered_lines(super().clean(value)):
            name, colon, subject = (part.strip() for part in text.partition(": " if ": " in text else ":"))
            if not colon or not name or not subject:
                problems.append(f"Line {at}: write a category, a colon, then its subject.")
            elif name in found:
                problems.append(f"Line {at}: {name} stands on {places[name].lower()} already.")
            else:
                found[name], places[name] = subject, f"Line {at}"
        if problems:
            raise forms.ValidationError(problems)
        return Typed(found, places)


def _text() -> forms.Field:
    return forms.CharField(required=False, max_length=200)


def _number() -> forms.Field:
    return forms.IntegerField(required=False)


def _flag() -> forms.Field:
    return forms.BooleanField(required=False)


#: The fields of a type, by the name of the constructor's argument: label, hint, field, default.
_ATTRIBUTE: Final = ("Attribute", "Where the turn brings it.", _text)
_FRAGMENTS: Final = {
    "fragments": ("Texts", "One a line.", LinesField),
    "attribute": _ATTRIBUTE,
    "case_sensitive": ("Upper and lower case differ", "", _flag),
}
OPTIONS: Final[dict[str, dict[str, tuple[str, str, Any]]]] = {
    "prompt_recall_excludes": _FRAGMENTS,
    "prompt_recall_contains": _FRAGMENTS,
    "memory_category_separated": {
        "expected": ("Categories", "One a line: “billing: customer”, category and subject.", MapField),
        "attribute": _ATTRIBUTE,
        "minimum_per_category": ("Records a category, at least", "", _number),
        "allow_extra": ("Other categories may occur", "", _flag),
    },
    "response_does_not_contradict_recall": {
        "recall_attribute": ("Recalled claims", "Attribute with ids of claims and values.", _text),
        "response_attribute": ("Claims of the answer", "Attribute with ids of claims and values.", _text),
        "minimum": ("Claims in the answer, at least", "", _number),
    },
}


def blank(kind: str) -> AssertionSpec:
    """A new assertion of a type, as the form shows it first."""
    return AssertionSpec(kind, "", dict(_DEFAULTS[kind]))


_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "prompt_recall_excludes": {"attribute": "prompt_recall"},
    "prompt_recall_contains": {"attribute": "prompt_recall"},
    "memory_category_separated": {"attribute": "memory_classifications", "minimum_per_category": 1},
    "response_does_not_contradict_recall": {
        "recall_attribute": "recall_claims",
        "response_attribute": "response_claims",
        "minimum": 1,
    },
}


class SuiteForm(NoteForm):
    """A suite. ``types`` are the types of its assertions, in order; their fields are named ``<n>-<option>``.

    After validation ``suite`` is its JSON form.
    """

    name = forms.CharField(max_length=60)
    agents = LinesField()
    tags = LinesField()
    sampling = forms.FloatField(min_value=0, max_value=1)
    queue = forms.BooleanField(required=False)
    based_on = forms.IntegerField(min_value=0)

    def __init__(self, *args: Any, types: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.types = list(types)
        self.suite: dict[str, Any] = {}
        for n, kind in enumerate(self.types):
            self.fields[f"{n}-label"] = forms.CharField(required=False, max_length=60)
            for option, (_, _, make) in OPTIONS[kind].items():
                self.fields[f"{n}-{option}"] = make()

    @staticmethod
    def types_in(data: QueryDict) -> list[str]:
        """The types that a sent form names; others than ours are left out."""
        return [kind for kind in data.getlist("type") if kind in OPTIONS]

    @staticmethod
    def initial_from(suite: AssertionSuite, number: int) -> dict[str, Any]:
        """What the form shows of a suite of version ``number``."""
        found: dict[str, Any] = {
            "name": suite.name,
            "agents": suite.agents,
            "tags": suite.tags,
            "sampling": suite.sampling,
            "queue": suite.queue,
            "based_on": number,
        }
        for n, spec in enumerate(suite.assertions):
            shown = {**_DEFAULTS[spec.type], **spec.options, "label": spec.label}
            found |= {f"{n}-{option}": value for option, value in shown.items()}
        return found

    def clean(self) -> dict[str, Any]:
        read = self.cleaned_data
        values = {name: _plain(value) for name, value in read.items()}
        self.suite = {
            name: values[name] for name in ("name", "agents", "tags", "sampling", "queue") if name in read
        }
        self.suite["assertions"] = [
            {
                "type": kind,
                "label": values.get(f"{n}-label") or "",
                **{
                    option: values[f"{n}-{option}"]
                    for option in OPTIONS[kind]
                    if values.get(f"{n}-{option}") not in (None, "")
                },
            }
            for n, kind in enumerate(self.types)
        ]
        problems: dict[str, str] = {}
        read_suite(self.suite, "", problems)
        self.add_problems(problems)
        return self.cleaned_data

    def add_problems(self, problems: Mapping[str, str]) -> None:
        """Put each problem of a suite beside the field, and the line, that it is about."""
        # What could not be read is marked already, and then also missing. Marking takes values out.
        unread, read = set(self.errors), dict(self.cleaned_data)
        for path, text in problems.items():
            name, rest = self._field_of(path.strip("/"))
            typed = read.get(name)
            place = typed.place_of(rest) if isinstance(typed, Typed) else ""
            if name not in self.fields:
                self.add_error(None, text)
            elif name not in unread:
                self.add_error(name, f"{place}: {text}" if place else text)

    def _field_of(self, path: str) -> tuple[str, str]:
        """The field that a path within the suite is about, and the rest of the path."""
        head, _, rest = path.partition("/")
        if head != "assertions" or not rest:
            return head, rest
        number, _, inner = rest.partition("/")
        option, _, rest = inner.partition("/")
        # What is wrong with an assertion as a whole stands beside the first of its fields.
        kind = self.types[int(number)]
        return f"{number}-{option or next(iter(OPTIONS[kind]))}", rest


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Typed) else value
