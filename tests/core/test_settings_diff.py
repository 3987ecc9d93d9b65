"""What differs between two settings, and that nothing that differs is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.settings import Preference, TenantSettings
from reviews.core.settings_diff import Change, settings_diff

BASE = TenantSettings()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, []),
        (
            {"fabrication_check_mode": "observe"},
            {"fabrication_check_mode": "refuse"},
            [Change("fabrication_check_mode", "observe", "refuse")],
        ),
        (
            {"identifier_keys": ("po", "case_no")},
            {"identifier_keys": ("case_no", "rma")},
            [Change("identifier_keys", added=("rma",), removed=("po",))],
        ),
        (
            {"fabrication_refuse_min_confidence_by_kind": {"kv": 0.5}},
            {"fabrication_refuse_min_confidence_by_kind": {"kv": 0.6, "uuid": 0.9}},
            [
                Change("fabrication_refuse_min_confidence_by_kind/kv", 0.5, 0.6),
                Change("fabrication_refuse_min_confidence_by_kind/uuid", None, 0.9),
            ],
        ),
        (
            {"grounding_tool_fragments": {"checked": ("get",)}},
            {"grounding_tool_fragments": {"sent": ("push",)}},
            [
                Change("grounding_tool_fragments/checked", removed=("get",)),
                Change("grounding_tool_fragments/sent", added=("push",)),
            ],
        ),
        (
            {"core_preferences": (Preference("Be kind."),)},
            {"core_preferences": (Preference("Be kind.", 9),)},
            [
                Change(
                    "core_preferences",
                    added=({"statement": "Be kind.", "priority": 9, "sensitive_tags": ()},),
                    removed=({"statement": "Be kind.", "priority": 5, "sensitive_tags": ()},),
                )
            ],
        ),
        # The same words in another order still say something: the order of a list is shown as a change.
        (
            {"read_only_tools": ("a", "b")},
            {"read_only_tools": ("b", "a")},
            [Change("read_only_tools", ("a", "b"), ("b", "a"))],
        ),
    ],
)
def test_the_changes(before, after, expected):
    assert settings_diff(TenantSettings(**before), TenantSettings(**after)) == expected


SETTINGS = st.builds(
    TenantSettings,
    fabrication_check_mode=st.sampled_from(["off", "observe", "refuse"]),
    fabrication_refuse_min_confidence=st.sampled_from([0.5, 0.8]),
    fabrication_refuse_min_confidence_by_kind=st.dictionaries(
        st.sampled_from(["kv", "uuid"]), st.sampled_from([0.1, 0.9])
    ),
    identifier_keys=st.lists(st.sampled_from(["po", "rma", "case"]), unique=True).map(tuple),
    tool_trigger_keywords=st.dictionaries(
        st.sampled_from(["mail", "deploy"]), st.lists(st.sampled_from(["x", "y"]), unique=True).map(tuple)
    ),
    publish_needs_second_manager=st.booleans(),
)


@given(SETTINGS, SETTINGS)
def test_two_settings_differ_exactly_when_there_is_a_change(before, after):
    changes = settings_diff(before, after)
    assert bool(changes) == (before != after)
    assert len({change.path for change in changes}) == len(changes)


@given(SETTINGS, SETTINGS)
def test_the_way_back_is_the_mirror(before, after):
    there, back = settings_diff(before, after), settings_diff(after, before)
    mirrored = {c.path: Change(c.path, c.after, c.before, c.removed, c.added) for c in back}
    assert {c.path: c for c in there} == mirrored
