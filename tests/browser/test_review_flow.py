"""What a reviewer does all day: log in, pick from the queue, decide by keyboard, undo, meet a colleague."""

from __future__ import annotations

import pytest

from reviews.models import ReviewDecision, Turn
from reviews.models.tenants import Role
from reviews.models.turns import ReviewState
from tests.factories import call, make_member, make_turn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ONE_CLAIM = "I sent the invoice to your accountant."


@pytest.fixture
def queue_of_twelve(tenant):
    make_member(tenant, Role.REVIEWER, "rita")
    for n in range(12):
        make_turn(
            tenant,
            ONE_CLAIM,
            external_id=f"turn-{n:02d}",
            tool_calls=[call("get_invoice", {"id": f"INV-{n}"})],
        )
    return tenant


def test_a_wrong_password_is_refused_with_a_sentence(browser, live_server, queue_of_twelve):
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    page.goto("/login/")
    page.fill("#id_username", "rita")
    page.fill("#id_password", "wrong")
    page.click("button:has-text('Log in')")
    assert "do not go together" in page.inner_text("[role=alert]")
    context.close()


def test_ten_turns_are_decided_by_keyboard_and_one_is_undone(log_in, queue_of_twelve):
    page = log_in("rita")
    page.goto("/t/acme/queue/")
    assert page.locator("[data-row]").count() == 12
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("#review")
    for n in range(10):
        before = page.get_attribute("#review", "data-title")
        page.keyboard.press("tfu"[n % 3])
        page.wait_for_function("t => document.querySelector('#review').dataset.title !== t", arg=before)
    turns = Turn.objects.for_tenant(queue_of_twelve)
    assert turns.filter(review_state=ReviewState.DECIDED).count() == 10
    assert sorted(turns.exclude(verdict="").values_list("verdict", flat=True)) == sorted(
        ["fabricated"] * 4 + ["false_alarm"] * 3 + ["unsure"] * 3
    )
    # The tenth was labelled with the first key again.
    last = ReviewDecision.objects.for_tenant(queue_of_twelve).latest("id")
    assert last.value == "fabricated"
    page.keyboard.press("z")
    page.wait_for_selector("text=undid")
    last.turn.refresh_from_db()
    assert last.turn.review_state == ReviewState.OPEN
    assert last.turn.external_id in page.inner_text("#review h1")


def test_the_next_claim_becomes_current_before_the_next_turn(log_in, tenant):
    make_member(tenant, Role.REVIEWER, "rita")
    turn = make_turn(tenant, "I sent it. I deleted it.")
    page = log_in("rita")
    page.goto(f"/t/acme/turns/{turn.pk}/")
    assert page.inner_text("[data-claim].current .what").startswith("I sent")
    page.keyboard.press("t")
    page.wait_for_selector("[data-claim].current:has-text('I deleted')")
    page.keyboard.press("ArrowUp")
    page.wait_for_selector("[data-claim].current:has-text('I sent')")
    page.keyboard.press("Shift+F")
    page.wait_for_selector("text=That was the last one")
    assert set(turn.findings.values_list("label", flat=True)) == {"false_alarm"}


def test_of_two_reviewers_the_slower_is_told_who_decided_what(log_in, queue_of_twelve):
    make_member(queue_of_twelve, Role.REVIEWER, "ruth")
    turn = Turn.objects.for_tenant(queue_of_twelve).latest("id")
    rita, ruth = log_in("rita"), log_in("ruth")
    for page in (rita, ruth):
        page.goto(f"/t/acme/turns/{turn.pk}/")
    ruth.keyboard.press("f")
    ruth.wait_for_function("id => !location.pathname.endsWith(`/${id}/`)", arg=turn.pk)
    rita.keyboard.press("t")
    rita.wait_for_selector("[role=alert]:has-text('Ruth')")
    assert "labelled claim 1 as false alarm" in rita.inner_text("#review [role=alert]")
    assert turn.findings.get().label == "false_alarm"
    # The page now shows what is stored, so a second thought is one key away.
    rita.keyboard.press("t")
    rita.wait_for_function("id => !location.pathname.endsWith(`/${id}/`)", arg=turn.pk)
    assert turn.findings.get().label == "fabricated"


def test_a_key_held_down_decides_once(log_in, queue_of_twelve):
    turn = Turn.objects.for_tenant(queue_of_twelve).latest("id")
    page = log_in("rita")
    page.goto(f"/t/acme/turns/{turn.pk}/")
    for _ in range(25):  # without a key-up in between, as a keyboard repeats
        page.keyboard.down("f")
    page.wait_for_function("id => !location.pathname.endsWith(`/${id}/`)", arg=turn.pk)
    page.keyboard.up("f")
    page.keyboard.press("t")
    page.wait_for_selector("text=as fabricated")
    assert ReviewDecision.objects.for_tenant(queue_of_twelve).count() == 2


def test_an_undo_pressed_while_a_decision_is_under_way_undoes_no_older_one(log_in, queue_of_twelve):
    first, second = Turn.objects.for_tenant(queue_of_twelve).order_by("-id")[:2]
    page = log_in("rita")
    page.goto(f"/t/acme/turns/{first.pk}/")
    page.keyboard.press("t")
    page.wait_for_function("id => !location.pathname.endsWith(`/${id}/`)", arg=first.pk)
    page.evaluate(
        "for (const key of ['u', 'z'])"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
    )
    page.wait_for_function("id => !location.pathname.endsWith(`/${id}/`)", arg=second.pk)
    assert first.findings.get().label == "fabricated"
    assert second.findings.get().label == "unsure"


def test_the_time_spent_is_told_with_the_decision(log_in, queue_of_twelve):
    turn = Turn.objects.for_tenant(queue_of_twelve).latest("id")
    page = log_in("rita")
    page.goto(f"/t/acme/turns/{turn.pk}/")
    page.keyboard.press("t")
    page.wait_for_function("id => !location.pathname.endsWith(`/${id}/`)", arg=turn.pk)
    spent = ReviewDecision.objects.for_tenant(queue_of_twelve).get().spent_seconds
    assert spent is not None
    assert 0 <= spent < 60


def test_the_address_of_a_filter_stays_short(log_in, queue_of_twelve):
    page = log_in("rita")
    page.goto("/t/acme/queue/")
    for state in ("decided", "all", "open"):
        with page.expect_response(lambda response: "state=" in response.url):
            page.select_option("[name=state]", state)
        page.wait_for_url(f"**state={state}&**")
    assert page.url.count("state=") == 1


def test_a_note_and_a_corrected_answer_are_kept(log_in, queue_of_twelve):
    turn = Turn.objects.for_tenant(queue_of_twelve).latest("id")
    page = log_in("rita")
    page.goto(f"/t/acme/turns/{turn.pk}/")
    page.keyboard.press("n")
    page.keyboard.type("t is a letter here, not a decision")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".history blockquote:has-text('t is a letter')")
    page.keyboard.press("e")
    page.fill("#answer-text", "I could not send it.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".draft .notice:has-text('I could not send it.')")
    assert turn.findings.get().label == ""


def test_evidence_can_be_searched(log_in, tenant):
    make_member(tenant, Role.REVIEWER, "rita")
    calls = [call("get_invoice", {"id": "INV-77", "total": 120}), call("list_users", ["ana", "INV-77"])]
    turn = make_turn(tenant, ONE_CLAIM, tool_calls=calls)
    page = log_in("rita")
    page.goto(f"/t/acme/turns/{turn.pk}/")
    page.keyboard.press("/")
    page.keyboard.type("inv-77")
    assert page.inner_text("[data-find-count]") == "1 of 2"
    page.keyboard.press("Enter")
    assert page.inner_text("[data-find-count]") == "2 of 2"
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.wait_for_selector("text=That was the last one")


def test_shortcuts_can_be_switched_off(log_in, queue_of_twelve):
    page = log_in("rita")
    page.goto("/account/")
    page.uncheck("[name=shortcuts]")
    with page.expect_navigation():
        page.click("button:has-text('Save')")
    turn = Turn.objects.for_tenant(queue_of_twelve).latest("id")
    page.goto(f"/t/acme/turns/{turn.pk}/")
    page.keyboard.press("t")
    page.click("button.unsure")
    page.wait_for_function("id => !location.pathname.endsWith(`/${id}/`)", arg=turn.pk)
    assert turn.findings.get().label == "unsure"


def test_everything_works_without_script(log_in, queue_of_twelve):
    page = log_in("rita", java_script_enabled=False)
    page.goto("/t/acme/queue/")
    page.select_option("[name=order]", "newest")
    page.click("noscript button, button:has-text('Apply')")
    page.click("[data-row] >> nth=0")
    page.click("button.fabricated >> nth=0")
    turn = Turn.objects.for_tenant(queue_of_twelve).latest("id")
    assert turn.findings.get().label == "fabricated"
    page.click("button:has-text('Undo')")
    assert turn.findings.get().label == ""


def test_what_an_agent_writes_is_never_run(log_in, tenant):
    make_member(tenant, Role.REVIEWER, "rita")
    hostile = (
        "I sent <img src=x onerror=alert(1)><script>document.title='owned'</script> \u202egnp.exe\x1b[31m"
    )
    turn = make_turn(
        tenant, hostile, user_message=hostile, agent="<b>bot</b>", tool_calls=[call("<i>x</i>", hostile)]
    )
    page = log_in("rita")
    page.on("dialog", lambda dialog: pytest.fail("a script of the agent's ran"))
    for address in ("/t/acme/queue/", f"/t/acme/turns/{turn.pk}/"):
        page.goto(address)
        assert page.title() != "owned"
        assert page.locator("main img, main script, main i, .agent b").count() == 0
    assert page.locator(".draft-text .ctl:has-text('RLO')").count() == 1
    assert page.locator(".draft-text .ctl:has-text('ESC')").count() == 1
