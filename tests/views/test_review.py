"""One turn in focus: what is shown, what a decision answers, plainly and with HTMX."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from reviews.models import Turn
from reviews.models.tenants import Role
from reviews.services import review
from tests.factories import call, make_member, make_turn

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
TWO_CLAIMS = "I sent it. I deleted the old one."


@pytest.fixture
def rita(client, tenant):
    member = make_member(tenant, Role.REVIEWER, "rita")
    client.force_login(member)
    return member


def html(response) -> str:
    return response.content.decode()


def at(turn: Turn, act: str = "") -> str:
    return f"/t/acme/turns/{turn.pk}/{act}"


def test_the_page_shows_what_ran_and_what_is_missing(client, tenant, rita):
    turn = make_turn(
        tenant, "I sent the invoice.", tool_calls=[call("get_invoice", {"id": "INV-77"}, ok=True)]
    )
    page = html(client.get(at(turn)))
    assert "get_invoice" in page
    assert "&quot;id&quot;: &quot;INV-77&quot;" in page
    assert "Judged by policy 1" in page


def test_a_near_miss_is_pointed_out(client, tenant, rita):
    turn = make_turn(
        tenant, "Your ticket_id=TCK-48213 is open.", tool_calls=[call("open_ticket", {"id": "TCK-48218"})]
    )
    page = html(client.get(at(turn)))
    assert "TCK-48218" in page.split("Near misses")[1].split("Tool calls")[0]


def test_a_label_moves_on_to_the_next_claim(client, tenant, rita):
    turn = make_turn(tenant, TWO_CLAIMS)
    response = client.post(
        at(turn, "label"), {"label": "fabricated", "position": 0, "version": 0}, headers=HTMX
    )
    assert response.status_code == 200
    assert response.headers["HX-Push-Url"] == at(turn)
    assert 'aria-current="true"' in html(response).split('name="position" value="1"')[0].split("<form")[-1]
    assert "You labelled claim 1 as fabricated" in html(response)


def test_after_the_last_claim_comes_the_next_turn_of_the_filter(client, tenant, rita):
    last = make_turn(tenant, "I sent it.", agent="b")
    make_turn(tenant, "I sent it.", agent="a")
    first = make_turn(tenant, "I sent it.", agent="b")
    form = {"label": "unsure", "position": 0, "version": 0}
    response = client.post(at(first, "label?agent=b"), form, headers=HTMX)
    assert response.headers["HX-Push-Url"] == at(last) + "?agent=b"
    response = client.post(at(last, "label?agent=b"), form, headers=HTMX)
    assert "That was the last one" in html(response)


def test_without_htmx_a_decision_redirects(client, tenant, rita):
    other, turn = make_turn(tenant, "I sent it."), make_turn(tenant, "I sent it.")
    response = client.post(at(turn, "label"), {"label": "fabricated", "position": 0, "version": 0})
    assert response.headers["Location"] == at(other)


def test_the_loser_of_a_race_sees_who_decided_what(client, tenant, rita):
    turn = make_turn(tenant, TWO_CLAIMS)
    ruth = make_member(tenant, Role.REVIEWER, "ruth")
    review.decide_turn(tenant=tenant, actor=ruth, turn_id=turn.pk, label="false_alarm", seen_version=0)
    response = client.post(
        at(turn, "label"), {"label": "fabricated", "position": 0, "version": 0}, headers=HTMX
    )
    assert response.status_code == 409
    assert "Ruth decided the turn as false alarm while you were looking" in html(response)
    assert set(turn.findings.values_list("label", flat=True)) == {"false_alarm"}


@pytest.mark.parametrize(
    "form",
    [
        {"label": "nonsense", "position": 0, "version": 0},
        {"label": "fabricated", "position": 0},
        {"label": "fabricated", "position": 0, "version": "x" * 30},
        {},
    ],
)
def test_a_broken_form_is_refused_and_changes_nothing(client, tenant, rita, form):
    turn = make_turn(tenant, TWO_CLAIMS)
    response = client.post(at(turn, "label"), form, headers=HTMX)
    assert response.status_code == 422
    turn.refresh_from_db()
    assert turn.version == 0


def test_links_on_a_refused_page_lead_to_the_turn(client, tenant, rita):
    """The refused page stands at an address that only takes posts."""
    turn = make_turn(tenant, TWO_CLAIMS)
    page = html(client.post(at(turn, "label"), {"label": "unsure", "position": 0, "version": 7}))
    assert 'href="?' not in page.split("<article")[1]
    assert f'href="{at(turn)}?&amp;claim=2"' in page


def test_a_refused_note_keeps_what_was_typed(client, tenant, rita):
    turn = make_turn(tenant)
    ruth = make_member(tenant, Role.REVIEWER, "ruth")
    review.add_note(tenant=tenant, actor=ruth, turn_id=turn.pk, text="first", seen_version=0)
    response = client.post(at(turn, "note"), {"text": "my long thought", "version": 0}, headers=HTMX)
    assert response.status_code == 409
    assert "my long thought" in html(response)


def test_undo_goes_back_to_the_turn(client, tenant, rita):
    turn = make_turn(tenant, "I sent it.")
    decided = review.label_finding(
        tenant=tenant, actor=rita, turn_id=turn.pk, position=0, label="unsure", seen_version=0
    )
    response = client.post(f"/t/acme/decisions/{decided.decision_id}/undo", headers=HTMX)
    assert response.headers["HX-Push-Url"] == at(turn)
    assert turn.findings.get().label == ""
    assert client.post(f"/t/acme/decisions/{decided.decision_id}/undo", headers=HTMX).status_code == 409


def test_an_older_decision_is_undone_from_the_history(client, tenant, rita):
    turn = make_turn(tenant, "I sent it.")
    ruth = make_member(tenant, Role.REVIEWER, "ruth")
    by = {"tenant": tenant, "turn_id": turn.pk, "position": 0, "label": "unsure"}
    long_ago = timezone.now() - timedelta(days=3)
    mine = review.label_finding(actor=rita, seen_version=0, at=long_ago, **by)
    page = html(client.get(at(turn)))
    assert 'data-key="z"' not in page
    assert f"/t/acme/decisions/{mine.decision_id}/undo" in page
    client.force_login(ruth)
    assert "/undo" not in html(client.get(at(turn)))
    client.force_login(make_member(tenant, Role.MANAGER, "max"))
    assert f"/t/acme/decisions/{mine.decision_id}/undo" in html(client.get(at(turn)))


def test_next_and_previous_follow_the_list_as_it_is_now(client, tenant, rita):
    third, second, first = (make_turn(tenant, "I sent it.") for _ in range(3))
    review.label_finding(
        tenant=tenant, actor=rita, turn_id=second.pk, position=0, label="unsure", seen_version=0
    )
    assert client.get(at(first, "next")).headers["Location"] == at(third)
    assert client.get(at(third, "previous")).headers["Location"] == at(first)
    # From a turn that has left the list, too.
    assert client.get(at(second, "next")).headers["Location"] == at(third)
    assert "That was the last one" in html(client.get(at(third, "next")))


def test_the_reviewers_to_choose_from_come_when_asked_for(client, tenant, rita):
    turn = make_turn(tenant)
    make_member(tenant, Role.REVIEWER, "ruth")
    make_member(tenant, Role.VIEWER, "vera")
    # One field: that of the button that assigns to oneself.
    assert html(client.get(at(turn))).count('name="assignee"') == 1
    for choice in (client.get(at(turn, "reviewers"), headers=HTMX), client.get(at(turn, "?assign=1"))):
        assert ">Ruth<" in html(choice)
        assert ">Vera<" not in html(choice)
    ruth = make_member(tenant, Role.REVIEWER, "rosa")
    client.post(at(turn, "assign"), {"assignee": ruth.pk, "version": 0})
    assert "assigned to Rosa" in html(client.get(at(turn)))


def test_a_viewer_sees_no_buttons(client, tenant):
    turn = make_turn(tenant)
    client.force_login(make_member(tenant, Role.VIEWER, "vera"))
    page = html(client.get(at(turn)))
    assert 'value="fabricated"' not in page
    assert "Corrected answer" not in page


def test_a_turn_that_waits_can_be_seen_but_not_decided(client, tenant, rita):
    turn = make_turn(tenant, analysed=False)
    assert "waiting for analysis" in html(client.get(at(turn)))
    response = client.post(at(turn, "label"), {"label": "fabricated", "version": 0}, headers=HTMX)
    assert response.status_code == 422


def test_a_long_result_is_cut_and_can_be_shown_whole(client, tenant, rita):
    turn = make_turn(tenant, tool_calls=[call("dump", "x" * 30_000)])
    assert "10000 more characters" in html(client.get(at(turn)))
    assert "x" * 30_000 in html(client.get(at(turn, "?whole=1")))


@pytest.mark.parametrize("count", [1, 40])
def test_a_page_costs_the_same_with_few_and_many_claims_and_decisions(
    client, tenant, rita, count, django_assert_max_num_queries
):
    turn = make_turn(tenant, " ".join(f"task_id=job-{n}" for n in range(count)))
    for n in range(count):
        review.label_finding(
            tenant=tenant, actor=rita, turn_id=turn.pk, position=n, label="unsure", seen_version=n
        )
    # Session, person, memberships, turn, findings, history, last decision; two more confine on PostgreSQL.
    with django_assert_max_num_queries(9):
        client.get(at(turn))


@pytest.mark.parametrize("turn_id", [10**6, 2**63, 10**30])
def test_a_turn_that_is_not_there_is_404_however_large_its_number(client, tenant, rita, turn_id):
    assert client.get(f"/t/acme/turns/{turn_id}/").status_code == 404
    assert client.post(f"/t/acme/turns/{turn_id}/label", {"label": "unsure", "version": 0}).status_code == 404
    assert client.post(f"/t/acme/decisions/{turn_id}/undo").status_code == 404
