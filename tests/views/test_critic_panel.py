"""What the turn's page says of the critic, what reviewers may answer, and what blind review keeps back."""

from __future__ import annotations

import html as entities
import re
from datetime import UTC, datetime

import pytest

from reviews.models import CriticVerdict, Turn, TurnPayload
from reviews.models.critic import CallState, Verdict
from reviews.models.tenants import Role
from reviews.models.turns import CriticStanding, Source
from reviews.services import analysis, critic_review, intake, review
from reviews.services.publishing import publish_settings
from tests.factories import make_member, make_record, make_turn, make_verdict

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
PLAIN = "Your parcel arrives on Monday."
REVISED = "Your parcel arrives on Wednesday, I believe."
SECRET = "zebra crossing"


@pytest.fixture
def rita(client, tenant):
    member = make_member(tenant, Role.REVIEWER, "rita")
    client.force_login(member)
    return member


@pytest.fixture
def blind(tenant):
    publish_settings(tenant=tenant, author=None, values={"critic_blind_review": True, "audit_sample_rate": 0})


def at(turn: Turn, act: str = "") -> str:
    return f"/t/acme/turns/{turn.pk}/{act}"


def html(response) -> str:
    return response.content.decode()


def text_of(markup: str) -> str:
    return entities.unescape(" ".join(re.sub(r"<[^>]*>", " ", markup).split()))


def panel_of(response) -> str:
    """The panel's markup; empty when there is none."""
    found = re.search(r'<section id="critic".*?</section>', html(response), re.S)
    return found[0] if found else ""


def judge(client, turn, version=0, **form):
    return client.post(at(turn, "critic/judge"), {"version": version, **form}, headers=HTMX)


def stored(turn) -> CriticVerdict:
    return CriticVerdict.objects.for_tenant(turn.tenant).get(pk=turn.pk)


def corrected(turn) -> str:
    return TurnPayload.objects.for_tenant(turn.tenant).get(pk=turn.pk).corrected_answer


# -- What is said


def test_a_revision_is_shown_word_by_word_with_what_called_for_it_and_what_it_took(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(
        turn,
        revised_draft=REVISED,
        sensitive_tag="payment",
        matched_preferences=["Promise no date."],
        rules=["Before a date is named, ask the carrier."],
        model="judge-7b",
        tokens_in=512,
        tokens_out=64,
        cost=0.00012,
        latency_ms=1234.0,
    )
    panel = panel_of(client.get(at(turn)))
    assert '<span class="tag warn">Revise</span>' in panel
    assert "Your parcel arrives on <del>Monday.</del><ins>Wednesday, I believe.</ins>" in panel
    said = text_of(panel)
    assert "fired: sensitive tag payment, confidence 0.42 < 0.6" in said
    assert "Promise no date." in said
    assert "Before a date is named, ask the carrier." in said
    assert "judge-7b · 1.2 s · 512 tokens in, 64 out · cost 0.00012" in said


def test_a_long_revision_is_folded_and_a_short_one_is_not(client, tenant, rita):
    short, long = make_turn(tenant, PLAIN), make_turn(tenant, "Yes, we are open. " * 60)
    make_verdict(short, revised_draft=REVISED)
    make_verdict(long, revised_draft="No, we are closed. " * 60)
    assert '<details class="call" open>' in panel_of(client.get(at(short)))
    assert '<details class="call">' in panel_of(client.get(at(long)))


def test_a_refusal_shows_what_the_user_would_read(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, verdict="refuse", refusal_message="I cannot <b>say</b>.")
    panel = panel_of(client.get(at(turn)))
    assert '<span class="tag bad">Refuse</span>' in panel
    assert "I cannot &lt;b&gt;say&lt;/b&gt;." in panel
    assert 'data-key="r"' not in panel


def test_a_forced_revision_says_so_and_what_the_model_said(client, tenant, rita):
    turn = make_turn(tenant)
    make_verdict(turn, said="approve", forced=True, gate_reason="fabrication_revise", confidence=900)
    said = text_of(panel_of(client.get(at(turn))))
    assert "fired: fabrication mode revise" in said
    assert "Forced: in fabrication mode revise" in said
    assert "The model itself said approve." in said
    assert "Take the revision" not in said


def test_a_degraded_verdict_is_a_warning_and_no_verdict(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, verdict="approve", cause="timeout", detail="It waited longer than 60 minutes.")
    panel = panel_of(client.get(at(turn)))
    warning = "Nobody read this draft: the model took too long. It waited longer than 60 minutes."
    assert f'<p class="notice warn">{warning}</p>' in panel
    assert "Approve" not in panel
    assert "data-key" not in panel


@pytest.mark.parametrize(
    ("cause", "detail", "said"),
    [
        ("timeout", "The model took too long.", "the model took too long."),
        ("unavailable", "The model cannot be reached.", "the model could not be reached."),
        (
            "unavailable",
            "The model cannot be reached. Tried for an hour.",
            "the model could not be reached. Tried for an hour.",
        ),
        (
            "rejected",
            "The model's server rejects the request (HTTP status 401).",
            "the model’s server rejected the request (HTTP status 401).",
        ),
        ("failed", "The call broke off (OSError).", "the call broke off (OSError)."),
    ],
)
def test_a_detail_that_repeats_the_cause_is_not_said_twice(client, tenant, rita, cause, detail, said):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, verdict="approve", cause=cause, detail=detail)
    assert f"Nobody read this draft: {said}" in text_of(panel_of(client.get(at(turn))))


def test_a_verdict_of_the_runtimes_own_critic_is_marked(client, tenant, rita):
    turn = make_turn(tenant, PLAIN, critic={"verdict": "refuse", "confidence_before": 0.25})
    said = text_of(panel_of(client.get(at(turn))))
    assert "by the agent’s runtime" in said
    assert "recorded: confidence 0.25" in said


@pytest.mark.parametrize(
    ("gate", "policy", "said"),
    [
        (
            {"gate_reason": "confident", "gate_confidence": 810},
            {},
            "Critic not asked: confidence 0.81 ≥ 0.6.",
        ),
        ({"gate_reason": "trivial_acknowledgment"}, {}, "Critic not asked: a plain acknowledgment."),
        (
            {"gate_reason": "low_confidence", "gate_confidence": 599},
            {},
            "Critic would have been asked (confidence 0.599 < 0.6), but the critic is off.",
        ),
        (
            {"gate_reason": "sensitive_tag"},
            {"critic_enabled": True},
            "Critic would have been asked (a sensitive tag), but was not.",
        ),
        (
            {"gate_reason": "sensitive_tag", "source": Source.IMPORT},
            {"critic_enabled": True},
            "but the critic is not asked about imported turns.",
        ),
    ],
)
def test_a_turn_without_a_call_says_why_in_one_line(client, tenant, rita, gate, policy, said):
    publish_settings(tenant=tenant, author=None, values={"audit_sample_rate": 0, **policy})
    turn = make_turn(tenant, PLAIN)
    Turn.objects.for_tenant(tenant).filter(pk=turn.pk).update(critic="", **gate)
    response = client.get(at(turn))
    assert panel_of(response) == ""
    assert said in text_of(html(response))


# -- While it waits


def waiting(turn, **values) -> CriticVerdict:
    return make_verdict(turn, state="waiting", created_at=datetime(2026, 3, 5, 9, 30, tzinfo=UTC), **values)


def test_a_waiting_panel_asks_by_itself_and_says_since_when(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    waiting(turn, cause="rate_limited", detail="")
    panel = panel_of(client.get(at(turn)))
    assert "data-poll" in panel
    assert "Waiting for the critic since 5 Mar, 09:30" in text_of(panel)
    assert "At the last attempt the model took no more requests." in text_of(panel)


def test_asking_for_what_was_seen_is_answered_with_nothing_until_the_verdict_is_there(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    said = waiting(turn)
    address = entities.unescape(re.search(r'hx-get="([^"]*)"', panel_of(client.get(at(turn))))[1])
    assert client.get(address, headers=HTMX).status_code == 204
    said.state, said.verdict, said.said, said.revised_draft = CallState.DONE, "revise", "revise", REVISED
    said.save()
    Turn.objects.for_tenant(tenant).filter(pk=turn.pk).update(critic=CriticStanding.REVISE)
    answer = client.get(address, headers=HTMX)
    assert answer.status_code == 200
    assert html(answer).lstrip().startswith('<section id="critic"')
    assert "data-poll" not in html(answer)
    assert 'data-tell="The critic says: revise."' in html(answer)
    assert "data-focus" not in html(answer)


def test_what_is_decided_on_a_panel_that_came_later_is_about_the_page_it_came_to(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn)
    ruth = make_member(tenant, Role.REVIEWER, "ruth")
    review.add_note(tenant=tenant, actor=ruth, turn_id=turn.pk, text="wait", seen_version=0)
    panel = html(client.get(at(turn, "critic?version=0"), headers=HTMX))
    assert 'name="version" value="0"' in panel
    assert judge(client, turn, 0, verdict="revise").status_code == 409


def test_without_htmx_the_panels_address_leads_to_the_turn(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    assert client.get(at(turn, "critic?kind=uuid")).headers["Location"] == at(turn, "?kind=uuid")


# -- The reviewer's word


def test_agreeing_stays_on_the_turn_and_can_be_undone(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, revised_draft=REVISED)
    response = judge(client, turn, verdict="revise", spent="4")
    assert response.status_code == 200
    assert response.headers["HX-Push-Url"] == at(turn)
    assert 'data-say="You agreed with the critic: revise"' in html(response)
    assert "Rita agreed" in text_of(panel_of(response))
    assert stored(turn).human == Verdict.REVISE
    assert corrected(turn) == ""
    last = turn.decisions.get()
    assert last.spent_seconds == 4
    client.post(f"/t/acme/decisions/{last.pk}/undo", headers=HTMX)
    assert stored(turn).human == ""


def test_taking_the_revision_agrees_and_makes_it_the_answer(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, revised_draft=REVISED)
    response = judge(client, turn, take="1")
    assert stored(turn).human == Verdict.REVISE
    assert corrected(turn) == REVISED
    assert "Take the revision" not in html(response)
    client.post(f"/t/acme/decisions/{turn.decisions.get().pk}/undo", headers=HTMX)
    assert corrected(turn) == ""


def test_a_revision_that_is_not_there_cannot_be_taken(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, verdict="refuse")
    response = judge(client, turn, take="1")
    assert response.status_code == 422
    assert "There is no revision to take." in html(response)
    assert stored(turn).human == ""


def test_overruling_needs_a_reason_and_keeps_what_was_chosen(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn)
    response = judge(client, turn, verdict="refuse", reason="  ")
    assert response.status_code == 422
    assert "Say why." in html(response)
    panel = panel_of(response)
    assert "<details open>" in panel
    assert re.search(r'value="refuse" checked', panel)
    assert judge(client, turn, verdict="refuse", reason="Nothing\nof it holds.").status_code == 200
    said = text_of(panel_of(client.get(at(turn))))
    assert "Rita overruled: refuse Nothing of it holds." in said


def test_the_verdicts_to_overrule_with_are_the_other_two(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, verdict="approve")
    offered = re.findall(r'type="radio" name="verdict" value="(\w+)"', panel_of(client.get(at(turn))))
    assert offered == ["revise", "refuse"]


@pytest.mark.parametrize("form", [{"verdict": "maybe"}, {}, {"verdict": "approve", "version": "x"}])
def test_a_broken_word_is_refused_and_changes_nothing(client, tenant, rita, form):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn)
    assert judge(client, turn, **form).status_code == 422
    assert stored(turn).human == ""


@pytest.mark.parametrize("values", [{"state": "waiting"}, {"verdict": "approve", "cause": "timeout"}])
def test_where_there_is_no_verdict_there_is_nothing_to_judge(client, tenant, rita, values):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, **values)
    assert judge(client, turn, verdict="approve").status_code == 422


def test_of_two_reviewers_the_slower_is_told_what_the_other_said(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn)
    ruth = make_member(tenant, Role.REVIEWER, "ruth")
    critic_review.judge_critic(
        tenant=tenant, actor=ruth, turn_id=turn.pk, verdict="approve", reason="fine", seen_version=0
    )
    response = judge(client, turn, 0, verdict="revise")
    assert response.status_code == 409
    assert "Ruth overruled the critic: approve while you were looking" in html(response)


def test_a_viewer_sees_the_verdict_and_no_buttons(client, tenant):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, revised_draft=REVISED)
    client.force_login(make_member(tenant, Role.VIEWER, "vera"))
    panel = panel_of(client.get(at(turn)))
    assert "Wednesday" in panel
    assert "<form" not in panel


def test_the_corrected_answer_begins_with_the_revision_unless_there_is_one(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, revised_draft=REVISED)

    def begins() -> str:
        form = html(client.get(at(turn))).split('id="answer-text"')[1].split("</textarea>")[0]
        return entities.unescape(form.split(">", 1)[1])

    assert begins() == REVISED
    review.correct_answer(tenant=tenant, actor=rita, turn_id=turn.pk, text="On Friday.", seen_version=0)
    assert begins() == "On Friday."


def test_keys_are_those_that_nothing_else_on_the_page_uses(client, tenant, rita):
    turn = make_turn(tenant)
    make_verdict(turn, revised_draft=REVISED)
    keys = re.findall(r'data-key="(.)"', html(client.get(at(turn))).split("<article")[1])
    assert {"y", "r", "o"} <= set(keys)
    assert [key for key in "yroe" if keys.count(key) != 1] == []


# -- A turn that waits for a reviewer because of the critic alone


def test_a_turn_without_findings_is_decided_as_a_whole(client, tenant, rita):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn)
    page = html(client.get(at(turn)))
    assert "The critic would revise this draft." in page
    assert [key for key in "tfu" if f'data-key="{key}"' not in page] == []
    client.post(at(turn, "label"), {"label": "false_alarm", "version": 0}, headers=HTMX)
    turn.refresh_from_db()
    assert (turn.review_state, turn.verdict) == ("decided", "false_alarm")
    client.post(f"/t/acme/decisions/{turn.decisions.get().pk}/undo", headers=HTMX)
    turn.refresh_from_db()
    assert (turn.review_state, turn.verdict) == ("open", "")


# -- Blind review


@pytest.fixture
def hidden(tenant, rita, blind):
    turn = make_turn(tenant, PLAIN, external_id="hidden")
    make_verdict(
        turn,
        revised_draft=f"{SECRET} revised",
        model=f"{SECRET} model",
        sensitive_tag=f"{SECRET} tag",
        matched_preferences=[f"{SECRET} preference"],
        rules=[f"{SECRET} rule"],
    )
    return turn


VERDICT_WORDS = re.compile(
    rf"{SECRET}|agreed|overruled|critic would|Wednesday|data-key=\"[yro]\"|tag warn", re.I
)


def test_nothing_of_the_verdict_is_in_the_page_before_the_readers(client, hidden):
    for response in (
        client.get(at(hidden)),
        client.get(at(hidden), headers=HTMX),
        client.get(at(hidden, "critic"), headers=HTMX),
        client.get("/t/acme/queue/"),
        client.get("/t/acme/queue/?state=all"),
    ):
        assert response.status_code == 200
        # The list of keys and the help's words are the same on every page.
        assert VERDICT_WORDS.findall(html(response).split("<dialog")[0]) == []
    panel = text_of(panel_of(client.get(at(hidden))))
    assert (
        panel == "Critic The critic has read this draft; its verdict shows after yours. Approve Revise Refuse"
    )


def test_a_viewer_waits_for_the_reviewers(client, tenant, hidden):
    client.force_login(make_member(tenant, Role.VIEWER, "vera"))
    panel = panel_of(client.get(at(hidden)))
    assert (
        text_of(panel)
        == "Critic The critic has read this draft; its verdict shows once a reviewer has decided."
    )
    assert "<form" not in panel


def test_a_hidden_page_is_the_same_whatever_the_critic_said(client, tenant, rita, blind):
    pages = set()
    for verdict in Verdict.values:
        turn = make_turn(tenant, PLAIN)
        make_verdict(turn, verdict=verdict)
        pages.add(panel_of(client.get(at(turn))).replace(at(turn), "").partition("csrf")[0])
    assert len(pages) == 1


def test_ones_own_verdict_brings_the_critics_in_sight(client, hidden):
    response = judge(client, hidden, verdict="approve")
    assert response.status_code == 200
    said = text_of(panel_of(response))
    assert "Rita overruled: approve, without having seen the verdict" in said
    assert f"{SECRET} revised" in said
    assert stored(hidden).human_blind


def test_deciding_the_turn_brings_the_verdict_in_sight(client, hidden):
    client.post(at(hidden, "label"), {"label": "unsure", "version": 0})
    assert f"{SECRET} revised" in text_of(panel_of(client.get(at(hidden))))


def test_a_hidden_revision_cannot_be_taken(client, hidden):
    response = judge(client, hidden, take="1")
    assert response.status_code == 422
    assert SECRET not in html(response)
    assert stored(hidden).human == ""


def test_a_word_that_was_taken_back_does_not_tell_whether_it_agreed(client, tenant, hidden):
    ruth = make_member(tenant, Role.REVIEWER, "ruth")
    decided = critic_review.judge_critic(
        tenant=tenant, actor=ruth, turn_id=hidden.pk, verdict="approve", reason=SECRET, seen_version=0
    )
    review.undo_decision(tenant=tenant, actor=ruth, decision_id=decided.decision_id)
    response = client.get(at(hidden))
    assert "judged the critic" in html(response)
    assert VERDICT_WORDS.findall(html(response).split("<dialog")[0]) == []
    # Nor does the message to whoever decides on the page as it was before.
    late = judge(client, hidden, 0, verdict="refuse")
    assert late.status_code == 409
    assert "This turn has changed while you were looking." in html(late)
    assert VERDICT_WORDS.findall(html(late).split("<dialog")[0]) == []


def test_what_was_not_read_hides_nothing(client, tenant, rita, blind):
    turn = make_turn(tenant, PLAIN)
    make_verdict(turn, verdict="approve", cause="over_budget")
    assert "Nobody read this draft: the day’s budget was used up." in text_of(panel_of(client.get(at(turn))))


# -- What it costs


def test_the_panel_costs_one_query_more_and_one_to_know_whether_to_hide(
    client, tenant, rita, django_assert_max_num_queries
):
    turn = make_turn(tenant)
    make_verdict(turn, revised_draft=REVISED, human="revise", human_by=rita)
    client.get(at(turn))
    # As without a verdict, and the verdict; two more confine on PostgreSQL.
    with django_assert_max_num_queries(10):
        client.get(at(turn))
    undecided = make_turn(tenant)
    make_verdict(undecided, revised_draft=REVISED)
    with django_assert_max_num_queries(11):
        client.get(at(undecided))


def test_verdicts_of_other_tenants_are_not_found(client, tenant, other_tenant, rita):
    theirs = make_turn(other_tenant, PLAIN)
    make_verdict(theirs)
    assert client.get(at(theirs, "critic"), headers=HTMX).status_code == 404
    assert judge(client, theirs, verdict="approve", reason="x").status_code == 404


def test_an_imported_turn_with_a_recorded_verdict_can_be_judged(client, tenant, rita):
    record = make_record(PLAIN, critic={"verdict": "revise", "revised_draft": REVISED})
    accepted = intake.accept_turns(tenant=tenant, records=[record], source=Source.IMPORT)
    analysis.analyse_pending()
    turn = Turn.objects.for_tenant(tenant).get(pk=accepted[0].turn_id)
    assert judge(client, turn, take="1").status_code == 200
    assert corrected(turn) == REVISED
