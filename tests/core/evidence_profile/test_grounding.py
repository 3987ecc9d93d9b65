"""What bears a claim out, and what does not."""

from __future__ import annotations

import pytest

from reviews.core.evidence_profile import DEFAULT_PRIORS, EvidenceTurn, detect_evidence
from reviews.core.grounding_rules import GroundingRules
from reviews.core.intent import IntentVerdict
from reviews.core.patterns import compile_pattern
from tests.core.evidence_profile.turns import Tool, call, flagged, report

FAILED = "Error: the service is down"


def source_of(report_, wording):
    (claim,) = [claim for claim in report_.claims if claim.identifier == wording]
    assert claim.verdict == "grounded"
    return claim.source


@pytest.mark.parametrize(
    ("draft", "tool"),
    [
        ("I've cancelled your lease.", "terminate_lease"),
        ("I've cancelled your lease.", "lease.cancel"),
        ("I've cancelled your lease.", "updateLeaseStatus"),
        ("Your gym visit has been booked.", "create_appointment"),
        ("He anulado la póliza.", "cancel_policy"),
        ("The policy has been cancelled.", "anular_poliza"),
        ("Your deposit has been refunded.", "cancel_lease"),
        ("I've emailed the report.", "send_message"),
        ("Ich habe die Rechnung storniert.", "void_invoice"),
        ("我已经取消了租约。", "cancel_lease"),
        ("予約をキャンセルしました。", "reservation_cancel"),
        ("I checked the meter readings.", "get_meter_readings"),
        ("I retrieved the meter readings.", "meter_lookup"),
        ("I ran the migration.", "bash"),
        ("I called get_tide_table.", "get_tide_table"),
        ("I used the tide table tool.", "get_tide_table"),
        ("Done!", "toggle_lamp"),
    ],
)
def test_a_call_that_does_what_is_claimed(draft, tool):
    result = report(draft, call(tool))

    assert result.findings == ()
    assert {claim.source.kind for claim in result.grounded} == {"result_this_turn"}
    assert {claim.source.tool for claim in result.grounded} == {tool}


@pytest.mark.parametrize(
    ("draft", "calls"),
    [
        ("I've cancelled your lease.", [call("get_lease", {"state": "active"})]),
        ("An email has been sent to the landlord.", [call("get_lease"), call("create_note")]),
        ("I've cancelled your lease.", [call("cancel_lease", FAILED)]),
        ("I've cancelled your lease.", [call("cancel_lease", "OK", ok=False)]),
        ("I looked up the tide table.", [call("get_tide_table", FAILED)]),
        ("I used the tide_forecast tool.", [call("get_moon")]),
        ("I ran `npm audit`.", [call("bash", "x", args={"command": "ls -la"})]),
        ("Se ha enviado el informe.", [call("consultar_informe")]),
    ],
)
def test_a_call_that_does_not(draft, calls):
    assert [kind for kind, _ in flagged(draft, *calls)] == ["verb_claim"]


def test_the_tool_that_ran_in_an_earlier_turn_is_named_as_such():
    found = report(
        "As I said, I've cancelled your lease.", earlier_calls=(call("get_lease"), call("cancel_lease"))
    )

    source = source_of(found, "I've cancelled")
    assert (source.kind, source.tool, source.call) == ("result_earlier", "cancel_lease", 1)


def test_arguments_say_what_a_general_tool_did():
    manage = call("manage_lease", "OK", args={"action": "cancel", "lease": 4})
    assert flagged("I've cancelled your lease.", manage) == []


def test_a_description_says_what_a_bare_name_does_not():
    tools = (Tool("zephyr", "Looks up the wind at a place."),)
    assert flagged("I've cancelled the trip.", call("zephyr"), tools=tools) == [
        ("verb_claim", "I've cancelled")
    ]
    tools = (Tool("zephyr", "Cancels a trip."),)
    assert flagged("I've cancelled the trip.", call("zephyr"), tools=tools) == []


def test_a_report_of_a_record_needs_only_the_record():
    record = call("get_lease", {"created": "2021-04-02"})
    assert flagged("Your lease was created on 2 April 2021.", record) == []
    assert flagged("Your lease was created on 2 April 2021.") == [("verb_claim", "was created")]


def test_what_a_result_states_bears_out_a_passive_but_no_deed_of_the_agent():
    record = call("get_parcel", {"status": "shipped"})
    assert flagged("Your parcel has been shipped.", record) == []
    assert flagged("I've shipped your parcel.", record) == [("verb_claim", "I've shipped")]


def test_what_the_user_says_has_happened():
    user = "My parcel was delivered to the neighbour, he told me."
    found = report("Your parcel has been delivered to a neighbour.", user=user)
    assert source_of(found, "has been delivered").kind == "user_message"


def test_a_wish_of_the_users_bears_nothing_out():
    assert flagged("Your parcel has been sent.", user="Please send my parcel.") == [
        ("verb_claim", "has been sent")
    ]


def test_a_dated_memory_bears_out_what_is_told_of_earlier_days():
    memory = "2027-01-14 reminder_saved title='water the ferns'"
    draft = "I saved the reminder about the ferns last week."
    assert source_of(report(draft, context=memory), "I saved").kind == "hydrated_context"
    assert flagged("I've saved the reminder about the ferns.", context=memory) == [
        ("verb_claim", "I've saved")
    ]


def test_rules_in_the_instructions_are_no_memory():
    policy = "If a reminder was saved before 2027-01-14, it may be deleted."
    assert flagged("I saved the reminder last week.", context=policy) == [("verb_claim", "I saved")]


def test_identifiers_in_the_arguments_of_a_failed_call_are_not_grounded():
    job = call("start_job", "Error: job zq-5512-b is no valid name", args={"job_id": "zq-5512-b"})
    assert ("kv", "zq-5512-b") in flagged("I started it, job_id=zq-5512-b.", job)
    good = call("start_job", "started", args={"job_id": "zq-5512-b"})
    assert flagged("I started it, job_id=zq-5512-b.", good) == []


def test_learned_rules_apply():
    draft = "I've sent the parcel, job_id=ab-12345."
    rules = GroundingRules(
        tool_fragments={"sent": ("pigeon",)},
        ignored_keys=frozenset({"job_id"}),
    )
    turn = EvidenceTurn(draft=draft, calls=(call("get_pigeon"),))
    assert [f.identifier for f in detect_evidence(turn).findings] == ["I've sent", "ab-12345"]
    assert detect_evidence(turn, rules=rules).findings == ()
    by_value = GroundingRules(ignored_values=(compile_pattern("ab-[0-9]+"),))
    assert [f.identifier for f in detect_evidence(turn, rules=by_value).findings] == ["I've sent"]


def test_priors_are_the_confidences():
    turn = EvidenceTurn(draft="I've sent it.")
    assert detect_evidence(turn).findings[0].confidence == DEFAULT_PRIORS["verb_claim"]
    assert detect_evidence(turn, priors={"verb_claim": 0.31}).findings[0].confidence == 0.31
    assert (
        detect_evidence(turn, priors={"verb_claim": 7}).findings[0].confidence == DEFAULT_PRIORS["verb_claim"]
    )


def test_the_sentence_names_what_was_claimed_what_ran_and_what_is_missing():
    (finding,) = report(
        "I've cancelled your lease.", call("get_lease"), call("cancel_lease", FAILED)
    ).findings
    assert finding.reason == (
        'It says "I\'ve cancelled your lease."; only get_lease ran, and cancel_lease failed, '
        "and nothing that cancels succeeded."
    )
    assert finding.grounded_sources == ["result_this_turn"]


def test_a_checked_claim_carries_what_the_page_shows():
    (claim,) = report("I've cancelled your lease.", call("cancel_lease", FAILED), user="Cancel it").claims
    payload = claim.to_payload()
    assert payload["verdict"] == "fabricated"
    assert payload["checked"] == ["result_this_turn", "user_message"]
    assert payload["ran"] == [
        {"name": "cancel_lease", "outcome": "failed", "earlier": False, "why": "its result opens as an error"}
    ]
    assert payload["missing"] == "cancels"


def test_an_order_without_a_call_counts_where_the_language_is_not_understood():
    verdict = IntentVerdict("action", 0.8)
    polish = "Zamówienie zostało właśnie wysłane na podany adres pocztowy."
    assert flagged(polish, intent=verdict) == [("intent_action_no_tool", "")]
    assert flagged(polish, call("send"), intent=verdict) == []
    assert flagged("Sure, which address should it go to?", intent=verdict) == []


@pytest.mark.parametrize("draft", ["", "   ", "42", "\x00", "\ud800 I've sent it", "ﬁ İ ŉ I've sent it"])
def test_odd_drafts_do_no_harm(draft):
    report(draft)


def test_odd_calls_do_no_harm():
    class Broken:
        def __str__(self):
            raise RuntimeError("no")

    odd = call("x", {1: {"a": Broken()}}, args=[Broken()])
    report("I've sent job_id=ab-1234567.", odd, call("", None), call("y", {"error": Broken()}))


def test_what_was_done_to_one_thing_bears_out_nothing_of_another():
    done = call("cancel_lease", "OK", args={"lease_id": "LSE-104"})
    assert flagged("Lease LSE-104 has been cancelled.", done) == []
    assert ("verb_claim", "has been cancelled") in flagged("Lease LSE-207 has been cancelled.", done)
    # A number of another kind says nothing about what the call was for.
    assert flagged("Lease of flat 4B12 has been cancelled.", done) == []


def test_an_attempt_that_failed_now_is_not_made_good_by_one_that_succeeded_before():
    before = (call("cancel_lease", "OK"),)
    now = call("cancel_lease", FAILED)
    assert flagged("I've cancelled the second one too.", now, earlier_calls=before) == [
        ("verb_claim", "I've cancelled")
    ]
    assert flagged("As I said, I've cancelled it.", earlier_calls=before) == []


def test_records_told_of_where_no_tool_ever_ran():
    draft = (
        "I have your account details here: plan Aurora 300, 45.90 a month, renewed 12/03, contact Lena Ortiz."
    )
    assert flagged(draft, user="What do I pay?") == [("verb_claim", "I have your account details")]
    assert flagged(draft, call("get_account"), user="What do I pay?") == []
    told = "Aurora 300, 45.90 a month, renewed 12/03, contact Lena Ortiz"
    assert flagged(draft, user=f"My plan is {told}") == []


def test_an_identifier_that_the_user_may_have_given_before_counts_only_beside_a_claim():
    draft = "Just to repeat, your member code is KX-44712."
    assert flagged(draft) == []
    assert flagged(draft, earlier_user_messages=()) == [("claimed_identifier", "KX-44712")]
    assert flagged(draft, earlier_user_messages=("I am KX-44712",)) == []


def test_whoever_is_named_as_the_one_who_did_it():
    assert flagged("Report: the branch was old, two issues triaged and merged by me.") != []
