"""/metrics: there only for the token, and cheap however long the line is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from reviews.models import Turn
from reviews.models.turns import AnalysisState
from reviews.services import monitoring
from tests.factories import make_turn

pytestmark = pytest.mark.django_db

URL = "/metrics"
TOKEN = {"Authorization": "Bearer s3cret"}


@pytest.fixture
def token(settings):
    settings.METRICS_TOKEN = "s3cret"


def values_of(response):
    lines = response.content.decode().splitlines()
    return {name: float(value) for name, value in (x.split(" ") for x in lines if not x.startswith("#"))}


def test_without_a_token_set_there_is_no_such_page(client, settings):
    settings.METRICS_TOKEN = ""
    missing = client.get("/nowhere")
    for headers in ({}, {"Authorization": "Bearer "}, TOKEN):
        response = client.get(URL, headers=headers)
        assert response.status_code == 404
        assert response.content == missing.content


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer wrong", "Bearer s3cret2", "Basic s3cret", "s3cret", "Bearer sécret"]
)
def test_a_wrong_token_finds_nothing(client, token, header):
    assert client.get(URL, headers={"Authorization": header}).status_code == 404


def test_the_token_opens_it_without_login(client, token):
    response = client.get(URL, headers=TOKEN)
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain; version=0.0.4")
    assert values_of(response) == {
        "reviews_turns_pending": 0,
        "reviews_turns_claimed": 0,
        "reviews_turns_failed": 0,
        "reviews_oldest_pending_seconds": 0,
    }


def test_post_is_not_allowed(client, token):
    assert client.post(URL, headers=TOKEN).status_code == 405


def test_turns_are_counted_by_where_they_stand(client, token, tenant, other_tenant):
    turns = [make_turn(tenant, analysed=False) for _ in range(5)] + [make_turn(other_tenant, analysed=False)]
    rows = Turn.objects.across_tenants()
    rows.filter(pk__in=[turns[0].pk, turns[1].pk]).update(analysis_state=AnalysisState.CLAIMED)
    rows.filter(pk=turns[2].pk).update(analysis_state=AnalysisState.FAILED)
    rows.filter(pk=turns[3].pk).update(received_at=timezone.now() - timedelta(seconds=90))
    found = values_of(client.get(URL, headers=TOKEN))
    assert found["reviews_turns_pending"] == 3
    assert found["reviews_turns_claimed"] == 2
    assert found["reviews_turns_failed"] == 1
    assert 89 < found["reviews_oldest_pending_seconds"] < 120


def test_counting_stops_at_the_limit(token, tenant, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(monitoring, "COUNT_LIMIT", 2)
    for _ in range(3):
        make_turn(tenant, analysed=False)
    with django_assert_num_queries(4):
        assert monitoring.analysis_line().pending == 2
