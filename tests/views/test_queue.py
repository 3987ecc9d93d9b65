"""The queue page: page and fragment, filters, wrong filters, and what it costs."""

from __future__ import annotations

import pytest

from reviews.models.tenants import Role
from tests.factories import CLAIM, make_member, make_turn

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def vera(client, tenant):
    member = make_member(tenant, Role.VIEWER, "vera")
    client.force_login(member)
    return member


def html(response) -> str:
    return response.content.decode()


def test_an_empty_queue_says_what_to_do(client, vera):
    assert "Nothing to review" in html(client.get("/t/acme/queue/"))


def test_a_filter_that_matches_nothing_offers_to_clear_it(client, tenant, vera):
    make_turn(tenant)
    page = html(client.get("/t/acme/queue/?text=not-there"))
    assert "Nothing matches" in page
    assert "Clear the filters" in page


def test_htmx_gets_the_list_that_the_page_includes(client, tenant, vera):
    make_turn(tenant, external_id="run-1")
    page, fragment = client.get("/t/acme/queue/"), client.get("/t/acme/queue/", headers=HTMX)
    assert html(fragment).lstrip().startswith('<section id="list"')
    assert html(fragment).strip() in html(page)
    assert "HX-Request" in fragment.headers["Vary"]


def test_a_row_shows_the_claim_and_leads_to_the_turn_with_the_filter(client, tenant, vera):
    turn = make_turn(tenant, "Good news: I sent the invoice.", external_id="run-1")
    page = html(client.get("/t/acme/queue/?kind=verb_claim"))
    assert "Good news: <b>I sent</b> the invoice." in page
    assert f'href="/t/acme/turns/{turn.pk}/?kind=verb_claim"' in page
    assert "no tool ran" in page


def test_more_rows_come_by_cursor_until_all_are_shown(client, tenant, vera):
    ids = {make_turn(tenant, analysed=False).pk for _ in range(119)}
    ids.add(make_turn(tenant).pk)
    seen, path = [], "/t/acme/queue/"
    for _ in range(3):
        page = html(client.get(path, headers=HTMX))
        seen += [int(part.split("/")[0]) for part in page.split('href="/t/acme/turns/')[1:]]
        path = "/t/acme/queue/" + page.split('hx-get="')[1].split('"')[0] if "data-load-more" in page else ""
    assert path == ""
    assert sorted(seen) == sorted(ids)


@pytest.mark.parametrize(
    "query", ["kind=nope", "confidence=2", "confidence=x", "state=<b>", "cursor=%00", "age=1y"]
)
def test_a_wrong_filter_is_named_and_the_page_stays_usable(client, tenant, vera, query):
    make_turn(tenant)
    response = client.get(f"/t/acme/queue/?{query}")
    assert response.status_code == 422
    assert f"{query.split('=')[0]}:" in html(response)
    assert 'name="kind"' in html(response)


def test_each_tenant_sees_its_own_turns(client, tenant, other_tenant, vera):
    make_turn(tenant, external_id="ours", agent="our-bot")
    make_turn(other_tenant, external_id="theirs", agent="their-bot")
    page = html(client.get("/t/acme/queue/?state=all"))
    assert "our-bot" in page
    assert "their-bot" not in page


@pytest.mark.parametrize("count", [1, 60])
def test_a_page_costs_the_same_with_few_and_many_rows(
    client, tenant, vera, count, django_assert_max_num_queries
):
    for _ in range(count):
        make_turn(tenant, CLAIM, analysed=False)
    make_turn(tenant)
    # Session, person, memberships, rows, count, agents, reviewers; two more confine on PostgreSQL.
    with django_assert_max_num_queries(9):
        client.get("/t/acme/queue/")
