"""A manager stops guessing: moves a slider by keyboard, sees what it would do, and saves a draft."""

from __future__ import annotations

import pytest
from axe_core_python.sync_playwright import Axe

from reviews.models import Calibration, User
from reviews.models.tenants import Role
from reviews.services import jobs, review
from reviews.services.policies import unpublished_versions
from tests.browser.test_accessibility import OPTIONS, WINDOWS
from tests.factories import make_member, make_tenant, make_turn
from tests.views.suggesting import make_suggestion

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

URL = "/t/acme/thresholds/"
#: The detector's confidences (behaviour.md, section 1): a claimed action 0.8, a UUID 0.95.
VERB = "I sent the invoice to your accountant."
UUID = "The reference is 6f9619ff-8b86-4011-b42d-00c04fc964ff."
#: The number of turns that are refused with what is tried.
REFUSED = ".outcomes > div:first-child .change b"


@pytest.fixture
def acme(transactional_db):
    """In force: refuse at or above 0.9. One turn at 0.95, two at 0.8, one of them a false alarm."""
    tenant = make_tenant("acme", fabrication_check_mode="refuse", fabrication_refuse_min_confidence=0.9)
    make_member(tenant, Role.MANAGER, "max")
    make_turn(tenant, UUID)
    make_turn(tenant, VERB)
    label_one(tenant, VERB, "false_alarm")
    return tenant


def label_one(tenant, draft, label="fabricated"):
    """A turn with a reviewer's word on it."""
    rita = User.objects.filter(username="rita").first() or make_member(tenant, Role.REVIEWER, "rita")
    turn = make_turn(tenant, draft)
    review.decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label=label, seen_version=0)


def test_a_slider_moved_by_keyboard_shows_what_flips_and_is_saved_as_a_draft(log_in, acme):
    page = log_in("max")
    page.goto(URL)
    assert page.inner_text(REFUSED) == "1"
    assert page.inner_text("#flips-title") == "No turn changes fate"
    page.focus("#slide_refuse")
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#flips-title:has-text('2 turns change fate')")
    assert page.input_value("#id_refuse") == "0.8"
    assert page.inner_text(REFUSED) == "3"
    assert page.locator(".flip").count() == 2
    assert page.locator(".flip:has-text('False alarm')").count() == 1
    # The slider is still under the fingers, and what happened was told.
    assert page.evaluate("document.activeElement.id") == "slide_refuse"
    assert page.inner_text("#announcer").startswith("3 refused, 1 before.")
    page.fill("#id_note", "The claims are invented as well.")
    page.click("button:has-text('Save as draft')")
    page.wait_for_selector("text=Saved as a draft.")
    draft = unpublished_versions(tenant=acme)[0]
    assert draft.settings["fabrication_refuse_min_confidence"] == 0.8
    assert draft.note == "The claims are invented as well."
    assert "editing draft 2 by you" in page.inner_text(".versions-line")


def test_what_is_saved_is_what_stands_in_the_fields_even_before_the_answer(log_in, acme):
    page = log_in("max")
    page.goto(URL)
    page.route("**/simulate?*", lambda route: None)  # an answer that never comes
    page.fill("#id_refuse", "0.725")
    assert page.input_value("#slide_refuse") == "0.73"
    page.click("button:has-text('Save as draft')")
    page.wait_for_selector("text=Saved as a draft.")
    assert unpublished_versions(tenant=acme)[0].settings["fabrication_refuse_min_confidence"] == 0.725


def test_a_kind_follows_the_overall_threshold_until_it_has_its_own(log_in, acme):
    page = log_in("max")
    page.goto(URL)
    page.click("summary:has-text('Per kind')")
    slider = "[data-steers=id_refuse_verb_claim]"
    page.fill("#id_refuse", "0.85")
    assert page.input_value(slider) == "0.85"
    assert page.input_value("#id_refuse_verb_claim") == ""
    page.focus(slider)
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#flips-title:has-text('2 turns change fate')")
    assert page.input_value("#id_refuse_verb_claim") == "0.8"
    page.fill("#id_refuse_verb_claim", "")
    page.wait_for_selector("#flips-title:has-text('No turn changes fate')")
    assert page.input_value(slider) == "0.85"


def test_a_value_that_cannot_be_used_is_said_and_not_sent(log_in, acme):
    page = log_in("max")
    page.goto(URL)
    page.fill("#id_refuse", "")
    page.wait_for_selector("[data-halted]:visible")
    assert page.inner_text(REFUSED) == "1"
    # Whoever does not see it is told, and what is seen looks like what it is: no answer to this.
    assert page.inner_text("#announcer") == page.inner_text("[data-halted]")
    assert page.get_attribute("#id_refuse", "aria-invalid") == "true"
    assert page.locator("#controls [aria-invalid]").count() == 1
    assert page.locator("#result.stale").count() == 1
    page.fill("#id_refuse", "0.8")
    page.wait_for_selector("[data-halted]", state="hidden")
    page.wait_for_selector("#flips-title:has-text('2 turns change fate')")
    assert page.get_attribute("#id_refuse", "aria-invalid") is None
    assert page.locator("#result.stale").count() == 0


def test_enter_in_a_field_tries_it_and_saves_nothing(log_in, acme):
    page = log_in("max")
    page.goto(URL)
    page.fill("#id_refuse", "0.8")
    page.press("#id_refuse", "Enter")
    page.wait_for_selector("#flips-title:has-text('2 turns change fate')")
    page.press("#id_note", "Enter")
    page.wait_for_load_state("networkidle")
    assert unpublished_versions(tenant=acme) == []


def test_what_was_done_is_old_news_after_the_next_move(log_in, acme):
    page = log_in("max")
    page.goto(URL)
    page.fill("#id_refuse", "0.8")
    page.click("button:has-text('Save as draft')")
    page.wait_for_selector("text=Saved as a draft.")
    page.fill("#id_refuse", "0.85")
    page.wait_for_selector("text=Saved as a draft.", state="detached")


def test_a_rule_goes_into_the_draft_on_the_screen_and_what_is_typed_stays(log_in, acme):
    suggestion = make_suggestion(acme)
    page = log_in("max")
    page.goto(URL)
    page.fill("#id_refuse", "0.8")
    page.wait_for_url("**refuse=0.8")
    page.fill("#id_note", "By evidence.")
    # Neither the token nor the note is part of what is tried.
    assert "csrf" not in page.url
    assert "note" not in page.url
    page.click(f"#accept-{suggestion.pk}")
    page.wait_for_selector("text=The rule is in draft 2 now.")
    assert page.input_value("#id_refuse") == "0.8"
    assert page.input_value("#id_note") == "By evidence."
    assert page.inner_text("#unsimulated").startswith("Draft 2 also changes Tools that ground a verb.")


def test_a_suggested_threshold_goes_into_the_slider(log_in, acme):
    for _ in range(20):
        label_one(acme, UUID)
    page = log_in("max")
    page.goto(URL + "?target=0.8")
    # All twenty-one labels together: 20 of 21 fabricated, at least 0.77; those at 0.95 alone: 0.84.
    page.click("#histogram-table summary")
    page.click("#use-suggestion")
    page.wait_for_url("**refuse=0.95**")
    assert page.input_value("#slide_refuse") == "0.95"
    assert page.evaluate("document.activeElement.id") == "id_refuse"
    assert page.get_attribute("#histogram-table", "open") is not None


def test_coming_back_from_a_turn_finds_what_was_tried(log_in, acme):
    page = log_in("max")
    page.goto(URL)
    page.fill("#id_refuse", "0.8")
    page.wait_for_url("**refuse=0.8")
    page.click(".flip >> nth=0")
    page.wait_for_selector("#review")
    page.go_back()
    page.wait_for_selector("#flips-title:has-text('2 turns change fate')")
    assert page.input_value("#id_refuse") == "0.8"


def test_learning_shows_its_progress_and_what_came_of_it(log_in, acme):
    page = log_in("max")
    page.goto(URL)
    page.fill("#id_refuse", "0.8")
    page.click("button:has-text('Learn now')")
    page.wait_for_selector("text=Waiting for a worker.")
    assert page.input_value("#id_refuse") == "0.8"
    jobs.run_jobs()
    page.wait_for_selector("#learned:has-text('learned from 1 label')")
    assert page.locator("#learn-now").is_enabled()


def test_it_all_works_without_script(log_in, acme):
    suggestion = make_suggestion(acme)
    page = log_in("max", java_script_enabled=False)
    page.goto(URL)
    assert page.locator("#slide_refuse").is_hidden()
    page.fill("#id_refuse", "0.8")
    page.click("#controls button:has-text('Try')")
    assert page.inner_text("#flips-title").startswith("2 turns change fate")
    assert "csrf" not in page.url
    # What is saved is what stands in the fields, tried before or not.
    page.fill("#id_refuse", "0.75")
    page.fill("#id_note", "By hand.")
    page.click("button:has-text('Save as draft')")
    assert "editing draft 2" in page.inner_text(".versions-line")
    draft = unpublished_versions(tenant=acme)[0]
    assert (draft.settings["fabrication_refuse_min_confidence"], draft.note) == (0.75, "By hand.")
    page.fill("#id_refuse", "0.7")
    page.click(f"#accept-{suggestion.pk}")
    assert page.input_value("#id_refuse") == "0.7"
    draft = unpublished_versions(tenant=acme)[0]
    assert draft.settings["fabrication_refuse_min_confidence"] == 0.75
    assert draft.settings["grounding_tool_fragments"] == {"checked": ["get"]}


def test_the_tab_has_a_key(log_in, acme):
    page = log_in("max")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url(f"**{URL}")


@pytest.fixture
def full(acme):
    """Everything the screen can show at once."""
    bins = [[0.35, 0.4, 20, [0.2, 0.6]], [0.8, 0.7, 20, [0.5, 0.85]]]
    quality = {
        "n_train": 90, "n_test": 40, "brier_raw": 0.25, "brier_calibrated": 0.2,
        "bins_raw": bins, "bins_calibrated": bins,
    }  # fmt: skip
    Calibration.objects.across_tenants().create(
        tenant=acme, number=1, labels=130, content={"kinds": {}, "groups": []}, quality=quality
    )
    make_suggestion(acme)
    label_one(acme, UUID)
    return acme


#: Nothing is left hidden in a fold.
UNFOLD = "for (const box of document.querySelectorAll('main details')) box.open = true"
TRIED = URL + "?refuse=0.8&refuse_uuid=0.96&mode=refuse"


@pytest.mark.parametrize("window", WINDOWS)
def test_no_violations(log_in, full, window):
    page = log_in("max", **WINDOWS[window])
    for path in (TRIED, URL + "?refuse=2", URL + "?days=7&mode=off"):
        page.goto(path)
        page.evaluate(UNFOLD)
        found = Axe().run(page, options=OPTIONS)["violations"]
        assert [(v["id"], [node["target"] for node in v["nodes"]]) for v in found] == [], path


def test_an_empty_tenant_has_no_violations(log_in, tenant):
    make_member(tenant, Role.VIEWER, "vera")
    page = log_in("vera")
    page.goto(URL)
    assert Axe().run(page, options=OPTIONS)["violations"] == []


@pytest.mark.parametrize("width", [320, 360, 768, 1440, 3840])
def test_nothing_is_wider_than_the_window(log_in, full, width):
    page = log_in("max", viewport={"width": width, "height": 800})
    for path in (TRIED, URL + "?refuse=2"):
        page.goto(path)
        page.evaluate(UNFOLD)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
