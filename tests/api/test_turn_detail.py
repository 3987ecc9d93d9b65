from __future__ import annotations

import pytest

from reviews.formats.record import CriticRecord, IntentRecord, ToolInfo
from reviews.formats.reflection_event import ReflectionEvent
from reviews.models import CriticVerdict, Finding, ReviewDecision, Turn
from reviews.services.critic_review import judge_critic
from reviews.services.reflections import accept_reflection
from tests.factories import CLAIM, call, make_member, make_tenant, make_turn

from .conftest import CONFINING

LOOKUP = "/api/v1/turns/lookup"


def _path(turn: Turn) -> str:
    return f"/api/v1/turns/{turn.pk}"


def test_tells_all_of_a_turn(api, tenant):
    turn = make_turn(
        tenant,
        "  " + CLAIM,
        external_id="run-1",
        user_message="Please send it.",
        hydrated_context="memory",
        tool_calls=[call("search", {"b": 1, "a": [1.0, None]})],
        tools=[ToolInfo(name="search")],
        intent=IntentRecord(label="action", confidence=0.9),
        attributes={"z": 1, "a": "é"},
    )
    body = api.get(_path(turn)).json()
    assert (body["id"], body["external_id"], body["policy_version"]) == (turn.pk, "run-1", 1)
    assert body["draft_offset"] == 2
    payload = body["payload"]
    assert payload["draft"] == "  " + CLAIM
    assert payload["user_message"] == "Please send it."
    assert payload["tool_calls"] == [{"name": "search", "result": {"b": 1, "a": [1.0, None]}}]
    assert payload["earlier_calls"] == []
    assert payload["critic"] is None
    assert payload["attributes"] == {"z": 1, "a": "é"}
    kinds = [finding["kind"] for finding in body["findings"]]
    assert kinds == body["kinds"] == ["verb_claim", "uuid", "kv"]
    first = body["findings"][0]
    start, end = first["span"]
    assert payload["draft"][start + 2 : end + 2] == first["identifier"] == "I sent"
    assert (first["severity"], first["confidence"], first["label"]) == ("medium", 0.8, "")
    assert body["decisions"] == []
    assert (body["gate_reason"], body["critic"]) == ("low_confidence", None)


def test_tells_who_decided_what(api, tenant):
    turn = make_turn(tenant)
    rita = make_member(tenant, username="rita")
    finding = Finding.objects.for_tenant(tenant).filter(turn=turn).first()
    ReviewDecision.objects.across_tenants().create(
        tenant=tenant, turn=turn, finding=finding, actor=rita, action="label", value="fabricated", version=1
    )
    Turn.objects.for_tenant(tenant).filter(pk=turn.pk).update(decided_by=rita, assignee=rita, version=1)
    body = api.get(_path(turn)).json()
    (decision,) = body["decisions"]
    assert (decision["actor"], decision["action"], decision["value"]) == ("rita", "label", "fabricated")
    assert decision["finding"] == finding.pk
    assert (body["decided_by"], body["assignee"], body["version"]) == ("rita", "rita", 1)


def test_tells_what_a_runtimes_critic_said(api, tenant):
    turn = make_turn(tenant, external_id="run-1")
    event = ReflectionEvent(
        run_id="run-1",
        verdict="revise",
        confidence_before=0.42,
        sensitive_tag_hit="payment",
        revised_draft="I have not sent it.",
        matched_preferences=["Be honest."],
        reflection_latency_ms=812.5,
        reflection_tokens_in=1240,
        reflection_tokens_out=96,
    )
    accept_reflection(tenant=tenant, event=event)
    critic = api.get(_path(turn)).json()["critic"]
    assert critic.pop("answered_at")
    assert critic == {
        "state": "done",
        "origin": "runtime",
        "verdict": "revise",
        "degraded": False,
        "cause": "",
        "forced": False,
        "gate_reason": "",
        "confidence": 0.42,
        "threshold": None,
        "sensitive_tag": "payment",
        "revised_draft": "I have not sent it.",
        "refusal_message": "",
        "matched_preferences": ["Be honest."],
        "model": "",
        "tokens_in": 1240,
        "tokens_out": 96,
        "latency_ms": 812.5,
        "cost": None,
        "human": None,
    }
    rita = make_member(tenant, username="rita")
    judge_critic(
        tenant=tenant, actor=rita, turn_id=turn.pk, verdict="refuse", seen_version=0, reason="Too risky."
    )
    human = api.get(_path(turn)).json()["critic"]["human"]
    assert human.pop("at")
    assert human == {"verdict": "refuse", "reason": "Too risky.", "blind": False, "by": "rita"}


def test_tells_what_our_own_critic_said(client_for, settings):
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://127.0.0.1:9", "judge"
    tenant = make_tenant("asking", critic_enabled=True)
    turn, api = make_turn(tenant), client_for(tenant)
    critic = api.get(_path(turn)).json()["critic"]
    # Without an activation record the gate reads the neutral 0.5, below the default threshold.
    assert (critic["state"], critic["origin"], critic["verdict"]) == ("waiting", "ours", "")
    assert (critic["gate_reason"], critic["confidence"], critic["threshold"]) == ("low_confidence", 0.5, 0.6)
    assert (critic["matched_preferences"], critic["tokens_in"], critic["answered_at"]) == ([], None, None)
    rows = CriticVerdict.objects.for_tenant(tenant)
    # The cause of an attempt that failed is not the verdict's: it is still to come.
    rows.update(cause="timeout")
    critic = api.get(_path(turn)).json()["critic"]
    assert (critic["degraded"], critic["cause"]) == (False, "")
    rows.update(state="done", verdict="approve", model="judge-1", tokens_in=7, cost=0.25, latency_ms=30000.0)
    critic = api.get(_path(turn)).json()["critic"]
    assert (critic["verdict"], critic["degraded"], critic["cause"]) == ("approve", True, "timeout")
    assert (critic["model"], critic["tokens_in"], critic["cost"]) == ("judge-1", 7, 0.25)
    assert critic["latency_ms"] == 30000.0


def test_is_found_by_the_senders_id(api, tenant):
    turn = make_turn(tenant, external_id="a/b ?ü")
    response = api.get(LOOKUP, {"external_id": "a/b ?ü"})
    assert response.json() == api.get(_path(turn)).json()


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/turns/0",
        "/api/v1/turns/999999999999999999",
        "/api/v1/turns/" + "9" * 30,
        LOOKUP + "?external_id=x",
    ],
)
def test_a_missing_turn_is_404(api, path):
    response = api.get(path)
    assert response.status_code == 404
    assert response.json() == {"code": "not_found", "message": "There is no such thing here."}


@pytest.mark.parametrize(
    "query", ["", "?external_id=", "?external_id=%00", "?external_id=a&external_id=b", "?id=1"]
)
def test_a_lookup_needs_the_id(api, query):
    response = api.get(LOOKUP + query)
    assert response.status_code == 400
    assert response.json()["code"] == "invalid"


def test_four_queries_for_few_and_many_findings(api, tenant, django_assert_num_queries):
    rita = make_member(tenant, username="rita")
    for draft, decisions in ((CLAIM, 0), (CLAIM * 30, 20)):
        turn = make_turn(tenant, draft, critic=CriticRecord(verdict="approve"))
        CriticVerdict.objects.for_tenant(tenant).filter(turn=turn).update(human="approve", human_by=rita)
        for version in range(1, decisions + 1):
            ReviewDecision.objects.across_tenants().create(
                tenant=tenant, turn=turn, actor=rita, action="note", text="x", version=version
            )
        with django_assert_num_queries(4 + CONFINING):
            assert api.get(_path(turn)).status_code == 200
