"""Trials on the page: the cost first, then the start, then the two side by side."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from reviews.models import Job, Tenant
from reviews.models.tenants import Role
from reviews.services import jobs, publishing, review
from tests.factories import make_member, make_turn
from tests.services.critic_model import judging
from tests.services.model_server import serving

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client, tenant: Tenant, settings: Any) -> Any:
    settings.MODEL_BASE_URL, settings.MODEL_NAME, settings.MODEL_RETRIES = "http://127.0.0.1:9/v1", "small", 0
    settings.MODEL_PRICES, settings.MODEL_CHOICES = (1.0, 10.0), {"large": None}
    max_ = make_member(tenant, Role.MANAGER)
    client.force_login(max_)
    return max_


def labelled(tenant: Tenant) -> None:
    turn = make_turn(tenant)
    review.decide_turn(
        tenant=tenant, actor=make_member(tenant), turn_id=turn.pk, label="fabricated", seen_version=0
    )


def form(**changes: Any) -> dict[str, Any]:
    return {"source": "labelled", "turns": "20", "model_0": "small", "policy_0": "1", **changes}


def post(client, tenant: Tenant, data: dict[str, Any], **headers: str) -> Any:
    return client.post(reverse("reviews:critic-trials", args=[tenant.slug]), data, headers=headers)


def test_the_cost_is_shown_before_anything_is_started(client, tenant, manager) -> None:
    labelled(tenant)
    response = post(client, tenant, form(estimate="1"))
    assert response.status_code == 200
    text = response.content.decode()
    assert "1 call about 1 turn: some" in text
    assert 'name="budget" min="1" value="' in text
    assert not Job.objects.for_tenant(tenant).filter(kind="trial").exists()
    # Without a budget, "start" too only shows the cost.
    assert post(client, tenant, form(start="1")).status_code == 200
    assert not Job.objects.for_tenant(tenant).filter(kind="trial").exists()


def test_a_trial_is_started_watched_and_read_side_by_side(client, tenant, manager, settings) -> None:
    labelled(tenant)
    two = form(compare="on", model_1="large", policy_1="1", budget="100000", start="1")
    response = post(client, tenant, two)
    job = Job.objects.for_tenant(tenant).get(kind="trial")
    url = reverse("reviews:critic-trial", args=[tenant.slug, job.pk])
    assert (response.status_code, response.url) == (302, url)
    assert job.started_by == manager
    waiting = client.get(url).content.decode()
    assert f'hx-get="{url}?seen=' in waiting
    seen = waiting.partition("?seen=")[2].partition('"')[0]
    assert client.get(f"{url}?seen={seen}", headers={"HX-Request": "true"}).status_code == 204
    with serving(judging("revise", revised_draft="I <i>will</i> send it.")) as server:
        settings.MODEL_BASE_URL = server.url
        jobs.run_jobs()
    text = client.get(f"{url}?seen={seen}", headers={"HX-Request": "true"}).content.decode()
    assert "A: small by version 1" in text
    assert "B: large by version 1" in text
    assert "0 approved, 1 to revise, 0 to refuse." in text
    assert "I &lt;i&gt;will&lt;/i&gt; send it." in text
    assert "hx-get" not in text
    assert url in client.get(reverse("reviews:critic", args=[tenant.slug])).content.decode()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"turns": "0"}, "greater than or equal to 1"),
        ({"model_0": "unheard of"}, "Must be one of small, large."),
        ({"policy_0": "99"}, "There is no version 99"),
        ({"template_0": "No place for it."}, "must show the draft"),
        ({"compare": "on", "model_1": "small", "policy_1": "1"}, "The two variants are the same."),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_kept(client, tenant, manager, changes, said) -> None:
    labelled(tenant)
    response = post(client, tenant, form(**changes))
    assert response.status_code == 422
    assert said in response.content.decode()
    for value in changes.values():
        assert value in ("on", "unheard of", "99") or value in response.content.decode()


def test_one_trial_at_a_time(client, tenant, manager) -> None:
    labelled(tenant)
    start = form(budget="100000", start="1")
    assert post(client, tenant, start).status_code == 302
    again = post(client, tenant, start)
    assert again.status_code == 409
    assert "waiting already" in again.content.decode()


def test_a_trial_can_be_stopped(client, tenant, manager) -> None:
    labelled(tenant)
    post(client, tenant, form(budget="100000", start="1"))
    job = Job.objects.for_tenant(tenant).get(kind="trial")
    client.post(reverse("reviews:cancel-trial", args=[tenant.slug, job.pk]))
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_a_draft_of_the_policy_is_offered_where_it_is_tried_from(client, tenant, manager) -> None:
    draft = publishing.save_draft(tenant=tenant, author=manager, values={}, based_on=0)
    url = reverse("reviews:critic", args=[tenant.slug])
    text = client.get(f"{url}?try={draft.number}").content.decode()
    assert f'<option value="{draft.number}" selected>version {draft.number}, draft</option>' in text


def test_who_does_not_manage_sees_results_and_no_form(client, tenant, settings) -> None:
    client.force_login(make_member(tenant, Role.REVIEWER))
    text = client.get(reverse("reviews:critic", args=[tenant.slug])).content.decode()
    assert "The latest" in text
    assert "estimate-trial" not in text
