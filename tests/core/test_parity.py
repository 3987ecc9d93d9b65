"""Our engines beside symfonic-core 9.12.0: the same findings and verdicts, whatever the input.

``PARITY_TURNS`` sets the number of generated turns (default 20,000), ``PARITY_SEED`` their seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.fabrication import detect_fabrication
from reviews.core.intent import IntentClassifier
from tests.core.generate import GLUE, SPACES, Maker, Turn, turns

pytestmark = pytest.mark.parity

if os.environ.get("CI"):
    # A skipped parity suite would look like a passed one: let the import error fail the run.
    import symfonic.agent.middleware.fabrication as reference
    import symfonic.agent.triage.intent as reference_intent
else:
    reference = pytest.importorskip("symfonic.agent.middleware.fabrication")
    reference_intent = pytest.importorskip("symfonic.agent.triage.intent")

TURNS = int(os.environ.get("PARITY_TURNS", "20000"))
SEED = int(os.environ.get("PARITY_SEED", "9120"))
DATA = Path(os.environ.get("SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")

FORMATS = {"tau_bench_airline.jsonl": "tau-bench", "tau2_sim_es_en.jsonl": "openai-chat"}
KEYWORDS = {
    "send_email": ["send", "Mail", "envía"],
    "chart": ["gráfica", "gra\u0301fica"],
    "search_orders": ["order", "find"],
    "none": [],
    "blank": [""],
    "ſ": ["ſhip", "K"],
}


def facts(findings: list[Any]) -> list[tuple[Any, ...]]:
    """Everything of a finding but the wording of its reason."""
    return [
        (f.identifier, f.kind, f.severity, f.key, f.pattern_kind, f.confidence, f.span, f.grounded_sources)
        for f in findings
    ]


def run(detector: Any, turn: Turn) -> list[tuple[Any, ...]]:
    return facts(
        detector(
            turn.draft,
            turn.calls,
            hydrated_context=turn.context,
            user_message=turn.user,
            identifier_keys=turn.keys,
            intent_verdict=turn.verdict,
        )
    )


def assert_same_findings(turn: Turn) -> int:
    ours, theirs = run(detect_fabrication, turn), run(reference.detect_fabrication, turn)
    assert ours == theirs, turn
    return len(ours)


def assert_same_verdict(query: str, keywords: dict[str, list[str]] | None, **options: Any) -> None:
    domain = None if keywords is None else SimpleNamespace(tool_trigger_keywords=keywords)
    ours = IntentClassifier(**options).classify(query, keywords)
    theirs = reference_intent.IntentClassifier(**options).classify(query, domain)
    for name in ("label", "confidence", "matched_tool_keywords", "action_score", "knowledge_score"):
        assert getattr(ours, name) == getattr(theirs, name), (query, name)


def test_generated_turns_give_the_same_findings():
    kinds: dict[str, int] = {}
    for turn in turns(SEED, TURNS):
        ours, theirs = run(detect_fabrication, turn), run(reference.detect_fabrication, turn)
        assert ours == theirs, turn
        for finding in ours:
            kinds[finding[1]] = kinds.get(finding[1], 0) + 1
    # The generator must keep producing every kind, or agreement means nothing.
    assert len(kinds) == 6, kinds
    assert min(kinds.values()) > TURNS / 100, kinds


def test_generated_queries_give_the_same_verdicts():
    maker = Maker(f"queries/{SEED}")
    labels = set()
    for number in range(max(1000, TURNS // 4)):
        query = maker.query()
        options = [
            {},
            {"min_action_signals": 1},
            {"ambiguity_confidence_floor": 0.7},
            {"min_action_signals": 3},
        ]
        assert_same_verdict(query, KEYWORDS if number % 3 else None, **options[number % 4])
        labels.add(IntentClassifier().classify(query, KEYWORDS).label)
    assert labels == {"action", "knowledge", "ambiguous"}


def test_every_character_beside_every_shape():
    """Every character below U+3100 and a sample of the rest (surrogates too) at each boundary."""
    shapes = (
        "{0}I ran",
        "I ran{0}",
        "I{0}ran it",
        "{0} ran",
        "I {0}ent, I as{0}ed",
        "I ran {0}abcdef1",
        "I ran abcdef1{0}",
        "{0}01234567-89ab-cdef-0123-456789abcdef",
        "01234567-89ab-cdef-0123-456789abcdef{0}",
        "{0}pid=ab",
        "pid{0}=ab",
        "pid={0}ab",
        "pid=ab{0}",
        "pid=a-b{0}",
        "pid{0}:{0}abcdef1",
        "{0}pid: abcdef1{0}",
    )
    # Left out: U+3100 to U+9FFF, nearly all ideographs of one class; of the later planes every 997th.
    codes = [*range(0x3100), *range(0xA000, 0x1_0000, 7), *range(0x1_0000, 0x11_0000, 997)]
    for code in codes:
        for shape in shapes:
            draft = shape.format(chr(code))
            assert run(detect_fabrication, Turn(draft)) == run(reference.detect_fabrication, Turn(draft)), (
                draft
            )


ALPHABET = [
    *GLUE, *SPACES[:21], *"Iidpah01289f", "I ran", "I sent ", "pid", "pid=", "task_id: ", "note: ",
    "abcdef1", "0a1b2c3d-", "4e5f-", "6a7b8c9d0e1f", "01234567-89ab-cdef-0123-456789abcdef",
    " " * 31, " " * 59, "x" * 31,
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=24).map("".join) | st.text(max_size=60)


@settings(max_examples=1500, deadline=None, database=None)
@given(draft=TEXTS, context=TEXTS, user=TEXTS, keys=st.none() | st.lists(st.text(max_size=8), max_size=3))
def test_arbitrary_texts_give_the_same_findings(draft, context, user, keys):
    assert_same_findings(Turn(draft, [{"name": "send_it", "result": user}], context, user, keys))
    assert_same_findings(Turn(draft, [], context, user, keys))


@settings(max_examples=800, deadline=None, database=None)
@given(
    query=TEXTS | st.text(max_size=80),
    keywords=st.none() | st.dictionaries(st.text(max_size=6), st.lists(TEXTS)),
)
def test_arbitrary_queries_give_the_same_verdicts(query, keywords):
    assert_same_verdict(query, keywords)


@pytest.mark.parametrize("length", [100, 3000])
def test_many_identifiers_in_a_large_context_give_the_same_findings(length):
    """Enough candidates and text that grounding is done in batches, by index and by automaton."""
    maker = Maker(f"batch/{length}")
    for _ in range(2):
        parts = [maker.token() for _ in range(length)]
        draft = " ".join(said for said, _ in parts)
        context = "\n".join(identifier for _, identifier in parts[::2]) + " filler text" * 20_000
        assert assert_same_findings(Turn(draft, [], context + "\u2014" * (length % 2), "hello")) > 10


def recorded_turns() -> Iterator[tuple[str, Any]]:
    from reviews.formats import open_turns

    for name, format_name in FORMATS.items():
        for line in open_turns(format_name, DATA / name):
            if line.record is not None:
                yield name, line.record


def need_recorded_data() -> None:
    try:
        import reviews.formats

        usable = hasattr(reviews.formats, "open_turns") and DATA.is_dir()
    except ImportError:
        usable = False
    if not usable:
        message = f"needs reviews.formats.open_turns and the recorded turns in {DATA} (set SHARED_DATA)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)


def every_text(value: Any) -> Iterator[str]:
    """All strings inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from every_text(item)


def test_every_recorded_text_gives_the_same_findings_and_verdict():
    """Also the files that no reader is needed for: each text as a draft, grounded by the one before it."""
    need_recorded_data()
    texts = findings = 0
    for path in sorted(DATA.glob("*.jsonl")):
        before = ""
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                for text in {text: None for text in every_text(json.loads(line)) if len(text) < 20_000}:
                    findings += assert_same_findings(Turn(text, [], before, "", ["name", "user_id"]))
                    assert_same_verdict(text, KEYWORDS)
                    before = text
                    texts += 1
    assert texts > 10_000
    assert findings > 50


def test_recorded_turns_give_the_same_findings_and_verdicts():
    need_recorded_data()
    counts = dict.fromkeys(FORMATS, 0)
    findings = 0
    for name, record in recorded_turns():
        calls = [{"name": c.name, "args": c.args, "result": c.result} for c in record.tool_calls]
        assert_same_verdict(record.user_message, KEYWORDS)
        verdict = IntentClassifier().classify(record.user_message, KEYWORDS)
        for keys in (None, ["reservation", "user_id", "flight"]):
            turn = Turn(record.draft, calls, record.hydrated_context, record.user_message, keys, verdict)
            findings += assert_same_findings(turn)
        counts[name] += 1
    assert min(counts.values()) > 500, counts
    assert findings > 50
