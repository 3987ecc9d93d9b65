from __future__ import annotations

import pytest

from reviews.core.outcome import SAFE_REFUSAL
from reviews.models import DailyCount, Finding, Turn, TurnPayload
from reviews.models.turns import AnalysisState, ReviewState, Source
from reviews.services.publishing import publish_settings
from tests.factories import CLAIM

CHECK = "/api/v1/check"


def _body(draft=CLAIM, external_id="run-1", **fields):
    return {"external_id": external_id, "draft": draft, **fields}


def test_answers_with_the_findings_and_stores_the_turn(api, tenant):
    response = api.send(CHECK, _body())
    assert response.status_code == 200
    body = response.json()
    turn = Turn.objects.for_tenant(tenant).get()
    assert {name: value for name, value in body.items() if name != "findings"} == {
        "id": turn.pk,
        "external_id": "run-1",
        "status": "accepted",
        "policy_version": 1,
        "outcome": "observed",
        "mode": "observe",
        "max_finding_confidence": 0.95,
        "refuse_threshold": 0.8,
        "safe_refusal": None,
        "forced_critic_verdict": None,
    }
    assert [finding["kind"] for finding in body["findings"]] == ["verb_claim", "uuid", "kv"]
    assert body["findings"][0] == {
        "identifier": "I sent",
        "kind": "verb_claim",
        "severity": "medium",
        "reason": body["findings"][0]["reason"],
        "key": None,
        "pattern_kind": "verb_claim",
        "confidence": 0.8,
        "span": [0, 6],
    }
    assert (turn.source, turn.analysis_state, turn.review_state) == (
        Source.CHECK,
        AnalysisState.DONE,
        ReviewState.OPEN,
    )
    assert Finding.objects.for_tenant(tenant).filter(turn=turn).count() == 3
    assert DailyCount.objects.for_tenant(tenant).get(name="turns").count == 1


def test_a_clean_draft_has_no_findings(api):
    body = api.send(CHECK, _body("Nothing is claimed.")).json()
    assert (body["outcome"], body["findings"], body["max_finding_confidence"]) == ("none", [], 0.0)


def test_refuse_hands_out_the_refusal(api, tenant):
    publish_settings(tenant=tenant, author=None, values={"fabrication_check_mode": "refuse"})
    body = api.send(CHECK, _body()).json()
    assert (body["outcome"], body["safe_refusal"]) == ("refuse_replaced", SAFE_REFUSAL)
    assert (body["mode"], body["policy_version"]) == ("refuse", 2)


def test_revise_forces_the_critic(api, tenant):
    publish_settings(tenant=tenant, author=None, values={"fabrication_check_mode": "revise"})
    body = api.send(CHECK, _body()).json()
    assert (body["outcome"], body["forced_critic_verdict"]) == ("revise_forced", "revise")


def test_off_finds_nothing(api, tenant):
    publish_settings(tenant=tenant, author=None, values={"fabrication_check_mode": "off"})
    body = api.send(CHECK, _body()).json()
    assert (body["outcome"], body["mode"], body["findings"]) == ("none", "off", [])


def test_again_is_answered_again(api, tenant):
    first = api.send(CHECK, _body()).json()
    again = api.send(CHECK, _body())
    assert again.status_code == 200
    assert again.json() == {**first, "status": "duplicate"}
    assert Turn.objects.for_tenant(tenant).count() == 1
    assert DailyCount.objects.for_tenant(tenant).get(name="turns").count == 1


def test_a_conflict_is_judged_and_not_stored(api, tenant):
    first = api.send(CHECK, _body("Nothing is claimed.")).json()
    response = api.send(CHECK, _body())
    assert response.status_code == 409
    body = response.json()
    assert (body["code"], body["status"], body["id"]) == ("conflict", "conflict", first["id"])
    assert len(body["findings"]) == 3
    assert TurnPayload.objects.for_tenant(tenant).get().draft == "Nothing is claimed."


def test_a_turn_sent_before_is_the_same_turn(api, tenant):
    assert api.send("/api/v1/turns", _body()).status_code == 201
    body = api.send(CHECK, _body()).json()
    assert body["status"] == "duplicate"
    assert len(body["findings"]) == 3


@pytest.mark.parametrize(
    "body", ['[{"external_id": "a", "draft": "x"}]', '{"external_id": "a", "draft": "x"}\n{}']
)
def test_takes_one_turn_only(api, tenant, body):
    assert api.send(CHECK, body).status_code == 400
    assert not Turn.objects.for_tenant(tenant).exists()


def test_queries_do_not_grow_with_the_findings(api, django_assert_max_num_queries):
    api.send(CHECK, _body(external_id="warm-up"))
    for draft in ("Nothing.", CLAIM * 50):
        # With findings: the profile is looked up and counted, too.
        with django_assert_max_num_queries(12):
            assert api.send(CHECK, _body(draft, external_id=f"run-{len(draft)}")).status_code == 200
