"""Skills by keyboard: rejected, undone, edited, approved by two; learned, replayed; two windows at once."""

from __future__ import annotations

import pytest

from reviews.models import Skill
from reviews.models.skills import SkillState
from reviews.models.tenants import Role
from reviews.services import jobs
from tests.factories import call, make_member, make_tenant, make_turn
from tests.views.skilled import make_draft

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def acme(transactional_db):
    tenant = make_tenant("acme")
    make_member(tenant, Role.MANAGER, "max")
    make_member(tenant, Role.REVIEWER, "rita")
    return tenant


def state_of(skill: Skill) -> str:
    return Skill.objects.for_tenant(skill.tenant).get(pk=skill.pk).state


def focused(page, selector: str) -> None:
    page.wait_for_function("s => document.activeElement?.matches(s)", arg=selector)


def test_a_draft_is_rejected_undone_edited_and_approved_by_two_people(log_in, acme):
    """The guardrail is the more confident, so it is the first row and the action the one after it."""
    guardrail = make_draft(acme, "guardrail", subject=0, confidence=0.9)
    action = make_draft(acme, "action", subject=1, confidence=0.8)
    page = log_in("rita")

    # Overview, list, first row.
    page.keyboard.press("g")
    page.keyboard.press("k")
    page.wait_for_url("**/skills/")
    page.keyboard.press("j")
    focused(page, ".skill-row")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/skills/{guardrail.pk}/")

    # Rejected with a reason; the next draft is there, and has the focus.
    page.keyboard.press("r")
    focused(page, "[name=reason]")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/skills/{action.pk}/")
    focused(page, "#review h1")
    assert state_of(guardrail) == SkillState.REJECTED

    # Undone: back at the guardrail, a draft again.
    page.keyboard.press("z")
    page.wait_for_url(f"**/skills/{guardrail.pk}/")
    assert state_of(guardrail) == SkillState.DRAFT

    # Edited; the page stays and shows what changed.
    page.keyboard.press("e")
    focused(page, "textarea[name=trigger]")
    page.keyboard.press("Control+End")
    page.keyboard.type(" euros")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#edits ~ details ins:has-text('euros')")
    page.keyboard.press("y")
    page.wait_for_url(f"**/skills/{action.pk}/")
    assert state_of(guardrail) == SkillState.DRAFT

    # The writer may not be the second; it is said, and no button is offered.
    page.keyboard.press("k")
    page.wait_for_url(f"**/skills/{guardrail.pk}/**")
    page.wait_for_selector("text=somebody else has to give the second")
    assert page.locator("[data-key=y]").count() == 0

    # Max sees who approved, and is the second.
    other = log_in("max")
    other.goto(f"/t/acme/skills/{guardrail.pk}/")
    other.wait_for_selector("text=First approval: Rita")
    other.keyboard.press("y")
    other.wait_for_url(f"**/skills/{action.pk}/")
    assert state_of(guardrail) == SkillState.APPROVED


def test_who_comes_second_in_two_windows_is_told_who_decided(log_in, acme):
    skill = make_draft(acme)
    first, second = log_in("rita"), log_in("max")
    for page in (first, second):
        page.goto(f"/t/acme/skills/{skill.pk}/")
    first.keyboard.press("y")
    first.wait_for_selector("text=That was the last one")
    second.keyboard.press("y")
    second.wait_for_selector(".notice.bad:has-text('Rita')")
    assert second.locator("[data-key=y]").count() == 0
    assert state_of(skill) == SkillState.APPROVED


def test_learning_and_replay_end_on_the_page_that_started_them(log_in, acme):
    """Four turns make the same call, and a fifth none; the replay of the draft touches the four."""
    for n in range(4):
        make_turn(
            acme,
            "It is done.",
            external_id=f"run-{n}",
            user_message="Please do it.",
            tool_calls=[call("tool_0")],
        )
    make_turn(acme, "Good morning.", user_message="Hello.")
    skill = make_draft(acme, episodes=["run-0"])
    page = log_in("max")

    page.goto("/t/acme/skills/")
    page.focus("#learn-now")
    page.keyboard.press("Enter")
    page.wait_for_selector("#learn-now:disabled")
    jobs.run_jobs()
    page.wait_for_selector("#learn-now:enabled")
    assert "5 turns" in page.inner_text("#run")

    page.goto(f"/t/acme/skills/{skill.pk}/")
    page.keyboard.press("p")
    page.wait_for_selector("#replay-now:disabled")
    jobs.run_jobs()
    page.wait_for_selector("#replay:has-text('Would have touched 4 of 5 turns')")
    page.focus(".replay-says a")
    page.keyboard.press("Enter")
    page.wait_for_selector("#replayed")
    assert page.locator("#replayed a.flip").count() == 4


def test_all_of_a_filter_are_rejected_and_undone(log_in, acme):
    skills = [make_draft(acme, "action", subject=n) for n in range(3)]
    kept = make_draft(acme, "recovery", subject=3)
    page = log_in("max")
    page.goto("/t/acme/skills/?kind=action")
    page.focus("a:has-text('Reject all of these')")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Reject 3 drafts')")
    page.focus("#bulk-wrong")
    page.keyboard.press("Space")
    page.focus("button:has-text('Reject 3 drafts')")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=The drafts are rejected.")
    assert [state_of(skill) for skill in [*skills, kept]] == ["rejected"] * 3 + ["draft"]
    page.keyboard.press("z")
    page.wait_for_selector("text=Undone: the drafts wait again.")
    assert [state_of(skill) for skill in skills] == ["draft"] * 3
