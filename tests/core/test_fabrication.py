"""The detector's rules, one by one, with values worked out from the documented behaviour."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import pytest

from reviews.core import _needles
from reviews.core.fabrication import FabricationFinding, detect_fabrication, left_strip_length
from reviews.core.grounding_rules import GroundingRules
from reviews.core.intent import IntentVerdict

UUID = "3f2b8c1e-7d4a-4e9b-9c55-0a1b2c3d4e5f"
ACTION = IntentVerdict("action", 0.7, ["send_email"])


def brief(findings):
    return [(f.identifier, f.kind) for f in findings]


# -- the finding itself --


def test_a_finding_has_the_documented_defaults():
    finding = FabricationFinding("x", "kv", "low", "because")
    assert (
        finding.key,
        finding.pattern_kind,
        finding.confidence,
        finding.span,
        finding.grounded_sources,
    ) == (
        None,
        "",
        0.8,
        (0, 0),
        [],
    )


def test_a_finding_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        detect_fabrication("I ran it")[0].identifier = "other"


def test_a_detected_finding_equals_one_built_by_hand():
    (finding,) = detect_fabrication("I ran it")
    assert finding == FabricationFinding(
        identifier="I ran",
        kind="verb_claim",
        severity="medium",
        reason=finding.reason,
        pattern_kind="verb_claim",
        confidence=0.8,
        span=(0, 5),
    )
    assert dataclasses.replace(finding, reason="r").reason == "r"


def test_findings_do_not_share_their_source_lists():
    one, two = detect_fabrication("I ran it and I sent it")
    assert one.grounded_sources is not two.grounded_sources


def test_the_payload_is_json_with_a_rounded_confidence_and_a_list_span():
    finding = FabricationFinding("x", "uuid", "high", "r", confidence=0.123456, span=(1, 2))
    payload = json.loads(json.dumps(finding.to_event_payload()))
    assert payload == {
        "identifier": "x",
        "kind": "uuid",
        "severity": "high",
        "reason": "r",
        "key": None,
        "pattern_kind": "uuid",  # mirrors the kind when it was left empty
        "confidence": 0.123,
        "span": [1, 2],
    }


# -- verb claims --


def test_a_claim_without_any_tool_is_found():
    (finding,) = detect_fabrication("Done. I  SENT the mail.")
    assert (finding.identifier, finding.severity, finding.confidence, finding.span) == (
        "I  SENT",
        "medium",
        0.8,
        (6, 13),
    )


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        ("send_email", False),
        ("Twilio-SMS", False),
        ("hydrate_context", True),
        ("resender", False),
        ("", True),
    ],
)
def test_a_claim_is_grounded_only_by_a_tool_that_fits_the_verb(tool, found):
    assert bool(detect_fabrication("I sent it", [{"name": tool}])) is found


def test_the_first_non_empty_string_names_the_tool():
    draft = "I sent it"
    assert detect_fabrication(draft, [{"name": "", "tool": 5, "tool_name": "send"}]) == []
    assert len(detect_fabrication(draft, [{"name": "get", "tool": "send"}])) == 1


def test_a_hint_does_not_match_across_two_tools():
    assert len(detect_fabrication("I sent it", [{"name": "se"}, {"name": "nd"}])) == 1


@pytest.mark.parametrize(
    "draft", ["AI ran", "I range", "I will run", "he ran", "éI ran", "漢I ran", "I\u200bran"]
)
def test_words_that_only_look_like_a_claim_are_left_alone(draft):
    assert detect_fabrication(draft) == []


@pytest.mark.parametrize(
    "draft", ["I\u2003ran", "I\x85ran", "I\x1cran", "“I ran”", "İ ran", "ı ran", "I ſent", "I chec\u212aed"]
)
def test_claims_follow_unicode_rules_for_space_and_case(draft):
    assert [f.kind for f in detect_fabrication(draft)] == ["verb_claim"]


def test_a_verb_spelt_with_a_long_s_has_no_hints_so_any_tool_grounds_it():
    assert detect_fabrication("I ſent it", [{"name": "anything"}]) == []
    assert len(detect_fabrication("I sent it", [{"name": "anything"}])) == 1


# -- UUIDs --


@pytest.mark.parametrize("text", [UUID, UUID.replace("-", ""), UUID.upper(), UUID.replace("-", "", 1)])
def test_a_uuid_is_found_with_and_without_hyphens(text):
    (finding,) = detect_fabrication(f"see {text}.")
    assert (finding.identifier, finding.kind, finding.confidence, finding.span) == (
        text,
        "uuid",
        0.95,
        (4, 4 + len(text)),
    )


@pytest.mark.parametrize(
    "source",
    [
        {"user_message": UUID},
        {"hydrated_context": f"id={UUID}"},
        *(
            {"tool_calls_this_turn": [{key: UUID}]}
            for key in ("result", "output", "response", "args", "input")
        ),
        {"tool_calls_this_turn": [{"result": {"id": UUID}}]},
        {"user_message": f"漢字 {UUID} 😀"},
    ],
)
def test_a_uuid_that_any_text_of_the_turn_holds_is_no_finding(source):
    assert detect_fabrication(UUID, **source) == []


@pytest.mark.parametrize(
    "source", [{"tool_calls_this_turn": [{"error": UUID}]}, {"user_message": UUID.upper()}]
)
def test_other_fields_and_other_case_do_not_ground(source):
    assert len(detect_fabrication(UUID, **source)) == 1


def test_grounding_never_joins_two_texts():
    assert len(detect_fabrication(UUID, user_message=UUID[:10], hydrated_context=UUID[10:])) == 1


# -- short hex --


def test_short_hex_needs_an_anchor():
    assert detect_fabrication("commit 9f2b1e47 is fine") == []
    assert brief(detect_fabrication("I ran 9f2b1e47")) == [
        ("I ran", "verb_claim"),
        ("9f2b1e47", "short_hex_near_verb"),
    ]


@pytest.mark.parametrize(("gap", "near"), [(60, True), (61, False)])
@pytest.mark.parametrize("before", [True, False])
def test_the_gap_to_a_claim_is_at_most_60_characters_on_either_side(gap, near, before):
    fill = "." * gap
    draft = f"9f2b1e47{fill}I ran" if before else f"I ran{fill}9f2b1e47"
    assert ("9f2b1e47" in [f.identifier for f in detect_fabrication(draft)]) is near


def test_a_grounded_claim_anchors_too():
    assert brief(detect_fabrication("I ran 9f2b1e47", [{"name": "run"}])) == [
        ("9f2b1e47", "short_hex_near_verb")
    ]


@pytest.mark.parametrize(
    "token", ["9f2b1", "9" * 8, "a" * 17, "9f2b1e47_", "x9f2b1e47", "é9f2b1e47", "9f2b1e47ж"]
)
def test_too_short_too_long_all_digits_or_part_of_a_word_is_no_short_hex(token):
    assert [f.kind for f in detect_fabrication(f"I ran {token}")] == ["verb_claim"]


def test_a_key_wins_over_a_verb():
    findings = detect_fabrication("I ran pid=9f2b1e47")
    assert [(f.kind, f.key) for f in findings[1:]] == [("short_hex_near_key", "pid"), ("kv", "pid")]
    assert findings[1].confidence == 0.6


@pytest.mark.parametrize(("spaces", "near"), [(28, True), (29, False)])
def test_the_key_must_lie_within_32_characters(spaces, near):
    # "pid" + "=" + 28 spaces are 32 characters; one more cuts the key to "id".
    kinds = [f.kind for f in detect_fabrication("pid=" + " " * spaces + "9f2b1e47")]
    assert ("short_hex_near_key" in kinds) is near


def test_hex_inside_a_uuid_is_not_reported_again():
    assert [f.kind for f in detect_fabrication(f"I ran {UUID}")] == ["verb_claim", "uuid"]


# -- key=value --


def test_a_built_in_key_is_high_and_a_tenants_key_medium():
    findings = detect_fabrication("Task_ID = A-1, Invoice: B/2.", identifier_keys=["INVOICE"])
    assert [(f.identifier, f.key, f.severity, f.span) for f in findings] == [
        ("A-1", "task_id", "high", (0, 13)),
        ("B/2", "invoice", "medium", (15, 27)),
    ]


def test_a_value_ends_at_128_characters_or_before_its_closing_marks():
    assert detect_fabrication("pid=a-b-.")[0].identifier == "a-b"
    assert detect_fabrication("pid=" + "v" * 129) == []  # no word boundary at the 128th


def test_a_word_used_as_a_value_is_no_key():
    assert detect_fabrication("note: pid=7") == []
    assert brief(detect_fabrication("note: , pid=7")) == [("7", "kv")]


def test_unknown_keys_are_ignored():
    assert detect_fabrication("colour=red size=7") == []


# -- intent --


def test_an_action_that_no_tool_answered_is_found_in_any_language():
    (finding,) = detect_fabrication("Gráfica enviada", intent_verdict=ACTION)
    assert (finding.identifier, finding.kind, finding.pattern_kind) == (
        "",
        "intent_action_no_tool",
        "intent_no_grounding",
    )
    assert (finding.severity, finding.confidence, finding.span) == ("medium", 0.7, (0, 0))
    assert "0.70" in finding.reason
    assert "send_email" in finding.reason


@pytest.mark.parametrize(
    ("verdict", "calls"),
    [
        (IntentVerdict("action", 0.549), []),
        (IntentVerdict("knowledge", 0.9), []),
        (ACTION, [{"name": "x"}]),
        (ACTION, [{}]),
        (None, []),
        (object(), []),
        (IntentVerdict("action", None), []),  # type: ignore[arg-type]
    ],
)
def test_weak_other_or_unreadable_verdicts_and_any_call_yield_nothing(verdict, calls):
    assert detect_fabrication("Done", calls, intent_verdict=verdict) == []


# -- the whole --


def test_findings_come_by_kind_and_each_identifier_once_per_kind():
    draft = f"run_id=abcdef12 {UUID} I sent abcdef12, I sent abcdef12 run_id=abcdef12 {UUID}"
    assert brief(detect_fabrication(draft, intent_verdict=ACTION)) == [
        ("I sent", "verb_claim"),
        (UUID, "uuid"),
        ("abcdef12", "short_hex_near_key"),
        ("abcdef12", "short_hex_near_verb"),
        ("abcdef12", "kv"),
        ("", "intent_action_no_tool"),
    ]


def test_spans_are_offsets_in_the_stripped_draft():
    draft = "\u2003\n I ran it "
    (finding,) = detect_fabrication(draft)
    start = finding.span[0] + left_strip_length(draft)
    assert draft[start:].startswith("I ran")


class Hostile:
    """Nothing about it can be read."""

    def __str__(self):
        raise RuntimeError("no")

    __bool__ = __iter__ = __len__ = __str__


@pytest.mark.parametrize("draft", [None, "", "  \n", 0, [], Hostile()])
def test_no_draft_no_findings(draft):
    assert detect_fabrication(draft, intent_verdict=ACTION) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"tool_calls_this_turn": [None, 7, "text", Hostile(), {"result": Hostile(), "name": Hostile()}]},
        {"tool_calls_this_turn": Hostile()},
        {"tool_calls_this_turn": 5},
        {"hydrated_context": None, "user_message": None},
        {"hydrated_context": Hostile(), "user_message": 5},
        {"identifier_keys": [None, 3, Hostile(), "ok"]},
        {"identifier_keys": Hostile()},
        {"identifier_keys": 9},
        {"intent_verdict": Hostile()},
    ],
)
def test_odd_input_counts_as_absent(arguments):
    assert brief(detect_fabrication("I ran pid=7", **arguments)) == [("I ran", "verb_claim"), ("7", "kv")]


def test_an_odd_value_does_not_hide_the_grounding_beside_it():
    assert detect_fabrication("pid=77", [{"result": Hostile(), "output": "77"}]) == []


def test_lone_surrogates_are_just_characters():
    assert [f.kind for f in detect_fabrication("\ud800I ran\udfff")] == ["verb_claim"]


# -- rules --


@pytest.mark.parametrize("rules", [None, GroundingRules()])
def test_without_rules_the_built_in_ones_hold(rules):
    """One of each kind, in order; what a rule may change (hint, key, value) is as documented."""
    draft = f"I checked and I retrieved {UUID}, abcdef1 sent; I ran service: x-1"
    calls = [{"name": "get_order"}]
    found = detect_fabrication(draft, calls, rules=rules)
    assert brief(found) == [
        ("I checked", "verb_claim"),
        ("I ran", "verb_claim"),
        (UUID, "uuid"),
        ("abcdef1", "short_hex_near_verb"),
        ("x-1", "kv"),
    ]


def test_rules_take_away_what_they_name_and_leave_the_rest():
    rules = GroundingRules({"checked": ("order",)}, frozenset(["service"]))
    draft = f"I checked and I retrieved {UUID}, abcdef1 sent; I ran service: x-1"
    assert brief(detect_fabrication(draft, [{"name": "get_order"}], rules=rules)) == [
        ("I ran", "verb_claim"),
        (UUID, "uuid"),
        ("abcdef1", "short_hex_near_verb"),
    ]


# -- batches of candidates --

# Long enough that an automaton is worth its cost from 30 needles on.
FILLER = "filler " * 30_000
HEXES = [f"{number:x}abcdef"[-8:] for number in range(16, 700)]


@pytest.mark.parametrize("count", [10, 40, 600])
@pytest.mark.parametrize("tail", ["", "\u2014", "\x00"])
def test_batched_grounding_gives_what_one_by_one_gives(count, tail):
    needles = [*HEXES[:count], UUID, "job-17/x"]
    texts = [FILLER + tail, "x".join([*HEXES[:count:2], "job-17/xyz"]) + tail]
    assert _needles.occurring(needles, texts) == {n for n in needles if any(n in t for t in texts)}


def test_without_re2_the_answers_are_the_same(monkeypatch):
    texts = [FILLER + " ".join(HEXES[:30:3])]
    expected = set(HEXES[:30:3])
    assert _needles.occurring(HEXES[:30], texts) == expected
    assert _needles._by_automaton(HEXES[:30], [texts[0].encode()]) in (expected, None)
    monkeypatch.setattr(_needles, "re2", None)
    assert _needles.occurring(HEXES[:30], texts) == expected


@pytest.mark.parametrize("kilobytes", [0.001, 4, 8, 16, 24, 32, 48])
def test_an_automaton_out_of_memory_is_not_taken_for_absence(monkeypatch, kilobytes):
    """Too little to compile, enough to compile but not to search, and just enough."""
    pytest.importorskip("re2")
    monkeypatch.setattr(_needles, "_AUTOMATON_BYTES", int(kilobytes * 1024))
    texts = [FILLER + " ".join(HEXES[:30:3])]
    used = []
    by_automaton = _needles._by_automaton
    monkeypatch.setattr(_needles, "_by_automaton", lambda *a: used.append(by_automaton(*a)) or used[-1])
    assert _needles.occurring(HEXES[:30], texts) == set(HEXES[:30:3])
    assert used == [None if kilobytes < 9 else set(HEXES[:30:3])] or kilobytes in (16, 24)


def test_a_periodic_text_does_not_make_the_index_slow_or_wrong():
    needles = ["a" * n for n in range(6, 17)] + [f"aaaaaa{h}" for h in HEXES]
    assert _needles.occurring(needles, ["a" * 100_000]) == {"a" * n for n in range(6, 17)}


def test_the_engine_imports_neither_django_nor_msgspec_nor_symfonic():
    code = "import sys, reviews.core.fabrication; print({m.split('.')[0] for m in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not any(f"'{name}'" in loaded for name in ("django", "msgspec", "symfonic"))
