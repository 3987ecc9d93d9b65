"""The overview: who sees it, what it says, what it costs, and how it polls."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.models import DailyCount, Delivery, Turn
from reviews.models.tenants import Role
from reviews.models.turns import AnalysisState
from reviews.services import review
from reviews.services.publishing import save_draft, start_shadow
from reviews.views.estimates import agreement_words
from tests.factories import call, make_member, make_turn
from tests.views.counting import asked
from tests.views.skilled import make_draft

pytestmark = pytest.mark.django_db

URL = "/t/acme/"
HTMX = {"HX-Request": "true"}
#: Session, person, memberships; four for the figures, three for those of skills; counts; two for the speed;
#: the version in shadow.
MOST_QUERIES = 15


@pytest.fixture
def rita(tenant, client):
    user = make_member(tenant, Role.REVIEWER, "rita")
    client.force_login(user)
    return user


def count_queries(client, url=URL, **headers):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        response = client.get(url, headers=headers)
    assert response.status_code in (200, 204)
    return asked(queries)


def seen_of(response) -> str:
    return response.context["seen"]


def test_anonymous_goes_to_login(client, tenant):
    response = client.get(URL)
    assert response.status_code == 302
    assert response["Location"] == "/login/?next=/t/acme/"


def test_foreign_and_missing_tenants_are_the_same_404(client, rita, other_tenant):
    foreign, missing = client.get("/t/globex/"), client.get("/t/nobody/")
    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content


@pytest.mark.parametrize("role", list(Role))
def test_every_member_sees_it(client, tenant, role):
    make_turn(tenant)
    client.force_login(make_member(tenant, role))
    assert client.get(URL).status_code == 200


def test_post_is_not_allowed(client, rita):
    assert client.post(URL).status_code == 405


def test_figures_count_this_tenant_only(client, tenant, other_tenant, rita):
    mine = make_turn(tenant)
    make_turn(tenant, occurred_at=timezone.now() - timedelta(hours=5))
    make_turn(other_tenant, occurred_at=timezone.now() - timedelta(days=5))
    make_turn(other_tenant, analysed=False)
    review.assign_turn(tenant=tenant, actor=rita, turn_id=mine.pk, assignee_id=rita.pk, seen_version=0)
    figures = {f.name: f.value for f in client.get(URL).context["figures"]}
    assert figures == {"open": "2", "oldest": "5 h", "mine": "1", "failed": "0", "waiting": "0"}


def test_waiting_turns_say_how_long_the_oldest_waits(client, tenant, rita):
    make_turn(tenant)
    turn = make_turn(tenant, analysed=False)
    Turn.objects.for_tenant(tenant).filter(pk=turn.pk).update(
        received_at=timezone.now() - timedelta(minutes=9)
    )
    figure = client.get(URL).context["figures"][-1]
    assert (figure.value, figure.label) == ("1", "waiting for analysis, oldest 9 min")
    assert figure.css == "warn"


def test_failed_analyses_stand_out_and_lead_to_the_list(client, tenant, rita):
    turn = make_turn(tenant)
    Turn.objects.for_tenant(tenant).filter(pk=turn.pk).update(analysis_state=AnalysisState.FAILED)
    figure = client.get(URL).context["figures"][3]
    assert (figure.value, figure.css, figure.url) == ("1", "bad", "/t/acme/queue/?state=failed")
    assert client.get(figure.url).status_code == 200


def test_the_chart_has_a_text_alternative_and_no_inline_styles(client, tenant, rita):
    make_turn(tenant)
    make_turn(tenant, "All is well.")
    html = client.get(URL).content.decode()
    today = datetime.now(UTC)
    assert "1 of 2 turns were flagged in the last 30 days, 50 %." in html
    assert "<td>2</td><td>1</td><td>50 %</td></tr>" in html
    assert f"{today.day} {today:%b %Y}</th>" in html
    assert 'role="img"' in html
    assert " style=" not in html


def test_precision_is_shown_with_its_interval_from_five_labels_on(client, tenant, rita):
    today = datetime.now(UTC).date()
    for name, count in {
        "turns": 40, "flagged": 12,
        "label:uuid:fabricated": 9, "label:uuid:false_alarm": 1, "label:uuid:unsure": 2,
        "label:kv:fabricated": 3, "label:kv:false_alarm": 1,
    }.items():  # fmt: skip
        DailyCount.objects.across_tenants().create(tenant=tenant, day=today, name=name, count=count)
    ranges = {r.name: r for r in client.get(URL).context["ranges"]}
    assert ranges["UUID"].words == "90 % [60–98]"
    assert ranges["UUID"].detail == "9 fabricated, 1 false alarm, 2 unsure"
    assert ranges["Key and value"].words == "too few labels"
    assert "Claimed action" not in ranges


def test_speed_is_the_median_of_todays_decisions(client, tenant, rita):
    for seconds in (2.0, 4.0, 30.0):
        turn = make_turn(tenant)
        review.decide_turn(
            tenant=tenant,
            actor=rita,
            turn_id=turn.pk,
            label="fabricated",
            seen_version=0,
            spent_seconds=seconds,
        )
    context = client.get(URL).context
    assert context["mine"] == {"decisions": "3", "seconds": "4.0 s"}
    assert context["team"] == {"decisions": "3", "seconds": "4.0 s"}


def test_an_empty_tenant_gets_first_steps(client, tenant, rita):
    html = client.get(URL).content.decode()
    assert "Connect your first agent" in html
    assert "curl http://testserver/api/v1/turns" in html
    assert "Ask a manager" in html
    assert "/settings/api-keys/" not in html


def test_first_steps_lead_managers_to_the_keys(client, tenant):
    client.force_login(make_member(tenant, Role.MANAGER))
    assert "/t/acme/settings/api-keys/" in client.get(URL).content.decode()


def test_first_steps_reload_the_page_once_a_turn_has_arrived(client, tenant, rita):
    url = f"{URL}?seen={seen_of(client.get(URL))}"
    assert client.get(url, headers=HTMX).status_code == 204
    make_turn(tenant, analysed=False)
    assert client.get(url, headers=HTMX)["HX-Refresh"] == "true"


def test_old_turns_alone_are_not_an_empty_tenant(client, tenant, rita):
    make_turn(tenant, occurred_at=timezone.now() - timedelta(days=200))
    html = client.get(URL).content.decode()
    assert "No turns in the last 30 days." in html
    assert "Connect your first agent" not in html


def test_draft_skills_and_undelivered_messages_are_figures_when_there_are_any(client, tenant, rita):
    make_turn(tenant)
    make_draft(tenant, confidence=0.49)
    skill = make_draft(tenant, subject=1)
    Delivery(tenant=tenant, skill=skill, action="approve", state="dead").save()
    Delivery(tenant=tenant, skill=skill, action="reject", state="waiting").save()

    def figures():
        return {f.name: (f.value, f.label, f.url) for f in client.get(URL).context["figures"]}

    assert figures()["drafts"] == ("1", "draft skill waits", "/t/acme/skills/")
    assert figures()["undelivered"] == ("1", "not delivered to the runtime", "")
    client.force_login(make_member(tenant, Role.MANAGER, "max"))
    assert figures()["undelivered"][2] == "/t/acme/settings/runtime/"


def test_polling_answers_204_until_something_reads_differently(client, tenant, rita):
    make_turn(tenant)
    url = f"{URL}?seen={seen_of(client.get(URL))}"
    unchanged = client.get(url, headers=HTMX)
    assert unchanged.status_code == 204
    assert not unchanged.content
    make_turn(tenant)
    changed = client.get(url, headers=HTMX)
    assert changed.status_code == 200
    assert changed.content.decode().lstrip().startswith('<div id="figures"')
    assert client.get(f"{URL}?seen={seen_of(changed)}", headers=HTMX).status_code == 204


def test_polling_after_the_session_is_gone_goes_to_login(client, tenant):
    response = client.get(URL, headers={**HTMX, "HX-Current-URL": "http://testserver/t/acme/"})
    assert response["HX-Redirect"] == "/login/?next=%2Ft%2Facme%2F"


def test_costs_the_same_with_few_and_many_turns(client, tenant, other_tenant, rita):
    turn = make_turn(tenant)
    review.decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label="unsure", seen_version=0)
    few, few_poll = count_queries(client), count_queries(client, f"{URL}?seen=x", **HTMX)
    for _ in range(12):
        make_turn(tenant)
        make_turn(other_tenant, analysed=False)
    assert count_queries(client) == few <= MOST_QUERIES
    assert count_queries(client, f"{URL}?seen=x", **HTMX) == few_poll <= 11


def shadow_of(tenant, author, values):
    """A version with these settings, in shadow."""
    values = {"detection_profile": "reference", **values}
    draft = save_draft(tenant=tenant, author=author, values=values, based_on=1)
    start_shadow(tenant=tenant, actor=author, number=draft.number)
    return draft


def words_of(response) -> str:
    section = response.content.decode().split('aria-labelledby="shadow-title"')[1].split("</section>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", section).split())


def test_without_a_version_in_shadow_nothing_is_said_of_one(client, tenant, rita):
    make_turn(tenant)
    response = client.get(URL)
    assert response.context["shadow"] is None
    assert "in shadow" not in response.content.decode()


def test_a_version_in_shadow_is_reported(client, tenant, other_tenant, rita):
    """Observing is in force; in shadow refuses at 0.7: two of four turns are flagged, with 0.8 and 0.6."""
    make_turn(tenant, "I sent it.")
    shadow_of(other_tenant, rita, {"fabrication_check_mode": "off"})
    values = {"fabrication_check_mode": "refuse", "fabrication_refuse_min_confidence": 0.7}
    shadow_of(tenant, rita, values)
    for draft in ("I sent it.", "I launched deadbeef12 of it, it is 9f2b1e47.", "Good morning.", "Hello."):
        make_turn(tenant, draft, tool_calls=[call("launch_rocket")])
    words = words_of(client.get(URL))
    assert words.startswith("> Version 2 in shadow Since ")
    assert "turns judged by both 4" in words
    assert "treated the same 75.0 %" in words
    assert "only it would have refused 1" in words
    assert "only the version in force refused 0" in words
    assert "Precision of its refusals: not enough labels: 0 of 20 (among the turns refused)" in words


def test_precision_in_shadow_comes_with_its_interval(client, tenant, rita):
    """15 of 20 decided refusals fabricated: Wilson's interval is 53 % to 89 %."""
    shadow_of(tenant, rita, {"fabrication_check_mode": "refuse"})
    for n in range(20):
        turn = make_turn(tenant, "I sent it.")
        label = "fabricated" if n < 15 else "false_alarm"
        review.decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label=label, seen_version=0)
    assert "75 % [53–89]" in words_of(client.get(URL))


@pytest.mark.parametrize(
    ("mode", "turns", "said"),
    [("observe", 0, "no turn yet"), ("observe", 1, "refuses nothing"), ("refuse", 0, "no turn yet")],
)
def test_why_a_shadow_has_no_precision(client, tenant, rita, mode, turns, said):
    make_turn(tenant)
    shadow_of(tenant, rita, {"fabrication_check_mode": mode, "ignored_keys": ["service"]})
    for _ in range(turns):
        make_turn(tenant, "I sent it.")
    assert words_of(client.get(URL)).endswith(f"Precision of its refusals: {said}")


def test_nearly_always_is_not_called_always():
    assert [agreement_words(*pair) for pair in ((0, 0), (5, 5), (99_999, 100_000), (1, 3))] == [
        "–",
        "100 %",
        "99.9 %",
        "33.3 %",
    ]


def test_a_version_in_shadow_costs_two_queries_more(client, tenant, rita):
    make_turn(tenant)
    count_queries(client)
    without = count_queries(client)
    shadow_of(tenant, rita, {"fabrication_check_mode": "refuse"})
    for _ in range(5):
        make_turn(tenant)
    count_queries(client)
    assert count_queries(client) == without + 2
