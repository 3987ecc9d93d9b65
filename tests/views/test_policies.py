"""Versions of the policy: their pages, what is done to them and by whom, their history and differences."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.models import AuditEvent, DailyCount, PolicyVersion
from reviews.models.tenants import Role
from reviews.services import publishing, review
from reviews.services.policies import current_policy
from reviews.services.publishing import publish_settings, save_draft
from tests.factories import make_member, make_turn
from tests.views.counting import asked

pytestmark = pytest.mark.django_db

VERSIONS = "/t/acme/policy/versions/"
COMPARE = "/t/acme/policy/compare/"
STRICT = {"fabrication_check_mode": "refuse", "fabrication_refuse_min_confidence": 0.7}


@pytest.fixture
def max_(tenant, client):
    user = make_member(tenant, Role.MANAGER, "max")
    client.force_login(user)
    return user


@pytest.fixture
def leo(tenant):
    return make_member(tenant, Role.MANAGER, "leo")


@pytest.fixture
def draft(tenant, max_):
    """Version 2, a draft by Max on version 1, which holds the defaults."""
    return save_draft(
        tenant=tenant,
        author=max_,
        values={**STRICT, "ignored_keys": ["service"]},
        based_on=1,
        note="Stricter.",
    )


def page_of(response) -> str:
    return html.unescape(response.content.decode())


def text_of(response) -> str:
    """The words of the page without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", page_of(response)).split())


def states(tenant):
    return dict(PolicyVersion.objects.for_tenant(tenant).values_list("number", "state"))


def act(client, action, number=2, **values):
    return client.post(f"{VERSIONS}{number}/{action}", values)


# -- A version's page


def test_a_draft_shows_what_it_would_change_and_the_ways_on(client, tenant, draft):
    response = client.get(f"{VERSIONS}2/")
    page, text = page_of(response), text_of(response)
    assert "Version 2 draft" in text
    assert "What it would change against version 1, in force" in text
    assert "Mode Observe: record findings, change nothing Refuse: a finding" in text
    assert "Refuse at or above 0.80 0.70" in text
    assert "Keys to ignore + added: service" in text
    assert "Stricter." in text
    assert 'name="seen_current" value="1"' in page
    for action in ("publish", "shadow", "discard"):
        assert f'action="{VERSIONS}2/{action}"' in page
    for action in ("end-shadow", "roll-back"):
        assert f'action="{VERSIONS}2/{action}"' not in page


def test_a_draft_that_says_the_same_is_told_so(client, tenant, max_):
    same = current_policy(tenant=tenant).settings.to_json()
    save_draft(tenant=tenant, author=max_, values=STRICT, based_on=1)
    save_draft(tenant=tenant, author=max_, values=same, based_on=2)
    assert "Nothing: it says the same as version 1." in text_of(client.get(f"{VERSIONS}3/"))


def test_what_to_expect_of_a_draft_is_counted_from_past_turns(client, tenant, draft):
    """Three turns with claims of 0.8 and one of 0.6, all recorded now; at 0.7 three would be refused."""
    for text in ("I sent it.", "I sent it.", "I sent it.", "trace_id: 9f2b1e47", "Good morning."):
        make_turn(tenant, text)
    text = text_of(client.get(f"{VERSIONS}2/"))
    assert "5 turns, 4 of them flagged" in text
    # trace_id is a built-in key, so its value is a finding of 0.8 as well.
    assert "Of these turns, 4 more would have been refused." in text
    assert "Refused 0 4 +4" in text
    assert "Only observed 4 0 −4" in text
    assert "Precision refuses nothing not enough labels: 0 of 20 (among the turns refused)" in text
    # Without a record of activation the confidence is 0.5, below the usual 0.6: five calls in thirty days.
    assert "Critic calls a day 0.2 0.2 same" in text


def test_evidence_is_kept_as_it_was_when_the_version_was_published(client, tenant, max_, draft):
    """20 of 20 refused turns fabricated: 100 %, and Wilson's lower end 20 / (20 + 1.96²) = 83.9 %."""
    for _ in range(20):
        turn = make_turn(tenant, "I sent it.")
        review.decide_turn(tenant=tenant, actor=max_, turn_id=turn.pk, label="fabricated", seen_version=0)
    assert act(client, "publish", seen_current=1).status_code == 302
    make_turn(tenant, "I sent it.")
    text = text_of(client.get(f"{VERSIONS}2/"))
    assert "What was known 20 turns, 20 of them flagged" in text
    assert "Precision refuses nothing 100 % [83–100]" in text
    assert "Labels: 20 fabricated, 0 false alarms, 0 unsure; 0 of them in the audit sample." in text


def test_a_version_that_was_in_force_is_read_against_what_it_replaced(client, tenant, max_, draft):
    """Version 3 is published before 2, so 2 replaces 3 although it was written on 1."""
    save_draft(tenant=tenant, author=max_, values={"read_only_tools": ["peek"]}, based_on=1)
    publishing.publish(tenant=tenant, actor=max_, number=3)
    publishing.publish(tenant=tenant, actor=max_, number=2)
    text = text_of(client.get(f"{VERSIONS}2/"))
    assert "What it changed against version 3" in text
    assert "Read-only tools − removed: peek" in text
    assert "against the defaults" in text_of(client.get(f"{VERSIONS}1/"))


def test_a_version_published_without_evidence_says_so(client, tenant, max_, draft):
    publishing.publish(tenant=tenant, actor=max_, number=2)
    PolicyVersion.objects.for_tenant(tenant).update(evidence=None)
    text = text_of(client.get(f"{VERSIONS}2/"))
    assert "Nothing was recorded when this version was published." in text
    assert "What it changed against version 1" in text


def test_how_it_did_in_shadow_is_kept_with_what_was_published(client, tenant, max_, draft):
    """In shadow at 0.7, two turns of 0.8 and two without a finding; the version in force only observes."""
    act(client, "shadow")
    for text in ("I sent it.", "I sent it.", "Good morning.", "Hello."):
        make_turn(tenant, text)
    act(client, "publish", seen_current=1)
    text = text_of(client.get(f"{VERSIONS}2/"))
    assert (
        "In shadow before turns judged by both 4 treated the same 50.0 % only it would have refused 2 "
        "only the version in force refused 0 Precision of its refusals: not enough labels: 0 of 20" in text
    )
    assert "In shadow before" not in text_of(client.get(f"{VERSIONS}1/"))


def test_turns_that_are_still_being_counted_are_told(client, tenant, max_, draft):
    """Flagged turns that no profile counts, as an earlier release left them."""
    make_turn(tenant, "I sent it.")
    assert "still being counted" not in text_of(client.get(f"{VERSIONS}2/"))
    DailyCount.objects.for_tenant(tenant).filter(name="flagged").update(count=3)
    said = "2 flagged turns are still being counted; the numbers leave them out."
    assert said in text_of(client.get(f"{VERSIONS}2/"))
    act(client, "publish", seen_current=1)
    assert said in text_of(client.get(f"{VERSIONS}2/"))


def test_what_now_comes_first_in_the_text(client, draft):
    page = page_of(client.get(f"{VERSIONS}2/"))
    assert page.index('id="acts-title"') < page.index('id="diff-title"') < page.index('id="facts-title"')


def test_all_values_are_there_to_read(client, draft):
    text = text_of(client.get(f"{VERSIONS}2/"))
    assert "All values of version 2 Detection Mode Refuse: a finding" in text
    assert "Approve skills by themselves always off" in text


def test_hostile_text_is_escaped_and_its_tricks_are_shown(client, tenant, max_):
    evil = "<script>alert(1)</script>\u202eevil"
    save_draft(
        tenant=tenant,
        author=max_,
        values={"read_only_tools": [evil], "tool_trigger_keywords": {evil: [evil]}},
        based_on=1,
        note=evil,
    )
    for path in (f"{VERSIONS}2/", VERSIONS, f"{COMPARE}?from=1&to=2", "/t/acme/settings/"):
        page = client.get(path).content.decode()
        assert "<script>alert" not in page, path
        assert "&lt;script&gt;alert(1)" in page, path
    for path in (f"{VERSIONS}2/", VERSIONS, f"{COMPARE}?from=1&to=2"):
        assert "⟨RLO⟩evil" in client.get(path).content.decode(), path


@pytest.mark.parametrize("number", ["9", "99999999999999999999"])
def test_a_version_that_is_not_there_is_404(client, max_, number):
    assert client.get(f"{VERSIONS}{number}/").status_code == 404
    for action in ("publish", "discard", "shadow", "end-shadow", "roll-back"):
        assert act(client, action, number, seen_current=1).status_code == 404


def test_another_tenants_version_is_not_there(client, tenant, other_tenant, max_):
    save_draft(tenant=other_tenant, author=None, values=STRICT, based_on=1)
    assert client.get(f"{VERSIONS}2/").status_code == 404
    assert act(client, "publish", seen_current=1).status_code == 404
    assert states(other_tenant) == {1: "published", 2: "draft"}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_lower_roles_read_everything_and_do_nothing(client, tenant, draft, role):
    client.force_login(make_member(tenant, role))
    response = client.get(f"{VERSIONS}2/")
    assert "Refuse at or above 0.80 0.70" in text_of(response)
    assert f'action="{VERSIONS}' not in page_of(response)
    for action in ("publish", "discard", "shadow", "end-shadow", "roll-back"):
        assert act(client, action, seen_current=1).status_code == 403
    assert states(tenant) == {1: "published", 2: "draft"}


# -- Publishing


def test_publishing_puts_the_draft_in_force(client, tenant, max_, draft):
    response = act(client, "publish", seen_current=1)
    assert response.status_code == 302
    assert response["Location"] == f"{VERSIONS}2/?done=published"
    assert states(tenant) == {1: "superseded", 2: "published"}
    text = text_of(client.get(response["Location"]))
    assert "Published. Turns analysed from now on go by this version." in text
    assert "Version 2 in force" in text
    assert "Published by Max" in text


def test_who_saw_another_version_in_force_is_shown_the_new_difference(client, tenant, leo, max_, draft):
    publish_settings(tenant=tenant, author=leo, values={"fabrication_check_mode": "revise"})
    response = act(client, "publish", seen_current=1)
    assert response.status_code == 409
    text = text_of(response)
    assert "Version 3 was published meanwhile; nothing was changed. Below is what this version" in text
    assert "Mode Revise: a finding sends the draft to the critic for revision Refuse: a finding" in text
    assert 'name="seen_current" value="3"' in page_of(response)
    assert states(tenant) == {1: "superseded", 2: "draft", 3: "published"}
    assert act(client, "publish", seen_current=3).status_code == 302


def test_a_draft_published_by_somebody_else_meanwhile_is_told(client, tenant, leo, draft):
    publishing.publish(tenant=tenant, actor=leo, number=2)
    response = act(client, "publish", seen_current=2)
    assert response.status_code == 409
    assert "Version 2 is in force; nothing was changed." in text_of(response)


@pytest.mark.parametrize("seen", ["", "x", "-1", "9" * 30])
def test_publishing_unseen_is_refused(client, tenant, draft, seen):
    response = act(client, "publish", seen_current=seen)
    assert response.status_code == 422
    assert "The form is not complete" in text_of(response)
    assert states(tenant) == {1: "published", 2: "draft"}


class TestSecondManager:
    @pytest.fixture(autouse=True)
    def _two_needed(self, tenant, max_):
        publish_settings(tenant=tenant, author=max_, values={"publish_needs_second_manager": True})
        save_draft(tenant=tenant, author=max_, values=STRICT, based_on=2)

    def test_the_writer_is_told_that_another_has_to_publish(self, client, tenant):
        response = client.get(f"{VERSIONS}3/")
        assert "You wrote this version; another manager has to publish it." in text_of(response)
        assert f'action="{VERSIONS}3/publish"' not in page_of(response)
        refused = act(client, "publish", 3, seen_current=2)
        assert refused.status_code == 403
        assert "You wrote this version; another manager has to publish it." in text_of(refused)
        assert states(tenant)[3] == "draft"

    def test_who_wrote_a_draft_that_it_was_made_from_is_told_so(self, client, tenant, leo):
        values = {**STRICT, "ignored_keys": ["service"]}
        save_draft(tenant=tenant, author=leo, values=values, based_on=3)
        said = "You wrote a draft that this version was made from; another manager has to publish it."
        assert said in text_of(client.get(f"{VERSIONS}4/"))
        refused = act(client, "publish", 4, seen_current=2)
        assert refused.status_code == 403
        assert said in text_of(refused)

    def test_another_manager_publishes(self, client, tenant, leo):
        client.force_login(leo)
        assert "Publish version 3" in text_of(client.get(f"{VERSIONS}3/"))
        assert act(client, "publish", 3, seen_current=2).status_code == 302
        assert states(tenant)[3] == "published"

    def test_the_writer_may_still_discard_it(self, client, tenant):
        assert act(client, "discard", 3).status_code == 302
        assert states(tenant)[3] == "superseded"


# -- Discarding, shadow, rolling back


def test_a_discarded_draft_stays_in_the_history(client, tenant, draft):
    response = act(client, "discard")
    assert response["Location"] == f"{VERSIONS}2/?done=discarded"
    text = text_of(client.get(response["Location"]))
    assert "Version 2 set aside" in text
    assert "What it would have changed against version 1" in text
    assert "It was never published, so nothing was recorded." in text
    assert f'action="{VERSIONS}2/publish"' not in page_of(client.get(f"{VERSIONS}2/"))
    again = act(client, "discard")
    assert again.status_code == 409
    assert "Version 2 was set aside; nothing was changed." in text_of(again)


def test_a_version_that_was_in_force_is_no_draft_any_more(client, tenant, max_, draft):
    act(client, "publish", seen_current=1)
    response = act(client, "discard", 1)
    assert response.status_code == 409
    assert "Version 1 was in force; nothing was changed." in text_of(response)


def test_a_draft_goes_into_shadow_and_comes_back(client, tenant, draft):
    assert act(client, "shadow")["Location"] == f"{VERSIONS}2/?done=shadowed"
    shown = client.get(f"{VERSIONS}2/")
    assert "Version 2 in shadow" in text_of(shown)
    assert f'action="{VERSIONS}2/end-shadow"' in page_of(shown)
    assert f'action="{VERSIONS}2/shadow"' not in page_of(shown)
    assert act(client, "end-shadow")["Location"] == f"{VERSIONS}2/?done=ended"
    assert "Version 2 draft" in text_of(client.get(f"{VERSIONS}2/"))
    assert act(client, "end-shadow").status_code == 409


def test_one_version_at_a_time_is_in_shadow(client, tenant, max_, draft):
    act(client, "shadow")
    save_draft(tenant=tenant, author=max_, values={"read_only_tools": ["peek"]}, based_on=1)
    assert "Version 2 is in shadow; one version at a time can be." in text_of(client.get(f"{VERSIONS}3/"))
    refused = act(client, "shadow", 3)
    assert refused.status_code == 409
    assert "Version 2 is in shadow already; end that first." in text_of(refused)


def test_rolling_back_publishes_a_copy(client, tenant, max_, draft):
    act(client, "publish", seen_current=1)
    assert "Roll back to version 1" in text_of(client.get(f"{VERSIONS}1/"))
    response = act(client, "roll-back", 1, seen_current=2, note="Too strict.")
    assert response["Location"] == f"{VERSIONS}3/?done=rolled-back"
    assert states(tenant) == {1: "superseded", 2: "superseded", 3: "published"}
    copy = PolicyVersion.objects.for_tenant(tenant).get(number=3)
    assert (copy.note, copy.published_by) == ("Too strict.", max_)
    assert current_policy(tenant=tenant).settings.fabrication_check_mode == "observe"
    event = AuditEvent.objects.for_tenant(tenant).latest("sequence")
    assert (event.action, event.actor_name) == ("policy.rolled_back", "max")


def test_rolling_back_after_a_race_keeps_the_note(client, tenant, leo, draft):
    act(client, "publish", seen_current=1)
    publish_settings(tenant=tenant, author=leo, values={"read_only_tools": ["peek"]})
    response = act(client, "roll-back", 1, seen_current=2, note="Too strict.")
    assert response.status_code == 409
    assert "Version 3 was published meanwhile" in text_of(response)
    assert 'name="note" maxlength="500" value="Too strict."' in page_of(response)
    assert states(tenant)[3] == "published"
    # This page says what version 1 changed once; what it would change now is a comparison.
    assert "Below is what" not in text_of(response)
    alert = page_of(response).split('role="alert"')[1].split("</div>")[0]
    assert f'href="{COMPARE}?from=3&to=1"' in alert


@pytest.mark.parametrize(
    ("note", "said"),
    [("x" * 501, "Note: Ensure this value has at most 500"), ("a\0b", "Note: Null characters")],
)
def test_a_note_that_cannot_be_kept_is_refused(client, tenant, draft, note, said):
    act(client, "publish", seen_current=1)
    response = act(client, "roll-back", 1, seen_current=2, note=note)
    assert response.status_code == 422
    assert said in text_of(response)
    assert len(states(tenant)) == 2


def test_a_draft_cannot_be_rolled_back_to(client, tenant, draft):
    response = act(client, "roll-back", seen_current=1)
    assert response.status_code == 422
    assert "Version 2 was never in force" in text_of(response)


@pytest.mark.parametrize("action", ["publish", "discard", "shadow", "end-shadow", "roll-back"])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_looking_at_an_actions_address_does_nothing_and_leads_to_the_page(
    client, tenant, draft, action, role
):
    """As after reloading a page that says why something was refused."""
    client.force_login(make_member(tenant, role, "looking"))
    response = client.get(f"{VERSIONS}2/{action}")
    assert (response.status_code, response["Location"]) == (302, f"{VERSIONS}2/")
    assert states(tenant) == {1: "published", 2: "draft"}


# -- History


def test_unpublished_versions_stand_above_the_history(client, tenant, leo, max_, draft):
    publishing.start_shadow(tenant=tenant, actor=max_, number=2)
    publish_settings(tenant=tenant, author=leo, values={"read_only_tools": ["peek"]})
    save_draft(tenant=tenant, author=leo, values={}, based_on=3, note="Back?")
    response = client.get(VERSIONS)
    order = re.findall(r">Version (\d+)</a>", page_of(response))
    assert order == ["4", "2", "3", "1"]
    text = text_of(response)
    assert "Version 4 draft Leo" in text
    assert "Version 2 in shadow Max" in text
    assert "in shadow since" in text
    assert "Version 3 in force Leo" in text
    assert "Version 1 was in force the system" in text
    # With what is in force, or with what each replaced.
    pairs = re.findall(r"\?from=(\d+)&to=(\d+)", page_of(response))
    assert pairs == [("3", "4"), ("3", "2"), ("1", "3"), ("0", "1")]


def test_history_comes_in_pages(client, tenant, max_):
    for number in range(2, 61):
        publish_settings(tenant=tenant, author=max_, values={"read_only_tools": [f"t{number}"]})
    save_draft(tenant=tenant, author=max_, values={}, based_on=60)
    seen, path = [], VERSIONS
    while path:
        page = page_of(client.get(path))
        seen += map(int, re.findall(r">Version (\d+)</a>", page))
        older = re.search(r'href="(\?before=\d+)" rel="next"', page)
        path = VERSIONS + older[1] if older else ""
    assert seen == [61, *range(60, 0, -1)]


@pytest.mark.parametrize("before", ["x", "-1", "9" * 40, "1"])
def test_a_strange_place_in_the_history_is_no_error(client, draft, before):
    assert client.get(f"{VERSIONS}?before={before}").status_code == 200


def test_a_tenant_without_versions_is_told_that_the_defaults_hold(client, max_, tenant):
    PolicyVersion.objects.for_tenant(tenant).delete()
    assert "The defaults are in force." in text_of(client.get(VERSIONS))
    assert "They say the same." in text_of(client.get(COMPARE))


# -- Comparing


def test_any_two_versions_can_be_compared(client, tenant, leo, draft):
    publish_settings(
        tenant=tenant,
        author=leo,
        values={
            "fabrication_refuse_min_confidence_by_kind": {"uuid": 0.9},
            "grounding_tool_fragments": {"checked": ["get_"]},
            "core_preferences": [{"statement": "Be brief.", "priority": 3}],
        },
    )
    text = text_of(client.get(f"{COMPARE}?from=2&to=3"))
    assert "From version 2 to version 3" in text
    assert "Version 2 draft Written by Max" in text
    assert "Version 3 in force Written by Leo" in text
    assert "Mode Refuse: a finding at or above its threshold replaces the draft Observe:" in text
    assert "For one kind of finding UUID not set 0.90" in text
    assert "Tools that ground a verb checked + added: get_" in text
    assert "Keys to ignore − removed: service" in text
    assert "Preferences + added: 3 · Be brief." in text
    backwards = text_of(client.get(f"{COMPARE}?from=3&to=2"))
    assert "For one kind of finding UUID 0.90 not set" in backwards


def test_a_changed_order_is_a_difference(client, tenant, max_):
    publish_settings(tenant=tenant, author=max_, values={"read_only_tools": ["a", "b"]})
    publish_settings(tenant=tenant, author=max_, values={"read_only_tools": ["b", "a"]})
    assert "Read-only tools a, b b, a" in text_of(client.get(f"{COMPARE}?from=2&to=3"))


def test_without_a_choice_the_newest_is_compared_with_the_one_in_force(client, draft):
    response = client.get(COMPARE)
    assert "From version 1 to version 2" in text_of(response)
    assert '<option value="1" selected>1, in force</option>' in page_of(response)
    assert '<option value="2" selected>2, draft</option>' in page_of(response)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "From version 1 to version 3"),
        ("?to=1", "From the defaults to version 1"),
        ("?to=2", "From version 3 to version 2"),
        ("?to=0", "From version 3 to the defaults"),
        ("?from=3", "From version 3 to version 2"),
    ],
)
def test_a_version_is_compared_with_what_it_replaced_and_never_with_itself(
    client, tenant, leo, draft, query, said
):
    """Version 3 is in force in the place of 1; version 2 is a draft."""
    publish_settings(tenant=tenant, author=leo, values={"read_only_tools": ["peek"]})
    assert said in text_of(client.get(COMPARE + query))


def test_zero_names_the_defaults(client, draft):
    text = text_of(client.get(f"{COMPARE}?from=0&to=2"))
    assert "From the defaults to version 2" in text
    assert "Refuse at or above 0.80 0.70" in text


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("from=x&to=1", 422, "Choose versions by their numbers"),
        ("from=1&to=-1", 422, "Choose versions by their numbers"),
        ("from=" + "9" * 40 + "&to=1", 422, "Choose versions by their numbers"),
        ("from=1&to=99", 404, "There is no version 99 of this policy."),
        ("from=<b>&to=1", 422, "Choose versions by their numbers"),
    ],
)
def test_versions_that_are_none_are_told_and_others_can_be_chosen(client, draft, query, status, said):
    response = client.get(f"{COMPARE}?{query}")
    assert response.status_code == status
    assert said in text_of(response)
    assert '<option value="2"' in page_of(response)


# -- What it costs


@pytest.mark.parametrize(
    ("path", "most"),
    [
        # Session, person, memberships, policy in force; then the history and the drafts,
        (VERSIONS, 6),
        # the two versions and those to choose from,
        (f"{COMPARE}?from=1&to=2", 7),
        # or the two versions and four counts for the prediction, a fifth for what is new to the process.
        (f"{VERSIONS}2/", 12),
    ],
)
def test_pages_cost_the_same_with_many_versions_and_turns(client, tenant, max_, draft, path, most):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(path).status_code == 200
        return asked(captured)

    make_turn(tenant)
    queries()
    few = queries()
    for n in range(20):
        publish_settings(tenant=tenant, author=max_, values={"read_only_tools": [f"t{n}"]})
        save_draft(tenant=tenant, author=max_, values={"read_only_tools": [f"d{n}"]}, based_on=1)
        make_turn(tenant, f"I sent it. task_id=job-{n}")
    queries()
    assert queries() == few <= most
