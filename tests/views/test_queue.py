"""The queue page: page and fragment, filters, wrong filters, and what it costs."""

from __future__ import annotations

import re

import pytest

from reviews.models.tenants import Role
from reviews.services import review
from reviews.services.publishing import publish_settings
from tests.factories import CLAIM, make_member, make_turn, make_verdict

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


def row_of(page: str, turn) -> str:
    """A turn's row, without markup."""
    row = next(r for r in page.split('<a class="row"')[1:] if f"/turns/{turn.pk}/" in r).split("</a>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", row.split(">", 1)[1]).split())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"verdict": "revise"}, "critic: revise"),
        ({"verdict": "refuse"}, "critic: refuse"),
        ({"verdict": "approve", "cause": "timeout"}, "critic: not read"),
        ({"state": "waiting"}, "critic: waiting"),
    ],
)
def test_a_row_says_how_the_turn_stands_with_the_critic(client, tenant, vera, values, said):
    flagged, plain = make_turn(tenant, "I sent it."), make_turn(tenant, "Good morning.")
    for turn in (flagged, plain):
        make_verdict(turn, **values)
    page = html(client.get("/t/acme/queue/?state=all"))
    assert row_of(page, flagged).startswith(f".80 Claimed action {said} support-bot")
    assert row_of(page, plain).startswith(f"– {said} support-bot")


def test_an_approval_is_not_worth_a_word(client, tenant, vera):
    turn = make_turn(tenant, "I sent it.")
    make_verdict(turn, verdict="approve")
    assert "critic" not in row_of(html(client.get("/t/acme/queue/")), turn)


def test_the_list_can_be_narrowed_to_one_standing_and_the_choice_is_kept(client, tenant, vera):
    revised, refused = make_turn(tenant, "I sent it."), make_turn(tenant, "Good morning.")
    make_verdict(revised)
    make_verdict(refused, verdict="refuse")
    page = html(client.get("/t/acme/queue/?critic=refuse"))
    assert f'href="/t/acme/turns/{refused.pk}/?critic=refuse"' in page
    assert f"/turns/{revised.pk}/" not in page
    assert '<option value="refuse" selected>' in page
    assert client.get("/t/acme/queue/?critic=maybe").status_code == 422


@pytest.fixture
def blind(tenant):
    values = {"critic_blind_review": True, "audit_sample_rate": 0}
    publish_settings(tenant=tenant, author=None, values=values)


@pytest.mark.parametrize("state", ["open", "all", "clean"])
def test_in_blind_review_no_filter_tells_verdicts_of_turns_that_wait(client, tenant, vera, blind, state):
    approved, revised = make_turn(tenant, "Good morning."), make_turn(tenant, "I sent it.")
    make_verdict(approved, verdict="approve")
    make_verdict(revised)
    page = html(client.get(f"/t/acme/queue/?state={state}"))
    assert 'class="filters blind"' in page
    for critic in ("approve", "revise"):
        narrowed = html(client.get(f"/t/acme/queue/?state={state}&critic={critic}"))
        assert "What the critic says shows on decided turns only" in narrowed
        assert narrowed.count('<a class="row"') == page.count('<a class="row"')


def test_in_blind_review_the_next_turn_does_not_tell_verdicts_either(client, tenant, blind):
    client.force_login(make_member(tenant, Role.REVIEWER, "rita"))
    other, turn = make_turn(tenant, "I sent it."), make_turn(tenant, "I sent it.")
    make_verdict(other, verdict="approve")
    for critic in ("approve", "refuse"):
        location = client.get(f"/t/acme/turns/{turn.pk}/next?critic={critic}").headers["Location"]
        assert location.startswith(f"/t/acme/turns/{other.pk}/")


def test_in_blind_review_a_row_says_it_once_the_turn_is_decided(client, tenant, blind):
    rita = make_member(tenant, Role.REVIEWER, "rita")
    client.force_login(rita)
    turn = make_turn(tenant, "I sent it.")
    make_verdict(turn)
    assert "critic" not in row_of(html(client.get("/t/acme/queue/")), turn)
    assert "critic" not in row_of(html(client.get("/t/acme/queue/", headers=HTMX)), turn)
    review.decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="unsure", seen_version=0)
    page = html(client.get("/t/acme/queue/?state=decided&critic=revise"))
    assert "critic: revise" in row_of(page, turn)


@pytest.mark.parametrize("count", [1, 60])
def test_a_page_costs_the_same_with_few_and_many_rows(
    client, tenant, vera, count, django_assert_max_num_queries
):
    for _ in range(count):
        make_turn(tenant, CLAIM, analysed=False)
    make_turn(tenant)
    # Session, person, memberships, rows, policy, count, agents, reviewers; two more confine on PostgreSQL.
    with django_assert_max_num_queries(10):
        client.get("/t/acme/queue/")
