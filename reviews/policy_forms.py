"""The form of all of a tenant's settings: what is typed is read, what is wrong with it finds its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from django import forms

from reviews.core.fabrication import FabricationKind
from reviews.core.settings import SettingsError, TenantSettings, parse_settings
from reviews.forms import PlainForm
from reviews.list_fields import LinesField, PairsField, PreferencesField, Typed
from reviews.setting_words import BY_KIND, MODE_NAMES, PROFILE_NAMES, SETTINGS, SOURCE_NAMES

KINDS: tuple[str, ...] = get_args(FabricationKind)


def kind_field(kind: str) -> str:
    """The name of the field with one kind's threshold: also the path that the settings call it by."""
    return f"{BY_KIND}/{kind}"


class NoteForm(PlainForm):
    """A sentence about why."""

    note = forms.CharField(required=False, max_length=500)


class PolicyForm(NoteForm):
    """All settings; ``based_on`` is the number of the version they are edited from.

    After validation ``values`` holds what could be read, as the settings take it. The thresholds of single
    kinds are fields of their own, added in ``__init__``.
    """

    fabrication_check_mode = forms.ChoiceField(choices=list(MODE_NAMES.items()))
    detection_profile = forms.ChoiceField(choices=list(PROFILE_NAMES.items()))
    identifier_keys = LinesField()
    tool_trigger_keywords = PairsField(what="the tool's name")
    fabrication_refuse_min_confidence = forms.FloatField(min_value=0, max_value=1)
    fabrication_confidence_source = forms.ChoiceField(choices=list(SOURCE_NAMES.items()))
    grounding_tool_fragments = PairsField(what="the verb")
    ignored_keys = LinesField()
    ignored_value_patterns = LinesField()
    critic_enabled = forms.BooleanField(required=False)
    critic_daily_calls = forms.IntegerField()
    critic_daily_tokens = forms.IntegerField()
    critic_concurrency = forms.IntegerField()
    critic_blind_review = forms.BooleanField(required=False)
    metacognition_confidence_threshold = forms.FloatField(min_value=0, max_value=1)
    metacognition_sensitive_tags = LinesField()
    core_preferences = PreferencesField()
    metacognition_selective_gate = forms.BooleanField(required=False)
    metacognition_trivial_ack_patterns = LinesField()
    read_only_tools = LinesField()
    promotion_min_pattern_count = forms.IntegerField()
    promotion_recency_days = forms.IntegerField()
    promotion_max_drafts_per_run = forms.IntegerField()
    phase_12_use_llm_extractor = forms.BooleanField(required=False)
    phase_12_llm_max_episodes_per_run = forms.IntegerField()
    phase_12_llm_max_drafts_per_run = forms.IntegerField()
    phase_12_promote_assistant_content = forms.BooleanField(required=False)
    phase_12_action_type_from_tool_calls = forms.BooleanField(required=False)
    skill_confidence_threshold = forms.FloatField(min_value=0, max_value=1)
    skills_need_second_person = forms.BooleanField(required=False)
    audit_sample_rate = forms.FloatField(min_value=0, max_value=1)
    publish_needs_second_manager = forms.BooleanField(required=False)
    based_on = forms.IntegerField(min_value=0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in KINDS:
            self.fields[kind_field(kind)] = forms.FloatField(required=False, min_value=0, max_value=1)
        self.values: dict[str, Any] = {}
        self._typed: dict[str, Typed] = {}

    @staticmethod
    def initial_from(settings: TenantSettings, number: int) -> dict[str, Any]:
        """What the form shows for the settings of a version."""
        by_kind = settings.fabrication_refuse_min_confidence_by_kind
        return {
            **{name: getattr(settings, name) for name in SETTINGS if name != BY_KIND},
            **{kind_field(kind): by_kind.get(kind) for kind in KINDS},
            "based_on": number,
        }

    def clean(self) -> dict[str, Any]:
        """Say all that is wrong at once: also what can be read but not used, in fields that were read."""
        read = self.cleaned_data
        self._typed = {name: value for name, value in read.items() if isinstance(value, Typed)}
        self.values = {name: read[name] for name in SETTINGS if name in read}
        self.values |= {name: typed.value for name, typed in self._typed.items()}
        by_kind = {kind: read.get(kind_field(kind)) for kind in KINDS}
        self.values[BY_KIND] = {kind: value for kind, value in by_kind.items() if value is not None}
        try:
            parse_settings(self.values)
        except SettingsError as error:
            self.add_problems(error.problems)
        return self.cleaned_data

    def add_problems(self, problems: Mapping[str, str]) -> None:
        """Put each problem beside its field, with the line or row that it is about."""
        for path, text in problems.items():
            name, _, rest = path.partition("/")
            typed = self._typed.get(name)
            place = typed.place_of(rest) if typed and path not in self.fields else ""
            if place:
                self.add_error(name, f"{place}: {text}")
            else:
                super().add_problems({path if path in self.fields else name: text})
