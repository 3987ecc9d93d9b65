"""``/suites``: the suites in force, and proposals that a manager publishes or discards."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.core.assertion_suites import MAX_SUITES
from reviews.core.settings import parse_settings
from reviews.models import PolicyVersion
from reviews.models.policies import PolicyState
from reviews.models.tenants import Role
from reviews.services.policies import policy_of, policy_version
from reviews.services.publishing import discard, publish, save_draft
from tests.factories import make_member, make_turn
from tests.services.asserted import CONTAINS, EXCLUDES, LEAK, PLAIN, suite_of
from tests.services.asserted import publish as publish_suites

pytestmark = pytest.mark.django_db

PATH = "/api/v1/suites"


def refused(response: Any, status: int = 400) -> tuple[str, str]:
    assert response.status_code == status, response.content
    body = response.json()
    return body.get("pointer", ""), body["message"]


def test_no_suites_yet(api, tenant):
    assert api.get(PATH).json() == {"version": 1, "suites": []}


def test_tells_the_suites_in_force_in_the_form_in_which_they_are_sent(api, tenant, other_tenant):
    suites = [
        suite_of("privacy", EXCLUDES, CONTAINS, queue=True, sampling=0.25, agents=["bot"], tags=["gold"])
    ]
    publish_suites(tenant, *suites)
    publish_suites(other_tenant, suite_of("foreign"))
    save_draft(tenant=tenant, author=None, values={}, based_on=2)
    body = api.get(PATH).json()
    assert body == {"version": 2, "suites": suites}
    # Sent back as it came it is no change.
    assert refused(api.send(PATH, {"suites": body["suites"]})) == (
        "/suites",
        "Nothing differs from version 2.",
    )


def test_while_nothing_changes_the_answer_is_an_empty_304(api, tenant, other_api, other_tenant):
    publish_suites(tenant, suite_of())
    publish_suites(other_tenant, suite_of())
    first = api.get(PATH)
    etag = first.headers["ETag"]
    for held in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = api.get(PATH, headers={"if-none-match": held})
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert api.get(PATH, headers={"if-none-match": '"other"'}).status_code == 200
    # Another tenant with the very same suites is another answer.
    assert other_api.get(PATH, headers={"if-none-match": etag}).status_code == 200
    publish_suites(tenant, suite_of("new"))
    assert api.get(PATH, headers={"if-none-match": etag}).status_code == 200


def test_a_proposal_is_a_draft_that_changes_nothing_yet(api, tenant):
    publish_suites(tenant, suite_of("old"), fabrication_check_mode="refuse")
    response = api.send(PATH, {"suites": [suite_of("new"), suite_of("more", CONTAINS)], "note": "From CI."})
    assert response.status_code == 201
    assert response.json() == {"version": 3, "state": "draft"}
    draft = policy_version(tenant=tenant, number=3)
    assert (draft.author, draft.note, draft.based_on.number) == (None, "From CI.", 2)
    settings = policy_of(draft).settings
    assert [suite.name for suite in settings.assertion_suites] == ["new", "more"]
    assert settings.fabrication_check_mode == "refuse"
    assert [suite["name"] for suite in api.get(PATH).json()["suites"]] == ["old"]
    publish(tenant=tenant, actor=make_member(tenant, Role.MANAGER), number=3)
    assert api.get(PATH).json()["version"] == 3


def test_a_proposal_may_name_what_it_is_based_on(api, tenant):
    draft = save_draft(tenant=tenant, author=None, values={"fabrication_check_mode": "refuse"}, based_on=1)
    for based_on, mode in ((0, "observe"), (1, "observe"), (draft.number, "refuse")):
        response = api.send(PATH, {"suites": [suite_of()], "based_on": based_on})
        assert response.status_code == 201
        made = policy_version(tenant=tenant, number=response.json()["version"])
        assert policy_of(made).settings.fabrication_check_mode == mode
    draft.refresh_from_db()
    assert draft.state == PolicyState.SUPERSEDED


def test_no_suites_are_a_proposal_too(api, tenant):
    publish_suites(tenant, suite_of())
    assert api.send(PATH, {"suites": []}).status_code == 201
    assert (
        parse_settings(PolicyVersion.objects.for_tenant(tenant).get(number=3).settings).assertion_suites == ()
    )


def test_a_version_that_is_gone_or_was_never_there(api, tenant, other_tenant):
    publish_suites(other_tenant, suite_of())
    draft = save_draft(tenant=tenant, author=None, values={"identifier_keys": ["pnr"]}, based_on=1)
    discard(tenant=tenant, actor=make_member(tenant, Role.MANAGER), number=draft.number)
    response = api.send(PATH, {"suites": [suite_of()], "based_on": draft.number})
    assert (response.status_code, response.json()["code"]) == (409, "conflict")
    response = api.send(PATH, {"suites": [suite_of()], "based_on": 99})
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ([], ""),
        (7, ""),
        ({}, "/suites"),
        ({"suites": None}, "/suites"),
        ({"suites": {"0": {}}}, "/suites"),
        ({"suites": [], "suite": []}, "/suite"),
        *(({"suites": [], "based_on": value}, "/based_on") for value in ("1", -1, True, 1.5, 2**31, [])),
        *(({"suites": [], "note": value}, "/note") for value in (None, 7, [])),
        ({"suites": [suite_of()], "note": "x" * 501}, "/note"),
        ({"suites": [7]}, "/suites/0"),
        ({"suites": [{}]}, "/suites/0/name"),
        ({"suites": [suite_of(), suite_of("b", sampling=2)]}, "/suites/1/sampling"),
        ({"suites": [suite_of(), suite_of()]}, "/suites/1/name"),
        ({"suites": [suite_of("a", EXCLUDES, {"type": "x"})]}, "/suites/0/assertions/1/type"),
        (
            {"suites": [suite_of("a", {**EXCLUDES, "fragments": ["ok", 7]})]},
            "/suites/0/assertions/0/fragments/1",
        ),
        ({"suites": [suite_of("a", {"type": "prompt_recall_contains"})]}, "/suites/0/assertions/0"),
        ({"suites": [suite_of(f"s{n}") for n in range(MAX_SUITES + 1)]}, "/suites"),
    ],
)
def test_what_is_wrong_is_pointed_at(api, tenant, body, pointer):
    found, message = refused(api.send(PATH, body))
    assert found == pointer
    assert message
    assert PolicyVersion.objects.for_tenant(tenant).count() == 1


def test_what_is_looked_for_is_in_no_answer(api, tenant):
    body = {"suites": [suite_of("a", {**EXCLUDES, "fragments": ["swordfish", "swordfish" * 100]})]}
    response = api.send(PATH, body)
    assert response.status_code == 400
    assert "swordfish" not in response.content.decode()


def test_a_body_has_a_limit(api, tenant):
    suite = suite_of("a", {**EXCLUDES, "fragments": ["x" * (1024 * 1024)]})
    assert api.send(PATH, {"suites": [suite]}).status_code == 413


def test_the_largest_suites_fit(api, tenant):
    def fragments(n: int) -> list[str]:
        return [f"{n}-{k}-".ljust(90, "x") for k in range(25)]

    suites = [
        suite_of(f"s{n}", *({**EXCLUDES, "label": "", "fragments": fragments(k)} for k in range(20)))
        for n in range(MAX_SUITES)
    ]
    assert len(json.dumps(suites)) < 1024 * 1024
    assert api.send(PATH, {"suites": suites}).status_code == 201


def test_queries_do_not_grow_with_the_suites(api, tenant):
    def cost(*suites: dict[str, Any]) -> int:
        publish_suites(tenant, *suites)
        api.get(PATH)
        with CaptureQueriesContext(connection) as queries:
            assert len(api.get(PATH).json()["suites"]) == len(suites)
        return len(queries)

    assert cost(suite_of()) == cost(*(suite_of(f"s{n}") for n in range(10)))


# -- A turn's results


def test_a_turn_tells_what_was_asserted_of_it(api, tenant):
    publish_suites(tenant, suite_of("privacy", EXCLUDES, CONTAINS), suite_of("a", CONTAINS))
    turn = make_turn(tenant, PLAIN, attributes=LEAK)
    found = api.get(f"/api/v1/turns/{turn.pk}").json()["assertions"]
    assert [(row["suite"], row["assertion"], row["passed"]) for row in found] == [
        ("a", "prompt_recall_contains", True),
        ("privacy", "no cards", False),
        ("privacy", "prompt_recall_contains", True),
    ]
    leaked = found[1]
    assert leaked["reason"] == "1 fragment reached the model."
    assert leaked["evidence"] == {"fragments": 1, "leaked": 1}
    assert len(leaked["digests"]) == 1
    assert "4111" not in json.dumps(found)


def test_a_turn_of_which_nothing_was_asserted_has_an_empty_list(api, tenant):
    turn = make_turn(tenant, PLAIN, attributes=LEAK)
    assert api.get(f"/api/v1/turns/{turn.pk}").json()["assertions"] == []
