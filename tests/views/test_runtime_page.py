"""Settings, Runtime: where the agents run, a secret never shown, pulling, and messages in trouble."""

from __future__ import annotations

import html
import re

import pytest

from reviews.models import Delivery, Job, Runtime
from reviews.models.jobs import JobKind
from reviews.models.runtimes import DeliveryAction, DeliveryState
from reviews.models.tenants import Role
from reviews.services import runtimes
from reviews.services.sealing import unseal
from tests.factories import make_member
from tests.views.skilled import make_draft

pytestmark = pytest.mark.django_db

URL = "/t/acme/settings/runtime/"
#: A literal address of the outside world, so that no name is looked up.
BASE = "https://1.1.1.1/agents"
SECRET = "Bearer s3cret-value"


@pytest.fixture
def max_(client, tenant):
    member = make_member(tenant, Role.MANAGER, "max")
    client.force_login(member)
    return member


@pytest.fixture
def runtime(tenant, max_):
    return runtimes.set_runtime(
        tenant=tenant, actor=max_, base_url=BASE, runtime_tenant="acme-prod", auth=SECRET
    )


def page_of(response) -> str:
    return html.unescape(response.content.decode())


def text_of(response) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page_of(response)).split())


def typed(**changes: str) -> dict[str, str]:
    return {"base_url": BASE, "runtime_tenant": "acme-prod", "auth": "", "is_active": "on", **changes}


def message(tenant, **fields) -> Delivery:
    skill = make_draft(tenant, subject=fields.pop("subject", 0))
    delivery = Delivery(tenant=tenant, skill=skill, action=DeliveryAction.APPROVE, **fields)
    delivery.save()
    return delivery


def test_a_runtime_is_saved_and_its_secret_is_never_shown(client, tenant, max_):
    response = client.post(URL, typed(auth=SECRET))
    assert response.headers["Location"] == f"{URL}?done=runtime"
    runtime = Runtime.objects.for_tenant(tenant).get()
    assert (runtime.base_url, runtime.runtime_tenant, runtime.is_active) == (BASE, "acme-prod", True)
    assert unseal(bytes(runtime.auth_sealed)) == SECRET
    page = page_of(client.get(URL))
    assert "s3cret" not in page
    assert "A value is stored" in page
    assert f'value="{BASE}"' in page


def test_an_empty_secret_keeps_the_stored_one_and_a_tick_forgets_it(client, tenant, runtime):
    client.post(URL, typed(runtime_tenant="other"))
    stored = Runtime.objects.for_tenant(tenant).get()
    assert (stored.runtime_tenant, unseal(bytes(stored.auth_sealed))) == ("other", SECRET)
    client.post(URL, typed(forget_auth="on"))
    assert bytes(Runtime.objects.for_tenant(tenant).get().auth_sealed) == b""


def test_the_secret_is_not_sent_to_another_host(client, tenant, runtime):
    response = client.post(URL, typed(base_url="https://8.8.8.8/agents"))
    assert response.status_code == 422
    assert "The host has changed" in page_of(response)
    assert Runtime.objects.for_tenant(tenant).get().base_url == BASE


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": ""}, "required"),
        ({"base_url": "http://127.0.0.1/"}, ""),
        ({"base_url": "ftp://1.1.1.1/"}, ""),
        ({"runtime_tenant": " "}, "required"),
        ({"auth": "two\nlines"}, "on one line"),
    ],
)
def test_what_cannot_be_kept_is_said_beside_its_field_and_typed_values_stay(
    client, tenant, max_, changes, said
):
    response = client.post(URL, typed(**changes))
    page = page_of(response)
    assert response.status_code == 422
    assert 'aria-invalid="true"' in page
    assert said in page
    assert "Nothing was saved." in page
    assert not Runtime.objects.for_tenant(tenant).exists()
    kept = {**typed(), **changes}["base_url"]
    assert f'value="{kept}"' in page


def test_a_refused_secret_is_not_sent_back(client, tenant, max_):
    response = client.post(URL, typed(base_url="", auth=SECRET))
    assert "s3cret" not in page_of(response)


def test_a_runtime_is_switched_off_and_removed(client, tenant, runtime):
    form = typed()
    del form["is_active"]
    client.post(URL, form)
    assert "Agent runtime switched off" in text_of(client.get(URL))
    assert client.post(f"{URL}remove").headers["Location"] == f"{URL}?done=runtime-removed"
    assert not Runtime.objects.for_tenant(tenant).exists()
    assert client.post(f"{URL}remove").status_code == 409


def test_pulling_is_put_in_line_once(client, tenant, runtime):
    assert client.post(f"{URL}pull").headers["Location"] == f"{URL}?done=pulling"
    assert Job.objects.for_tenant(tenant).get().kind == JobKind.PULL
    response = client.post(f"{URL}pull")
    assert response.status_code == 409
    assert f'value="{BASE}"' in page_of(response)
    assert "Waiting for a worker." in text_of(response)


def test_messages_in_trouble_are_listed_and_sent_again(client, tenant, runtime):
    dead = message(tenant, state=DeliveryState.DEAD, attempts=60, last_error="HTTP 500 <b>\u202e")
    message(tenant, subject=1, attempts=2, last_error="No answer.")
    message(tenant, subject=2)
    message(tenant, subject=3, state=DeliveryState.DELIVERED)
    response = client.get(URL)
    text = text_of(response)
    assert len(response.context["troubled"]) == 2
    assert "60 times" in text
    assert "HTTP 500 &lt;b&gt;⟨RLO⟩" in response.content.decode()
    assert "2 times No answer. Waiting" in text
    assert page_of(response).count("/retry") == 1
    assert client.post(f"{URL}deliveries/{dead.pk}/retry").headers["Location"] == f"{URL}?done=retried"
    dead.refresh_from_db()
    assert (dead.state, dead.attempts) == (DeliveryState.WAITING, 0)
    assert client.post(f"{URL}deliveries/{dead.pk}/retry").status_code == 409


def test_a_reviewer_may_not_see_it(client, tenant, runtime):
    client.force_login(make_member(tenant, Role.REVIEWER, "rita"))
    assert client.get(URL).status_code == 403
    assert ">Runtime<" not in page_of(client.get("/t/acme/settings/"))


def test_another_tenants_runtime_and_messages_stay_theirs(client, tenant, other_tenant, max_):
    owner = make_member(other_tenant, Role.OWNER, "olga")
    runtimes.set_runtime(
        tenant=other_tenant, actor=owner, base_url=BASE, runtime_tenant="theirs", auth=SECRET
    )
    delivery = message(other_tenant, state=DeliveryState.DEAD, last_error="their error")
    page = page_of(client.get(URL))
    assert "theirs" not in page
    assert "their error" not in page
    assert client.post(f"{URL}deliveries/{delivery.pk}/retry").status_code == 404
