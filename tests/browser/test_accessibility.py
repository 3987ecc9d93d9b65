"""axe finds nothing on any page, light or dark, wide or on a phone, empty or full."""

from __future__ import annotations

import pytest
from axe_core_python.sync_playwright import Axe

from reviews.models import User
from reviews.models.jobs import JobKind
from reviews.models.tenants import Role
from reviews.services import jobs, publishing, review, runtimes, skills
from tests.factories import call, make_member, make_turn, make_verdict
from tests.services.critic_model import judging
from tests.services.model_server import serving
from tests.views.skilled import make_draft

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: WCAG 2.2 AA and what is best practice beside it.
OPTIONS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
WINDOWS = {
    "wide light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "phone dark": {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
}


@pytest.fixture
def full_tenant(tenant):
    owner = make_member(tenant, Role.OWNER, "olga")
    for n in range(3):
        calls = [call("get_invoice", {"id": f"INV-{n}"}, ok=n > 0, error=None if n else "timed out")]
        make_turn(tenant, external_id=f"turn-{n}", tool_calls=calls, user_message="Please send it.")
    turn = make_turn(tenant, external_id="decided")
    review.decide_turn(tenant=tenant, actor=owner, turn_id=turn.pk, label="fabricated", seen_version=0)
    review.add_note(tenant=tenant, actor=owner, turn_id=turn.pk, text="Invented.", seen_version=1)
    return turn


#: Pages of a policy: two versions, a draft in shadow, the settings, and what a change would do.
POLICY_PAGES = [
    "/t/acme/settings/",
    "/t/acme/thresholds/",
    "/t/acme/policy/versions/",
    "/t/acme/policy/versions/1/",
    "/t/acme/policy/versions/2/",
    "/t/acme/policy/versions/3/",
    "/t/acme/policy/compare/?from=1&to=3",
]


@pytest.fixture
def three_versions(full_tenant):
    tenant = full_tenant.tenant
    values = {"fabrication_check_mode": "refuse", "audit_sample_rate": 1.0}
    publishing.publish_settings(tenant=tenant, author=None, values=values)
    values["core_preferences"] = [{"statement": "Never promise a refund."}]
    draft = publishing.save_draft(tenant=tenant, author=None, values=values, based_on=2, note="Try it.")
    publishing.start_shadow(tenant=tenant, actor=None, number=draft.number)
    return tenant


@pytest.fixture
def skill_pages(full_tenant):
    """Skills of every look: approved once, edited, rejected, in conflict, with a replay and a runtime."""
    tenant, owner = full_tenant.tenant, User.objects.get(username="olga")
    rita = make_member(tenant, Role.REVIEWER, "rita")
    guardrail = make_draft(
        tenant,
        "guardrail",
        trigger="A refund is over 500",
        action="Never call issue_refund",
        runtime_id="rt-1",
    )
    skills.approve_skill(tenant=tenant, actor=rita, skill_id=guardrail.pk, seen_version=0)
    action = make_draft(
        tenant,
        trigger="An invoice is asked for",
        action="Call get_invoice and then issue_refund",
        episodes=["turn-0", "turn-1"],
    )
    skills.edit_skill(
        tenant=tenant, actor=rita, skill_id=action.pk, seen_version=0, content={"rationale": "Often seen."}
    )
    jobs.start_job(tenant=tenant, kind=JobKind.REPLAY, parameters={"skill": action.pk}, actor=rita)
    jobs.run_jobs()
    rejected = make_draft(tenant, "recovery", subject=6)
    skills.reject_skill(
        tenant=tenant, actor=rita, skill_id=rejected.pk, seen_version=0, reason="wrong", text="No."
    )
    make_draft(tenant, subject=4, confidence=0.2)
    runtimes.set_runtime(
        tenant=tenant, actor=owner, base_url="https://1.1.1.1/", runtime_tenant="acme", auth="Bearer x"
    )
    return [
        "/t/acme/skills/",
        "/t/acme/skills/?state=low",
        "/t/acme/skills/?state=rejected",
        f"/t/acme/skills/{guardrail.pk}/",
        f"/t/acme/skills/{action.pk}/?touched=all",
        f"/t/acme/skills/{rejected.pk}/",
        "/t/acme/skills/reject",
        "/t/acme/settings/runtime/",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_skills_have_no_violations(log_in, skill_pages, width, scheme):
    page = log_in("olga", viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = {path: _violations(page, path) for path in skill_pages}
    # The forms are folded away until a key opens them; axe skips what is not shown.
    for key in ("e", "r"):
        page.goto(skill_pages[3])
        page.keyboard.press(key)
        page.wait_for_selector(".acts details[open]")
        found[key] = _found(page)
    assert {path: v for path, v in found.items() if v} == {}


@pytest.fixture
def critic_pages(full_tenant, settings):
    """The critic with verdicts, disagreements and a trial that ran."""
    tenant, owner = full_tenant.tenant, User.objects.get(username="olga")
    for verdict, label in (("approve", "fabricated"), ("revise", "false_alarm"), ("refuse", "fabricated")):
        turn = make_turn(tenant)
        make_verdict(turn, verdict=verdict)
        review.decide_turn(tenant=tenant, actor=owner, turn_id=turn.pk, label=label, seen_version=0)
    parameters = {"variants": [{"model": "small"}, {"model": "large"}], "budget": 1_000_000}
    with serving(judging("revise", revised_draft="I will send it.")) as server:
        settings.MODEL_BASE_URL, settings.MODEL_NAME, settings.MODEL_RETRIES = server.url, "small", 0
        settings.MODEL_CHOICES = {"large": None}
        job = jobs.start_job(tenant=tenant, kind=JobKind.TRIAL, parameters=parameters, actor=owner)
        jobs.run_jobs()
    return ["/t/acme/critic/", "/t/acme/critic/?days=7&side=missed", f"/t/acme/critic/trials/{job.pk}/"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_the_critic_has_no_violations(log_in, critic_pages, width, scheme):
    page = log_in("olga", viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = {path: _violations(page, path) for path in critic_pages}
    # By key to the page, then what a trial would cost: the form comes back with everything unfolded.
    page.goto("/t/acme/")
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url("**/critic/")
    page.click("summary:has-text('Compare with another')")
    page.check("input[name=compare]")
    page.select_option("#id_model_1", "large")
    page.click("#estimate-trial")
    page.wait_for_selector("#start-trial")
    found["estimated"] = _found(page)
    assert {path: v for path, v in found.items() if v} == {}
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert log_in.problems == []


@pytest.mark.parametrize("window", WINDOWS)
def test_pages_have_no_violations(log_in, full_tenant, three_versions, window):
    audited = make_turn(three_versions, "Good morning.")
    page = log_in("olga", **WINDOWS[window])
    pages = [
        "/t/acme/",
        "/t/acme/queue/",
        "/t/acme/queue/?text=nothing-like-it",
        "/t/acme/queue/?confidence=9",
        f"/t/acme/turns/{full_tenant.pk}/",
        f"/t/acme/turns/{full_tenant.pk}/?state=decided&assign=1",
        f"/t/acme/turns/{audited.pk}/",
        "/t/acme/queue/?sample=audit",
        *POLICY_PAGES,
        "/account/",
        "/help/",
    ]
    found = {path: _violations(page, path) for path in pages}
    assert {path: v for path, v in found.items() if v} == {}


def test_an_empty_tenant_and_the_login_have_no_violations(log_in, browser, live_server, tenant):
    make_member(tenant, Role.OWNER, "olga")
    page = log_in("olga")
    assert _violations(page, "/t/acme/") == []
    assert _violations(page, "/t/acme/queue/") == []
    assert _violations(page, "/t/acme/skills/") == []
    assert _violations(page, "/t/acme/settings/runtime/") == []
    context = browser.new_context(base_url=live_server.url)
    assert _violations(context.new_page(), "/login/") == []
    context.close()


@pytest.mark.parametrize("width", [320, 360, 768, 1440, 3840])
def test_nothing_is_wider_than_the_window(log_in, full_tenant, three_versions, skill_pages, width):
    page = log_in("olga", viewport={"width": width, "height": 800})
    pages = ["/t/acme/", "/t/acme/queue/", f"/t/acme/turns/{full_tenant.pk}/", *POLICY_PAGES, *skill_pages]
    for path in pages:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def _violations(page, path: str) -> list[str]:
    page.goto(path)
    return _found(page)


def _found(page) -> list[str]:
    result = Axe().run(page, options=OPTIONS)
    return [
        f"{v['id']}: {node['target']} {node['failureSummary'][:200]}"
        for v in result["violations"]
        for node in v["nodes"]
    ]
