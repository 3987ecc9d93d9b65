"""Row-level security: on PostgreSQL a confined connection sees one tenant, whatever the query says."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from reviews.models import Finding, Turn
from reviews.models.confinement import confine, confined
from reviews.models.tenants import Role
from tests.factories import make_member, make_turn

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


@pytest.fixture
def two_turns(tenant, other_tenant):
    return make_turn(tenant), make_turn(other_tenant)


def test_a_confined_connection_sees_only_its_tenant(tenant, two_turns):
    with confined(tenant.pk):
        assert [turn.pk for turn in Turn.objects.across_tenants()] == [two_turns[0].pk]
        assert {f.tenant_id for f in Finding.objects.across_tenants()} == {tenant.pk}
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM reviews_turnpayload")
            assert cursor.fetchone() == (1,)
    assert Turn.objects.across_tenants().count() == 2


def test_a_confined_connection_cannot_write_for_another_tenant(tenant, other_tenant, two_turns):
    with confined(tenant.pk):
        assert not Turn.objects.across_tenants().filter(pk=two_turns[1].pk).update(agent="x")
        with pytest.raises(DatabaseError), transaction.atomic():
            make_member(other_tenant, Role.OWNER)


def test_without_the_setting_there_are_no_rows(two_turns):
    confine("")
    try:
        assert Turn.objects.across_tenants().count() == 0
    finally:
        confine("*")


def test_every_table_of_a_tenant_has_the_wall():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.table_name FROM information_schema.columns c "
            "JOIN pg_class t ON t.relname = c.table_name "
            "WHERE c.column_name = 'tenant_id' AND c.table_schema = current_schema() AND t.relkind = 'r' "
            "AND NOT (t.relrowsecurity AND t.relforcerowsecurity)"
        )
        assert cursor.fetchall() == []


def test_a_request_leaves_the_connection_as_it_was(client, tenant, two_turns):
    client.force_login(make_member(tenant, Role.VIEWER))
    assert client.get(f"/t/{tenant.slug}/queue/").status_code == 200
    assert client.get(f"/t/{tenant.slug}/turns/{two_turns[1].pk}/").status_code == 404
    assert Turn.objects.across_tenants().count() == 2
