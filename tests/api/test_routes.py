"""Every route, every method: who gets in, and that the answer is JSON."""

from __future__ import annotations

import pytest
from django.urls import get_resolver

from reviews.api import urls
from reviews.models.tenants import Scope
from tests.factories import make_turn

from .conftest import ApiClient

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
#: Route by name: its path, and which scope each method needs. A route that is missing here fails below.
ROUTES = {
    "turns": ("/api/v1/turns", {"GET": "read", "POST": "ingest"}),
    "turn-lookup": ("/api/v1/turns/lookup?external_id=run-x", {"GET": "read"}),
    "turn": ("/api/v1/turns/{id}", {"GET": "read"}),
    "check": ("/api/v1/check", {"POST": "ingest"}),
    "fabrication-events": ("/api/v1/events/fabrication", {"POST": "ingest"}),
    "reflection-events": ("/api/v1/events/reflection", {"POST": "ingest"}),
    "policy": ("/api/v1/policy", {"GET": "policy"}),
    "drafts": ("/api/v1/drafts", {"POST": "skills"}),
    "skills": ("/api/v1/skills", {"GET": "skills"}),
    "suites": ("/api/v1/suites", {"GET": "suites", "POST": "suites"}),
}
CASES = [(name, method) for name in ROUTES for method in METHODS]


@pytest.fixture
def turn(tenant):
    return make_turn(tenant, external_id="run-x")


def _call(client, name, method, turn):
    return client.generic(method, ROUTES[name][0].format(id=turn.pk), b"{}", content_type="application/json")


def test_all_routes_are_listed():
    assert {pattern.name for pattern in urls.urlpatterns} == {*ROUTES, "unknown-path"}
    assert get_resolver().namespace_dict["api"]


@pytest.mark.parametrize(("name", "method"), CASES)
def test_nothing_is_served_without_a_key(turn, name, method):
    response = _call(ApiClient(), name, method, turn)
    assert response.status_code == 401
    assert response.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_method_needs_its_scope(turn, tenant, client_for, name, method):
    scopes = ROUTES[name][1]
    needed = scopes.get("GET" if method == "HEAD" else method)
    others = [scope for scope in Scope.values if scope != needed]
    response = _call(client_for(tenant, *others), name, method, turn)
    if needed is None:
        assert response.status_code == 405
        expected = [m for m in ("GET", "POST", "HEAD") if "GET" in scopes or m == "POST"]
        assert set(response.headers["Allow"].split(", ")) <= set(expected)
    else:
        assert response.status_code == 403
        if method != "HEAD":
            assert response.json()["code"] == "forbidden"
            assert f'"{needed}"' in response.json()["message"]


@pytest.mark.parametrize(("name", "method"), CASES)
def test_its_scope_alone_is_enough(turn, tenant, client_for, name, method):
    needed = ROUTES[name][1].get("GET" if method == "HEAD" else method)
    if needed is not None:
        response = _call(client_for(tenant, needed), name, method, turn)
        # An empty object is not a turn; the point is that the key got so far.
        assert response.status_code == (400 if method == "POST" else 200)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["", "nothing", "turns/", "turns/x", "turns/-1", "turns/1/x", "policy/%00"])
def test_an_unknown_path_is_a_json_404_for_everyone(api, path, method):
    for client in (ApiClient(), api):
        response = client.generic(method, f"/api/v1/{path}")
        assert response.status_code == 404
        assert response.json() == {"code": "not_found", "message": "There is no such thing here."}


def test_a_view_without_scopes_serves_nobody(api, tenant, rf, client_for):
    from rest_framework.response import Response

    from reviews.api.base import ApiView

    class Forgetful(ApiView):
        def get(self, request):
            return Response({})

    secret = api.defaults["HTTP_AUTHORIZATION"]
    response = Forgetful.as_view()(rf.get("/", headers={"authorization": secret}))
    assert response.status_code == 403


@pytest.mark.parametrize("accept", ["text/html", "nonsense", "image/*", "application/xml;q=0.9", ""])
def test_the_answer_is_json_whatever_is_asked_for(api, accept):
    response = api.get("/api/v1/policy?", headers={"accept": accept})
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"


def test_a_foreign_turn_reads_like_a_missing_one(turn, other_api):
    foreign = other_api.get(f"/api/v1/turns/{turn.pk}")
    missing = other_api.get("/api/v1/turns/999999999")
    lookup = other_api.get("/api/v1/turns/lookup?external_id=run-x")
    assert [r.status_code for r in (foreign, missing, lookup)] == [404, 404, 404]
    assert foreign.content == missing.content == lookup.content
