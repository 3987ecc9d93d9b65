"""Tenants and members: who may be what, and that an owner always stays."""

from __future__ import annotations

import pytest

from reviews.models import AuditEvent, Membership, Tenant, User
from reviews.models.tenants import Role
from reviews.services.audit import verify_chain
from reviews.services.errors import ConflictError, InvalidError, NotFoundError
from reviews.services.policies import current_policy
from reviews.services.tenants import (
    LastOwnerError,
    add_member,
    change_role,
    create_tenant,
    remove_member,
)
from tests.factories import make_member


@pytest.fixture
def olga(tenant: Tenant) -> User:
    return make_member(tenant, Role.OWNER, "olga")


def actions(tenant: Tenant) -> list[str]:
    return list(AuditEvent.objects.for_tenant(tenant).order_by("sequence").values_list("action", flat=True))


def role_of(tenant: Tenant, user: User) -> str:
    return Membership.objects.for_tenant(tenant).get(user=user).role


def test_a_new_tenant_has_its_owner_and_the_default_policy(db):
    olga = User.objects.create_user("olga")
    tenant = create_tenant(name=" Acme ", slug="acme", owner=olga)
    assert (tenant.name, role_of(tenant, olga)) == ("Acme", Role.OWNER)
    assert current_policy(tenant=tenant).number == 1
    assert actions(tenant) == ["tenant.created", "member.added", "policy.published"]
    assert list(verify_chain(tenant=tenant)) == []


@pytest.mark.parametrize("slug", ["", "Acme", "a b", "-acme", "acme-", "ä", "a" * 51, "a\n"])
def test_a_slug_that_cannot_be_used_is_named(db, slug):
    with pytest.raises(InvalidError) as refused:
        create_tenant(name="Acme", slug=slug, owner=User.objects.create_user("olga"))
    assert list(refused.value.details["fields"]) == ["slug"]
    assert not Tenant.objects.exists()


def test_a_slug_is_given_once(tenant, olga):
    with pytest.raises(ConflictError, match="already"):
        create_tenant(name="Other", slug=tenant.slug, owner=olga)


def test_a_member_is_added_once(tenant, olga):
    rita = User.objects.create_user("rita")
    add_member(tenant=tenant, author=olga, user=rita, role="reviewer")
    with pytest.raises(ConflictError, match="rita is a member already"):
        add_member(tenant=tenant, author=olga, user=rita, role="viewer")
    assert role_of(tenant, rita) == Role.REVIEWER
    assert actions(tenant)[-1] == "member.added"


def test_an_unknown_role_is_refused(tenant, olga):
    with pytest.raises(InvalidError):
        add_member(tenant=tenant, author=olga, user=User.objects.create_user("rita"), role="king")
    with pytest.raises(InvalidError):
        change_role(tenant=tenant, author=olga, user_id=olga.pk, role="king")


def test_a_role_is_changed_and_recorded_with_what_it_was(tenant, olga):
    rita = make_member(tenant, Role.REVIEWER, "rita")
    change_role(tenant=tenant, author=olga, user_id=rita.pk, role="manager")
    assert role_of(tenant, rita) == Role.MANAGER
    event = AuditEvent.objects.for_tenant(tenant).latest("sequence")
    assert (event.action, event.actor, event.object_id) == ("member.role_changed", olga, str(rita.pk))
    assert event.data == '{"before":"reviewer","role":"manager","username":"rita"}'


def test_the_same_role_again_is_not_recorded(tenant, olga):
    before = actions(tenant)
    change_role(tenant=tenant, author=olga, user_id=olga.pk, role="owner")
    assert actions(tenant) == before


def test_a_removed_member_is_gone_and_the_account_stays(tenant, olga):
    rita = make_member(tenant, Role.REVIEWER, "rita")
    remove_member(tenant=tenant, author=olga, user_id=rita.pk)
    assert not Membership.objects.for_tenant(tenant).filter(user=rita).exists()
    assert User.objects.filter(pk=rita.pk).exists()
    assert actions(tenant)[-1] == "member.removed"


def test_the_last_owner_can_neither_be_demoted_nor_removed(tenant, olga):
    make_member(tenant, Role.MANAGER)
    before = actions(tenant)
    with pytest.raises(LastOwnerError, match="only owner"):
        change_role(tenant=tenant, author=olga, user_id=olga.pk, role="manager")
    with pytest.raises(LastOwnerError, match="only owner"):
        remove_member(tenant=tenant, author=olga, user_id=olga.pk)
    assert role_of(tenant, olga) == Role.OWNER
    assert actions(tenant) == before


def test_one_of_two_owners_can_go(tenant, olga):
    other = make_member(tenant, Role.OWNER)
    change_role(tenant=tenant, author=olga, user_id=olga.pk, role="viewer")
    with pytest.raises(LastOwnerError):
        remove_member(tenant=tenant, author=olga, user_id=other.pk)


def test_another_tenants_member_is_not_found(tenant, other_tenant, olga):
    stranger = make_member(other_tenant, Role.OWNER)
    with pytest.raises(NotFoundError):
        change_role(tenant=tenant, author=olga, user_id=stranger.pk, role="viewer")
    with pytest.raises(NotFoundError):
        remove_member(tenant=tenant, author=olga, user_id=stranger.pk)


def test_two_owners_who_demote_each_other_at_once_leave_one(in_threads, tenant, olga):
    other = make_member(tenant, Role.OWNER)
    results = in_threads(
        lambda: change_role(tenant=tenant, author=olga, user_id=other.pk, role="viewer"),
        lambda: change_role(tenant=tenant, author=other, user_id=olga.pk, role="viewer"),
    )
    assert sum(isinstance(result, LastOwnerError) for result in results) == 1
    assert sum(isinstance(result, Membership) for result in results) == 1
