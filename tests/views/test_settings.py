"""Settings, detection: who sees and who publishes, what is refused and where, and losing a race politely."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.core.settings import parse_settings
from reviews.forms import DetectionForm
from reviews.models import AuditEvent, PolicyVersion
from reviews.models.tenants import Role
from reviews.services.policies import current_policy, publish_settings
from tests.factories import make_member
from tests.views.counting import asked

pytestmark = pytest.mark.django_db

URL = "/t/acme/settings/"


@pytest.fixture
def max_(tenant, client):
    user = make_member(tenant, Role.MANAGER, "max")
    client.force_login(user)
    return user


def typed(**fields):
    return {
        "fabrication_check_mode": "refuse",
        "fabrication_refuse_min_confidence": "0.9",
        "identifier_keys": "booking_ref\r\nPNR\r\n",
        "tool_trigger_keywords": "send_invoice: invoice, bill\r\nrefund: refund",
        "note": "Invoices matter.",
        "based_on": "1",
        **fields,
    }


def test_anonymous_goes_to_login(client, tenant):
    for response in (client.get(URL), client.post(URL, typed())):
        assert response.status_code == 302
        assert response["Location"].startswith("/login/")


def test_a_foreign_tenant_is_404(client, max_, other_tenant):
    assert client.get("/t/globex/settings/").status_code == 404
    assert client.post("/t/globex/settings/", typed()).status_code == 404
    assert current_policy(tenant=other_tenant).number == 1


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_lower_roles_see_without_a_form_and_may_not_publish(client, tenant, role):
    client.force_login(make_member(tenant, role))
    html = client.get(URL).content.decode()
    assert "Observe: record findings" in html
    assert "<textarea" not in html
    assert "API keys" not in html
    refused = client.post(URL, typed())
    assert refused.status_code == 403
    assert "This needs the role manager." in refused.content.decode()
    assert current_policy(tenant=tenant).number == 1


@pytest.mark.parametrize("role", [Role.MANAGER, Role.OWNER])
def test_managers_and_owners_publish(client, tenant, role):
    user = make_member(tenant, role)
    client.force_login(user)
    response = client.post(URL, typed())
    assert response.status_code == 302
    assert response["Location"] == URL + "?done=published"
    policy = current_policy(tenant=tenant)
    assert policy.number == 2
    assert policy.settings.fabrication_check_mode == "refuse"
    assert policy.settings.fabrication_refuse_min_confidence == 0.9
    assert policy.settings.identifier_keys == ("booking_ref", "pnr")
    assert policy.settings.tool_trigger_keywords == {
        "send_invoice": ("invoice", "bill"),
        "refund": ("refund",),
    }
    version = PolicyVersion.objects.for_tenant(tenant).get(number=2)
    assert (version.author, version.note) == (user, "Invoices matter.")
    page = client.get(response["Location"]).content.decode()
    assert "Published." in page
    assert "Invoices matter." in page


def test_put_is_not_allowed(client, max_):
    assert client.put(URL).status_code == 405


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("fabrication_check_mode", "panic", "not one of the available choices"),
        ("fabrication_refuse_min_confidence", "1.5", "less than or equal to 1"),
        ("fabrication_refuse_min_confidence", "nan", "Enter a number"),
        ("fabrication_refuse_min_confidence", "", "required"),
        ("identifier_keys", "order\n\n9lives", "Line 3: &#x27;9lives&#x27; cannot be a key"),
        ("identifier_keys", "a\x00b", "Null characters"),
        ("tool_trigger_keywords", "ok: yes\nsend_invoice", "Line 2: write the tool&#x27;s name"),
        ("tool_trigger_keywords", "ok: yes\n\nsend_invoice: ,", "Line 3: no words"),
        ("tool_trigger_keywords", "a: x\nb: y\na: z", "Line 3: a stands on line 1 already."),
        ("tool_trigger_keywords", "a: x\nb: " + "y" * 101, "Line 2: "),
        ("note", "x" * 501, "at most 500"),
    ],
)
def test_what_cannot_be_used_is_said_beside_its_field(client, tenant, max_, field, value, said):
    response = client.post(URL, typed(**{field: value}))
    assert response.status_code == 422
    html = response.content.decode()
    assert f'id="id_{field}-error"' in html
    errors = html.split(f'id="id_{field}-error"')[1].split("</ul>")[0]
    assert said in errors
    assert "Invoices matter." in html or field == "note"
    assert current_policy(tenant=tenant).number == 1


def test_every_wrong_line_is_named_at_once(client, max_):
    html = client.post(
        URL, typed(identifier_keys="1\nok_key\n2", tool_trigger_keywords="x\ny")
    ).content.decode()
    for said in ("Line 1: &#x27;1&#x27;", "Line 3: &#x27;2&#x27;", "Line 1: write", "Line 2: write"):
        assert said in html


def test_typed_values_are_escaped(client, max_):
    html = client.post(URL, typed(identifier_keys="</textarea><script>alert(1)</script>")).content.decode()
    assert "<script>alert" not in html


def test_the_loser_of_a_race_keeps_what_was_typed_and_sees_what_won(client, tenant, max_):
    olga = make_member(tenant, Role.OWNER, "olga")
    publish_settings(tenant=tenant, author=olga, values={"identifier_keys": ["visa_no"]})
    response = client.post(URL, typed(based_on="1"))
    assert response.status_code == 409
    html = response.content.decode()
    assert "Version 2 was published while you were editing version 1." in html
    assert "visa_no" in html
    assert "send_invoice: invoice, bill" in html
    assert "Invoices matter." in html
    assert current_policy(tenant=tenant).number == 2
    # The form now stands on what won: sending it again replaces that knowingly.
    assert '<input type="hidden" name="based_on" value="2">' in html
    assert client.post(URL, typed(based_on="2")).status_code == 302
    assert current_policy(tenant=tenant).number == 3


def test_a_missing_based_on_is_refused(client, tenant, max_):
    assert client.post(URL, typed(based_on="")).status_code == 422
    assert current_policy(tenant=tenant).number == 1


def test_publishing_what_the_form_shows_changes_nothing(client, tenant, max_):
    before = publish_settings(
        tenant=tenant,
        author=max_,
        values={
            "fabrication_check_mode": "revise",
            "fabrication_refuse_min_confidence": 0.725,
            "identifier_keys": ["visa_no", "pnr"],
            "tool_trigger_keywords": {"mcp:mail:send": ["e-mail", 'say "hi", please'], "x": ["über"]},
        },
    )
    shown = DetectionForm.initial_from(current_policy(tenant=tenant).settings, before.number)
    assert client.post(URL, shown).status_code == 302
    after = current_policy(tenant=tenant)
    assert after.number == before.number + 1
    assert after.settings == parse_settings(before.settings)


def test_publishing_leaves_a_trace(client, tenant, max_):
    client.post(URL, typed())
    event = AuditEvent.objects.for_tenant(tenant).latest("sequence")
    assert (event.action, event.actor_name, event.object_id) == ("policy.published", "max", "2")


def test_unknown_done_is_not_echoed(client, max_):
    assert "hello" not in client.get(URL + "?done=hello").content.decode()


def test_costs_the_same_with_many_versions(client, tenant, max_):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(URL).status_code == 200
        return asked(captured)

    queries()
    few = queries()
    for _ in range(30):
        publish_settings(tenant=tenant, author=max_, values={})
    queries()
    assert queries() == few <= 6
