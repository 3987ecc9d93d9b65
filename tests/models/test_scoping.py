"""A tenant's table has no query that forgot to say which tenant."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import models
from django.db.models import Count

from reviews.models import Finding, Tenant, Turn
from reviews.models.scoping import TenantModel, UnscopedQueryError
from tests.factories import make_member, make_turn
from tests.models.rows import fill_every_table

TENANT_MODELS = [
    model for model in apps.get_models() if any(field.name == "tenant" for field in model._meta.get_fields())
]

UNSCOPED = {
    "all": lambda objects: objects.all(),
    "filter": lambda objects: objects.filter(pk=1),
    "exclude": lambda objects: objects.exclude(pk=1),
    "get": lambda objects: objects.get(pk=1),
    "first": lambda objects: objects.first(),
    "count": lambda objects: objects.count(),
    "exists": lambda objects: objects.exists(),
    "values": lambda objects: objects.values("pk"),
    "in_bulk": lambda objects: objects.in_bulk([1]),
    "aggregate": lambda objects: objects.aggregate(Count("pk")),
    "update": lambda objects: objects.update(tenant=1),
    "create": lambda objects: objects.create(),
    "bulk_create": lambda objects: objects.bulk_create([]),
    "get_queryset": lambda objects: objects.get_queryset(),
}


def test_there_are_tables_that_belong_to_a_tenant():
    assert {Turn, Finding} <= set(TENANT_MODELS)


@pytest.mark.parametrize("model", TENANT_MODELS, ids=lambda m: m.__name__)
def test_every_table_with_a_tenant_uses_the_scoped_manager(model):
    assert issubclass(model, TenantModel)
    assert model._default_manager is model.objects or model._default_manager.name == "objects"


@pytest.mark.django_db
@pytest.mark.parametrize("query", UNSCOPED)
@pytest.mark.parametrize("model", TENANT_MODELS, ids=lambda m: m.__name__)
def test_a_query_without_a_tenant_raises(model, query):
    with pytest.raises(UnscopedQueryError, match=model.__name__):
        UNSCOPED[query](model.objects)
    with pytest.raises(UnscopedQueryError):
        UNSCOPED[query](model._default_manager)


def test_for_tenant_returns_rows_of_that_tenant_and_of_no_other(tenant, other_tenant):
    fill_every_table(tenant)
    fill_every_table(other_tenant)
    for model in TENANT_MODELS:
        for mine in (tenant, other_tenant):
            found = list(model.objects.for_tenant(mine))
            assert found, f"{model.__name__} has no row: add one to fill_every_table"
            assert {row.tenant_id for row in found} == {mine.pk}, model.__name__
            by_id = model.objects.for_tenant(mine.pk)
            assert {row.pk for row in by_id} == {row.pk for row in found}, model.__name__
        both = model.objects.for_tenant(tenant).count() + model.objects.for_tenant(other_tenant).count()
        assert model.objects.across_tenants().count() == both


def test_a_strangers_row_cannot_be_had_by_its_key(tenant, other_tenant):
    fill_every_table(tenant)
    for model in TENANT_MODELS:
        row = model.objects.for_tenant(tenant).first()
        with pytest.raises(model.DoesNotExist):
            model.objects.for_tenant(other_tenant).get(pk=row.pk)


def test_a_tenant_without_rows_has_none(other_tenant, db):
    empty = Tenant.objects.create(slug="empty", name="Empty")
    make_turn(other_tenant)
    assert not Turn.objects.for_tenant(empty).exists()


def test_related_managers_reach_the_rows_of_their_row_only(tenant):
    fill_every_table(tenant)
    first, second = make_turn(tenant), make_turn(tenant)
    assert first.findings.count() > 0
    assert {f.turn_id for f in first.findings.all()} == {first.pk}
    assert {f.turn_id for f in second.findings.filter(position=0)} == {second.pk}
    assert first.payload.turn_id == first.pk
    assert not first.decisions.exists()


def test_related_rows_can_be_prefetched(tenant, django_assert_num_queries):
    turns = [make_turn(tenant) for _ in range(3)]
    with django_assert_num_queries(2):
        found = list(Turn.objects.for_tenant(tenant).prefetch_related("findings"))
        loaded = {turn.pk: len(turn.findings.all()) for turn in found}
    assert loaded == {turn.pk: turn.finding_count for turn in turns}


def test_a_persons_memberships_are_reached_from_the_person(tenant, other_tenant):
    rita = make_member(tenant, username="rita")
    make_member(other_tenant, username="rita")
    make_member(tenant, username="somebody-else")
    assert {m.tenant_id for m in rita.memberships.all()} == {tenant.pk, other_tenant.pk}


def test_the_manager_of_a_class_stays_closed_after_a_related_one_was_used(tenant):
    turn = make_turn(tenant)
    list(turn.findings.all())
    with pytest.raises(UnscopedQueryError):
        Finding.objects.all()


def test_the_base_of_tenant_tables_is_no_table_itself():
    assert TenantModel._meta.abstract
    assert issubclass(UnscopedQueryError, RuntimeError)
    assert isinstance(TenantModel._meta.get_field("tenant"), models.ForeignKey)
