"""From a slider to an agent: tried, drafted, published, read over the API, rolled back; all by keyboard."""

from __future__ import annotations

import pytest

from reviews.models.tenants import Role, Scope
from reviews.services import keys
from reviews.services.publishing import save_draft
from tests.factories import make_member, make_tenant, make_turn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def acme(transactional_db):
    """In force: refuse at or above 0.9. One turn at 0.8 (a claimed action, by the seed's priors)."""
    tenant = make_tenant("acme", fabrication_check_mode="refuse", fabrication_refuse_min_confidence=0.9)
    make_turn(tenant, "I sent the invoice to your accountant.")
    return tenant


def press(page, selector, key="Enter"):
    """Press a key on what has the focus, as somebody without a mouse would."""
    page.focus(selector)
    page.keyboard.press(key)


def test_what_a_manager_tries_reaches_the_agent_and_can_be_taken_back(log_in, acme):
    max_ = make_member(acme, Role.MANAGER, "max")
    secret = keys.create_key(tenant=acme, author=max_, name="bot", scopes=[Scope.POLICY]).secret
    page = log_in("max")

    def policy(known=""):
        headers = {"Authorization": f"Bearer {secret}"} | ({"If-None-Match": known} if known else {})
        response = page.request.get("/api/v1/policy", headers=headers)
        return response, response.json() if response.status == 200 else None

    response, answer = policy()
    etag = response.headers["etag"]
    assert answer["framework_config"]["fabrication_refuse_min_confidence"] == 0.9
    assert policy(etag)[0].status == 304

    # Try and save.
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/thresholds/")
    page.focus("#slide_refuse")
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#flips-title:has-text('1 turn changes fate')")
    press(page, "button:has-text('Save as draft')")
    page.wait_for_selector("text=Saved as a draft.")
    # A draft is nothing to the agent.
    assert policy(etag)[0].status == 304

    # Publish.
    press(page, "a:has-text('Publish…')")
    page.wait_for_url("**/policy/versions/2/")
    press(page, "button:has-text('Publish version 2')")
    page.wait_for_selector(".tag:has-text('in force')")
    response, answer = policy(etag)
    assert (answer["version"], answer["framework_config"]["fabrication_refuse_min_confidence"]) == (2, 0.8)

    # The next turn is judged by it.
    turn = make_turn(acme, "I sent the invoice to your accountant.")
    assert (turn.outcome, turn.policy_version.number) == ("refuse_replaced", 2)

    # Back to the first version, under a number of its own.
    page.goto("/t/acme/policy/versions/1/")
    press(page, "summary:has-text('Roll back')")
    press(page, "button:has-text('Roll back to version 1')")
    page.wait_for_url("**/policy/versions/3/**")
    response, answer = policy(response.headers["etag"])
    assert (answer["version"], answer["framework_config"]["fabrication_refuse_min_confidence"]) == (3, 0.9)


def test_what_is_wrong_has_the_focus_and_leads_to_its_field(log_in, acme):
    make_member(acme, Role.MANAGER, "max")
    page = log_in("max")
    page.goto("/t/acme/settings/")
    page.fill("#id_identifier_keys", "9lives")
    page.fill("#id_fabrication_refuse_min_confidence", "2")
    page.click("button:has-text('Save as draft')")
    page.wait_for_selector("text=Not saved")
    page.wait_for_function("document.activeElement.matches('.notice.bad')")
    press(page, "a:has-text('Identifier keys')")
    page.wait_for_url("**#id_identifier_keys")
    page.keyboard.press("Tab")
    # From the field that the link led to, on to the next one.
    assert page.evaluate("document.activeElement.id") == "id_tool_trigger_keywords"


def test_on_a_phone_what_can_be_done_comes_first(log_in, acme):
    make_member(acme, Role.MANAGER, "max")
    save_draft(tenant=acme, author=None, values={"ignored_keys": ["service"]}, based_on=1)
    page = log_in("max", viewport={"width": 360, "height": 740})
    page.goto("/t/acme/policy/versions/2/")
    tops = [page.locator(f"#{title}-title").bounding_box()["y"] for title in ("acts", "diff", "facts")]
    assert tops == sorted(tops)
