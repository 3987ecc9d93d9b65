"""The evidence profile in the product: chosen by the policy, stored with what it looked at, told in words."""

from __future__ import annotations

import pytest

from reviews.core.settings import TenantSettings, parse_settings, read_settings
from reviews.formats.record import ToolInfo
from reviews.models import Finding, Turn, User
from reviews.models.jobs import JobKind
from reviews.services import intake, jobs, publishing, tenants
from reviews.services.judge import Policy, judge
from reviews.services.policies import current_policy
from reviews.views.grounding import grounded_claims, held_of
from tests.factories import call, make_record, make_tenant, make_turn

EVIDENCE = Policy(None, 0, TenantSettings(detection_profile="evidence"))
REFERENCE = Policy(None, 0, TenantSettings(detection_profile="reference"))
CANCELLED = "I've cancelled your order for you."


@pytest.fixture
def evident(db):
    return make_tenant(slug="evident", detection_profile="evidence")


def kinds(record, policy=EVIDENCE):
    return [finding.kind for finding in judge(record, policy).findings]


def finding_of(turn: Turn) -> Finding:
    (finding,) = Finding.objects.for_tenant(turn.tenant_id).filter(turn=turn)
    return finding


# -- Which profile


def test_a_new_tenant_begins_with_evidence(db):
    tenant = tenants.create_tenant(name="New", slug="new", owner=User.objects.create_user("olga"))
    assert current_policy(tenant=tenant).settings.detection_profile == "evidence"


def test_settings_written_before_there_was_a_choice_mean_the_reference():
    stored = {n: v for n, v in TenantSettings().to_json().items() if n != "detection_profile"}
    assert read_settings(stored)[0].detection_profile == "reference"
    assert parse_settings(stored).detection_profile == "evidence"


def test_each_profile_finds_what_the_other_does_not():
    contracted = make_record(CANCELLED)
    assert kinds(contracted, REFERENCE) == []
    assert kinds(contracted) == ["verb_claim"]
    # The reference has no word for a reservation that was looked up by a tool of another name.
    looked_up = make_record(
        "I checked your booking.", tool_calls=[call("get_reservation_details", {"id": 1}, ok=True)]
    )
    assert kinds(looked_up, REFERENCE) == ["verb_claim"]
    assert kinds(looked_up) == []


def test_new_kinds_are_stored_and_found(evident):
    invented = '```json\n{"tool_result": {"order_status": "shipped", "parcel": "ZX-88121"}}\n```'
    turn = make_turn(evident, f"Here is what the system returned:\n{invented}")
    assert turn.kind_list == ["tool_output_shape"]
    assert turn.has_tool_output_shape
    named = make_turn(
        evident, "I opened ticket RECL-20391 for you.", tool_calls=[call("open_ticket", ok=True)]
    )
    assert "claimed_identifier" in named.kind_list
    assert named.has_claimed_identifier


# -- What is stored


def test_a_finding_keeps_what_ran_and_what_it_was_held_against(evident):
    turn = make_turn(
        evident,
        CANCELLED,
        user_message="Cancel it, please.",
        tool_calls=[call("get_order", {"id": 7}, ok=True)],
    )
    finding = finding_of(turn)
    assert [ran["name"] for ran in finding.evidence["ran"]] == ["get_order"]
    assert "user_message" in finding.evidence["checked"]
    assert finding.evidence["missing"]
    held = held_of(finding)
    assert "get_order" in held.sentence
    assert "what the user said" in held.checked


def test_a_call_that_failed_is_told_with_the_reason(evident):
    turn = make_turn(evident, CANCELLED, tool_calls=[call("cancel_order", {"error": "order is locked"})])
    (ran,) = held_of(finding_of(turn)).ran
    assert (ran.name, ran.outcome) == ("cancel_order", "failed")
    assert ran.why


def test_a_grounded_claim_is_kept_with_its_source(evident):
    turn = make_turn(evident, CANCELLED, tool_calls=[call("cancel_order", {"status": "cancelled"}, ok=True)])
    assert turn.finding_count == 0
    (claim,) = grounded_claims(turn.payload.claims)
    assert "cancelled" in claim.text
    assert claim.source == "the result of cancel_order"


def test_the_reference_keeps_none_of_it(tenant):
    turn = make_turn(tenant, "I sent it.", tool_calls=[call("send_mail", ok=True)])
    assert turn.payload.claims is None
    flagged = make_turn(tenant, "I sent it.")
    assert finding_of(flagged).evidence is None
    assert held_of(finding_of(flagged)) is None


# -- The conversation before


def talk(tenant, name="talk"):
    """A conversation in which an order was cancelled, and one of somebody else with the same name."""
    make_turn(
        tenant,
        CANCELLED,
        conversation_id=name,
        user_message="Cancel order QX-4471.",
        tool_calls=[call("cancel_order", {"status": "cancelled"}, ok=True)],
    )


def test_what_an_earlier_turn_did_grounds_a_later_one(evident, other_tenant):
    later = make_record("As I said, I cancelled your order QX-4471.", conversation_id="talk")
    talk(other_tenant)
    alone = intake.check_turn(tenant=evident, record=later)
    assert alone.judgement.findings
    talk(evident)
    again = make_record(later.draft, conversation_id="talk")
    assert intake.check_turn(tenant=evident, record=again).judgement.findings == ()
    queued = make_turn(evident, later.draft, conversation_id="talk")
    assert queued.finding_count == 0
    sources = {claim["source"]["kind"] for claim in queued.payload.claims}
    assert sources <= {"result_earlier", "user_message"}


def test_what_the_sender_tells_of_the_conversation_stands(evident):
    talk(evident)
    told = make_turn(
        evident,
        CANCELLED,
        conversation_id="talk",
        earlier_calls=[call("get_order", {"status": "open"}, ok=True)],
    )
    assert told.finding_count == 1


def test_turns_after_this_one_ground_nothing(evident):
    first = make_turn(evident, CANCELLED, conversation_id="talk")
    talk(evident)
    version = publishing.publish_settings(
        tenant=evident, author=None, values={"audit_sample_rate": 0, "detection_profile": "evidence"}
    )
    jobs.start_job(
        tenant=evident,
        kind=JobKind.REJUDGE,
        parameters={"version": version.number, "since": None},
        actor=None,
    )
    jobs.run_jobs()
    first.refresh_from_db()
    assert first.policy_version == version
    assert first.finding_count == 1


def test_judging_again_by_the_other_profile_replaces_findings_and_claims(evident):
    turn = make_turn(
        evident,
        "I cancelled your order and I sent it.",
        tool_calls=[call("cancel_order", {"ok": True}, ok=True)],
    )
    assert turn.payload.claims
    version = publishing.publish_settings(
        tenant=evident, author=None, values={"audit_sample_rate": 0, "detection_profile": "reference"}
    )
    jobs.start_job(
        tenant=evident,
        kind=JobKind.REJUDGE,
        parameters={"version": version.number, "since": None},
        actor=None,
    )
    jobs.run_jobs()
    payload = Turn.objects.for_tenant(evident).select_related("payload").get().payload
    assert payload.claims is None
    assert all(finding.evidence is None for finding in Finding.objects.for_tenant(evident))


def test_tools_that_the_sender_describes_are_understood():
    record = make_record(
        CANCELLED,
        tool_calls=[call("op_17", {"done": True}, ok=True)],
        tools=[ToolInfo(name="op_17", description="Cancels an order.")],
    )
    assert kinds(record) == []
