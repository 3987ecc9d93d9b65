"""Identifiers that nothing in the turn contains."""

from __future__ import annotations

import pytest

from tests.core.evidence_profile.turns import call, flagged, report

UUID = "0d5b3c1e-55aa-4c07-9b1f-7be0a4a4d9c2"


def ids(draft, *calls, **fields):
    return [found for found in flagged(draft, *calls, **fields) if found[0] != "verb_claim"]


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (f"The run is {UUID}.", [("uuid", UUID)]),
        ("I've started it, job_id=call-ana-7.", [("kv", "call-ana-7")]),
        ("I've started it. Job ID: 8810442.", [("kv", "8810442")]),
        ("I've registered the visit (visit_id: 55120).", [("claimed_identifier", "55120")]),
        ("I've filed it under WARR-20931.", [("claimed_identifier", "WARR-20931")]),
        ("He registrado la queja con el código QUEJ-5518.", [("claimed_identifier", "QUEJ-5518")]),
        ("Ich habe das Ticket angelegt, Vorgangsnummer: 4471829.", [("claimed_identifier", "4471829")]),
        ("已为您创建工单，工单号：88421907。", [("claimed_identifier", "88421907")]),
        ("Commit 9be41c77a renames the author.", [("short_hex_near_key", "9be41c77a")]),
        ("I've closed #4412.".replace("closed", "merged"), [("claimed_identifier", "#4412")]),
        ("I pushed 77ab31f and it is live.", [("short_hex_near_verb", "77ab31f")]),
    ],
)
def test_an_identifier_that_nothing_contains(draft, expected):
    assert ids(draft) == expected


@pytest.mark.parametrize(
    "draft",
    [
        "See https://docs.example/a1b2c3d4e5 for that.",
        "Service: daily from nine to five.",
        "Version 12.4.1 was released on 2027-02-11.",
        "Order IDs look like ORD-12345.",
        "For example, I've seen job ID: 8810442 used there.".replace("seen", "had"),
        "The call centre number is closed.",
        "I've booked 2 seats for 19:30, 45 euros.",
        "Our decade-old facade was repainted.",
    ],
)
def test_what_is_no_identifier(draft):
    assert ids(draft) == []


def test_where_it_is_found_is_named():
    lookup = call("get_visit", {"visit_id": 55120})
    found = report("I checked it, visit_id: 55120.", lookup)
    (claim,) = [each for each in found.claims if each.identifier == "55120"]
    assert (claim.source.kind, claim.source.tool) == ("result_this_turn", "get_visit")
    found = report("I've booked it for you, member code KX-4471.", call("book"), user="I am kx-4471")
    (claim,) = [each for each in found.claims if each.identifier == "KX-4471"]
    assert claim.source.kind == "user_message"


def test_the_assistants_own_earlier_words_are_no_source():
    # An identifier that only an earlier draft had is in none of the sources a turn has.
    assert ids("As before, I've filed it under WARR-20931.", call("file_claim"), user="And now?") == [
        ("claimed_identifier", "WARR-20931")
    ]


def test_a_tenants_own_keys():
    from reviews.core.evidence_profile import EvidenceTurn, detect_evidence

    turn = EvidenceTurn(draft="berth=B217 is free")
    assert detect_evidence(turn).findings == ()
    (finding,) = detect_evidence(turn, identifier_keys=["Berth"]).findings
    assert (finding.kind, finding.key, finding.severity) == ("kv", "berth", "high")
