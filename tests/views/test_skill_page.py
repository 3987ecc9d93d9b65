"""One skill in focus: what is shown, what a decision answers, plainly and with HTMX, and who may decide."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.models import Delivery, Membership, Skill, SkillDecision
from reviews.models.runtimes import DeliveryState
from reviews.models.skills import SkillOrigin, SkillState
from reviews.models.tenants import Role
from reviews.services import jobs, review, runtimes, skills
from tests.factories import call, make_member, make_turn
from tests.views.counting import asked
from tests.views.skilled import SUBJECTS, make_draft

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def rita(client, tenant):
    member = make_member(tenant, Role.REVIEWER, "rita")
    client.force_login(member)
    return member


@pytest.fixture
def ruth(tenant):
    return make_member(tenant, Role.REVIEWER, "ruth")


def at(skill: Skill, act: str = "") -> str:
    return f"/t/acme/skills/{skill.pk}/{act}"


def page_of(response) -> str:
    return html.unescape(response.content.decode())


def text_of(response) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page_of(response)).split())


def state_of(skill: Skill) -> str:
    skill.refresh_from_db()
    return skill.state


# -- What is shown


def test_the_rule_stands_in_four_parts(client, tenant, rita):
    skill = make_draft(
        tenant,
        "guardrail",
        trigger="A refund is over 500",
        precondition=["get_order", "check_fraud_score"],
        action="Never refund directly",
        rationale="3 of 5 were reversed",
        confidence=0.86,
        episodes=["a", "b"],
    )
    text = text_of(client.get(at(skill)))
    assert "Guardrail · confidence .86 · from 2 turns" in text
    assert (
        "When A refund is over 500 Before get_order check_fraud_score Do Never refund directly "
        "Why 3 of 5 were reversed"
    ) in text
    assert "Needs the approval of two people." in text


def test_source_turns_stand_inline_with_their_calls_in_order(client, tenant, rita):
    turn = make_turn(
        tenant,
        "It is on its way.",
        external_id="run-1",
        user_message="Where is it?",
        tool_calls=[call("get_order", {"id": 1}, ok=True), call("track", error="timed out", ok=False)],
    )
    skill = make_draft(tenant, episodes=["run-1", "elsewhere-9"])
    response = client.get(at(skill))
    text = text_of(response)
    assert "run-1 ✕ 1 failed support-bot" in text
    assert text.index("get_order ✓ ok") < text.index("track ✕ failed")
    assert "Where is it?" in text
    assert f'href="/t/acme/turns/{turn.pk}/"' in page_of(response)
    assert "elsewhere-9 This episode is not among the turns here" in text


def test_more_than_ten_sources_are_shown_when_asked_for(client, tenant, rita):
    skill = make_draft(tenant, episodes=[f"e-{n}" for n in range(12)])
    assert len(client.get(at(skill)).context["turns"]) == 10
    assert len(client.get(at(skill, "?turns=all")).context["turns"]) == 12


def test_a_similar_and_a_contradicting_skill_stand_beside_it(client, tenant, rita):
    skill = make_draft(tenant, "guardrail", trigger="Refund over 500", action="Never call issue_refund")
    other = make_draft(tenant, "action", trigger="Customer wants money back", action="Call issue_refund")
    alike = make_draft(tenant, "guardrail", trigger="Refund over 900", action="Never call issue_refund")
    response = client.get(at(skill))
    assert [row.pk for row in response.context["conflicts"]] == [other.pk]
    assert "One forbids what the other has the agent do. It is about issue_refund." in text_of(response)
    assert '<mark class="said-here">issue_refund</mark>' in page_of(response)
    assert [row.pk for row in response.context["similar"]] == [alike.pk]
    assert "Reads alike, but names other numbers." in text_of(response)


def test_what_an_agent_writes_is_escaped_and_what_hides_is_marked(client, tenant, rita):
    hostile = "<script>alert(1)</script>\u202egnp"
    skill = make_draft(tenant, trigger=hostile, action=hostile, rationale=hostile, precondition=hostile)
    page = client.get(at(skill)).content.decode()
    assert "<script>alert" not in page
    assert page.count('<span class="ctl" title="U+202E">RLO</span>') >= 4


def test_a_viewer_looks_and_has_no_buttons(client, tenant):
    skill = make_draft(tenant)
    client.force_login(make_member(tenant, Role.VIEWER, "vera"))
    page = page_of(client.get(at(skill)))
    for act in ("approve", "edit", "reject", "merge", "replay", "undo"):
        assert f'action="{at(skill, act)}' not in page


@pytest.mark.parametrize("skill_id", [10**6, 2**63, 10**30])
def test_a_skill_that_is_not_there_is_404_however_large_its_number(client, tenant, rita, skill_id):
    assert client.get(f"/t/acme/skills/{skill_id}/").status_code == 404
    assert client.post(f"/t/acme/skills/{skill_id}/approve", {"version": 0}).status_code == 404
    assert client.post(f"/t/acme/skills/decisions/{skill_id}/undo").status_code == 404


# -- Approving


def test_an_approval_moves_on_to_the_next_draft_of_the_filter(client, tenant, rita):
    first = make_draft(tenant, subject=0, confidence=0.9)
    make_draft(tenant, "recovery", subject=1, confidence=0.85)
    second = make_draft(tenant, subject=2, confidence=0.8)
    response = client.post(at(first, "approve?kind=action"), {"version": 0}, headers=HTMX)
    assert response.headers["HX-Push-Url"] == at(second) + "?kind=action"
    assert "You approved the skill" in text_of(response)
    assert state_of(first) == SkillState.APPROVED
    response = client.post(at(second, "approve?kind=action"), {"version": 0}, headers=HTMX)
    assert "That was the last one" in page_of(response)


def test_without_htmx_a_decision_redirects(client, tenant, rita):
    first, second = make_draft(tenant), make_draft(tenant, subject=1)
    response = client.post(at(first, "approve"), {"version": 0})
    assert response.headers["Location"] == at(second)
    response = client.post(at(second, "approve"), {"version": 0})
    assert response.headers["Location"] == "/t/acme/skills/"


def test_a_guardrail_takes_two_people_and_says_whose_turn_it_is(client, tenant, rita, ruth):
    skill = make_draft(tenant, "guardrail")
    assert "Approve as the first of two" in page_of(client.get(at(skill)))
    client.post(at(skill, "approve"), {"version": 0})
    assert state_of(skill) == SkillState.DRAFT
    text = text_of(client.get(at(skill)))
    assert "First approval: Rita" in text
    assert "You cannot approve it now. You gave the first approval" in text
    assert f'action="{at(skill, "approve")}' not in page_of(client.get(at(skill)))
    refused = client.post(at(skill, "approve"), {"version": 1}, headers=HTMX)
    assert refused.status_code == 403
    client.force_login(ruth)
    assert "Approve as the second" in page_of(client.get(at(skill)))
    client.post(at(skill, "approve"), {"version": 1})
    assert state_of(skill) == SkillState.APPROVED


def test_an_approval_by_somebody_who_left_does_not_count(client, tenant, rita, ruth):
    skill = make_draft(tenant, "guardrail")
    skills.approve_skill(tenant=tenant, actor=ruth, skill_id=skill.pk, seen_version=0)
    Membership.objects.for_tenant(tenant).filter(user=ruth).delete()
    text = text_of(client.get(at(skill)))
    assert "Ruth approved it, but may no longer review here" in text
    assert "Approve as the first of two" in text


def test_the_loser_of_a_race_sees_who_decided_what(client, tenant, rita, ruth):
    skill = make_draft(tenant)
    skills.reject_skill(tenant=tenant, actor=ruth, skill_id=skill.pk, reason="wrong", seen_version=0)
    response = client.post(at(skill, "approve"), {"version": 0}, headers=HTMX)
    assert response.status_code == 409
    assert "Ruth rejected the skill while you were looking" in text_of(response)
    assert state_of(skill) == SkillState.REJECTED


@pytest.mark.parametrize(
    ("act", "form"),
    [
        ("approve", {}),
        ("approve", {"version": "x" * 30}),
        ("reject", {"version": 0}),
        ("reject", {"version": 0, "reason": "nonsense"}),
        ("edit", {"version": 0, "trigger": " ", "action": "a", "rationale": "r"}),
        ("merge", {"version": 0}),
        ("merge", {"version": 0, "into": "9" * 30}),
    ],
)
def test_a_broken_form_is_refused_and_changes_nothing(client, tenant, rita, act, form):
    skill = make_draft(tenant)
    response = client.post(at(skill, act), form, headers=HTMX)
    assert response.status_code == 422
    skill.refresh_from_db()
    assert (skill.version, skill.state) == (0, SkillState.DRAFT)


# -- Editing


def typed(skill: Skill, **changes: str) -> dict[str, str | int]:
    """What the editor would send of a skill, with some of it changed."""
    return {
        "version": skill.version,
        "trigger": skill.trigger,
        "precondition": "",
        "action": skill.action,
        "rationale": skill.rationale,
        **changes,
    }


def test_an_edit_stays_and_shows_what_it_changed(client, tenant, rita):
    skill = make_draft(tenant, action="Call get_order first")
    form = typed(skill, action="Call find_order first", precondition="ask the customer\r\nget_order")
    response = client.post(at(skill, "edit"), form, headers=HTMX)
    assert response.headers["HX-Push-Url"] == at(skill)
    assert "<del>get_order</del><ins>find_order</ins>" in page_of(response)
    skill.refresh_from_db()
    assert skill.precondition == ["ask the customer", "get_order"]
    assert skill.steps == ["Call find_order first"]
    assert "You wrote this text or a part of it, so your approval is the first of two." in text_of(response)


def test_what_was_left_as_it_was_keeps_its_very_value(client, tenant, rita):
    skill = make_draft(tenant, trigger="One line\nand another", precondition="one step")
    form = typed(skill, trigger="One line\r\nand another", precondition="one step", rationale="Because.")
    client.post(at(skill, "edit"), form)
    skill.refresh_from_db()
    assert (skill.trigger, skill.precondition, skill.rationale) == (
        "One line\nand another",
        "one step",
        "Because.",
    )
    assert skill.label.startswith("Auto-learned (action): One line")


def test_saving_and_approving_is_the_first_of_two_approvals(client, tenant, rita, ruth):
    skill = make_draft(tenant)
    client.post(at(skill, "edit"), typed(skill, action="Something else", approve="1"))
    assert state_of(skill) == SkillState.DRAFT
    assert skill.first_approver == rita
    client.force_login(ruth)
    client.post(at(skill, "approve"), {"version": skill.version})
    assert state_of(skill) == SkillState.APPROVED


def test_a_refused_edit_keeps_what_was_typed(client, tenant, rita, ruth):
    skill = make_draft(tenant)
    skills.edit_skill(
        tenant=tenant, actor=ruth, skill_id=skill.pk, content={"action": "Ruth's"}, seen_version=0
    )
    response = client.post(at(skill, "edit"), typed(skill, action="my long thought"), headers=HTMX)
    assert response.status_code == 409
    assert "my long thought" in page_of(response)
    assert "Ruth edited the skill while you were looking" in text_of(response)


def test_an_edit_that_changes_nothing_is_said_so(client, tenant, rita):
    skill = make_draft(tenant)
    response = client.post(at(skill, "edit"), typed(skill), headers=HTMX)
    assert response.status_code == 422
    assert "Nothing was changed." in text_of(response)


# -- Rejecting, merging, retiring, undoing


def test_a_rejection_is_in_the_history_with_its_reason(client, tenant, rita):
    skill = make_draft(tenant)
    client.post(at(skill, "reject"), {"version": 0, "reason": "too_broad", "text": "Not for <b>all</b>."})
    response = client.get(at(skill))
    assert "Rita rejected the skill: too broad" in text_of(response)
    assert "Not for &lt;b&gt;all&lt;/b&gt;." in response.content.decode()


def test_a_skill_is_merged_into_a_similar_one(client, tenant, rita):
    into = make_draft(tenant, "guardrail", trigger="Refund over 500", action="Never call issue_refund")
    skill = make_draft(tenant, "guardrail", trigger="Refund over 900", action="Never call issue_refund")
    assert f'<option value="{into.pk}"' in page_of(client.get(at(skill)))
    client.post(at(skill, "merge"), {"version": 0, "into": into.pk})
    assert state_of(skill) == SkillState.MERGED
    assert f'Merged into <a href="{at(into)}">' in page_of(client.get(at(skill)))


def test_what_nothing_can_be_merged_into_is_not_offered(client, tenant, rita):
    into = make_draft(tenant, "guardrail", trigger="Refund over 500", action="Never call issue_refund")
    skill = make_draft(tenant, "guardrail", trigger="Refund over 900", action="Never call issue_refund")
    skills.reject_skill(tenant=tenant, actor=rita, skill_id=into.pk, reason="wrong", seen_version=0)
    response = client.get(at(skill))
    assert [row.pk for row in response.context["similar"]] == [into.pk]
    assert f'<option value="{into.pk}"' not in page_of(response)


def test_an_approved_skill_is_retired(client, tenant, rita):
    skill = make_draft(tenant)
    skills.approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0)
    response = client.post(at(skill, "retire?state=approved"), {"version": 1, "text": "Old."})
    assert response.headers["Location"] == "/t/acme/skills/?state=approved"
    assert state_of(skill) == SkillState.RETIRED


def test_undo_goes_back_to_the_skill(client, tenant, rita):
    skill = make_draft(tenant)
    done = skills.reject_skill(tenant=tenant, actor=rita, skill_id=skill.pk, reason="wrong", seen_version=0)
    address = f"/t/acme/skills/decisions/{done.decision.pk}/undo"
    response = client.post(address, headers=HTMX)
    assert response.headers["HX-Push-Url"] == at(skill)
    assert state_of(skill) == SkillState.DRAFT
    assert client.post(address, headers=HTMX).status_code == 409


def test_anothers_decision_is_undone_by_a_manager_only(client, tenant, rita, ruth):
    skill = make_draft(tenant)
    done = skills.reject_skill(tenant=tenant, actor=ruth, skill_id=skill.pk, reason="wrong", seen_version=0)
    address = f"/t/acme/skills/decisions/{done.decision.pk}/undo"
    assert address not in page_of(client.get(at(skill)))
    assert client.post(address, headers=HTMX).status_code == 403
    client.force_login(make_member(tenant, Role.MANAGER, "max"))
    assert address in page_of(client.get(at(skill)))
    assert client.post(address).status_code == 302


def test_next_and_previous_follow_the_list_as_it_is_now(client, tenant, rita):
    first, second, third = (make_draft(tenant, subject=n, confidence=0.9 - n / 10) for n in range(3))
    skills.approve_skill(tenant=tenant, actor=rita, skill_id=second.pk, seen_version=0)
    assert client.get(at(first, "next")).headers["Location"] == at(third)
    assert client.get(at(third, "previous")).headers["Location"] == at(first)
    assert client.get(at(second, "next")).headers["Location"] == at(third)
    assert "That was the last one" in page_of(client.get(at(third, "next")))
    assert "This is the first skill of the list." in page_of(client.get(at(first, "previous")))


# -- Replay


def test_a_replay_says_which_turns_it_would_have_touched(client, tenant, rita):
    """Three turns call the tool; of these one was confirmed fabricated and one failed."""
    turns = [
        make_turn(tenant, "I sent it.", external_id=f"run-{n}", tool_calls=[call("tool_0", ok=n != 1)])
        for n in range(3)
    ]
    make_turn(tenant, "Good morning.")
    review.decide_turn(
        tenant=tenant, actor=rita, turn_id=turns[0].pk, label="fabricated", seen_version=turns[0].version
    )
    skill = make_draft(tenant)
    response = client.post(at(skill, "replay"), headers=HTMX)
    assert "Waiting for a worker." in page_of(response)
    seen = response.context["replay"].seen
    assert client.get(at(skill, f"replay?seen={seen}"), headers=HTMX).status_code == 204
    jobs.run_jobs()
    done = client.get(at(skill, f"replay?seen={seen}"), headers=HTMX)
    says = "Would have touched 3 of 4 turns, 1 confirmed fabrication and 1 failed among them."
    assert says in text_of(done)
    assert says in text_of(client.get(at(skill)))
    listed = client.get(at(skill, "?touched=failed")).context["replay"].shown
    assert [row.name for row in listed] == ["run-1"]
    assert listed[0].url == f"/t/acme/turns/{turns[1].pk}/"


def test_a_replay_of_an_earlier_text_says_so(client, tenant, rita, ruth):
    skill = make_draft(tenant)
    jobs.start_job(tenant=tenant, kind="replay", parameters={"skill": skill.pk}, actor=rita)
    jobs.run_jobs()
    skills.edit_skill(tenant=tenant, actor=ruth, skill_id=skill.pk, content={"action": "x"}, seen_version=0)
    assert "for an earlier text" in text_of(client.get(at(skill)))


def test_a_second_replay_at_once_is_refused(client, tenant, rita):
    skill = make_draft(tenant)
    assert client.post(at(skill, "replay")).status_code == 302
    assert client.post(at(skill, "replay"), headers=HTMX).status_code == 409


# -- Delivery


def test_how_far_the_runtime_was_told_is_shown_and_a_given_up_message_sent_again(client, tenant, rita):
    manager = make_member(tenant, Role.MANAGER, "max")
    runtimes.set_runtime(
        tenant=tenant, actor=manager, base_url="https://example.com", runtime_tenant="acme", auth=None
    )
    skill = make_draft(tenant, origin=SkillOrigin.RUNTIME, runtime_id="p-1")
    skills.approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0)
    assert "Approve Waiting" in text_of(client.get(at(skill)))
    Delivery.objects.for_tenant(tenant).update(state=DeliveryState.DEAD, last_error="No answer.")
    response = client.get(at(skill))
    assert "Approve Given up" in text_of(response)
    assert "No answer." in text_of(response)
    message = Delivery.objects.for_tenant(tenant).get()
    address = f"/t/acme/settings/runtime/deliveries/{message.pk}/retry"
    assert address in page_of(response)
    assert client.post(address, {"skill": skill.pk}).headers["Location"] == at(skill) + "#delivery"
    assert Delivery.objects.for_tenant(tenant).get().state == DeliveryState.WAITING
    assert client.post(address, {"skill": skill.pk}).status_code == 409


@pytest.mark.parametrize("count", [1, 8])
def test_a_page_costs_the_same_with_few_and_much_evidence(client, tenant, rita, ruth, count):
    for n in range(count):
        make_turn(tenant, external_id=f"run-{n}")
        make_draft(tenant, "guardrail", trigger=f"Refund over {n}", action="Never call issue_refund")
        make_draft(tenant, "action", trigger=SUBJECTS[n], action=f"Call issue_refund, tool_{n}")
    skill = make_draft(
        tenant,
        "guardrail",
        trigger="Refund over 500",
        action="Never call issue_refund",
        episodes=[f"run-{n}" for n in range(count)],
    )
    for n in range(count):
        actor = rita if n % 2 else ruth
        content = {"rationale": f"Because {n}."}
        skills.edit_skill(tenant=tenant, actor=actor, skill_id=skill.pk, content=content, seen_version=n)
    skills.approve_skill(tenant=tenant, actor=ruth, skill_id=skill.pk, seen_version=count)
    assert SkillDecision.objects.for_tenant(tenant).count() == count + 1
    jobs.start_job(tenant=tenant, kind="replay", parameters={"skill": skill.pk}, actor=rita)
    jobs.run_jobs()
    client.get(at(skill))
    with CaptureQueriesContext(connection) as queries:
        client.get(at(skill, "?touched=all"))
    # Session, person, memberships; skill, others, revisions; sources, their turns (twice: by id, by name)
    # and payloads; replay, its rows for the page and for the list asked for, the text's version; decisions,
    # deliveries; whether the first approver counts; settings; last decision; the state of the indexes (twice,
    # each with the tools of the policy).
    assert asked(queries) <= 24
