"""Suites in the browser: written by keyboard, published, and what they find; axe and narrow windows too."""

from __future__ import annotations

import pytest

from reviews.models.tenants import Role
from reviews.services.policies import current_policy
from tests.browser.test_accessibility import _found, _violations
from tests.factories import make_member, make_turn
from tests.services.asserted import CLEAN, CONTAINS, EXCLUDES, LEAK, PLAIN, publish, suite_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def enter(page, selector: str) -> None:
    """Press Enter on what has the focus, as somebody without a mouse would."""
    page.focus(selector)
    page.keyboard.press("Enter")


def test_a_suite_is_written_published_and_its_failures_reach_a_reviewer(log_in, tenant):
    make_member(tenant, Role.OWNER, "olga")
    page = log_in("olga")
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url("**/assertions/")
    enter(page, "a:has-text('New suite')")
    page.fill("[name=name]", "privacy")
    page.fill("[name='0-fragments']", "4111")
    page.check("[name=queue]")
    # Another assertion keeps what was typed, and can be taken out again.
    enter(page, "button[value=prompt_recall_contains]")
    page.wait_for_selector("[name='1-fragments']")
    page.fill("[name='1-fragments']", "vegan")
    enter(page, "button[value=memory_category_separated]")
    page.wait_for_selector("[name='2-expected']")
    enter(page, "button[name=take_out][value='2']")
    page.wait_for_selector("[name='2-expected']", state="detached")
    assert page.input_value("[name='0-fragments']") == "4111"
    assert page.input_value("[name='1-fragments']") == "vegan"
    # Enter in a field saves, and does not take an assertion out.
    enter(page, "[name=name]")
    page.wait_for_url("**/policy/versions/**")
    page.click("button:has-text('Publish')")
    page.wait_for_url("**done=published**")
    (suite,) = current_policy(tenant=tenant).settings.assertion_suites
    assert [spec.type for spec in suite.assertions] == ["prompt_recall_excludes", "prompt_recall_contains"]

    make_turn(tenant, PLAIN, external_id="leaks", attributes=LEAK)
    make_turn(tenant, PLAIN, external_id="clean", attributes=CLEAN)
    page.goto("/t/acme/queue/?assertions=failed")
    page.click("a.row")
    page.wait_for_selector("#assertions")
    assert "4111" not in page.inner_text("#assertions")
    assert page.inner_text("h1") == "leaks"
    page.keyboard.press("t")
    page.wait_for_selector("text=That was the last one")
    page.goto("/t/acme/assertions/")
    page.click("a:has-text('prompt_recall_excludes')")
    page.wait_for_selector(".narrowed")
    assert page.locator(".failing-row").count() == 1
    assert log_in.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 360, 768, 1440, 3840])
def test_the_pages_have_no_violations_and_fit(log_in, tenant, width, scheme):
    make_member(tenant, Role.OWNER, "olga")
    page = log_in("olga", viewport={"width": width, "height": 800}, color_scheme=scheme)
    found = {"empty": _violations(page, "/t/acme/assertions/")}
    publish(tenant, suite_of("privacy", EXCLUDES, CONTAINS, queue=True), suite_of("other", CONTAINS))
    turn = make_turn(tenant, PLAIN, attributes=LEAK, agent="bot")
    make_turn(tenant, PLAIN, attributes={})
    for path in (
        "/t/acme/assertions/",
        "/t/acme/assertions/?days=7&suite=privacy&assertion=no+cards&agent=bot",
        "/t/acme/assertions/suites/new",
        "/t/acme/assertions/suites/0/",
        "/t/acme/queue/?assertions=failed",
        f"/t/acme/turns/{turn.pk}/",
    ):
        found[path] = _violations(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    page.goto("/t/acme/assertions/suites/0/")
    page.fill("[name='0-fragments']", "")
    page.fill("[name=name]", "")
    page.click("#save-suite")
    page.wait_for_selector("[aria-invalid]")
    found["refused"] = _found(page)
    assert {path: violations for path, violations in found.items() if violations} == {}
