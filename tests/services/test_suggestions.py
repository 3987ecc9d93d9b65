"""A suggested rule goes into a draft by a manager's word, once, and a dismissed one stays away."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from reviews.core.learning import Suggestion
from reviews.models import AuditEvent, GroundingSuggestion, PolicyVersion, Tenant
from reviews.models.policies import PolicyState, SuggestionState
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.policies import current_policy, unpublished_versions
from reviews.services.publishing import discard, publish, save_draft, start_shadow
from reviews.services.suggestions import (
    Refreshed,
    accept_suggestion,
    dismiss_suggestion,
    open_suggestions,
    refresh_suggestions,
)
from tests.factories import make_member, make_tenant

pytestmark = pytest.mark.django_db

FRAGMENT = Suggestion("tool_fragment", "checked", "order", 8, 1, (3, 5))
KEY = Suggestion("ignored_key", "due", "due", 12, 0, (7,))
VALUE = Suggestion("ignored_value", "", "REQ-[0-9]{4}", 6, 0, (9,))


def found(tenant: Tenant, *suggestions: Suggestion) -> Refreshed:
    with transaction.atomic():
        return refresh_suggestions(tenant_id=tenant.pk, found=suggestions, at=timezone.now())


def row(tenant: Tenant, suggestion: Suggestion) -> GroundingSuggestion:
    return GroundingSuggestion.objects.for_tenant(tenant).get(rule=suggestion.rule, value=suggestion.value)


def accept(tenant: Tenant, suggestion: Suggestion, actor: Any = None) -> PolicyVersion:
    """Accept it; returns the draft as it is stored."""
    version = accept_suggestion(
        tenant=tenant, actor=actor or make_member(tenant), suggestion_id=row(tenant, suggestion).pk
    )
    return PolicyVersion.objects.for_tenant(tenant).get(pk=version.pk)


# -- Accepting


@pytest.mark.parametrize(
    ("suggestion", "name", "value", "words"),
    [
        (FRAGMENT, "grounding_tool_fragments", {"checked": ["order"]}, "“order” ground “checked”"),
        (KEY, "ignored_keys", ["due"], "The key “due”"),
        (VALUE, "ignored_value_patterns", ["REQ-[0-9]{4}"], "match “REQ-[0-9]{4}”"),
    ],
)
def test_an_accepted_rule_is_in_a_draft_on_the_policy_in_force_and_not_published(
    suggestion, name, value, words
):
    tenant = make_tenant(fabrication_check_mode="refuse")
    max_ = make_member(tenant)
    found(tenant, suggestion)
    draft = accept(tenant, suggestion, max_)
    assert (draft.state, draft.number, draft.author, draft.based_on.number) == (PolicyState.DRAFT, 2, max_, 1)
    assert (draft.settings[name], draft.settings["fabrication_check_mode"]) == (value, "refuse")
    assert words in draft.note
    assert f"for it: {suggestion.agree}" in draft.note
    assert current_policy(tenant=tenant).number == 1
    decided = row(tenant, suggestion)
    assert (decided.state, decided.decided_by, decided.accepted_into) == (
        SuggestionState.ACCEPTED,
        max_,
        draft,
    )
    event = AuditEvent.objects.for_tenant(tenant).get(action="suggestion.accepted")
    assert (event.actor, event.object_id) == (max_, str(decided.pk))
    assert '"policy":2' in event.data


def test_rules_gather_in_the_newest_draft(tenant):
    found(tenant, FRAGMENT, KEY, VALUE)
    for suggestion in (FRAGMENT, KEY, VALUE):
        accept(tenant, suggestion)
    (draft,) = unpublished_versions(tenant=tenant)
    assert draft.number == 4
    assert draft.settings["grounding_tool_fragments"] == {"checked": ["order"]}
    assert (draft.settings["ignored_keys"], draft.settings["ignored_value_patterns"]) == (
        ["due"],
        [VALUE.value],
    )


def test_other_rules_of_the_draft_stay(tenant):
    values = {"grounding_tool_fragments": {"checked": ["look"], "sent": ["fax"]}, "ignored_keys": ["ref"]}
    save_draft(tenant=tenant, author=None, values=values, based_on=1)
    found(tenant, FRAGMENT, KEY)
    accept(tenant, FRAGMENT)
    draft = accept(tenant, KEY)
    assert draft.settings["grounding_tool_fragments"] == {"checked": ["look", "order"], "sent": ["fax"]}
    assert draft.settings["ignored_keys"] == ["ref", "due"]


def test_a_version_in_shadow_goes_on_beside_the_new_draft(tenant):
    shadow = save_draft(tenant=tenant, author=None, values={"ignored_keys": ["ref"]}, based_on=1)
    start_shadow(tenant=tenant, actor=make_member(tenant), number=shadow.number)
    found(tenant, KEY)
    draft = accept(tenant, KEY)
    assert draft.settings["ignored_keys"] == ["ref", "due"]
    states = {version.number: version.state for version in unpublished_versions(tenant=tenant)}
    assert states == {2: PolicyState.SHADOW, 3: PolicyState.DRAFT}


def test_without_any_policy_the_draft_is_on_the_defaults(db):
    tenant = Tenant.objects.create(slug="bare", name="Bare")
    found(tenant, KEY)
    draft = accept(tenant, KEY)
    assert (draft.number, draft.based_on, draft.settings["ignored_keys"]) == (1, None, ["due"])


def test_a_rule_that_the_draft_has_already_makes_no_other_draft(tenant):
    mine = save_draft(tenant=tenant, author=None, values={"ignored_keys": ["due"]}, based_on=1)
    found(tenant, KEY)
    assert accept(tenant, KEY) == mine
    assert row(tenant, KEY).accepted_into == mine
    assert PolicyVersion.objects.for_tenant(tenant).count() == 2


def test_when_the_draft_has_no_room_nothing_is_decided(tenant):
    values = {"ignored_keys": [f"key{n}" for n in range(200)]}
    save_draft(tenant=tenant, author=None, values=values, based_on=1)
    found(tenant, KEY)
    with pytest.raises(InvalidError):
        accept(tenant, KEY)
    assert (row(tenant, KEY).state, row(tenant, KEY).decided_by) == (SuggestionState.OPEN, None)


def test_a_decided_suggestion_is_not_decided_again(tenant):
    max_ = make_member(tenant, username="max")
    found(tenant, KEY, VALUE)
    dismiss_suggestion(tenant=tenant, actor=max_, suggestion_id=row(tenant, KEY).pk)
    accept(tenant, VALUE, max_)
    for suggestion, word in ((KEY, "dismissed by Max"), (VALUE, "accepted by Max")):
        for decide in (accept_suggestion, dismiss_suggestion):
            with pytest.raises(ConflictError, match=word):
                decide(tenant=tenant, actor=max_, suggestion_id=row(tenant, suggestion).pk)
    assert AuditEvent.objects.for_tenant(tenant).filter(action__startswith="suggestion.").count() == 2


def test_another_tenants_suggestion_is_none_here(tenant, other_tenant):
    found(other_tenant, KEY)
    for decide in (accept_suggestion, dismiss_suggestion):
        with pytest.raises(NotFoundError):
            decide(tenant=tenant, actor=make_member(tenant), suggestion_id=row(other_tenant, KEY).pk)
    assert row(other_tenant, KEY).state == SuggestionState.OPEN
    assert open_suggestions(tenant=tenant) == []


def test_of_two_who_decide_at_the_same_moment_one_wins(in_threads):
    tenant = make_tenant()
    found(tenant, KEY, VALUE)
    people = [make_member(tenant) for _ in range(4)]
    target = row(tenant, KEY).pk
    results = in_threads(
        *(
            lambda actor=actor, decide=decide: decide(tenant=tenant, actor=actor, suggestion_id=target)
            for actor, decide in zip(people, [accept_suggestion, dismiss_suggestion] * 2, strict=True)
        )
    )
    assert sum(isinstance(result, ConflictError) for result in results) == 3, results
    drafts = len(unpublished_versions(tenant=tenant))
    assert drafts == (row(tenant, KEY).state == SuggestionState.ACCEPTED)


def test_two_rules_accepted_at_the_same_moment_are_both_in_the_draft(in_threads):
    tenant = make_tenant()
    found(tenant, KEY, VALUE, FRAGMENT)
    people = [make_member(tenant) for _ in range(3)]
    results = in_threads(
        *(
            lambda actor=actor, suggestion=suggestion: accept(tenant, suggestion, actor)
            for actor, suggestion in zip(people, [KEY, VALUE, FRAGMENT], strict=True)
        )
    )
    assert all(isinstance(result, PolicyVersion) for result in results), results
    (draft,) = unpublished_versions(tenant=tenant)
    assert (draft.settings["ignored_keys"], draft.settings["ignored_value_patterns"]) == (
        ["due"],
        [VALUE.value],
    )
    assert draft.settings["grounding_tool_fragments"] == {"checked": ["order"]}


# -- What later searches make of them


def test_open_suggestions_are_refreshed_and_listed_with_the_most_support_first(tenant):
    assert found(tenant, FRAGMENT, KEY, VALUE) == Refreshed(new=3, open=3, withdrawn=0)
    assert [s.value for s in open_suggestions(tenant=tenant)] == ["due", "order", VALUE.value]
    more = Suggestion("ignored_value", "", VALUE.value, 20, 2, (9, 11))
    assert found(tenant, more, KEY) == Refreshed(new=0, open=2, withdrawn=1)
    assert [(s.value, s.agree, s.against) for s in open_suggestions(tenant=tenant)] == [
        (VALUE.value, 20, 2), ("due", 12, 0),
    ]  # fmt: skip
    assert row(tenant, VALUE).turns == [9, 11]


def test_one_that_is_no_longer_found_is_withdrawn_and_comes_back(tenant):
    found(tenant, KEY)
    found(tenant)
    assert row(tenant, KEY).state == SuggestionState.WITHDRAWN
    with pytest.raises(ConflictError, match="no longer supported"):
        accept(tenant, KEY)
    assert found(tenant, KEY) == Refreshed(new=1, open=1, withdrawn=0)
    assert row(tenant, KEY).state == SuggestionState.OPEN


def test_a_dismissed_one_comes_back_with_twice_the_support(tenant):
    found(tenant, KEY)
    dismiss_suggestion(tenant=tenant, actor=make_member(tenant), suggestion_id=row(tenant, KEY).pk)
    assert found(tenant, Suggestion("ignored_key", "due", "due", 23, 0, (7,))) == Refreshed(0, 0, 0)
    assert (row(tenant, KEY).state, row(tenant, KEY).agree) == (SuggestionState.DISMISSED, 12)
    assert found(tenant, Suggestion("ignored_key", "due", "due", 24, 0, (7,))) == Refreshed(1, 1, 0)
    back = row(tenant, KEY)
    assert (back.state, back.agree, back.decided_by, back.decided_at) == (
        SuggestionState.OPEN,
        24,
        None,
        None,
    )


def test_an_accepted_one_stays_accepted(tenant):
    found(tenant, KEY)
    draft = accept(tenant, KEY)
    for again in ((), (Suggestion("ignored_key", "due", "due", 50, 0, (7,)),)):
        assert found(tenant, *again) == Refreshed(0, 0, 0)
    publish(tenant=tenant, actor=None, number=draft.number)
    assert (row(tenant, KEY).state, row(tenant, KEY).agree) == (SuggestionState.ACCEPTED, 12)


def test_a_value_too_long_to_keep_is_left_out(tenant):
    assert found(tenant, Suggestion("tool_fragment", "checked", "x" * 201, 9, 0, (7,))) == Refreshed(0, 0, 0)


def test_an_accepted_one_whose_draft_was_discarded_is_open_again_when_it_is_found(tenant):
    found(tenant, KEY)
    draft = accept(tenant, KEY)
    found(tenant, KEY)
    assert row(tenant, KEY).state == SuggestionState.ACCEPTED
    discard(tenant=tenant, actor=make_member(tenant), number=draft.number)
    found(tenant, KEY)
    assert row(tenant, KEY).state == SuggestionState.OPEN


def test_a_draft_that_was_left_lying_takes_nothing_back(tenant):
    """The rule goes on what is in force, not into a draft made from an older version."""
    old = save_draft(tenant=tenant, author=None, values={"fabrication_check_mode": "revise"}, based_on=1)
    newer = save_draft(tenant=tenant, author=None, values={"fabrication_check_mode": "refuse"}, based_on=1)
    publish(tenant=tenant, actor=None, number=newer.number)
    found(tenant, KEY)
    version = accept(tenant, KEY)
    assert (version.based_on.number, version.settings["fabrication_check_mode"]) == (newer.number, "refuse")
    assert PolicyVersion.objects.for_tenant(tenant).get(number=old.number).state == PolicyState.DRAFT


def test_a_rule_goes_into_the_version_that_was_looked_at(tenant):
    mine = save_draft(tenant=tenant, author=None, values={"fabrication_check_mode": "revise"}, based_on=1)
    save_draft(tenant=tenant, author=None, values={"fabrication_check_mode": "refuse"}, based_on=1)
    found(tenant, KEY)
    manager, suggestion_id = make_member(tenant), row(tenant, KEY).pk
    version = accept_suggestion(
        tenant=tenant, actor=manager, suggestion_id=suggestion_id, based_on=mine.number
    )
    assert (version.based_on, version.settings["fabrication_check_mode"]) == (mine, "revise")
    # That draft has been replaced now: who still looks at it is told, and nothing is decided.
    found(tenant, FRAGMENT)
    with pytest.raises(ConflictError, match="replaced"):
        accept_suggestion(
            tenant=tenant, actor=manager, suggestion_id=row(tenant, FRAGMENT).pk, based_on=mine.number
        )
    assert row(tenant, FRAGMENT).state == SuggestionState.OPEN
