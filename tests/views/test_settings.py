"""The policy's editor: who sees and who writes, what is refused and where, and losing a race politely."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.core.settings import TenantSettings, parse_settings
from reviews.list_fields import PreferencesField
from reviews.models import AuditEvent, PolicyVersion
from reviews.models.policies import PolicyState
from reviews.models.tenants import Role
from reviews.policy_forms import PolicyForm
from reviews.services.policies import current_policy
from reviews.services.publishing import discard, publish, publish_settings, save_draft, start_shadow
from reviews.setting_words import SETTINGS
from tests.factories import make_member
from tests.views.counting import asked

pytestmark = pytest.mark.django_db

URL = "/t/acme/settings/"

#: One valid value for each setting, none of them the default.
EVERYTHING = {
    "fabrication_check_mode": "revise",
    "fabrication_refuse_min_confidence": 0.725,
    "fabrication_refuse_min_confidence_by_kind": {"uuid": 0.9, "kv": 0.0},
    "fabrication_confidence_source": "calibrated",
    "detection_profile": "reference",
    "identifier_keys": ["visa_no", "pnr"],
    "tool_trigger_keywords": {"mcp:mail/send": ["e-mail", 'say "hi", please'], "x": ["über"]},
    "grounding_tool_fragments": {"checked": ["get_", "lookup"], "sent": ["mail"]},
    "ignored_keys": ["service"],
    "ignored_value_patterns": ["v[0-9]+\\.[0-9]+", "REQ-[0-9]{4}"],
    "critic_enabled": True,
    "critic_daily_calls": 20,
    "critic_daily_tokens": 3000,
    "critic_concurrency": 2,
    "critic_blind_review": True,
    "metacognition_confidence_threshold": 0.5,
    "metacognition_sensitive_tags": ["refund", "legal, or so"],
    "metacognition_selective_gate": True,
    "metacognition_trivial_ack_patterns": ["noted"],
    "read_only_tools": ["get_claim"],
    "core_preferences": [
        {"statement": "Never promise a date.", "priority": 9, "sensitive_tags": ["refund", "a, b"]},
        {"statement": "Be brief.", "priority": 1, "sensitive_tags": []},
    ],
    "promotion_min_pattern_count": 4,
    "promotion_recency_days": 60,
    "promotion_max_drafts_per_run": 6,
    "phase_12_use_llm_extractor": True,
    "phase_12_llm_max_episodes_per_run": 50,
    "phase_12_llm_max_drafts_per_run": 7,
    "phase_12_promote_assistant_content": True,
    "phase_12_action_type_from_tool_calls": False,
    "skill_confidence_threshold": 0.7,
    "skills_need_second_person": True,
    "audit_sample_rate": 0.1,
    "publish_needs_second_manager": True,
}


@pytest.fixture
def max_(tenant, client):
    user = make_member(tenant, Role.MANAGER, "max")
    client.force_login(user)
    return user


def shown(settings, based_on=1):
    """The form as a browser would send it back."""
    form = PolicyForm(initial=PolicyForm.initial_from(settings, based_on))
    sent = {}
    for bound in form:
        value = bound.value()
        if isinstance(bound.field, PreferencesField):
            for column in ("priority", "statement", "tags"):
                sent[f"{bound.html_name}-{column}"] = [getattr(row, column) for row in value]
        elif value is True:
            sent[bound.html_name] = "on"
        elif value is not False:
            sent[bound.html_name] = "" if value is None else str(value)
    return sent


def typed(**fields):
    return {
        **shown(TenantSettings()),
        "fabrication_check_mode": "refuse",
        "fabrication_refuse_min_confidence": "0.9",
        "identifier_keys": "booking_ref\r\nPNR\r\n",
        "tool_trigger_keywords": "send_invoice: invoice, bill\r\nrefund: refund",
        "note": "Invoices matter.",
        "based_on": "1",
        **fields,
    }


def page_of(response) -> str:
    return html.unescape(response.content.decode())


def last_number(tenant) -> int:
    return PolicyVersion.objects.for_tenant(tenant).latest("number").number


def errors_of(response, name) -> str:
    page = response.content.decode()
    assert f'id="id_{name}-error"' in page
    return html.unescape(page.split(f'id="id_{name}-error"')[1].split("</ul>")[0])


# -- Who


def test_anonymous_goes_to_login(client, tenant):
    for response in (client.get(URL), client.post(URL, typed())):
        assert response.status_code == 302
        assert response["Location"].startswith("/login/")


def test_a_foreign_tenant_is_404(client, max_, other_tenant):
    assert client.get("/t/globex/settings/").status_code == 404
    assert client.post("/t/globex/settings/", typed()).status_code == 404
    assert last_number(other_tenant) == 1


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_lower_roles_see_the_policy_in_force_without_a_form(client, tenant, role):
    client.force_login(make_member(tenant, role))
    publish_settings(tenant=tenant, author=None, values=EVERYTHING)
    save_draft(tenant=tenant, author=None, values={"read_only_tools": ["drafted_tool"]}, based_on=2)
    page = page_of(client.get(URL))
    assert "version 2, in force" in page
    for said in (
        "Revise: a finding sends",
        "0.725",
        "UUID: 0.90",
        "visa_no",
        "x: über",
        "checked: get_, lookup",
    ):
        assert said in page
    assert "9 · Never promise a date. (refund, a, b)" in page
    assert "always off" in page
    assert "drafted_tool" not in page
    assert "<textarea" not in page
    assert "API keys" not in page


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_lower_roles_may_not_write(client, tenant, role):
    client.force_login(make_member(tenant, role))
    refused = client.post(URL, typed())
    assert refused.status_code == 403
    assert "This needs the role manager." in page_of(refused)
    assert last_number(tenant) == 1


def test_put_is_not_allowed(client, max_):
    assert client.put(URL).status_code == 405


# -- Saving


@pytest.mark.parametrize("role", [Role.MANAGER, Role.OWNER])
def test_managers_and_owners_write_drafts_and_publish_nothing(client, tenant, role):
    user = make_member(tenant, role)
    client.force_login(user)
    response = client.post(URL, typed())
    assert response.status_code == 302
    assert response["Location"] == "/t/acme/policy/versions/2/?done=drafted"
    draft = PolicyVersion.objects.for_tenant(tenant).get(number=2)
    assert (draft.state, draft.author, draft.note) == (PolicyState.DRAFT, user, "Invoices matter.")
    settings = parse_settings(draft.settings)
    assert settings.fabrication_check_mode == "refuse"
    assert settings.fabrication_refuse_min_confidence == 0.9
    assert settings.identifier_keys == ("booking_ref", "pnr")
    assert settings.tool_trigger_keywords == {"send_invoice": ("invoice", "bill"), "refund": ("refund",)}
    assert current_policy(tenant=tenant).number == 1
    page = page_of(client.get(response["Location"]))
    assert "Saved as a draft." in page
    assert "Invoices matter." in page


def test_every_setting_can_be_written(client, tenant, max_):
    """All but the one that is always off, and suites, which have a page of their own; so each has a field,
    and each field reaches its setting."""
    wanted = parse_settings(EVERYTHING)
    assert {n for n in EVERYTHING if getattr(wanted, n) == getattr(TenantSettings(), n)} == set()
    elsewhere = {"skill_auto_approve", "assertion_suites"}
    assert EVERYTHING.keys() == SETTINGS.keys() == TenantSettings().to_json().keys() - elsewhere
    assert client.post(URL, shown(wanted)).status_code == 302
    assert parse_settings(PolicyVersion.objects.for_tenant(tenant).get(number=2).settings) == wanted


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_saving_what_the_form_shows_is_no_change(client, tenant, max_, values):
    publish_settings(tenant=tenant, author=max_, values=values)
    response = client.post(URL, shown(current_policy(tenant=tenant).settings, 2))
    assert response.status_code == 422
    assert "Nothing differs from version 2." in page_of(response)
    assert last_number(tenant) == 2


def test_a_preference_without_words_is_left_out_and_one_without_priority_gets_the_middle(
    client, tenant, max_
):
    rows = {
        "core_preferences-priority": ["", "7", ""],
        "core_preferences-statement": ["Be kind.", "", " "],
        "core_preferences-tags": ["", "", ""],
    }
    assert client.post(URL, typed(**rows)).status_code == 302
    saved = parse_settings(PolicyVersion.objects.for_tenant(tenant).get(number=2).settings)
    assert [(p.priority, p.statement) for p in saved.core_preferences] == [(5, "Be kind.")]


def test_saving_leaves_a_trace(client, tenant, max_):
    client.post(URL, typed())
    event = AuditEvent.objects.for_tenant(tenant).latest("sequence")
    assert (event.action, event.actor_name, event.object_id) == ("policy.drafted", "max", "2")


# -- What is wrong


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("fabrication_check_mode", "panic", "not one of the available choices"),
        ("fabrication_refuse_min_confidence", "1.5", "less than or equal to 1"),
        ("fabrication_refuse_min_confidence", "nan", "Enter a number"),
        ("fabrication_refuse_min_confidence", "", "required"),
        ("fabrication_refuse_min_confidence", "0.12345", "At most 3 decimals"),
        ("fabrication_refuse_min_confidence_by_kind/uuid", "2", "less than or equal to 1"),
        ("fabrication_refuse_min_confidence_by_kind/kv", "0.1234", "At most 3 decimals"),
        ("fabrication_confidence_source", "gut", "not one of the available choices"),
        ("identifier_keys", "order\n\n9lives", "Line 3: '9lives' cannot be a key"),
        ("identifier_keys", "a\x00b", "Null characters"),
        ("tool_trigger_keywords", "ok: yes\nsend_invoice", "Line 2: write the tool's name"),
        ("tool_trigger_keywords", "ok: yes\n\nsend_invoice: ,", "Line 3: no words"),
        ("tool_trigger_keywords", "a: x\nb: y\na: z", "Line 3: a stands on line 1 already."),
        ("tool_trigger_keywords", "a: x\nb: " + "y" * 101, "Line 2: "),
        ("tool_trigger_keywords", "a: x\nmcp/mail: " + "y" * 101, "Line 2: "),
        ("grounding_tool_fragments", "sent: mail\n\nadmired: look", "Line 3: Must be one of ran, called"),
        ("grounding_tool_fragments", "sent mail", "Line 1: write the verb, a colon"),
        ("ignored_keys", "service\n-", "Line 2: '-' cannot be a key"),
        ("ignored_value_patterns", "v[0-9]+\n(", "Line 2: The pattern is not valid"),
        ("ignored_value_patterns", ".+", "Line 1: The pattern is too general"),
        ("metacognition_confidence_threshold", "-1", "greater than or equal to 0"),
        ("metacognition_sensitive_tags", "ok\n" + "t" * 101, "Line 2: "),
        ("metacognition_trivial_ack_patterns", "\n\n(?=x)y", "Line 3: Look-around"),
        ("read_only_tools", "x" * 101, "Line 1: "),
        ("promotion_min_pattern_count", "0", "from 1 to 1000"),
        ("promotion_recency_days", "1e9", "whole number"),
        ("audit_sample_rate", "2", "less than or equal to 1"),
        ("note", "x" * 501, "at most 500"),
    ],
)
def test_what_cannot_be_used_is_said_beside_its_field(client, tenant, max_, field, value, said):
    response = client.post(URL, typed(**{field: value}))
    assert response.status_code == 422
    assert said in errors_of(response, field)
    assert "Invoices matter." in page_of(response) or field == "note"
    assert last_number(tenant) == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("11", "Be kind.", ""), "Row 2: Must be a whole number from 1 to 10, not 11."),
        (("soon", "Be kind.", ""), "Row 2: Must be a whole number from 1 to 10, not 'soon'."),
        (("²", "Be kind.", ""), "Row 2: Must be a whole number"),
        (("9" * 5000, "Be kind.", ""), "Row 2: Must be a whole number"),
        (("5", "", "refund"), "Row 2: '' is not a statement of 1 to 500 characters."),
        (("5", "x" * 501, ""), "Row 2: "),
        (("5", "Be kind.", "t" * 101), "Row 2: "),
    ],
)
def test_a_wrong_preference_is_named_by_its_row_and_kept(client, max_, row, said):
    rows = {
        "core_preferences-priority": ["5", row[0]],
        "core_preferences-statement": ["First.", row[1]],
        "core_preferences-tags": ["", row[2]],
    }
    response = client.post(URL, typed(**rows))
    assert response.status_code == 422
    assert said in errors_of(response, "core_preferences")
    for part in row:
        assert f'value="{part}"' in page_of(response)


def test_the_row_that_is_named_is_the_row_that_is_shown(client, max_):
    rows = {
        "core_preferences-priority": ["", "99"],
        "core_preferences-statement": ["", "Be kind."],
        "core_preferences-tags": ["", ""],
    }
    response = client.post(URL, typed(**rows))
    assert "Row 2: " in errors_of(response, "core_preferences")
    assert '"Be kind." maxlength="500" autocomplete="off" aria-label="Statement of row 2"' in page_of(
        response
    )


def test_every_wrong_line_is_named_at_once(client, max_):
    response = client.post(URL, typed(identifier_keys="1\nok_key\n2", tool_trigger_keywords="x\ny"))
    page = page_of(response)
    for said in ("Line 1: '1'", "Line 3: '2'", "Line 1: write", "Line 2: write"):
        assert said in page


def test_typed_values_are_escaped(client, max_):
    evil = "</textarea><script>alert(1)</script>"
    rows = {f"core_preferences-{column}": ['"><script>'] for column in ("priority", "statement", "tags")}
    response = client.post(URL, typed(identifier_keys=evil, note='"><script>', **rows))
    assert response.status_code == 422
    assert "<script>alert" not in response.content.decode()
    assert '"><script>' not in response.content.decode()


def test_more_rows_than_the_settings_take_are_refused_in_words(client, max_):
    rows = {
        "core_preferences-priority": ["5"] * 60,
        "core_preferences-statement": [f"Rule {n}." for n in range(60)],
        "core_preferences-tags": [""] * 60,
    }
    response = client.post(URL, typed(**rows))
    assert response.status_code == 422
    assert "At most 50 preferences, not 60." in errors_of(response, "core_preferences")


@pytest.mark.parametrize("based_on", ["", "x", "-1"])
def test_a_missing_based_on_is_refused(client, tenant, max_, based_on):
    assert client.post(URL, typed(based_on=based_on)).status_code == 422
    assert last_number(tenant) == 1


def test_a_based_on_that_is_not_there_is_404(client, tenant, max_):
    assert client.post(URL, typed(based_on="9")).status_code == 404
    assert last_number(tenant) == 1


def test_a_summary_leads_to_what_is_wrong_and_has_the_focus(client, max_):
    wrong = {
        "fabrication_check_mode": "panic",
        "fabrication_refuse_min_confidence_by_kind/uuid": "2",
        "identifier_keys": "9lives",
        "core_preferences-priority": ["99"],
        "core_preferences-statement": ["Be kind."],
        "core_preferences-tags": [""],
        "note": "x" * 501,
    }
    page = client.post(URL, typed(**wrong)).content.decode()
    summary = page.split('role="alert" tabindex="-1" autofocus>')[1].split("</div>")[0]
    links = dict(re.findall(r'<a href="#([^"]*)">([^<]*)</a>', summary))
    assert links == {
        "id_fabrication_check_mode": "Mode",
        "id_identifier_keys": "Identifier keys",
        "id_fabrication_refuse_min_confidence_by_kind/uuid": "For one kind of finding, UUID",
        "id_core_preferences": "Preferences",
        "id_note": "Note",
    }
    for anchor in links:
        assert page.count(f' id="{anchor}"') == 1
    assert "Line 1: &#x27;9lives&#x27; cannot be a key" in summary


def test_after_a_lost_race_the_conflict_has_the_focus(client, tenant, max_):
    save_draft(tenant=tenant, author=max_, values={"read_only_tools": ["peek"]}, based_on=1)
    discard(tenant=tenant, actor=max_, number=2)
    response = client.post(f"{URL}?version=2", typed(based_on="2"))
    assert response.status_code == 409
    focused = response.content.decode().split('role="alert" tabindex="-1" autofocus>')
    assert len(focused) == 2
    assert focused[1].startswith("<strong>Draft 2 has been replaced")


# -- What is edited


def test_the_newest_unpublished_version_is_edited_and_the_page_says_so(client, tenant, max_):
    olga = make_member(tenant, Role.OWNER, "olga")
    save_draft(
        tenant=tenant, author=olga, values={"read_only_tools": ["peek"]}, based_on=1, note="Peek is harmless."
    )
    page = page_of(client.get(URL))
    assert ">peek</textarea>" in page
    assert 'name="based_on" value="2"' in page
    assert "written by Olga" in page
    assert "Peek is harmless." in page
    assert 'href="?version=1"' in page
    chosen = page_of(client.get(f"{URL}?version=1"))
    assert ">peek</textarea>" not in chosen
    assert 'name="based_on" value="1"' in chosen


def test_editing_a_draft_puts_a_new_one_in_its_place(client, tenant, max_):
    save_draft(tenant=tenant, author=max_, values={"read_only_tools": ["peek"]}, based_on=1)
    assert client.post(f"{URL}?version=2", typed(based_on="2")).status_code == 302
    versions = {v.number: v for v in PolicyVersion.objects.for_tenant(tenant)}
    assert versions[2].state == PolicyState.SUPERSEDED
    assert (versions[3].state, versions[3].based_on_id) == (PolicyState.DRAFT, versions[2].pk)


def test_a_version_in_shadow_stays_there_while_it_is_edited(client, tenant, max_):
    save_draft(tenant=tenant, author=max_, values={"read_only_tools": ["peek"]}, based_on=1)
    start_shadow(tenant=tenant, actor=max_, number=2)
    assert "It stays in shadow" in page_of(client.get(URL))
    assert client.post(URL, typed(based_on="2")).status_code == 302
    states = dict(PolicyVersion.objects.for_tenant(tenant).values_list("number", "state"))
    assert states == {1: "published", 2: "shadow", 3: "draft"}


def test_a_draft_that_was_set_aside_lends_its_settings_to_a_new_one(client, tenant, max_):
    save_draft(tenant=tenant, author=max_, values={"read_only_tools": ["peek"]}, based_on=1)
    discard(tenant=tenant, actor=max_, number=2)
    page = page_of(client.get(f"{URL}?version=2"))
    assert ">peek</textarea>" in page
    assert 'name="based_on" value="1"' in page
    assert client.post(f"{URL}?version=2", typed(based_on="1")).status_code == 302


def test_the_defaults_can_be_started_from(client, tenant, max_):
    publish_settings(tenant=tenant, author=max_, values=EVERYTHING)
    page = page_of(client.get(f"{URL}?version=0"))
    assert "You start from the defaults." in page
    assert "visa_no" not in page
    assert client.post(f"{URL}?version=0", typed(based_on="0")).status_code == 302


@pytest.mark.parametrize("number", ["9", "x", "-1", "9" * 30])
def test_a_version_that_is_not_there_cannot_be_edited(client, tenant, max_, number):
    assert client.get(f"{URL}?version={number}").status_code == 404


def test_another_tenants_draft_is_not_there(client, tenant, other_tenant, max_):
    save_draft(tenant=other_tenant, author=None, values={"read_only_tools": ["peek"]}, based_on=1)
    assert client.get(f"{URL}?version=2").status_code == 404
    assert "peek" not in page_of(client.get(URL))


# -- Races


def test_the_loser_of_a_race_keeps_what_was_typed_and_sees_what_won(client, tenant, max_):
    olga = make_member(tenant, Role.OWNER, "olga")
    save_draft(tenant=tenant, author=max_, values={"read_only_tools": ["peek"]}, based_on=1)
    save_draft(tenant=tenant, author=olga, values={"identifier_keys": ["visa_no"]}, based_on=2)
    response = client.post(f"{URL}?version=2", typed(based_on="2"))
    assert response.status_code == 409
    page = page_of(response)
    assert "Draft 2 has been replaced or discarded since you opened it." in page
    assert "visa_no" in page
    assert "send_invoice: invoice, bill" in page
    assert "Invoices matter." in page
    assert last_number(tenant) == 3
    # The form now stands on what won: sending it again replaces that knowingly.
    assert '<input type="hidden" name="based_on" value="3">' in page
    assert client.post(URL, typed(based_on="3")).status_code == 302
    states = dict(PolicyVersion.objects.for_tenant(tenant).values_list("number", "state"))
    assert states == {1: "published", 2: "superseded", 3: "superseded", 4: "draft"}


# -- Suites, which are edited elsewhere, stay as they are in what is edited


def suite_names(tenant, number):
    settings = PolicyVersion.objects.for_tenant(tenant).get(number=number).settings
    return [suite["name"] for suite in settings["assertion_suites"]]


def suites(*names):
    return {"assertion_suites": [{"name": name, "assertions": [CLAIMS]} for name in names]}


CLAIMS = {"type": "response_does_not_contradict_recall"}


def test_suites_stay_when_other_settings_are_saved(client, tenant, max_):
    publish_settings(tenant=tenant, author=max_, values=suites("in force"))
    save_draft(tenant=tenant, author=max_, values=suites("draft"), based_on=2)
    assert client.post(f"{URL}?version=2", typed(based_on="2")).status_code == 302
    assert suite_names(tenant, 4) == ["in force"]
    assert client.post(f"{URL}?version=3", typed(based_on="3")).status_code == 302
    assert suite_names(tenant, 5) == ["draft"]
    assert client.post(f"{URL}?version=0", typed(based_on="0")).status_code == 302
    assert suite_names(tenant, 6) == []


def test_a_draft_that_was_set_aside_lends_its_suites_too(client, tenant, max_):
    save_draft(tenant=tenant, author=max_, values=suites("set aside"), based_on=1)
    discard(tenant=tenant, actor=max_, number=2)
    assert client.post(f"{URL}?version=2", typed(based_on="1")).status_code == 302
    assert suite_names(tenant, 3) == ["set aside"]


def test_suites_alone_are_no_change_here(client, tenant, max_):
    publish_settings(tenant=tenant, author=max_, values=suites("in force"))
    response = client.post(URL, shown(current_policy(tenant=tenant).settings, 2))
    assert response.status_code == 422
    assert "Nothing differs from version 2." in page_of(response)


@pytest.mark.parametrize("address", [URL, f"{URL}?version=2"])
def test_the_suites_of_what_won_stay_when_the_loser_saves_again(client, tenant, max_, address):
    save_draft(tenant=tenant, author=max_, values=suites("old"), based_on=1)
    save_draft(tenant=tenant, author=max_, values=suites("old", "added by what won"), based_on=2)
    response = client.post(f"{URL}?version=2", typed(based_on="2"))
    assert response.status_code == 409
    # What is shown as lost by saving again are other settings only.
    assert "added by what won" not in page_of(response)
    assert client.post(address, typed(based_on="3")).status_code == 302
    assert suite_names(tenant, 4) == ["old", "added by what won"]


def test_a_viewer_reads_that_there_are_suites_and_not_what_they_look_for(client, tenant, max_):
    excludes = {"type": "prompt_recall_excludes", "fragments": ["swordfish"]}
    values = {"assertion_suites": [{"name": "privacy", "assertions": [excludes], "sampling": 0.125}]}
    publish_settings(tenant=tenant, author=max_, values=values)
    client.force_login(make_member(tenant, Role.VIEWER))
    page = page_of(client.get(URL))
    assert "privacy: 1 assertion · all turns · 12.5 % of them" in page
    assert "swordfish" not in page


def test_a_draft_published_meanwhile_is_built_upon(client, tenant, max_):
    save_draft(tenant=tenant, author=max_, values={"read_only_tools": ["peek"]}, based_on=1)
    publish(tenant=tenant, actor=max_, number=2)
    assert client.post(URL, typed(based_on="2")).status_code == 302
    assert current_policy(tenant=tenant).number == 2


# -- The rest


def test_unknown_done_is_not_echoed(client, max_):
    assert "hello" not in client.get(URL + "?done=hello").content.decode()


def test_costs_the_same_with_many_versions(client, tenant, max_):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(URL).status_code == 200
        return asked(captured)

    queries()
    few = queries()
    for n in range(30):
        publish_settings(tenant=tenant, author=max_, values={})
        save_draft(tenant=tenant, author=max_, values={"read_only_tools": [f"t{n}"]}, based_on=1)
    queries()
    # Session, person, memberships, policy in force, drafts, the version edited.
    assert queries() == few <= 6
