"""Rules that reviewers taught the detector: how they are kept, and what each of them silences."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.fabrication import detect_fabrication
from reviews.core.grounding_rules import GroundingRules
from reviews.core.patterns import compile_pattern
from tests.core.generate import turns

UUID = "3f2b8c1e-7d4a-4e9b-9c55-0a1b2c3d4e5f"


def brief(draft, calls=(), **options):
    return [(f.identifier, f.kind) for f in detect_fabrication(draft, calls, **options)]


# -- the rules themselves --


def test_no_rules_are_empty():
    assert GroundingRules().is_empty
    assert GroundingRules({}, frozenset(), ()).is_empty


@pytest.mark.parametrize(
    "rules",
    [
        GroundingRules(tool_fragments={"checked": ("get",)}),
        GroundingRules(ignored_keys=frozenset(["service"])),
        GroundingRules(ignored_values=(compile_pattern("REQ-.*"),)),
    ],
)
def test_any_rule_makes_them_not_empty(rules):
    assert not rules.is_empty


def test_verbs_fragments_and_keys_are_kept_in_lower_case():
    rules = GroundingRules({"Checked": ("GET",), "checked": ("order",)}, frozenset(["Service"]))
    assert rules.tool_fragments == {"checked": ("get", "order")}
    assert rules.ignored_keys == {"service"}


def test_a_blank_fragment_would_ground_everything_and_is_left_out():
    assert GroundingRules({"checked": ("", "  ")}).is_empty


def test_rules_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        GroundingRules().ignored_keys = frozenset(["x"])


# -- tool fragments --

GET = GroundingRules({"checked": ("get_order",)})


def test_a_fragment_grounds_the_claim_when_such_a_tool_fired():
    calls = [{"name": "Get_Order_Details"}]
    assert brief("I checked it", calls) == [("I checked", "verb_claim")]
    assert brief("I checked it", calls, rules=GET) == []


@pytest.mark.parametrize("calls", [[], [{"name": ""}], [{"name": "get_user"}]])
def test_without_such_a_tool_the_claim_stands(calls):
    assert brief("I checked it", calls, rules=GET) == [("I checked", "verb_claim")]


def test_a_fragment_is_for_its_verb_only():
    assert brief("I sent it", [{"name": "get_order"}], rules=GET) == [("I sent", "verb_claim")]


def test_the_built_in_hints_still_hold():
    assert brief("I checked it", [{"name": "verify_order"}], rules=GET) == []


def test_a_grounded_claim_still_anchors_short_hex():
    assert brief("I checked abcdef1", [{"name": "get_order"}], rules=GET) == [
        ("abcdef1", "short_hex_near_verb")
    ]


# -- ignored keys --

SERVICE = GroundingRules(ignored_keys=frozenset(["service", "booking"]))


def test_an_ignored_key_makes_no_pair_built_in_or_not():
    draft = "service: economy, booking=B-17, pid=7"
    assert brief(draft, identifier_keys=["Booking"], rules=SERVICE) == [("7", "kv")]


def test_an_ignored_key_is_no_anchor_for_short_hex():
    assert brief("service: abcdef1") == [("abcdef1", "short_hex_near_key"), ("abcdef1", "kv")]
    assert brief("service: abcdef1", rules=SERVICE) == []


def test_beside_a_claim_the_short_hex_is_found_nevertheless():
    assert brief("I sent service: abcdef1", rules=SERVICE) == [
        ("I sent", "verb_claim"),
        ("abcdef1", "short_hex_near_verb"),
    ]


def test_an_ignored_key_uses_up_its_value_like_any_unknown_key():
    """In ``note: pid=7`` the word pid is the value of note, so there is no pair; likewise here."""
    assert brief("note: pid=7") == []
    assert brief("service: pid=7", rules=SERVICE) == []


def test_all_keys_may_be_ignored():
    rules = GroundingRules(ignored_keys=frozenset(["pid", "x"]))
    assert brief("pid=7 x=8", identifier_keys=["x"], rules=rules) == []


# -- ignored values --


def test_an_ignored_value_is_no_finding_of_any_identifier_kind():
    draft = f"{UUID} and I sent abcdef1, task_id: abcdef2, pid=job-7"
    assert {kind for _, kind in brief(draft)} == {
        "verb_claim", "uuid", "short_hex_near_verb", "short_hex_near_key", "kv",
    }  # fmt: skip
    values = (compile_pattern("3f2b.*"), compile_pattern("abcdef[0-9]"), compile_pattern("job-[0-9]"))
    assert brief(draft, rules=GroundingRules(ignored_values=values)) == [("I sent", "verb_claim")]


def test_only_a_full_match_counts():
    rules = GroundingRules(ignored_values=(compile_pattern("job"),))
    assert brief("pid=job-7", rules=rules) == [("job-7", "kv")]


def test_the_others_stay_in_their_order_each_once():
    rules = GroundingRules(ignored_values=(compile_pattern("b-[0-9]"),))
    assert brief("pid=a-1 pid=b-1 pid=c-1 pid=a-1 pid=b-2", rules=rules) == [("a-1", "kv"), ("c-1", "kv")]


def test_the_orders_intent_is_not_touched():
    from reviews.core.intent import IntentVerdict

    rules = GroundingRules({"sent": ("send",)}, frozenset(["pid"]), (compile_pattern("x+"),))
    assert brief("Fine.", intent_verdict=IntentVerdict("action", 0.9), rules=rules) == [
        ("", "intent_action_no_tool")
    ]


# -- all together --

FRAGMENTS = ("send", "get", "o", "run")


@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.booleans())
def test_rules_only_ever_take_findings_away_or_weaken_their_anchor(seed, fragments, keys, values):
    rules = GroundingRules(
        dict.fromkeys(["sent", "ran", "created", "checked"], FRAGMENTS) if fragments else {},
        frozenset(["pid", "service", "task_id"]) if keys else frozenset(),
        (compile_pattern("[0-9a-c][0-9a-f]+"),) if values else (),
    )
    for turn in turns(seed, 5):
        options = {
            "hydrated_context": turn.context,
            "user_message": turn.user,
            "identifier_keys": turn.keys,
            "intent_verdict": turn.verdict,
        }
        plain = detect_fabrication(turn.draft, turn.calls, **options)
        ruled = detect_fabrication(turn.draft, turn.calls, **options, rules=rules)
        identifiers = {f.identifier for f in plain}
        assert {f.identifier for f in ruled} <= identifiers
        assert len({(f.identifier, f.kind) for f in ruled}) == len(ruled)
        if rules.is_empty:
            assert ruled == plain
        for finding in ruled:
            # Beside an ignored key a short hex may still stand beside a claim.
            assert finding in plain or (keys and finding.kind in ("short_hex_near_verb", "kv"))


def test_the_detector_loads_no_re2_for_its_rules():
    """It runs with the standard library alone, also where re2 is not installed."""
    code = (
        "import sys; sys.modules['re2'] = None; "
        "from reviews.core.fabrication import detect_fabrication as d; "
        "from reviews.core.grounding_rules import GroundingRules as R; "
        "print(len(d('pid=7 service=x', rules=R(ignored_keys=frozenset(['pid'])))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
