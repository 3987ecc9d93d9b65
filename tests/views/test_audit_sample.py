"""The audit sample: unflagged turns in the queue, marked, and decided as a whole."""

from __future__ import annotations

import re

import pytest

from reviews.models import DailyCount, ReviewDecision, Turn
from reviews.models.tenants import Role
from reviews.services import review
from reviews.services.publishing import publish_settings
from tests.factories import make_member, make_turn

pytestmark = pytest.mark.django_db

QUEUE = "/t/acme/queue/"
HTMX = {"HX-Request": "true"}
WHY = "Nothing was flagged here. This turn was drawn at random, as 100 % of such turns are"


@pytest.fixture
def rita(client, tenant):
    publish_settings(tenant=tenant, author=None, values={"audit_sample_rate": 1.0})
    member = make_member(tenant, Role.REVIEWER, "rita")
    client.force_login(member)
    return member


@pytest.fixture
def audited(tenant, rita):
    return make_turn(tenant, "Your parcel has arrived.", external_id="drawn")


def text_of(response) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


def decide(client, turn, label, **sent):
    version = Turn.objects.for_tenant(turn.tenant).get(pk=turn.pk).version
    return client.post(
        f"/t/acme/turns/{turn.pk}/label?sample=audit", {"label": label, "version": version}, **sent
    )


def labelled(tenant):
    """What is counted of the sample drawn at a rate of 1,000 thousandths."""
    counts = DailyCount.objects.for_tenant(tenant).filter(name__startswith="audit:1000:", count__gt=0)
    return {name.split(":")[2]: count for name, count in counts.values_list("name", "count")}


# -- In the queue


def test_it_stands_in_the_queue_with_a_mark_in_words(client, tenant, audited):
    flagged = make_turn(tenant, "I sent it.", external_id="flagged")
    page = client.get(QUEUE).content.decode()
    rows = page.split('<a class="row"')[1:]
    marked = {pk: "Audit sample" in row for row in rows for pk in re.findall(r"/turns/(\d+)/", row)}
    assert marked == {str(flagged.pk): False, str(audited.pk): True}


def test_it_can_be_looked_at_alone_and_the_choice_is_kept(client, tenant, audited):
    make_turn(tenant, "I sent it.")
    page = client.get(f"{QUEUE}?sample=audit").content.decode()
    assert page.count('<a class="row"') == 1
    assert f'href="/t/acme/turns/{audited.pk}/?sample=audit"' in page
    assert 'name="sample" value="audit" checked' in page
    assert 'name="sample" value="audit" checked' not in client.get(QUEUE).content.decode()


def test_an_audited_sample_says_that_nothing_waits(client, tenant, rita):
    make_turn(tenant, "I sent it.")
    assert "No audit waits" in text_of(client.get(f"{QUEUE}?sample=audit"))
    assert "Nothing matches" in text_of(client.get(f"{QUEUE}?sample=audit&agent=nobody"))


def test_a_sample_that_is_none_is_named(client, tenant, audited):
    response = client.get(f"{QUEUE}?sample=some")
    assert response.status_code == 422
    assert "sample: Must be one of audit." in text_of(response)


# -- On its page


def test_its_page_says_why_it_is_here_and_what_the_keys_decide(client, audited):
    response = client.get(f"/t/acme/turns/{audited.pk}/")
    text = text_of(response)
    assert "Audit sample" in text
    assert WHY in text
    assert "The whole turn Fabricated t Nothing wrong f Unsure u" in text
    keys = re.findall(r'name="label" value="(\w+)".*?data-key="(\w)"', response.content.decode())
    assert keys == [("fabricated", "t"), ("false_alarm", "f"), ("unsure", "u")]


def test_other_turns_say_nothing_of_it(client, tenant, rita):
    turn = make_turn(tenant, "I sent it.")
    assert "Audit sample" not in text_of(client.get(f"/t/acme/turns/{turn.pk}/"))


def test_a_fraction_of_a_per_cent_is_told(client, tenant, audited):
    Turn.objects.for_tenant(tenant).update(audit_rate=0.002)
    assert "as 0.2 % of such turns are" in text_of(client.get(f"/t/acme/turns/{audited.pk}/"))


def test_viewers_see_the_mark_and_no_buttons(client, tenant, audited):
    client.force_login(make_member(tenant, Role.VIEWER))
    response = client.get(f"/t/acme/turns/{audited.pk}/")
    assert WHY in text_of(response)
    assert 'name="label"' not in response.content.decode()


# -- Deciding


@pytest.mark.parametrize(
    ("label", "word"), [("fabricated", "Fabricated"), ("false_alarm", "Nothing wrong"), ("unsure", "Unsure")]
)
def test_the_whole_turn_is_decided_and_undone(client, tenant, rita, audited, label, word):
    assert decide(client, audited, label).status_code == 302
    audited.refresh_from_db()
    assert (audited.verdict, audited.review_state) == (label, "decided")
    assert labelled(tenant) == {"sampled": 1, label: 1}
    head = text_of(client.get(f"/t/acme/turns/{audited.pk}/")).split("Previous")[0]
    assert word in head
    assert word in text_of(client.get(f"{QUEUE}?state=decided&sample=audit"))
    decision = ReviewDecision.objects.for_tenant(tenant).get()
    assert client.post(f"/t/acme/decisions/{decision.pk}/undo").status_code == 302
    audited.refresh_from_db()
    assert (audited.verdict, audited.review_state) == ("", "open")
    assert labelled(tenant) == {"sampled": 1}
    assert f"/turns/{audited.pk}/" in client.get(f"{QUEUE}?sample=audit").content.decode()


def test_the_next_of_the_sample_is_there_at_once(client, tenant, audited):
    make_turn(tenant, "I sent it.", external_id="flagged")
    other = make_turn(tenant, "All is well.", external_id="drawn-too")
    response = decide(client, other, "false_alarm", headers=HTMX)
    assert 'data-title="drawn · ' in response.content.decode()
    assert response.headers["HX-Push-Url"] == f"/t/acme/turns/{audited.pk}/?sample=audit"
    last = decide(client, audited, "unsure", headers=HTMX)
    assert "That was the last one" in text_of(last)


def test_the_loser_of_a_race_is_told(client, tenant, audited):
    mia = make_member(tenant, Role.REVIEWER, "mia")
    review.decide_turn(tenant=tenant, actor=mia, turn_id=audited.pk, label="fabricated", seen_version=0)
    response = client.post(f"/t/acme/turns/{audited.pk}/label", {"label": "false_alarm", "version": 0})
    assert response.status_code == 409
    assert "Mia" in text_of(response)
    audited.refresh_from_db()
    assert audited.verdict == "fabricated"
