"""Trials: what variants of the critic say of the same past turns, within a budget."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviews.models import CriticVerdict, Job, ModelUse, Tenant, TrialVerdict, Turn
from reviews.models.jobs import JobKind, JobState
from reviews.services import critic_trials, jobs, publishing, review
from reviews.services.critic_trials import Variant
from reviews.services.errors import InvalidError
from tests.factories import make_member, make_tenant, make_turn
from tests.services.critic_model import draft_of, judging, token_of
from tests.services.model_server import completion, fails, send, serving

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def use(settings: Any, url: str) -> None:
    settings.MODEL_BASE_URL, settings.MODEL_NAME, settings.MODEL_RETRIES = url, "small", 0
    settings.MODEL_PRICES, settings.MODEL_CHOICES = (1.0, 10.0), {"large": (2.0, 20.0), "free": None}


def labelled(tenant: Tenant, *labels: str) -> list[Turn]:
    rita = make_member(tenant)
    turns = [make_turn(tenant, f"I sent letter {n}.") for n, _ in enumerate(labels)]
    for turn, label in zip(turns, labels, strict=True):
        review.decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label=label, seen_version=0)
    return turns


def by_draft(handler: Any) -> None:
    """Letter 0 must be revised, says the small model; every letter, says the large one."""
    cautious = handler.question["model"] == "large" or "letter 0" in draft_of(handler.question)
    said: dict[str, Any] = {"verdict": "approve"}
    if cautious:
        said = {"verdict": "revise", "revised_draft": "I will send it."}
    send(handler, 200, completion(json.dumps({"check": token_of(handler.question), **said})))


def try_it(tenant: Tenant, **parameters: Any) -> Job:
    parameters = {"variants": [{"model": "small"}], "budget": 1_000_000, **parameters}
    jobs.start_job(tenant=tenant, kind=JobKind.TRIAL, parameters=parameters, actor=None)
    jobs.run_jobs()
    return Job.objects.for_tenant(tenant).latest("id")


def said(job: Job) -> dict[tuple[int, str], str]:
    rows = TrialVerdict.objects.for_tenant(job.tenant_id).filter(job=job).select_related("turn__payload")
    return {(row.variant, row.turn.payload.draft): row.verdict for row in rows}


def test_two_models_are_asked_about_the_same_labelled_turns(settings, tenant) -> None:
    turns = labelled(tenant, "fabricated", "false_alarm", "unsure")
    make_turn(tenant)
    with serving(by_draft) as server:
        use(settings, server.url)
        job = try_it(tenant, variants=[{"model": "small"}, {"model": "large"}])
    assert (job.state, job.done, job.total) == (JobState.DONE, 2, 2)
    assert said(job) == {
        (0, "I sent letter 0."): "revise",
        (0, "I sent letter 1."): "approve",
        (1, "I sent letter 0."): "revise",
        (1, "I sent letter 1."): "revise",
    }
    rows = TrialVerdict.objects.for_tenant(tenant).filter(job=job)
    assert {row.label for row in rows} == {"fabricated", "false_alarm"}
    assert {row.text for row in rows if row.verdict == "revise"} == {"I will send it."}
    # 1,200 tokens in and 300 out a call, at the prices of either model.
    assert job.result["cost"] == pytest.approx(2 * (0.0012 + 0.003) + 2 * (0.0024 + 0.006))
    assert (job.result["calls"], job.result["tokens"], job.result["ended"]) == (4, 6000, "done")
    used = ModelUse.objects.for_tenant(tenant).get(purpose="trial")
    assert (used.calls, used.reserved, used.tokens_in, used.tokens_out) == (4, 0, 4800, 1200)
    # The turns themselves are as they were.
    assert not CriticVerdict.objects.for_tenant(tenant).exists()
    assert {Turn.objects.for_tenant(tenant).get(pk=turn.pk).critic for turn in turns} == {""}


def test_a_draft_policy_is_tried_before_it_is_published(settings, tenant) -> None:
    make_turn(tenant)
    values = {"core_preferences": [{"statement": "Never promise letters.", "priority": 9}]}
    max_ = make_member(tenant)
    draft = publishing.save_draft(tenant=tenant, author=max_, values=values, based_on=1)
    with serving(judging("approve")) as server:
        use(settings, server.url)
        try_it(tenant, source="recent", variants=[{"policy": draft.number}])
    assert "Never promise letters." in server.requests[0]["messages"][1]["content"]


def test_the_question_can_have_another_text_and_the_answer_is_bound_all_the_same(settings, tenant) -> None:
    make_turn(tenant)
    template = "Be strict. {draft} {core_preferences} {procedural_rules} {sensitive_tag_hit}"
    with serving(judging("approve")) as server:
        use(settings, server.url)
        job = try_it(tenant, source="recent", variants=[{"template": template}])
    assert server.requests[0]["messages"][1]["content"].startswith("Be strict. \n[")
    assert [row.cause for row in TrialVerdict.objects.for_tenant(tenant).filter(job=job)] == [""]


def test_a_trial_ends_at_its_budget(settings, tenant) -> None:
    labelled(tenant, *["fabricated"] * 20)
    with serving(judging("approve")) as server:
        use(settings, server.url)
        # Eight questions of some 6,000 tokens at most are paid for at once; they use 12,000 really.
        job = try_it(tenant, budget=60_000)
    assert (job.state, job.result["ended"]) == (JobState.DONE, "budget")
    assert 0 < job.done < 20
    assert job.result["tokens"] == 1500 * len(server.requests) <= 60_000


def test_failures_are_kept_with_their_cause(settings, tenant) -> None:
    make_turn(tenant)
    with serving(fails(503)) as server:
        use(settings, server.url)
        job = try_it(tenant, source="recent")
    row = TrialVerdict.objects.for_tenant(tenant).get(job=job)
    assert (row.verdict, row.cause) == ("approve", "unavailable")


def test_what_a_trial_takes_is_told_before(settings, tenant) -> None:
    labelled(tenant, "fabricated", "false_alarm")
    use(settings, "http://127.0.0.1:9/v1")
    found = critic_trials.estimate(
        tenant=tenant, variants=[Variant("small", 1), Variant("large", 1)], source="labelled", turns=20
    )
    assert (found.turns, found.calls) == (2, 4)
    assert 0 < found.tokens < found.most_tokens
    # 200 tokens of answer a call are expected; the rest are the questions, the same for either model.
    asked = (found.tokens - 4 * 200) / 4
    assert found.cost == pytest.approx((2 * asked * 3.0 + 2 * 200 * 30.0) / 1_000_000)
    free = critic_trials.estimate(tenant=tenant, variants=[Variant("free", 1)], source="labelled", turns=20)
    assert free.cost is None


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"variants": []}, "variants"),
        ({"variants": [{}, {}, {}]}, "variants"),
        ({"variants": [{}, {}]}, "variants/1"),
        ({"variants": [{"model": "unheard of"}]}, "variants/0/model"),
        ({"variants": [{"policy": 99}]}, "variants/0/policy"),
        ({"variants": [{"template": "no draft in it"}]}, "variants/0/template"),
        ({"variants": [{"template": "{draft} {nothing}"}]}, "variants/0/template"),
        ({"turns": 0}, "turns"),
        ({"turns": True}, "turns"),
        ({"source": "elsewhere"}, "source"),
        ({"budget": 0}, "budget"),
        ({"more": 1}, "more"),
    ],
)
def test_what_is_wrong_with_a_trial_is_named(settings, tenant, parameters, field) -> None:
    labelled(tenant, "fabricated")
    use(settings, "http://127.0.0.1:9/v1")
    with pytest.raises(InvalidError) as caught:
        try_it(tenant, **parameters)
    assert field in caught.value.details["fields"]


def test_without_a_model_or_turns_there_is_no_trial(settings, tenant) -> None:
    use(settings, "http://127.0.0.1:9/v1")
    with pytest.raises(InvalidError, match="no such turns"):
        try_it(tenant)
    labelled(tenant, "fabricated")
    settings.MODEL_BASE_URL = ""
    with pytest.raises(InvalidError) as caught:
        try_it(tenant)
    assert "No model is set up" in caught.value.details["fields"]["variants"]


def test_turns_of_others_are_not_asked_about(settings, tenant) -> None:
    other = make_tenant("other")
    labelled(other, "fabricated")
    mine = labelled(tenant, "fabricated")
    with serving(judging("approve")) as server:
        use(settings, server.url)
        job = try_it(tenant)
    assert job.parameters["ids"] == [mine[0].pk]
    assert len(server.requests) == 1
