"""What a draft says of calls that all failed."""

from __future__ import annotations

import pytest

from reviews.core.evidence_profile import EvidenceCall, EvidenceTurn, detect_evidence

FAILED = EvidenceCall(name="run_import", error="the queue is locked")
DONE = EvidenceCall(name="run_import", result="imported 12 rows")


def found(draft, *calls):
    report = detect_evidence(EvidenceTurn(draft=draft, calls=calls, earlier_user_messages=()))
    return [(finding.kind, draft[slice(*finding.span)]) for finding in report.findings]


@pytest.mark.parametrize(
    ("draft", "claim"),
    [
        ("The log is short: no errors were reported.", "no errors were reported"),
        ("Import completed, see you tomorrow.", "Import completed"),
        ("Todo corrió sin errores.", "sin errores"),
        ("Tout est passé, sans erreur.", "sans erreur"),
        ("Es lief ohne Fehler durch.", "ohne Fehler"),
    ],
)
def test_that_all_went_well_is_held_against_how_the_calls_ended(draft, claim):
    assert ("verb_claim", claim) in found(draft, FAILED)
    assert found(draft, DONE) == []
    assert ("verb_claim", claim) not in found(draft)


def test_what_a_call_is_said_to_have_returned_is_invented_where_it_failed():
    draft = "The page was short. It returned: <p>Open until nine</p>. Shall I look further?"
    assert ("tool_output_shape", "<p>Open until nine</p>") in found(draft, FAILED)
    assert found(draft, EvidenceCall(name="fetch", result="<p>Open until nine</p>")) == []


def test_a_question_or_a_plan_says_nothing_of_an_outcome():
    assert found("Were no errors reported? I will try again.", FAILED) == []
