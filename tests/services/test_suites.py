"""Suites as a draft of the policy: what they stand on, what stays, and what is wrong by its path."""

from __future__ import annotations

from typing import Any

import pytest

from reviews.core.assertion_suites import MAX_SUITES
from reviews.core.settings import TenantSettings
from reviews.models import AuditEvent, PolicyVersion, Tenant
from reviews.models.policies import PolicyState
from reviews.models.tenants import Role
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.policies import current_policy, policy_of, policy_version
from reviews.services.publishing import discard, publish, save_draft, start_shadow
from reviews.services.suites import editable_policy, save_suites, with_suite
from tests.factories import make_member
from tests.services.asserted import CONTAINS, EXCLUDES, suite_of
from tests.services.asserted import publish as publish_suites

pytestmark = pytest.mark.django_db


def save(tenant: Tenant, *suites: Any, based_on: int = 1, **fields: Any) -> PolicyVersion:
    return save_suites(tenant=tenant, author=None, suites=suites, based_on=based_on, **fields)


def settings_of(version: PolicyVersion) -> TenantSettings:
    return policy_of(version).settings


def names_in(tenant: Tenant, number: int) -> list[str]:
    version = policy_version(tenant=tenant, number=number)
    return [suite.name for suite in settings_of(version).assertion_suites]


def wrong(tenant: Tenant, *suites: Any, **fields: Any) -> set[str]:
    before = PolicyVersion.objects.for_tenant(tenant).count()
    with pytest.raises(InvalidError) as caught:
        save(tenant, *suites, **fields)
    assert PolicyVersion.objects.for_tenant(tenant).count() == before
    return set(caught.value.details["fields"])


def test_suites_become_a_draft_and_the_other_settings_stay(tenant: Tenant) -> None:
    publish_suites(tenant, suite_of("old"), fabrication_check_mode="refuse", identifier_keys=["pnr"])
    max_ = make_member(tenant, Role.MANAGER)
    suites = [suite_of("new"), suite_of("newer", CONTAINS)]
    draft = save_suites(tenant=tenant, author=max_, suites=suites, based_on=2, note="Why")
    assert (draft.number, draft.state, draft.author, draft.note) == (3, PolicyState.DRAFT, max_, "Why")
    assert draft.based_on.number == 2
    assert names_in(tenant, 3) == ["new", "newer"]
    before, after = (settings_of(policy_version(tenant=tenant, number=n)) for n in (2, 3))
    assert after.to_json() | {"assertion_suites": []} == before.to_json() | {"assertion_suites": []}
    assert current_policy(tenant=tenant).number == 2
    publish(tenant=tenant, actor=make_member(tenant, Role.MANAGER), number=3)
    assert [suite.name for suite in current_policy(tenant=tenant).settings.assertion_suites] == [
        "new",
        "newer",
    ]


def test_a_draft_that_is_edited_is_replaced_and_everything_in_it_stays(tenant: Tenant) -> None:
    draft = save_draft(tenant=tenant, author=None, values={"fabrication_check_mode": "refuse"}, based_on=1)
    saved = save(tenant, suite_of(), based_on=draft.number)
    draft.refresh_from_db()
    assert draft.state == PolicyState.SUPERSEDED
    assert settings_of(saved).fabrication_check_mode == "refuse"


def test_the_defaults_can_be_built_on(tenant: Tenant) -> None:
    saved = save(tenant, suite_of(), based_on=0)
    assert settings_of(saved).to_json() | {"assertion_suites": []} == TenantSettings().to_json()
    assert saved.based_on is None


def test_no_suite_takes_them_all_away(tenant: Tenant) -> None:
    publish_suites(tenant, suite_of())
    save(tenant, based_on=2)
    assert names_in(tenant, 3) == []


def test_saving_what_is_there_is_no_change(tenant: Tenant) -> None:
    publish_suites(tenant, suite_of())
    assert wrong(tenant, suite_of(), based_on=2) == set()


def test_the_draft_that_was_edited_may_be_gone(tenant: Tenant) -> None:
    manager = make_member(tenant, Role.MANAGER)
    first = save(tenant, suite_of("one"))
    second = save(tenant, suite_of("two"), based_on=first.number)
    with pytest.raises(ConflictError):
        save(tenant, suite_of("three"), based_on=first.number)
    discard(tenant=tenant, actor=manager, number=second.number)
    with pytest.raises(ConflictError):
        save(tenant, suite_of("three"), based_on=second.number)


def test_a_version_in_shadow_goes_on_as_it_is(tenant: Tenant) -> None:
    first = save(tenant, suite_of("one"))
    start_shadow(tenant=tenant, actor=make_member(tenant, Role.MANAGER), number=first.number)
    save(tenant, suite_of("two"), based_on=first.number)
    first.refresh_from_db()
    assert first.state == PolicyState.SHADOW


def test_a_version_must_be_there(tenant: Tenant, other_tenant: Tenant) -> None:
    publish_suites(other_tenant, suite_of())
    for number in (2, 99):
        with pytest.raises(NotFoundError):
            save(tenant, suite_of(), based_on=number)


def test_what_is_wrong_is_named_by_its_path_among_the_suites(tenant: Tenant) -> None:
    assert wrong(tenant, {"name": "x"}) == {"0/assertions"}
    assert wrong(tenant, suite_of(), suite_of("b", EXCLUDES, {"type": "other"})) == {"1/assertions/1/type"}
    assert wrong(tenant, suite_of(), suite_of()) == {"1/name"}
    assert wrong(tenant, "privacy") == {"0"}
    assert wrong(tenant, *(suite_of(f"s{n}") for n in range(MAX_SUITES + 1))) == {"assertion_suites"}
    assert wrong(tenant, suite_of(), note="x" * 501) == {"note"}
    assert wrong(tenant, suite_of(sampling=2), suite_of("b", queue=1)) == {"0/sampling", "1/queue"}


def test_what_is_looked_for_is_in_no_message(tenant: Tenant) -> None:
    with pytest.raises(InvalidError) as caught:
        save(tenant, suite_of("x", {**EXCLUDES, "fragments": ["swordfish", "swordfish\0"]}))
    assert "swordfish" not in f"{caught.value} {caught.value.details}"


def test_saving_leaves_a_trace(tenant: Tenant) -> None:
    save(tenant, suite_of())
    event = AuditEvent.objects.for_tenant(tenant).latest("sequence")
    assert (event.action, event.object_id) == ("policy.drafted", "2")


# -- What is edited


def test_the_newest_unpublished_version_is_edited_else_the_one_in_force(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    def edited() -> int:
        return editable_policy(tenant=tenant, current=current_policy(tenant=tenant)).number

    assert edited() == 1
    for _ in range(3):
        save(other_tenant, suite_of())
    assert edited() == 1
    save(tenant, suite_of("one"))
    last = save(tenant, suite_of("two"))
    assert edited() == last.number == 3
    discard(tenant=tenant, actor=make_member(tenant, Role.MANAGER), number=3)
    assert edited() == 2


def test_a_suite_takes_the_place_of_another_the_end_or_nothing(tenant: Tenant) -> None:
    publish_suites(tenant, suite_of("a"), suite_of("b"), suite_of("c"))
    suites = current_policy(tenant=tenant).settings.assertion_suites

    def names(position: int | None, suite: dict[str, Any] | None) -> list[str]:
        return [each["name"] for each in with_suite(suites, position=position, suite=suite)]

    new = suite_of("new")
    assert names(None, new) == ["a", "b", "c", "new"]
    assert names(0, new) == ["new", "b", "c"]
    assert names(2, new) == ["a", "b", "new"]
    assert names(1, None) == ["a", "c"]
    assert names(None, None) == ["a", "b", "c"]
    for position in (3, 99):
        with pytest.raises(IndexError):
            names(position, new)
