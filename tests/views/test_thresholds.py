"""The Thresholds screen: what it shows, tries and saves, for whom, and what that costs."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.models import (
    Calibration,
    DailyCount,
    GroundingSuggestion,
    Job,
    PolicyVersion,
    ProfileCount,
    Tenant,
)
from reviews.models.jobs import JobKind, JobState
from reviews.models.policies import PolicyState
from reviews.models.tenants import Role
from reviews.services import jobs, publishing, review
from reviews.services.policies import current_policy, unpublished_versions
from tests.factories import call, make_member, make_turn
from tests.views.counting import asked
from tests.views.suggesting import make_suggestion

pytestmark = pytest.mark.django_db

URL = "/t/acme/thresholds/"
SIMULATE = URL + "simulate"
HTMX = {"HX-Request": "true"}
#: The detector's confidences (behaviour.md, section 1): a claimed action 0.8, a UUID 0.95.
VERB = "I sent the invoice to your accountant."
UUID = "The reference is 6f9619ff-8b86-4011-b42d-00c04fc964ff."
#: Session, person, memberships; policy in force, version, calibration; four for the counts.
MOST_QUERIES = 10


@pytest.fixture
def max_(tenant, client):
    user = make_member(tenant, Role.MANAGER, "max")
    client.force_login(user)
    return user


def decide(tenant, actor, turn, label="fabricated"):
    review.decide_turn(tenant=tenant, actor=actor, turn_id=turn.pk, label=label, seen_version=turn.version)


def html_of(response) -> str:
    return response.content.decode()


def text_of(response) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html_of(response)))


def simulate(client, **typed):
    return client.get(SIMULATE, typed, headers=HTMX)


def typed(**fields):
    return {
        "mode": "refuse", "refuse": "0.7", "source": "raw", "critic": "0.6", "days": "30", "target": "0.9",
        "note": "Refuse more.", "version": "1", **fields,
    }  # fmt: skip


# -- Who, and where from


@pytest.mark.parametrize("role", list(Role))
def test_every_member_may_look_and_try(client, tenant, role):
    make_turn(tenant, VERB)
    client.force_login(make_member(tenant, role))
    page = client.get(URL)
    assert page.status_code == 200
    assert simulate(client, mode="refuse").status_code == 200
    may_save = role.includes(Role.MANAGER)
    assert ("Save as draft" in html_of(page)) is may_save
    assert ("Learn now" in html_of(page)) is may_save
    assert ("a manager may save it" in html_of(page)) is not may_save


def test_the_header_leads_here(client, max_):
    assert f'href="{URL}" aria-current="page" data-go="t">Thresholds</a>' in html_of(client.get(URL))


def test_without_htmx_simulating_is_the_page(client, max_):
    response = client.get(SIMULATE, {"refuse": "0.5"})
    assert response.status_code == 302
    assert response["Location"] == f"{URL}?refuse=0.5"


def test_nothing_inline(client, tenant, max_):
    make_suggestion(tenant)
    decide(tenant, max_, make_turn(tenant, VERB))
    html = html_of(client.get(URL, {"mode": "refuse"}))
    assert " style=" not in html
    assert not re.search(r"<[^>]*\son\w+=", html)
    assert not re.search(r"<script(?![^>]* src=)", html)


# -- What is tried


def test_numbers_go_from_what_is_in_force_to_what_is_tried(client, tenant, max_):
    make_turn(tenant, VERB)
    make_turn(tenant, UUID)
    make_turn(tenant, "All is well.")
    numbers = simulate(client, mode="refuse", refuse="0.9").context["numbers"]
    assert numbers.window == "Last 30 days · 3 turns · 2 flagged · 0 labelled"
    assert numbers.refused == ("0", "1", "+1")
    rows = {row.name: row for row in numbers.rows}
    assert rows["All flagged turns"].observed == ("2", "1", "−1")
    assert rows["UUID"].refused == ("0", "1", "+1")
    assert rows["Claimed action"].refused == ("0", "0", "")
    assert numbers.said == "1 refused, 0 before. Not enough labels: 0 of 20 (among the turns refused)."


def test_a_kind_may_have_a_threshold_of_its_own(client, tenant, max_):
    make_turn(tenant, VERB)
    make_turn(tenant, UUID)
    own = simulate(client, mode="refuse", refuse="0.9", refuse_verb_claim="0.8", refuse_uuid="0.96")
    rows = {row.name: row.refused.now for row in own.context["numbers"].rows}
    assert rows == {"All flagged turns": "1", "Claimed action": "1", "UUID": "0"}


def test_the_window_leaves_out_older_turns(client, tenant, max_):
    make_turn(tenant, VERB)
    make_turn(tenant, VERB, occurred_at=timezone.now() - timedelta(days=40))
    assert simulate(client, mode="refuse").context["numbers"].refused.now == "1"
    assert simulate(client, mode="refuse", days="90").context["numbers"].refused.now == "2"


def test_the_critic_is_called_for_confidences_below_its_threshold(client, tenant, max_):
    # Without a record of activation the confidence is 0.5 (behaviour.md, section 2).
    for _ in range(15):
        make_turn(tenant, "All is well.")
    assert simulate(client, critic="0.5").context["numbers"].critic == ("0.5", "0.0", "−0.5")


def test_turns_that_flip_are_links_nearest_first_with_their_verdict(client, tenant, max_):
    claim, uuid = make_turn(tenant, VERB), make_turn(tenant, UUID)
    decide(tenant, max_, claim, "false_alarm")
    flips = simulate(client, mode="refuse", refuse="0.75").context["flips"]
    assert flips["total"] == 2
    assert [row.url for row in flips["refused"].rows] == [f"/t/acme/turns/{t.pk}/" for t in (claim, uuid)]
    assert [row.distance for row in flips["refused"].rows] == [".050", ".200"]
    assert [row.verdict_name for row in flips["refused"].rows] == ["False alarm", ""]
    assert flips["refused"].rows[0].claim == "I sent"


def test_turns_that_would_be_let_through_are_told_apart(client, tenant, max_):
    values = {"fabrication_check_mode": "refuse", "detection_profile": "reference"}
    publishing.publish_settings(tenant=tenant, author=max_, values=values)
    turn = make_turn(tenant, VERB)
    response = simulate(client, refuse="0.9")
    flips = response.context["flips"]
    assert (flips["refused"].turns, flips["let_through"].turns) == (0, 1)
    assert [row.url for row in flips["let_through"].rows] == [f"/t/acme/turns/{turn.pk}/"]
    assert "Would no longer be refused" in html_of(response)
    assert "Would be refused" not in html_of(response)


def test_each_direction_has_its_own_nearest_and_its_real_count(client, tenant, max_):
    """In force: at 0.9. Tried: 0.8, but 0.96 for a UUID. Claims of 0.8 come in, UUIDs of 0.95 go out."""
    values = {"fabrication_check_mode": "refuse", "fabrication_refuse_min_confidence": 0.9}
    values["detection_profile"] = "reference"
    publishing.publish_settings(tenant=tenant, author=max_, values=values)
    for n in range(32):
        make_turn(tenant, VERB)
        if n < 31:
            make_turn(tenant, UUID)
    response = simulate(client, refuse="0.8", refuse_uuid="0.96")
    flips = response.context["flips"]
    assert flips["total"] == 63
    assert (flips["refused"].turns, len(flips["refused"].rows)) == (32, 30)
    assert (flips["let_through"].turns, len(flips["let_through"].rows)) == (31, 30)
    assert text_of(response).count("the nearest 30 are shown") == 2


def test_what_is_not_simulated_is_said(client, tenant, max_):
    make_turn(tenant, VERB)
    assert simulate(client, refuse="0.7").context["unsimulated"] is None
    values = {"ignored_keys": ["service"], "tool_trigger_keywords": {"send": ["send"]}}
    publishing.save_draft(tenant=tenant, author=max_, values=values, based_on=1)
    text = text_of(client.get(URL))
    assert "Draft 2 also changes Tool trigger keywords, Keys to ignore." in text
    assert "run it in shadow to see its effect" in text
    publishing.start_shadow(tenant=tenant, actor=max_, number=2)
    assert "Version 2 also changes" in text_of(client.get(URL))
    assert "see how it does in shadow" in text_of(client.get(URL))


def test_turns_that_are_still_being_counted_are_told(client, tenant, max_):
    """Flagged turns that no profile counts, as an earlier release left them."""
    make_turn(tenant, VERB)
    assert "still being counted" not in text_of(client.get(URL))
    DailyCount.objects.for_tenant(tenant).filter(name="flagged").update(count=2)
    assert "1 flagged turn is still being counted; the numbers leave it out." in text_of(client.get(URL))
    ProfileCount.objects.for_tenant(tenant).delete()
    text = text_of(client.get(URL))
    assert "2 flagged turns are still being counted; the numbers leave them out." in text
    assert "Nothing was flagged" not in text


def test_hostile_snippets_are_escaped_and_made_visible(client, tenant, max_):
    make_turn(tenant, "I sent <script>alert(1)</script> \u202egnp", agent="<b>bot</b>")
    html = html_of(simulate(client, mode="refuse"))
    assert "<script>" not in html
    assert "<b>bot" not in html
    assert "⟨RLO⟩" in html


def test_the_address_keeps_what_is_tried(client, tenant, max_):
    make_turn(tenant, VERB)
    response = simulate(client, version="1", mode="refuse", refuse="0.85", refuse_uuid="0.9", critic="0.6")
    address = response["HX-Replace-Url"]
    assert address == f"{URL}?version=1&mode=refuse&refuse=0.85&refuse_uuid=0.9"
    html = html_of(client.get(address))
    assert 'name="refuse" min="0" max="1" step="0.001" required value="0.85"' in html
    assert '<input type="radio" name="mode" value="refuse" checked>' in html


def test_an_empty_field_takes_a_kinds_own_threshold_away(client, tenant, max_):
    publishing.publish_settings(
        tenant=tenant,
        author=max_,
        values={
            "detection_profile": "reference",
            "fabrication_check_mode": "refuse",
            "fabrication_refuse_min_confidence_by_kind": {"verb_claim": 0.9},
        },
    )
    make_turn(tenant, VERB)
    assert simulate(client).context["numbers"].refused.now == "0"
    response = simulate(client, refuse_verb_claim="")
    assert response.context["numbers"].refused.now == "1"
    assert response["HX-Replace-Url"] == f"{URL}?version=2&refuse_verb_claim="


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("mode", "panic", "not one of the available choices"),
        ("refuse", "1.5", "less than or equal to 1"),
        ("refuse", "", "required"),
        ("refuse", "nan", "Enter a number"),
        ("refuse", "0.1234", "At most 3 decimals"),
        ("refuse_uuid", "-1", "greater than or equal to 0"),
        ("source", "gut feeling", "not one of the available choices"),
        ("critic", "x", "Enter a number"),
        ("days", "31", "not one of the available choices"),
        ("target", "2", "less than or equal to 1"),
    ],
)
def test_what_cannot_be_used_is_said_beside_its_field(client, tenant, max_, field, value, said):
    make_turn(tenant, VERB)
    for response in (client.get(URL, {field: value}), client.post(URL, typed(**{field: value}))):
        assert response.status_code == 422
        errors = html_of(response).split(f'id="id_{field}-error"')[1].split("</ul>")[0]
        assert said in errors
        assert f'id="id_{field}"' in html_of(response)
    fragment = simulate(client, **{field: value})
    assert fragment.status_code == 422
    assert said in html_of(fragment)
    assert f'href="#id_{field}"' in html_of(fragment)
    assert html_of(fragment).lstrip().startswith('<section id="result"')
    assert unpublished_versions(tenant=tenant) == []


@pytest.mark.parametrize("version", ["99", "x", "-1", "9" * 30, "٣"])
def test_a_version_that_is_not_there_is_404(client, max_, version):
    assert client.get(URL, {"version": version}).status_code == 404
    assert simulate(client, version=version).status_code == 404
    assert client.post(URL, typed(version=version)).status_code == 404


# -- What labels tell


def test_a_tenant_without_turns_is_told_what_to_do(client, max_):
    text = text_of(client.get(URL))
    assert "No turns in the last 30 days" in text
    assert "how to connect an agent" in text


def test_a_tenant_without_a_policy_starts_from_the_defaults(client):
    tenant = Tenant.objects.create(slug="bare", name="Bare")
    max_ = make_member(tenant, Role.MANAGER)
    client.force_login(max_)
    make_turn(tenant, VERB)
    page = client.get("/t/bare/thresholds/", {"mode": "refuse"})
    assert "The defaults are in force; nothing has been published" in text_of(page)
    assert page.context["numbers"].refused == ("0", "1", "+1")
    assert client.post("/t/bare/thresholds/", typed(version="0")).status_code == 302
    assert [draft.number for draft in unpublished_versions(tenant=tenant)] == [1]


def test_turns_without_findings_say_so(client, tenant, max_):
    make_turn(tenant, "All is well.")
    assert "Nothing was flagged" in text_of(client.get(URL))


def test_without_labels_counts_are_exact_and_the_queue_is_a_click_away(client, tenant, max_):
    make_turn(tenant, VERB)
    html = html_of(client.get(URL, {"mode": "refuse"}))
    assert "no turn of this time has one" in html
    assert "Not enough labels: 0 of 20 (among the turns refused)." in html
    assert "Nothing is recommended: not enough labels: 0 of 20" in html
    assert "The curve appears with the first turn" in html


def test_one_label_draws_a_curve_but_recommends_nothing(client, tenant, max_):
    decide(tenant, max_, make_turn(tenant, VERB))
    response = simulate(client, mode="refuse")
    assert response.context["curve"].then.words == "precision 100 %, 100 % caught"
    assert response.context["numbers"].suggestion.threshold == ""
    assert "not enough labels: 1 of 20" in html_of(response)
    assert "no turn of this time has one" not in html_of(response)


@pytest.fixture
def twenty_two(tenant, max_):
    """Twenty turns at 0.95 that were fabricated and two false alarms at 0.8, all labelled."""
    for _ in range(20):
        decide(tenant, max_, make_turn(tenant, UUID))
    for _ in range(2):
        decide(tenant, max_, make_turn(tenant, VERB), "false_alarm")


def test_precision_has_an_interval_and_is_held_against_the_goal(client, tenant, twenty_two):
    # Wilson's 95 % interval of 20 of 20 is 0.8389 to 1 (Brown, Cai and DasGupta 2001: n / (n + z^2)); its
    # lower end is rounded down.
    shown = simulate(client, mode="refuse", refuse="0.9", target="0.8").context["numbers"].precision
    assert (shown.was, shown.now) == ("–", "100 % [83–100]")
    assert shown.says == "Reaches your 80 %: yes."
    shown = simulate(client, mode="refuse", refuse="0.9", target="0.9").context["numbers"].precision
    assert shown.says == "Reaches your 90 %: perhaps; the lower end does not."
    shown = simulate(client, mode="refuse", refuse="0.8", target="0.95").context["numbers"].precision
    assert shown.says == "Reaches your 95 %: no."


def test_what_is_read_agrees_with_the_verdict(client, tenant, twenty_two):
    """The lower end is 0.83887: it does not reach 0.839, which would be read if it were rounded to it."""
    shown = simulate(client, mode="refuse", refuse="0.9", target="0.839").context["numbers"].precision
    assert (shown.now, shown.css) == ("100 % [83.8–100]", "warn")
    shown = simulate(client, mode="refuse", refuse="0.9", target="0.835").context["numbers"].precision
    assert (shown.now, shown.css) == ("100 % [83.8–100]", "good")


@pytest.mark.parametrize(("goal", "said"), [("0.995", "99.5 %"), ("0.855", "85.5 %"), ("1", "100 %")])
def test_the_goal_is_printed_as_it_was_typed(client, tenant, twenty_two, goal, said):
    numbers = simulate(client, mode="refuse", refuse="0.9", target=goal).context["numbers"]
    assert f"Reaches your {said}: " in numbers.precision.says
    assert f"No threshold reaches {said}." in numbers.suggestion.words


@pytest.mark.parametrize("mode", ["off", "observe", "revise"])
def test_a_mode_that_refuses_nothing_is_not_said_to_lack_labels(client, tenant, max_, mode):
    make_turn(tenant, VERB)
    response = simulate(client, mode=mode)
    assert response.context["numbers"].precision.says == "Refuses nothing."
    assert response.context["numbers"].recall.says == "Refuses nothing."
    assert response.context["curve"].then.words == "refuses nothing"


def test_what_does_not_change_is_shown_once(client, tenant, max_):
    make_turn(tenant, "All is well.")
    text = text_of(client.get(URL))
    assert "Refused 0 0.0 a day" in text
    assert "→" not in text.split("Critic calls a day")[0].split("Refused 0")[1]
    # One call in thirty days or none: both read 0.0.
    assert "Critic calls a day 0.0 Suggestion" in text_of(simulate(client, critic="0.5"))


def test_intervals_are_not_broken(client, tenant, twenty_two):
    html = html_of(simulate(client, mode="refuse", refuse="0.9"))
    assert '<b class="nowrap">100 % [83–100]</b>' in html


def test_recall_without_an_audit_sample_says_what_is_missing(client, tenant, twenty_two):
    for _ in range(3):
        make_turn(tenant, "All is well.")
    shown = simulate(client, mode="refuse").context["numbers"].recall
    assert shown.says == "Not enough labels: 0 of 30 (in the audit sample of unflagged turns)."


def test_the_lowest_threshold_for_a_goal_is_suggested_with_a_button(client, tenant, twenty_two):
    response = simulate(client, mode="refuse", refuse="0.99", target="0.8")
    # Above 0.8 only the twenty at 0.95 are refused, all rightly; with the two others 20 of 22, at least 0.72.
    assert response.context["numbers"].suggestion.threshold == "0.95"
    link = f'href="{URL}?version=1&amp;mode=refuse&amp;refuse=0.99&amp;target=0.8&amp;refuse=0.95"'
    assert link in html_of(response)
    assert 'data-use="0.95"' in html_of(response)
    assert client.get(URL, {"refuse": ["0.99", "0.95"]}).context["form"]["refuse"].value() == "0.95"


def test_a_goal_out_of_reach_names_the_best_and_offers_no_button(client, tenant, twenty_two):
    response = simulate(client, mode="refuse", target="0.99")
    suggestion = response.context["numbers"].suggestion
    assert suggestion.words.startswith("No threshold reaches 99 %. The best is 0.95: at least 83.8 %")
    assert "data-use" not in html_of(response)


def test_charts_have_text_alternatives_and_tables(client, tenant, twenty_two):
    response = simulate(client, mode="refuse", refuse="0.9")
    html = html_of(response)
    assert html.count('role="img"') == 2
    for name in ("histogram", "curve"):
        assert f'aria-labelledby="{name}-svg-title {name}-svg-desc"' in html
        assert f'<details class="as-table" id="{name}-table">' in html
    chart = response.context["histogram"]
    # Bins are 0.05 wide, so 0.8 and 0.95 begin the bins 16 and 19.
    counts = {bar.span: bar.counts[:2] for bar in chart.bars if any(bar.counts)}
    assert counts == {"0.80–0.85": (0, 2), "0.95–1.00": (20, 0)}
    assert (chart.then.x / chart.width, chart.now.x / chart.width) == (0.9, 0.8)
    assert [part.css for part in chart.bars[19].segments] == ["fabricated"]
    assert chart.bars[19].segments[0].height == 10 * chart.bars[16].segments[0].height
    row = {row.threshold: row for row in response.context["curve"].rows}
    assert (row["0.95"].precision, row["0.95"].caught, row["0.95"].refused) == ("100 %", "100 %", 20)
    assert row["0.8"].labelled == 22


# -- Calibrated confidences


def test_calibrated_confidences_are_offered_once_there_are_any(client, tenant, max_):
    make_turn(tenant, VERB)
    html = html_of(client.get(URL))
    assert '<input type="radio" name="source" value="calibrated" disabled>' in html
    # Twelve false alarms against a prior of 0.8 with the weight of 8 labels: 0.8 * 8 / 20 = 0.32.
    Calibration.objects.across_tenants().create(
        tenant=tenant,
        number=1,
        labels=12,
        content={"kinds": {"verb_claim": [0, 12]}, "groups": []},
    )
    html = html_of(client.get(URL))
    assert 'name="source" value="calibrated">' in html
    assert "Calibrated on 12 labels" in html
    below = simulate(client, mode="refuse", refuse="0.33", source="calibrated").context
    at = simulate(client, mode="refuse", refuse="0.32", source="calibrated").context
    assert (below["numbers"].refused.now, at["numbers"].refused.now) == ("0", "1")
    assert at["histogram"].axis == "calibrated"
    assert at["histogram"].now is None


def test_a_newer_calibration_is_a_difference_from_what_is_in_force(client, tenant, max_):
    make_turn(tenant, VERB)
    values = {"fabrication_confidence_source": "calibrated"}
    Calibration.objects.across_tenants().create(
        tenant=tenant, number=1, labels=12, content={"kinds": {"verb_claim": [0, 12]}, "groups": []}
    )
    publishing.publish_settings(tenant=tenant, author=max_, values=values)
    assert simulate(client).context["is_same"] is True
    Calibration.objects.across_tenants().create(
        tenant=tenant, number=2, labels=24, content={"kinds": {"verb_claim": [0, 24]}, "groups": []}
    )
    response = simulate(client)
    assert response.context["is_same"] is False
    assert "reads an older calibration" in text_of(response)


def test_how_good_a_calibration_is_is_shown_with_a_table(client, tenant, max_):
    quality = {
        "n_train": 70, "n_test": 30, "brier_raw": 0.25, "brier_calibrated": 0.125,
        "bins_raw": [[0.8, 0.5, 30, [0.33, 0.67]]], "bins_calibrated": [[0.5, 0.5, 30, [0.33, 0.67]]],
    }  # fmt: skip
    Calibration.objects.across_tenants().create(
        tenant=tenant, number=1, labels=100, content={"kinds": {}, "groups": []}, quality=quality
    )
    response = client.get(URL)
    text = text_of(response)
    assert "Measured on 30 later labels that the first 70 had not seen" in text
    assert "is 0.250 raw and 0.125 calibrated" in text
    dot = response.context["reliability"].raw[0]
    chart = response.context["reliability"]
    assert (dot.x / chart.width, dot.y / chart.height) == (0.8, 0.5)
    assert "raw 80 % 50 % [33–67] 30" in text


def test_without_a_measured_calibration_it_says_how_many_labels_that_takes(client, max_):
    # Twenty-five to learn from and as many to measure with.
    assert "can be measured from 50 labels on" in text_of(client.get(URL))


# -- Saving


def test_saving_makes_a_draft_and_shows_it(client, tenant, max_):
    response = client.post(URL, typed(refuse_uuid="0.6"))
    assert response.status_code == 302
    assert response["Location"] == f"{URL}?done=saved&version=2&days=30&target=0.9"
    draft = PolicyVersion.objects.for_tenant(tenant).get(number=2)
    assert (draft.state, draft.author, draft.note) == (PolicyState.DRAFT, max_, "Refuse more.")
    assert draft.settings["fabrication_check_mode"] == "refuse"
    assert draft.settings["fabrication_refuse_min_confidence"] == 0.7
    assert draft.settings["fabrication_refuse_min_confidence_by_kind"] == {"uuid": 0.6}
    assert current_policy(tenant=tenant).number == 1
    page = client.get(response["Location"])
    text = text_of(page)
    assert "Saved as a draft." in text
    assert "editing draft 2 by you" in text
    assert page.context["form"]["refuse"].value() == "0.7"
    assert "/policy/compare/?from=1&amp;to=2" in html_of(page)


def test_saving_keeps_what_the_form_is_not_about(client, tenant, max_):
    publishing.publish_settings(tenant=tenant, author=max_, values={"identifier_keys": ["visa_no"]})
    client.post(URL, typed(version="2"))
    assert unpublished_versions(tenant=tenant)[0].settings["identifier_keys"] == ["visa_no"]


def test_saving_a_draft_again_replaces_it(client, tenant, max_):
    client.post(URL, typed())
    client.post(URL, typed(version="2", refuse="0.75"))
    assert [version.number for version in unpublished_versions(tenant=tenant)] == [3]


def test_saving_what_is_there_already_is_refused_in_words(client, max_):
    client.post(URL, typed())
    response = client.post(URL, typed(version="2"))
    assert response.status_code == 422
    assert "Nothing differs from version 2." in html_of(response)
    assert "Refuse more." in html_of(response)


def test_a_note_that_is_too_long_is_refused_beside_it(client, tenant, max_):
    response = client.post(URL, typed(note="x" * 501))
    assert response.status_code == 422
    assert "at most 500" in html_of(response).split('id="id_note-error"')[1].split("</ul>")[0]
    assert unpublished_versions(tenant=tenant) == []


def test_the_loser_of_a_race_keeps_what_was_typed_and_sees_the_other_draft(client, tenant, max_):
    client.post(URL, typed())
    olga = make_member(tenant, Role.OWNER, "olga")
    values = {"fabrication_check_mode": "refuse", "fabrication_refuse_min_confidence": 0.65}
    publishing.save_draft(tenant=tenant, author=olga, values=values, based_on=2)
    response = client.post(URL, typed(version="2", refuse="0.75", refuse_kv="0.9", note="Mine."))
    assert response.status_code == 409
    text = text_of(response)
    assert "Draft 2 has been replaced or discarded since you opened it." in text
    assert "Where draft 3 by Olga differs from yours, it says: Refuse at or above 0.65" in text
    assert "Refuse at or above, Key and value –" in text
    assert response.context["form"]["refuse"].value() == "0.75"
    assert 'value="Mine."' in html_of(response)
    assert client.post(URL, typed(version="3", refuse="0.75", refuse_kv="0.9")).status_code == 302
    assert [version.number for version in unpublished_versions(tenant=tenant)] == [4]


def test_a_draft_given_up_cannot_be_saved_onto_but_leads_on(client, tenant, max_):
    client.post(URL, typed())
    client.post(URL, typed(version="2", refuse="0.75"))
    html = html_of(client.get(URL, {"version": "2"}))
    assert "has been replaced or discarded" in html
    assert "Save as draft" not in html


def test_the_defaults_can_be_started_from(client, tenant, max_):
    publishing.publish_settings(tenant=tenant, author=max_, values={"fabrication_refuse_min_confidence": 0.9})
    page = client.get(URL, {"version": "0"})
    assert "starting from the defaults" in text_of(page)
    assert page.context["form"]["refuse"].value() == "0.8"
    assert client.post(URL, typed(version="0")).status_code == 302
    assert unpublished_versions(tenant=tenant)[0].based_on is None


@pytest.mark.parametrize(("drafts", "shown", "more"), [(4, [3, 2, 1], ""), (7, [6, 5, 4], "3 more")])
def test_three_other_drafts_are_named_and_the_rest_is_a_link(client, tenant, max_, drafts, shown, more):
    for n in range(drafts):
        publishing.save_draft(
            tenant=tenant, author=max_, values={"fabrication_refuse_min_confidence": n / 10}, based_on=1
        )
    page = client.get(URL)
    assert page.context["edited"].number == drafts + 1
    assert [draft.number - 1 for draft in page.context["others"]] == shown
    link = re.search(r'href="/t/acme/policy/versions/">(\d+ more)</a>', html_of(page))
    assert (link[1] if link else "") == more


def test_an_older_version_can_be_started_from(client, tenant, max_):
    publishing.publish_settings(tenant=tenant, author=max_, values={"fabrication_refuse_min_confidence": 0.9})
    page = client.get(URL, {"version": "1"})
    assert "starting from version 1" in text_of(page)
    assert page.context["form"]["refuse"].value() == "0.8"


def test_a_version_in_shadow_is_named(client, tenant, max_):
    client.post(URL, typed())
    publishing.start_shadow(tenant=tenant, actor=max_, number=2)
    assert "shadow: version 2" in text_of(client.get(URL))


def test_viewers_may_not_save(client, tenant):
    client.force_login(make_member(tenant, Role.REVIEWER))
    assert client.post(URL, typed()).status_code == 403
    assert unpublished_versions(tenant=tenant) == []


# -- What labels have taught


def test_a_suggestion_says_what_it_rests_on_and_what_it_would_do(client, tenant, max_):
    turn = make_turn(tenant, "I checked it.", tool_calls=[call("get_order")])
    make_suggestion(tenant, turns=[turn.pk])
    text = text_of(client.get(URL))
    assert "“checked” is grounded by tools with “get” in their name" in text
    assert "31 labels, 30 agree" in text
    assert "would have silenced 44 of the last 50,000 findings, 1 of them fabricated" in text
    assert f'href="/t/acme/turns/{turn.pk}/"' in html_of(client.get(URL))


def test_a_suggestion_is_accepted_into_a_draft_and_what_is_typed_stays(client, tenant, max_):
    suggestion = make_suggestion(tenant)
    response = client.post(f"{URL}suggestions/{suggestion.pk}/accept", typed())
    assert response.status_code == 302
    assert unpublished_versions(tenant=tenant)[0].settings["grounding_tool_fragments"] == {"checked": ["get"]}
    page = client.get(response["Location"])
    assert "The rule is in draft 2 now." in text_of(page)
    assert page.context["edited"].number == 2
    assert page.context["form"]["refuse"].value() == "0.7"
    assert 'name="note" maxlength="500" value="Refuse more."' in html_of(page)
    assert "is grounded by tools" not in text_of(page)


def test_a_rule_goes_into_the_draft_on_the_screen_not_into_a_newer_one(client, tenant, max_):
    for key in ("visa_no", "pnr"):
        publishing.save_draft(tenant=tenant, author=max_, values={"identifier_keys": [key]}, based_on=1)
    response = client.post(f"{URL}suggestions/{make_suggestion(tenant).pk}/accept", typed(version="2"))
    assert response["Location"].startswith(f"{URL}?done=accepted&version=4&")
    drafts = {draft.number: draft.settings for draft in unpublished_versions(tenant=tenant)}
    assert drafts.keys() == {4, 3}
    assert drafts[4]["identifier_keys"] == ["visa_no"]
    assert drafts[4]["grounding_tool_fragments"] == {"checked": ["get"]}


def test_a_rule_for_a_draft_that_was_replaced_is_a_conflict_and_nothing_typed_is_lost(client, tenant, max_):
    suggestion = make_suggestion(tenant)
    client.post(URL, typed())
    values = {"fabrication_check_mode": "refuse", "fabrication_refuse_min_confidence": 0.65}
    publishing.save_draft(tenant=tenant, author=max_, values=values, based_on=2)
    accept = f"{URL}suggestions/{suggestion.pk}/accept"
    response = client.post(accept, typed(version="2", refuse="0.75", note="Mine."))
    assert response.status_code == 409
    assert "Draft 2 has been replaced or discarded since you opened it." in text_of(response)
    assert "differs from yours, it says: Refuse at or above 0.65" in text_of(response)
    assert response.context["edited"].number == 3
    assert response.context["form"]["refuse"].value() == "0.75"
    assert 'name="note" maxlength="500" value="Mine."' in html_of(response)
    assert GroundingSuggestion.objects.for_tenant(tenant).get().state == "open"
    # Also when something typed cannot be used, which then is said beside it.
    wrong = client.post(accept, typed(version="2", refuse="much"))
    assert wrong.status_code == 409
    assert "Enter a number" in html_of(wrong)


def test_a_version_that_is_not_there_takes_no_rule(client, tenant, max_):
    suggestion = make_suggestion(tenant)
    assert client.post(f"{URL}suggestions/{suggestion.pk}/accept", typed(version="99")).status_code == 404
    assert GroundingSuggestion.objects.for_tenant(tenant).get().state == "open"


@pytest.mark.parametrize("action", ["suggestions/{}/dismiss", "learn"])
def test_what_is_typed_survives_the_other_buttons(client, tenant, max_, action):
    client.post(URL, typed())
    response = client.post(
        URL + action.format(make_suggestion(tenant).pk), typed(version="2", refuse="0.75", note="Mine.")
    )
    page = client.get(response["Location"])
    assert page.context["edited"].number == 2
    assert page.context["form"]["refuse"].value() == "0.75"
    assert 'name="note" maxlength="500" value="Mine."' in html_of(page)


@pytest.mark.parametrize("action", ["accept", "dismiss"])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_looking_at_a_decisions_address_does_nothing_and_leads_to_the_page(client, tenant, action, role):
    client.force_login(make_member(tenant, role))
    response = client.get(f"{URL}suggestions/{make_suggestion(tenant).pk}/{action}")
    assert (response.status_code, response["Location"]) == (302, URL)
    assert GroundingSuggestion.objects.for_tenant(tenant).get().state == "open"


def test_a_try_never_puts_the_token_into_an_address(client, tenant, max_):
    """The form is sent by GET, too; the token is with the buttons that post."""
    make_suggestion(tenant)
    html = html_of(client.get(URL))
    form = html.split('<form id="controls"')[1].split("</form>")[0]
    assert "csrfmiddlewaretoken" not in form.replace('hx-params="not note,csrfmiddlewaretoken"', "")
    buttons = re.findall(r'<button[^>]*formmethod="post"[^>]*>', html)
    assert len(buttons) == 4  # save, learn, accept, dismiss
    for button in buttons:
        assert 'form="controls"' in button
        assert re.search(r'name="csrfmiddlewaretoken" value="\w{64}"', button)


def test_a_suggestion_is_dismissed(client, tenant, max_):
    suggestion = make_suggestion(tenant)
    response = client.post(f"{URL}suggestions/{suggestion.pk}/dismiss")
    assert response.status_code == 302
    assert "It is not suggested again." in text_of(client.get(response["Location"]))
    assert GroundingSuggestion.objects.for_tenant(tenant).get().state == "dismissed"


def test_a_suggestion_somebody_has_decided_is_a_conflict(client, tenant, max_):
    suggestion = make_suggestion(tenant)
    client.post(f"{URL}suggestions/{suggestion.pk}/dismiss")
    response = client.post(f"{URL}suggestions/{suggestion.pk}/accept", typed())
    assert response.status_code == 409
    assert "dismissed by Max" in text_of(response)
    assert unpublished_versions(tenant=tenant) == []
    assert response.context["form"]["refuse"].value() == "0.7"


def test_learning_is_started_once(client, tenant, max_):
    assert client.post(URL + "learn").status_code == 302
    job = Job.objects.for_tenant(tenant).get()
    assert (job.kind, job.started_by) == (JobKind.LEARN, max_)
    assert client.post(URL + "learn").status_code == 409
    assert Job.objects.for_tenant(tenant).count() == 1


def test_progress_is_asked_for_while_learning_and_costs_nothing_when_unchanged(client, tenant, max_):
    decide(tenant, max_, make_turn(tenant, VERB))
    assert 'hx-trigger="every 2s"' not in html_of(client.get(URL))
    client.post(URL + "learn")
    page = client.get(URL)
    assert 'hx-trigger="every 2s"' in html_of(page)
    assert re.search(r'<button id="learn-now"[^>]* disabled>', html_of(page))
    seen = {"seen": page.context["seen"]}
    assert client.get(URL + "learn", seen, headers=HTMX).status_code == 204
    jobs.run_jobs()
    assert Job.objects.for_tenant(tenant).get().state == JobState.DONE
    done = client.get(URL + "learn", seen, headers=HTMX)
    assert done.status_code == 200
    assert html_of(done).lstrip().startswith('<div id="learned"')
    assert 'hx-trigger="every 2s"' not in html_of(done)
    assert "learned from 1 label;" in text_of(done)


def test_polling_after_the_session_is_gone_goes_to_login(client, tenant):
    headers = {**HTMX, "HX-Current-URL": f"http://testserver{URL}"}
    for address in (SIMULATE, URL + "learn"):
        assert "/login/" in client.get(address, headers=headers)["HX-Redirect"]


def test_unknown_done_is_not_echoed(client, max_):
    assert "hello" not in html_of(client.get(URL + "?done=hello"))


# -- What it costs


def queries(client, url, data=None, **headers):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url, data or {}, headers=headers).status_code == 200
    return asked(captured)


def test_simulating_costs_the_same_with_few_and_many_turns(client, tenant, other_tenant, max_):
    typed_now = {"version": "1", "mode": "refuse", "refuse": "0.75"}
    for turn in (VERB, UUID):
        decide(tenant, max_, make_turn(tenant, turn))
    queries(client, SIMULATE, typed_now, **HTMX)
    few = queries(client, SIMULATE, typed_now, **HTMX)
    for n in range(12):
        decide(tenant, max_, make_turn(tenant, VERB), "false_alarm" if n % 2 else "fabricated")
        make_turn(tenant, UUID)
        make_turn(other_tenant, VERB)
    many = queries(client, SIMULATE, typed_now, **HTMX)
    assert many == few <= MOST_QUERIES + 2  # turns that flip are read for each of the two profiles


def test_simulating_what_is_in_force_reads_no_turn(client, tenant, max_):
    make_turn(tenant, VERB)
    queries(client, SIMULATE, {"version": "1"}, **HTMX)
    assert queries(client, SIMULATE, {"version": "1"}, **HTMX) <= MOST_QUERIES


def test_the_page_costs_the_same_with_many_drafts_and_suggestions(client, tenant, max_):
    make_turn(tenant, VERB)
    make_suggestion(tenant)
    queries(client, URL)
    few = queries(client, URL)
    for n in range(5):
        publishing.save_draft(
            tenant=tenant, author=max_, values={"fabrication_refuse_min_confidence": n / 10}, based_on=1
        )
        make_suggestion(tenant, value=f"tool{n}")
    queries(client, URL)
    assert queries(client, URL) <= few + 2  # the draft edited, and its author
