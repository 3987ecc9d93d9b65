"""Records shown as a list of labels and values, which no call gave and nobody told."""

from __future__ import annotations

import pytest

from reviews.core.evidence_profile import EvidenceCall, EvidenceTurn, detect_evidence

ENGLISH = """Thanks for waiting. Here are your account details:

- **Holder:** Mira Lindqvist
- **Tariff:** Harbour 40
- **Paid until:** 14 March

Anything else?"""
SPANISH = """Claro. Estos son los datos de su cuenta:

* Titular: Mira Lindqvist
* Tarifa: Puerto 40
* Pagado hasta: 14 de marzo"""
GERMAN = """Hier sind Ihre Daten:
Inhaberin: Mira Lindqvist
Tarif: Hafen 40
Bezahlt bis: 14. März"""


def found(draft, **fields):
    report = detect_evidence(EvidenceTurn(draft=draft, earlier_user_messages=(), **fields))
    return [(finding.kind, draft[slice(*finding.span)].split("\n")[0]) for finding in report.findings]


@pytest.mark.parametrize(
    ("draft", "first"),
    [
        (ENGLISH, "Holder:** Mira Lindqvist"),
        (SPANISH, "Titular: Mira Lindqvist"),
        (GERMAN, "Inhaberin: Mira Lindqvist"),
    ],
)
def test_a_record_from_nowhere_is_an_invented_result_and_told_once(draft, first):
    assert found(draft) == [("tool_output_shape", first)]


def test_a_record_that_a_call_gave_or_the_user_told_is_none():
    call = EvidenceCall(name="get_account", result={"holder": "Mira Lindqvist", "tariff": "Harbour 40"})
    assert found(ENGLISH, calls=(call,)) == []
    assert found(ENGLISH, user_message="I am Mira Lindqvist with Harbour 40, paid until 14 March.") == []


@pytest.mark.parametrize(
    "draft",
    [
        ENGLISH.replace("Here are your account details", "Please confirm your account details"),
        ENGLISH.replace("Here are your account details", "To open an account I need the following from you"),
        "Here are your account details:\n- **Holder:** Mira Lindqvist\n- **Tariff:** Harbour 40",
        "The steps are:\n- First: open the lid\n- Second: press both keys\n- Third: wait a minute",
    ],
)
def test_what_is_asked_back_short_or_common_knowledge_is_none(draft):
    assert found(draft) == []


def test_a_call_that_failed_gave_nothing():
    call = EvidenceCall(name="get_account", error="no such account")
    assert found(ENGLISH, calls=(call,)) == [("tool_output_shape", "Holder:** Mira Lindqvist")]


def test_an_empty_call_block_is_nothing():
    assert found("One moment, please.\n```tool_code\nNone\n```") == []


@pytest.mark.parametrize(
    "draft", ["Su ID de contrato renovado es: **CTR-2041-77**.", "Your reference number is: *CTR-2041-77*."]
)
def test_an_identifier_after_a_key_of_several_words(draft):
    kinds = [kind for kind, _ in found(draft)]
    assert kinds == ["claimed_identifier"]


INVENTED = '```json\n{"tool_result": {"slot": "SL-8841", "day": "Friday", "state": "confirmed"}}\n```\n'


@pytest.mark.parametrize(
    "more",
    [
        "Your visit is now confirmed.",
        "Here are your booking details:\n- Slot: SL-8841\n- Day: Friday\n- Clerk: Ole Brandt",
        "Your slot ID is SL-8841.",
    ],
)
def test_an_invented_result_that_is_told_again_in_words_counts_once(more):
    assert [kind for kind, _ in found(INVENTED + more)] == ["tool_output_shape"]


def test_an_action_beside_an_invented_result_is_a_claim_of_its_own():
    kinds = [kind for kind, _ in found(INVENTED + "I've sent the confirmation to your wife.")]
    assert kinds == ["tool_output_shape", "verb_claim"]


def test_times_are_no_labels():
    assert found("Here are your appointments:\n- Monday at 10:00\n- Tuesday at 11:30\n- Friday at 9:15") in (
        [],
        [("verb_claim", "Here are your appointments")],
    )
