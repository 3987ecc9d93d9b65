from __future__ import annotations

import pytest

from reviews.formats.record import IntentRecord, ToolInfo
from reviews.models import Finding, ReviewDecision, Turn
from tests.factories import CLAIM, call, make_member, make_turn

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
        turn = make_turn(tenant, draft)
        for version in range(1, decisions + 1):
            ReviewDecision.objects.across_tenants().create(
                tenant=tenant, turn=turn, actor=rita, action="note", text="x", version=version
            )
        with django_assert_num_queries(4 + CONFINING):
            assert api.get(_path(turn)).status_code == 200
