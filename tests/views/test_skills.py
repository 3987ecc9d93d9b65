"""The list of skills: what it shows and to whom, its filters and pages, learning, and rejecting many."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.models import Job, Skill
from reviews.models.jobs import JobKind
from reviews.models.skills import SkillOrigin
from reviews.models.tenants import Role
from reviews.services import jobs, publishing, skills
from reviews.services.skill_queue import PAGE_SIZE
from tests.factories import call, make_member, make_turn
from tests.views.counting import asked
from tests.views.skilled import make_draft

pytestmark = pytest.mark.django_db

URL = "/t/acme/skills/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def rita(client, tenant):
    member = make_member(tenant, Role.REVIEWER, "rita")
    client.force_login(member)
    return member


@pytest.fixture
def max_(client, tenant):
    member = make_member(tenant, Role.MANAGER, "max")
    client.force_login(member)
    return member


def page_of(response) -> str:
    return html.unescape(response.content.decode())


def text_of(response) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page_of(response)).split())


def shown(response) -> list[int]:
    return [row.pk for row in response.context["rows"]]


# -- The list


def test_a_row_says_what_the_skill_does_and_what_it_waits_for(client, tenant, rita):
    skill = make_draft(
        tenant,
        "guardrail",
        episodes=["run-1", "run-2"],
        trigger="A refund\nis over 500",
        action="Never call issue_refund",
        confidence=0.86,
    )
    skills.approve_skill(
        tenant=tenant, actor=make_member(tenant, Role.REVIEWER, "ana"), skill_id=skill.pk, seen_version=0
    )
    row = text_of(client.get(URL)).split("1 draft to decide")[-1]
    assert "confidence .86 Guardrail A refund is over 500 → , then: Never call issue_refund 2 turns" in row
    assert "Ana approved, needs another" in row


def test_the_most_confident_come_first_and_low_ones_wait_apart(client, tenant, rita):
    """The policy's default threshold is 0.5."""
    low, middle, high = (make_draft(tenant, subject=n, confidence=c) for n, c in enumerate([0.49, 0.5, 0.9]))
    response = client.get(URL)
    assert shown(response) == [high.pk, middle.pk]
    assert "Low confidence 1" in text_of(response)
    assert shown(client.get(f"{URL}?state=low")) == [low.pk]


def test_kinds_are_counted_and_narrow_the_list(client, tenant, rita):
    for n, kind in enumerate(["guardrail", "preflight", "preflight", "action"]):
        make_draft(tenant, kind, n)
    response = client.get(f"{URL}?kind=preflight")
    assert "All kinds 4 Guardrail 1 Preflight 2 Recovery 0 Action 1" in text_of(response)
    assert "2 drafts to decide" in text_of(response)
    assert len(shown(response)) == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("origin=runtime", [1]),
        ("text=PARCEL", [1]),
        ("text=nothing like it", []),
        ("state=rejected", [2]),
        ("state=approved", []),
        ("state=retired", []),
        ("state=merged", []),
    ],
)
def test_filters(client, tenant, rita, query, expected):
    made = [
        make_draft(tenant, subject=0),
        make_draft(tenant, subject=1, origin=SkillOrigin.RUNTIME, runtime_id="p-1"),
        make_draft(tenant, subject=2),
    ]
    skills.reject_skill(tenant=tenant, actor=rita, skill_id=made[2].pk, reason="wrong", seen_version=0)
    assert shown(client.get(f"{URL}?{query}")) == [made[n].pk for n in expected]


@pytest.mark.parametrize("query", ["state=nonsense", "kind=x", "origin=x", "text=" + "x" * 201, "cursor=x"])
def test_a_wrong_filter_is_said_and_answered_with_422(client, tenant, rita, query):
    make_draft(tenant)
    response = client.get(f"{URL}?{query}")
    assert response.status_code == 422
    assert "Some filters cannot be used." in page_of(response)


def test_htmx_gets_the_list_alone_and_then_the_rows_that_follow(client, tenant, rita):
    one = make_draft(tenant)
    Skill.objects.across_tenants().bulk_create(
        Skill(
            tenant=tenant,
            kind="action",
            trigger=f"t{n}",
            action="a",
            rationale="r",
            confidence=0.7,
            label="l",
            source="s",
            origin="api",
        )
        for n in range(PAGE_SIZE)
    )
    response = client.get(URL, headers=HTMX)
    assert response.content.decode().lstrip().startswith('<section id="list"')
    assert shown(response)[0] == one.pk
    assert len(shown(response)) == PAGE_SIZE
    more = client.get(URL + response.context["more"], headers=HTMX)
    assert more.content.decode().lstrip().startswith('<a class="row')
    assert len(shown(more)) == 1
    assert more.context["more"] == ""


def test_another_tenants_skills_are_not_shown(client, tenant, other_tenant, rita):
    make_draft(other_tenant)
    assert shown(client.get(URL)) == []
    assert "No draft waits" in page_of(client.get(URL))


def test_what_an_agent_writes_is_escaped_and_what_hides_is_marked(client, tenant, rita):
    make_draft(tenant, trigger="<script>alert(1)</script>\u202egnp", action="<b>x</b>")
    page = client.get(URL).content.decode()
    assert "<script>alert" not in page
    assert "⟨RLO⟩" in page


@pytest.mark.parametrize("count", [1, 10])
def test_a_page_costs_the_same_with_few_and_many_rows(client, tenant, rita, count):
    for n in range(count):
        skill = make_draft(tenant, "guardrail", n)
        reviewer = make_member(tenant, Role.REVIEWER, f"r{n}")
        skills.approve_skill(tenant=tenant, actor=reviewer, skill_id=skill.pk, seen_version=0)
    with CaptureQueriesContext(connection) as queries:
        client.get(URL)
    # Session, person, memberships; settings, the threshold of the page and of the counts; rows; counts by
    # kind and folded; approvers; the newest run.
    assert asked(queries) <= 11


# -- Learning


def test_a_manager_starts_learning_and_sees_how_it_goes(client, tenant, max_):
    response = client.post(f"{URL}learn", headers=HTMX)
    assert response.status_code == 200
    assert "Waiting for a worker." in page_of(response)
    seen = response.context["run"].seen
    assert client.get(f"{URL}learn?seen={seen}", headers=HTMX).status_code == 204
    jobs.run_jobs()
    done = client.get(f"{URL}learn?seen={seen}", headers=HTMX)
    assert done.status_code == 200
    assert "hx-trigger" not in done.content.decode()
    assert Job.objects.for_tenant(tenant).get(kind=JobKind.EXTRACT).started_by == max_


def test_a_run_says_how_many_proposals_it_did_not_keep(client, tenant, max_):
    """Two calls are repeated, and the policy lets a run bring one draft."""
    publishing.publish_settings(tenant=tenant, author=None, values={"promotion_max_drafts_per_run": 1})
    for n in range(12):
        make_turn(tenant, "Done.", user_message="Please.", tool_calls=[call(f"tool_{n % 2}")])
    client.post(f"{URL}learn")
    jobs.run_jobs()
    assert "from 12 turns: 1 new draft, 1 not kept (incomplete" in text_of(client.get(URL))


def test_learning_twice_at_once_is_refused(client, tenant, max_):
    assert client.post(f"{URL}learn").status_code == 302
    response = client.post(f"{URL}learn")
    assert response.status_code == 409
    assert "already" in page_of(response)


def test_a_reviewer_sees_no_button_to_learn_or_to_reject_all(client, tenant, rita):
    make_draft(tenant)
    page = page_of(client.get(URL))
    assert "Learn now" not in page
    assert "Reject all" not in page


# -- Many at once


def test_all_of_a_filter_are_rejected_as_shown_and_undone_as_a_whole(client, tenant, max_):
    other = make_draft(tenant, "guardrail", 0)
    made = [make_draft(tenant, "action", n) for n in (1, 2, 3)]
    preview = client.get(f"{URL}reject?kind=action")
    assert sorted(shown(preview)) == sorted(skill.pk for skill in made)
    assert "Reject 3 drafts" in page_of(preview)
    form = {"ids_digest": preview.context["ids_digest"], "reason": "too_broad", "text": "Noise."}
    response = client.post(f"{URL}reject?kind=action", form)
    assert response.status_code == 302
    states = dict(Skill.objects.for_tenant(tenant).values_list("id", "state"))
    assert states == {other.pk: "draft", **{skill.pk: "rejected" for skill in made}}
    after = client.get(response.headers["Location"])
    undo = re.search(r'action="(/t/acme/skills/batches/[0-9a-f]{32}/undo)"', page_of(after))
    assert undo
    assert client.post(undo[1]).status_code == 302
    assert set(Skill.objects.for_tenant(tenant).values_list("state", flat=True)) == {"draft"}


def test_a_list_that_has_changed_is_shown_again_instead_of_rejected(client, tenant, max_):
    make_draft(tenant)
    digest = client.get(f"{URL}reject").context["ids_digest"]
    make_draft(tenant, subject=1)
    response = client.post(f"{URL}reject", {"ids_digest": digest, "reason": "wrong"})
    assert response.status_code == 409
    assert "have changed since you looked" in page_of(response)
    assert "Reject 2 drafts" in page_of(response)
    assert Skill.objects.for_tenant(tenant).filter(state="draft").count() == 2


def test_a_bulk_reject_needs_a_reason(client, tenant, max_):
    make_draft(tenant)
    digest = client.get(f"{URL}reject").context["ids_digest"]
    response = client.post(f"{URL}reject", {"ids_digest": digest, "reason": "", "text": "my words"})
    assert response.status_code == 422
    assert "Choose a reason." in page_of(response)
    assert "my words" in page_of(response)


def test_only_drafts_are_offered_for_rejection(client, tenant, max_):
    assert client.get(f"{URL}reject?state=approved").status_code == 404
