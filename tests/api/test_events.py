from __future__ import annotations

import json

import pytest

from reviews.core.fabrication import detect_fabrication
from reviews.core.outcome import apply_fabrication_policy
from reviews.models import Turn, TurnPayload
from tests.factories import CLAIM, make_turn

EVENTS = "/api/v1/events/fabrication"
FINDING = {"identifier": "x", "kind": "kv", "severity": "low", "confidence": 1}


def _event(run_id="run-1", mode="refuse"):
    outcome = apply_fabrication_policy(findings=detect_fabrication(CLAIM), mode=mode, draft=CLAIM)
    return outcome.to_event_payload(run_id, CLAIM)


def test_an_event_is_taken_as_it_is_emitted(api, tenant):
    response = api.send(EVENTS, _event())
    assert response.status_code == 201
    turn = Turn.objects.for_tenant(tenant).get()
    assert response.json() == {"status": "accepted", "id": turn.pk, "external_id": "run-1"}
    assert (turn.source, turn.outcome, turn.finding_count) == ("event", "refuse_replaced", 3)
    assert TurnPayload.objects.for_tenant(tenant).get().runtime_event == _event()


def test_again_is_a_duplicate_and_another_a_conflict(api):
    first = api.send(EVENTS, _event()).json()
    again = api.send(EVENTS, _event())
    assert (again.status_code, again.json()) == (200, {**first, "status": "duplicate"})
    other = api.send(EVENTS, _event(mode="observe"))
    assert other.status_code == 409
    assert (other.json()["code"], other.json()["id"]) == ("conflict", first["id"])


def test_is_attached_to_its_turn(api, tenant):
    turn = make_turn(tenant, external_id="run-1")
    assert api.send(EVENTS, _event()).json()["id"] == turn.pk
    detail = api.get(f"/api/v1/turns/{turn.pk}").json()
    assert detail["outcome"] == "refuse_replaced"
    assert detail["payload"]["runtime_event"] == _event()


def test_a_turn_sent_afterwards_fills_it_in(api, tenant):
    first = api.send(EVENTS, _event()).json()
    response = api.send("/api/v1/turns", {"external_id": "run-1", "draft": CLAIM, "agent": "ann"})
    assert response.status_code == 201
    assert response.json()["id"] == first["id"]
    assert Turn.objects.for_tenant(tenant).get().agent == "ann"


@pytest.mark.parametrize("as_lines", [False, True])
def test_of_many_the_good_ones_are_kept(api, tenant, as_lines):
    wrong = {**_event("bad"), "mode": "shout"}
    rows = [_event("a"), wrong, _event("a"), _event("b")]
    if as_lines:
        response = api.send(EVENTS, "\n".join(map(json.dumps, rows)), content_type="application/x-ndjson")
    else:
        response = api.send(EVENTS, rows)
    assert response.status_code == 200
    body = response.json()
    assert (body["accepted"], body["duplicates"], body["invalid"]) == (2, 1, 1)
    assert body["results"][1]["pointer"] == "/mode"
    assert body["results"][1].get("line") == (2 if as_lines else None)
    assert Turn.objects.for_tenant(tenant).count() == 2


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"action_taken": "shrugged"}, "/action_taken"),
        ({"refuse_threshold": 1.5}, "/refuse_threshold"),
        ({"findings": {}}, "/findings"),
        ({"findings": [{**FINDING, "kind": "guess"}]}, "/findings/0/kind"),
        ({"findings": [{**FINDING, "span": [5, 2]}]}, "/findings/0/span"),
        ({"findings": [FINDING, {"identifier": "x"}]}, "/findings/1/kind"),
    ],
)  # fmt: skip
def test_a_wrong_event_is_refused_with_the_spot(api, tenant, change, pointer):
    response = api.send(EVENTS, {**_event(), **change})
    assert response.status_code == 400
    assert response.json()["pointer"] == pointer
    assert not Turn.objects.for_tenant(tenant).exists()


def test_spans_and_words_beyond_our_columns_are_no_error_of_ours(api, tenant):
    finding = {**_event()["findings"][0], "span": [2**40, 2**62], "key": "k" * 300, "pattern_kind": "p" * 300}
    assert api.send(EVENTS, {**_event(), "findings": [finding]}).status_code == 201
