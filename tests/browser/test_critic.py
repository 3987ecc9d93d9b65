"""The critic's panel in a browser: judged by keyboard, coming in late, readable for all, never too wide."""

from __future__ import annotations

import pytest
from axe_core_python.sync_playwright import Axe

from reviews.models import CriticVerdict, Turn, TurnPayload
from reviews.models.critic import CallState
from reviews.models.tenants import Role
from reviews.services.publishing import publish_settings
from tests.browser.test_accessibility import OPTIONS, WINDOWS
from tests.factories import call, make_member, make_turn, make_verdict

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DRAFT = "I sent the invoice to your accountant on Monday."
REVISED = "I have looked the invoice up; I could not send it to your accountant."
LONG = "a" * 200


@pytest.fixture
def turn(tenant):
    make_member(tenant, Role.REVIEWER, "rita")
    return make_turn(tenant, DRAFT, external_id="turn-1", tool_calls=[call("get_invoice", {"id": "INV-7"})])


@pytest.fixture
def revised(turn):
    make_verdict(
        turn,
        revised_draft=REVISED,
        sensitive_tag=LONG,
        matched_preferences=["Never say that something was done unless a tool did it.", LONG],
        rules=[f"Before sending, {LONG}"],
        model=LONG,
        tokens_in=500,
        tokens_out=60,
        cost=0.0002,
        latency_ms=900,
    )
    return turn


def verdict_on(turn: Turn) -> CriticVerdict:
    return CriticVerdict.objects.for_tenant(turn.tenant).get(pk=turn.pk)


def opened(log_in, turn: Turn, **window):
    page = log_in("rita", **window)
    page.goto(f"/t/acme/turns/{turn.pk}/")
    return page


def test_the_critic_is_overruled_by_keyboard_and_that_is_undone(log_in, revised):
    page = opened(log_in, revised)
    page.keyboard.press("o")
    # The letters of a choice are no keys, and arrows choose rather than go to another claim.
    page.keyboard.press("t")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.type("The tool ran in the turn before.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#critic .word:has-text('Rita overruled: approve')")
    assert page.url.endswith(f"/turns/{revised.pk}/")
    assert page.inner_text("#announcer") == "You overruled the critic: approve"
    said = verdict_on(revised)
    assert (said.human, said.human_reason) == ("approve", "The tool ran in the turn before.")
    assert revised.findings.get().label == ""
    page.keyboard.press("z")
    page.wait_for_selector("#critic .word", state="detached")
    assert verdict_on(revised).human == ""


def test_agreeing_and_taking_the_revision_take_one_key_each(log_in, revised):
    page = opened(log_in, revised)
    page.keyboard.press("y")
    page.wait_for_selector("#critic .word:has-text('Rita agreed')")
    page.keyboard.press("r")
    page.wait_for_selector(f".draft .notice:has-text('{REVISED}')")
    assert TurnPayload.objects.for_tenant(revised.tenant).get(pk=revised.pk).corrected_answer == REVISED


def test_a_better_answer_is_begun_from_the_revision(log_in, revised):
    page = opened(log_in, revised)
    page.keyboard.press("e")
    assert page.input_value("#answer-text") == REVISED


def test_keys_for_the_critic_can_be_switched_off(log_in, revised):
    page = log_in("rita")
    page.goto("/account/")
    page.uncheck("[name=shortcuts]")
    with page.expect_navigation():
        page.click("button:has-text('Save')")
    page.goto(f"/t/acme/turns/{revised.pk}/")
    page.keyboard.press("y")
    page.keyboard.press("o")
    page.click("#critic button:has-text('Take the revision')")
    page.wait_for_selector("#critic .word:has-text('Rita agreed')")
    assert revised.decisions.count() == 1


def test_a_verdict_comes_in_while_a_note_is_written_and_takes_nothing_away(log_in, turn):
    said = make_verdict(turn, state="waiting")
    page = opened(log_in, turn)
    page.keyboard.press("n")
    page.keyboard.type("half a thou")
    said.state, said.verdict, said.said, said.revised_draft = CallState.DONE, "revise", "revise", REVISED
    said.save()
    Turn.objects.for_tenant(turn.tenant).filter(pk=turn.pk).update(critic="revise")
    page.wait_for_selector("#critic ins")
    page.keyboard.type("ght")
    assert page.input_value("#note-text") == "half a thought"
    assert page.inner_text("#announcer") == "The critic says: revise."
    # The page goes on from there: the keys work on the piece that came.
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    page.wait_for_selector("#critic .word:has-text('Rita agreed')")


def test_the_critic_is_judged_without_script(log_in, revised):
    page = opened(log_in, revised, java_script_enabled=False)
    page.click("#critic summary:has-text('Overrule')")
    page.check("#critic [value=refuse]")
    page.fill("#overrule-reason", "Nothing of it holds.")
    page.click("#critic button:has-text('Overrule the critic')")
    assert "Rita overruled: refuse" in page.inner_text("#critic")


def test_in_blind_review_the_filter_shows_with_the_decided_turns(log_in, revised):
    values = {"critic_blind_review": True, "audit_sample_rate": 0}
    publish_settings(tenant=revised.tenant, author=None, values=values)
    page = log_in("rita")
    page.goto("/t/acme/queue/")
    assert not page.is_visible("[name=critic]")
    page.select_option("[name=state]", "decided")
    assert page.is_visible("[name=critic]")


@pytest.fixture
def pages(revised):
    """A turn for each thing that the panel may be, and the queue with all of them."""
    tenant = revised.tenant
    refused, unread, waits = (make_turn(tenant, "Good morning.") for _ in range(3))
    make_verdict(refused, verdict="refuse", refusal_message=LONG, human="refuse", human_reason=LONG)
    make_verdict(unread, verdict="approve", cause="timeout", detail=LONG)
    make_verdict(waits, state="waiting")
    return [f"/t/acme/turns/{t.pk}/" for t in (revised, refused, unread, waits)] + [
        "/t/acme/queue/?state=all"
    ]


def violations(page, path: str) -> list[str]:
    page.goto(path)
    # What opens is looked at open.
    page.evaluate("for (const box of document.querySelectorAll('#critic details')) box.open = true")
    found = Axe().run(page, options=OPTIONS)["violations"]
    return [
        f"{v['id']}: {node['target']} {node['failureSummary'][:200]}" for v in found for node in v["nodes"]
    ]


@pytest.mark.parametrize("window", WINDOWS)
def test_the_panel_has_no_violations(log_in, pages, window):
    page = log_in("rita", **WINDOWS[window])
    found = {path: violations(page, path) for path in pages}
    assert {path: v for path, v in found.items() if v} == {}


@pytest.mark.parametrize("window", WINDOWS)
def test_a_hidden_panel_has_no_violations(log_in, revised, window):
    values = {"critic_blind_review": True, "audit_sample_rate": 0}
    publish_settings(tenant=revised.tenant, author=None, values=values)
    page = log_in("rita", **WINDOWS[window])
    assert violations(page, f"/t/acme/turns/{revised.pk}/") == []
    assert "shows after yours" in page.inner_text("#critic")


@pytest.mark.parametrize("width", [320, 360, 768, 1440])
def test_nothing_is_wider_than_the_window(log_in, pages, width):
    page = log_in("rita", viewport={"width": width, "height": 800})
    for path in pages:
        page.goto(path)
        page.evaluate("for (const box of document.querySelectorAll('#critic details')) box.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
