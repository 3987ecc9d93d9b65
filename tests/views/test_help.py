"""Help: for anybody logged in, and true: its examples are run against the detector and the API."""

from __future__ import annotations

import html
import json
import re

import pytest

from reviews.core.fabrication import detect_fabrication
from reviews.core.intent import IntentClassifier
from reviews.core.lexicon import BUILT_IN_KEYS
from reviews.core.outcome import SAFE_REFUSAL
from reviews.models import User
from reviews.models.tenants import Role, Scope
from reviews.models.turns import Kind, Label
from reviews.services.keys import create_key
from tests.factories import make_member

pytestmark = pytest.mark.django_db

URL = "/help/"


@pytest.fixture
def page(tenant, client):
    client.force_login(make_member(tenant, Role.VIEWER))
    return client.get(URL).content.decode()


def test_anonymous_goes_to_login(client):
    assert client.get(URL)["Location"] == "/login/?next=/help/"


def test_a_person_without_a_tenant_may_read_it(client, db):
    client.force_login(User.objects.create_user("new"))
    assert client.get(URL).status_code == 200


def test_every_kind_label_and_key_is_explained(page):
    for word in [*Kind.labels, *Label.labels, *BUILT_IN_KEYS]:
        assert f">{word}<" in page
    assert SAFE_REFUSAL in html.unescape(page)


def test_links_within_the_page_lead_somewhere(page):
    anchors = re.findall(r'href="#([a-z]+)"', page)
    assert "connect" in anchors
    for anchor in anchors:
        assert page.count(f'id="{anchor}"') == 1


@pytest.mark.parametrize(
    ("kind", "draft"),
    [
        ("verb_claim", "I sent the invoice to your accountant."),
        ("uuid", "It is queued as 6f9619ff-8b86-4011-b42d-00c04fc964ff."),
        ("short_hex_near_key", "trace_id: 9f2b1e47"),
        ("short_hex_near_verb", "I started build a91c03f."),
        ("kv", "order_id=A-20931 is confirmed."),
    ],
)
def test_examples_are_flagged_as_the_page_says(page, kind, draft):
    shown = html.unescape(re.sub(r"</?b>", "", page))
    assert draft in shown
    found = next(f for f in detect_fabrication(draft) if f.kind == kind)
    row = page.split(f'<th scope="row">{Kind(kind).label}</th>')[1].split("</tr>")[0]
    assert f'<td class="num">{found.confidence:.2f}</td>' in row


def test_the_example_of_an_order_is_one(page):
    user = "Cancel my subscription, please"
    assert user in page
    verdict = IntentClassifier().classify(user, {"cancel_subscription": ["cancel"]})
    found = detect_fabrication("Certainly.", [], user_message=user, intent_verdict=verdict)
    assert [(f.kind, f.confidence) for f in found] == [("intent_action_no_tool", 0.7)]


def test_the_curl_examples_are_accepted(client, tenant, page):
    secret = create_key(tenant=tenant, author=None, name="k", scopes=[Scope.INGEST]).secret
    examples = re.findall(r"-d &#x27;(.*?)&#x27;|-d '(.*?)'</pre>", page, re.S)
    assert examples
    for quoted, plain in examples:
        body = html.unescape(quoted or plain)
        json.loads(body)
        for path in ("turns", "check"):
            response = client.post(
                f"/api/v1/{path}",
                body,
                content_type="application/json",
                headers={"Authorization": f"Bearer {secret}"},
            )
            assert response.status_code < 300, response.content


def test_addresses_are_those_of_this_installation(page):
    assert "curl http://testserver/api/v1/turns" in page
    assert 'base_url="http://testserver/api/v1/"' in html.unescape(page)
