"""The critic's page: numbers in words, the list of disagreements, the circuit."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from reviews.models import CriticCircuit, DailyCount, ModelUse, Tenant, Turn
from reviews.models.tenants import Role
from reviews.services import critic_review, review
from tests.factories import make_member, make_tenant, make_turn, make_verdict

pytestmark = pytest.mark.django_db


def page(client, tenant: Tenant, query: str = "") -> str:
    response = client.get(reverse("reviews:critic", args=[tenant.slug]) + query)
    assert response.status_code == 200
    return response.content.decode()


def counts(tenant: Tenant, **names: int) -> None:
    today = timezone.now().date()
    for name, count in names.items():
        kind, _, rest = name.partition("_")
        DailyCount.objects.across_tenants().update_or_create(
            tenant=tenant, day=today, name=f"{kind}:{rest}" if rest else name, defaults={"count": count}
        )


def decided(tenant: Tenant, verdict: str, label: str) -> Turn:
    turn = make_turn(tenant)
    make_verdict(turn, verdict=verdict, said=verdict)
    rita = make_member(tenant)
    review.decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label=label, seen_version=0)
    return turn


def test_a_tenant_without_turns_is_told_what_the_critic_is(client, tenant) -> None:
    client.force_login(make_member(tenant, Role.VIEWER))
    text = page(client, tenant)
    assert "Nothing to tell yet" in text
    assert '<span class="tag ">off</span>' in text


def test_without_a_model_it_says_so(client, settings) -> None:
    settings.MODEL_BASE_URL = ""
    tenant = make_tenant("other", critic_enabled=True)
    client.force_login(make_member(tenant, Role.VIEWER))
    assert "No model is set up (MODEL_BASE_URL and MODEL_NAME), so no draft is read." in page(client, tenant)


def test_numbers_are_told_in_words(client, tenant) -> None:
    client.force_login(make_member(tenant, Role.VIEWER))
    counts(tenant, turns=200, gate_low_confidence=30, gate_sensitive_tag=10, gate_confident=160)
    counts(tenant, critic_approve=30, critic_revise=6, critic_degraded=4, cause_timeout=4)
    counts(tenant, latency_500=30, latency_2000=6)
    ModelUse.objects.across_tenants().create(
        tenant=tenant, day=timezone.now().date(), purpose="critic", calls=40, answered=36,
        tokens_in=36_000, tokens_out=1_800, cost=1.25, latency_ms=18_000,
    )  # fmt: skip
    text = page(client, tenant)
    # 40 of 200 fired; 4 of 40 verdicts were degraded; 36 calls took half a second on average.
    assert "The gate fired for 40 of 200 turns in the last 30 days." in text
    assert ">20 %<" in text
    assert ">10 %<" in text
    assert "160 confident enough" in text
    assert "The model took too long: 4" in text
    assert "95 of 100 ≤ 2 s; mean 0.5 s" in text
    assert ">1.25<" in text
    assert "40 of 1,000 calls and 37,800 of 2,000,000 tokens" in text


def test_agreement_is_a_table_with_precision_recall_and_kappa(client, tenant) -> None:
    client.force_login(make_member(tenant, Role.VIEWER))
    for verdict, label, times in (
        ("revise", "fabricated", 12), ("revise", "false_alarm", 8), ("approve", "false_alarm", 10),
        ("approve", "fabricated", 10),
    ):  # fmt: skip
        for _ in range(times):
            decided(tenant, verdict, label)
    counts(tenant, gate_low_confidence=40)
    text = page(client, tenant)
    # 12 of 20 cautious verdicts were right, 12 of 22 fabricated turns were seen. Of 40 pairs 22 agree, and
    # chance would bring (20 * 22 + 20 * 18) / 1600 = 0.5: kappa is (0.55 - 0.5) / 0.5.
    assert "60 % [" in text
    assert "54 % [" in text or "55 % [" in text
    assert "0.10 [" in text


def test_where_reviewers_differ_is_a_list_that_leads_to_the_turns(client, tenant) -> None:
    client.force_login(make_member(tenant, Role.VIEWER))
    missed = decided(tenant, "approve", "fabricated")
    needless = decided(tenant, "refuse", "false_alarm")
    agreed = decided(tenant, "revise", "fabricated")
    overruled = make_turn(tenant)
    make_verdict(overruled, verdict="revise", said="revise")
    critic_review.judge_critic(
        tenant=tenant, actor=make_member(tenant), turn_id=overruled.pk, verdict="approve", seen_version=0,
        reason="It <b>did</b> run.",
    )  # fmt: skip
    counts(tenant, gate_low_confidence=4)

    def shown(query: str) -> set[int]:
        text = page(client, tenant, query)
        turns = (missed, needless, agreed, overruled)
        return {t.pk for t in turns if f'href="{reverse("reviews:turn", args=[tenant.slug, t.pk])}"' in text}

    assert shown("") == {missed.pk, needless.pk, overruled.pk}
    assert shown("?side=missed") == {missed.pk}
    assert shown("?side=needless") == {needless.pk}
    assert shown("?side=overruled") == {overruled.pk}
    assert shown("?side=nonsense") == shown("")
    assert shown("?cursor=nonsense") == shown("")
    assert "It &lt;b&gt;did&lt;/b&gt; run." in page(client, tenant)


def test_more_of_the_list_is_fetched_by_itself(client, tenant) -> None:
    client.force_login(make_member(tenant, Role.VIEWER))
    for _ in range(12):
        decided(tenant, "approve", "fabricated")
    counts(tenant, gate_low_confidence=12)
    text = page(client, tenant)
    assert text.count('class="row differ-row"') == 10
    more = text.partition('data-more><a class="button" href="')[2].partition('"')[0].replace("&amp;", "&")
    response = client.get(more, headers={"HX-Request": "true"})
    assert response.content.decode().count('class="row differ-row"') == 2
    assert b"<html" not in response.content


def test_an_open_circuit_is_in_sight_and_a_manager_closes_it(client, settings) -> None:
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://127.0.0.1:9/v1", "m"
    tenant = make_tenant("other", critic_enabled=True)
    CriticCircuit.objects.across_tenants().create(
        tenant=tenant, failures=8, opened_at=timezone.now(), open_until=timezone.now() + timedelta(minutes=5),
        last_cause="unavailable", last_detail="The model cannot be reached.", times_open=1,
    )  # fmt: skip
    client.force_login(make_member(tenant, Role.VIEWER))
    text = page(client, tenant)
    assert "out of reach" in text
    assert "The model cannot be reached." in text
    assert "Try again now" not in text
    client.force_login(make_member(tenant, Role.MANAGER))
    assert "Try again now" in page(client, tenant)
    client.post(reverse("reviews:close-circuit", args=[tenant.slug]))
    assert CriticCircuit.objects.for_tenant(tenant).get().open_until is None


def test_the_page_asks_no_more_the_more_there_is(client, tenant, django_assert_max_num_queries) -> None:
    client.force_login(make_member(tenant, Role.VIEWER))
    for _ in range(8):
        decided(tenant, "approve", "fabricated")
    counts(tenant, gate_low_confidence=8)
    with django_assert_max_num_queries(18):
        page(client, tenant)
