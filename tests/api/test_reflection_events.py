from __future__ import annotations

import json

import pytest

from reviews.models import CriticVerdict, Turn
from tests.factories import CLAIM, make_tenant, make_turn

EVENTS = "/api/v1/events/reflection"


def _event(run_id="run-1", **fields):
    return {
        "run_id": run_id,
        "verdict": "revise",
        "confidence_before": 0.42,
        "sensitive_tag_hit": "payment",
        "original_draft": CLAIM,
        "revised_draft": "I have not sent it.",
        "refusal_message": None,
        "matched_preferences": ["Be honest."],
        "reflection_latency_ms": 812.5,
        "reflection_tokens_in": 1240,
        "reflection_tokens_out": 96,
        **fields,
    }


def _value(**fields):
    return {
        "verdict": "refuse",
        "confidence_before": 0.3,
        "sensitive_tag_hit": None,
        "revised_draft": None,
        "refusal_message": "I must not say.",
        "matched_preferences": [],
        "reflection_latency_ms": 5.0,
        **fields,
    }


def test_an_event_is_taken_as_it_is_emitted(api, tenant):
    response = api.send(EVENTS, _event())
    assert response.status_code == 201
    turn = Turn.objects.for_tenant(tenant).get()
    assert response.json() == {"status": "accepted", "id": turn.pk, "external_id": "run-1", "stands": True}
    body = api.get(f"/api/v1/turns/{turn.pk}").json()
    assert (body["source"], body["review_state"], body["payload"]["draft"]) == ("event", "open", CLAIM)
    assert (body["critic"]["origin"], body["critic"]["verdict"]) == ("runtime", "revise")
    assert body["critic"]["revised_draft"] == "I have not sent it."


@pytest.mark.parametrize("name", ["run_id", "external_id"])
def test_a_recorded_value_is_attached_to_the_turn_it_names(api, tenant, name):
    turn = make_turn(tenant, external_id="run-1")
    response = api.send(EVENTS, _value(**{name: "run-1", "provenance": "critic-reflection-v1"}))
    assert (response.status_code, response.json()["id"]) == (201, turn.pk)
    body = api.get(f"/api/v1/turns/{turn.pk}").json()
    assert (body["critic"]["verdict"], body["critic"]["refusal_message"]) == ("refuse", "I must not say.")
    assert body["payload"]["critic"] == {
        "verdict": "refuse",
        "confidence_before": 0.3,
        "refusal_message": "I must not say.",
        "reflection_latency_ms": 5.0,
    }


def test_again_is_a_duplicate_and_another_a_conflict(api):
    first = api.send(EVENTS, _event()).json()
    again = api.send(EVENTS, _event())
    assert (again.status_code, again.json()) == (200, {**first, "status": "duplicate"})
    other = api.send(EVENTS, _event(verdict="approve", revised_draft=None))
    assert other.status_code == 409
    assert other.json() == {
        **first,
        "status": "conflict",
        "stands": False,
        "code": "conflict",
        "message": "This turn holds another verdict of its runtime already; nothing was changed.",
    }


def test_the_answer_tells_when_our_own_critics_verdict_stays(client_for, settings):
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://127.0.0.1:9", "judge"
    tenant = make_tenant("asking", critic_enabled=True)
    make_turn(tenant, external_id="run-1")
    CriticVerdict.objects.for_tenant(tenant).update(state="done", verdict="approve", said="approve")
    response = client_for(tenant).send(EVENTS, _event())
    assert (response.status_code, response.json()["stands"]) == (201, False)
    assert CriticVerdict.objects.for_tenant(tenant).get().origin == "ours"


def test_a_turn_sent_afterwards_fills_it_in(api, tenant):
    first = api.send(EVENTS, _event()).json()
    response = api.send("/api/v1/turns", {"external_id": "run-1", "draft": CLAIM, "agent": "ann"})
    assert (response.status_code, response.json()["id"]) == (201, first["id"])
    body = api.get(f"/api/v1/turns/{first['id']}").json()
    assert (body["agent"], body["critic"]["verdict"]) == ("ann", "revise")


@pytest.mark.parametrize("as_lines", [False, True])
def test_of_many_the_good_ones_are_kept(api, tenant, as_lines):
    wrong = _event("bad", verdict="shrug")
    rows = [_event("a"), wrong, _event("a"), _event("b"), _event("a", confidence_before=0.1)]
    if as_lines:
        response = api.send(EVENTS, "\n".join(map(json.dumps, rows)), content_type="application/x-ndjson")
    else:
        response = api.send(EVENTS, rows)
    assert response.status_code == 200
    body = response.json()
    assert [body[name] for name in ("accepted", "duplicates", "conflicts", "invalid")] == [2, 1, 1, 1]
    results = body["results"]
    assert [result["index"] for result in results] == [0, 1, 2, 3, 4]
    assert results[1]["pointer"] == "/verdict"
    assert results[1].get("line") == (2 if as_lines else None)
    assert [result.get("stands") for result in results] == [True, None, True, True, False]
    assert Turn.objects.for_tenant(tenant).count() == 2


def test_a_list_is_answered_as_one_however_short(api):
    assert api.send(EVENTS, []).json()["results"] == []
    (result,) = api.send(EVENTS, [_event()]).json()["results"]
    assert (result["index"], result["status"], result["stands"]) == (0, "accepted", True)


def test_as_many_as_turns_and_no_more(api, tenant):
    rows = [{"run_id": f"r{n}", "verdict": "approve"} for n in range(1001)]
    assert api.send(EVENTS, rows).status_code == 400
    assert not Turn.objects.for_tenant(tenant).exists()
    assert api.send(EVENTS, rows[:1000]).json()["accepted"] == 1000


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"verdict": "shrug"}, "/verdict"),
        ({"confidence_before": 1.5}, "/confidence_before"),
        ({"run_id": "x" * 201}, "/run_id"),
        ({"revised_draft": "\0"}, "/revised_draft"),
        ({"revised_draft": "\udfff"}, "/revised_draft"),
        ({"matched_preferences": ["a", {}]}, "/matched_preferences/1"),
        ({"reflection_tokens_out": 2**31}, "/reflection_tokens_out"),
        ({"a/b": 1}, "/a~1b"),
    ],
)
def test_a_wrong_event_is_refused_with_the_spot(api, tenant, change, pointer):
    response = api.send(EVENTS, {**_event(), **change})
    assert response.status_code == 400
    assert (response.json()["code"], response.json()["pointer"]) == ("invalid", pointer)
    assert not Turn.objects.for_tenant(tenant).exists()


def test_the_largest_values_are_no_error_of_ours(api, tenant):
    event = _event(
        sensitive_tag_hit="t" * 10_000,
        reflection_latency_ms=1e308,
        reflection_tokens_in=2**31 - 1,
        revised_draft="ä" * 400_000,
        matched_preferences=["p" * 1000] * 1000,
    )
    assert api.send(EVENTS, event).status_code == 201
    assert api.send(EVENTS, event).status_code == 200


def test_of_two_tenants_are_two_turns(api, other_api, tenant, other_tenant):
    turn = make_turn(tenant, external_id="run-1")
    response = other_api.send(EVENTS, _event())
    assert response.status_code == 201
    assert response.json()["id"] == Turn.objects.for_tenant(other_tenant).get().pk != turn.pk
    assert api.get(f"/api/v1/turns/{turn.pk}").json()["critic"] is None
