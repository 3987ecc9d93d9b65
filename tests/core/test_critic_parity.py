"""Our critic beside symfonic-core 9.12.0: the same confidence, gate and reading of well-formed replies.

``PARITY_TURNS`` (default 20,000) sets the number of generated cases; each comparison draws a tenth of it.
"""

from __future__ import annotations

import asyncio
import json
import os
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reviews.core.acknowledgments import ACKNOWLEDGMENTS, is_trivial_acknowledgment
from reviews.core.confidence import activation_confidence, sensitive_hit
from reviews.core.critic import CriticCapability, CriticPreference
from reviews.core.critic_gate import decide_gate
from reviews.core.critic_verdict import read_recorded_value
from reviews.core.fabrication import FabricationFinding
from reviews.core.intent import IntentVerdict

pytestmark = pytest.mark.parity

if os.environ.get("CI"):
    # A skipped parity suite would look like a passed one: let the import error fail the run.
    import symfonic.agent.config as reference_config
    import symfonic.agent.domain as reference_domain
    import symfonic.agent.middleware.confidence as reference_confidence
    import symfonic.agent.middleware.critic_gate as reference_gate
    import symfonic.agent.middleware.events as reference_events
    import symfonic.agent.middleware.metacognitive as reference
else:
    reference = pytest.importorskip("symfonic.agent.middleware.metacognitive")
    reference_config = pytest.importorskip("symfonic.agent.config")
    reference_domain = pytest.importorskip("symfonic.agent.domain")
    reference_confidence = pytest.importorskip("symfonic.agent.middleware.confidence")
    reference_events = pytest.importorskip("symfonic.agent.middleware.events")
    reference_gate = pytest.importorskip("symfonic.agent.middleware.critic_gate")

CASES = max(200, int(os.environ.get("PARITY_TURNS", "20000")) // 10)
many = settings(max_examples=CASES, deadline=None, database=None)

# What both read alike is left to the generators; left out is where 9.12.0 raises or reads a text as a list:
# nodes and edges that are no objects, scores that are no numbers, tags in one text.
TAGS = ["payment", "health", "weather", "ſ", ""]
NUMBER = st.floats(-10, 10) | st.integers(-10, 10) | st.sampled_from([0.0, -0.0, 0.1, 1e300, 5e-324])
TAG_LIST = st.lists(st.sampled_from(TAGS), max_size=3) | st.none()
NODE = st.fixed_dictionaries(
    {},
    optional={
        "score": NUMBER,
        "tags": TAG_LIST,
        "properties": st.fixed_dictionaries({}, optional={"tags": TAG_LIST}),
    },
)
EDGE = st.fixed_dictionaries({}, optional={"weight": NUMBER})
PATH = st.lists(st.sampled_from(["order", "refund", "a b", "é"]), max_size=3)
ACTIVATION = st.fixed_dictionaries(
    {},
    optional={
        "activated_nodes": st.lists(NODE, max_size=4) | st.none(),
        "inference_paths": st.lists(PATH, max_size=5) | st.none(),
        "traversed_edges": st.lists(EDGE, max_size=4) | st.none(),
    },
)
TAG_SET = st.frozensets(st.sampled_from(TAGS), max_size=3)

PHRASES = sorted({words for group in ACKNOWLEDGMENTS.values() for words in group})
PIECE = st.sampled_from(PHRASES) | st.sampled_from(
    [
        *(
            "Ana",
            "Torres",
            "A",
            "Ab",
            "aB Cd",
            "decade",
            "facade",
            "deadbeef",
            "ABCDEF1",
            "12",
            "٣",
            "½",
            "€",
        ),
        *(
            "$",
            "£",
            "¥",
            "₹",
            "ſure",
            "Kelvin",
            "K",
            "İ",
            "ı",
            "don't",
            "’",
            "-",
            "_",
            "_ok",
            "okay_",
            "nope",
        ),
        *("\n", "\u2028", "\xa0", "\u3000", "!", ".", "tamam", "вот", "了解", "natu\u0308rlich", "BIEN SÛR"),
        *("C'EST FAIT", "D’accord", "You'Re Welcome", "x" * 75, " " * 80),
    ]
)
DRAFT = (
    st.lists(PIECE, max_size=5).flatmap(
        lambda pieces: st.sampled_from(["", " ", "  ", "\n"]).map(lambda glue: glue.join(pieces))
    )
    | st.text(max_size=12)
    | st.builds(lambda phrase, n: phrase + " " + "x" * n, st.sampled_from(PHRASES), st.integers(130, 170))
)
DRAFT = st.one_of(DRAFT, DRAFT.map(str.upper), DRAFT.map(str.title), DRAFT.map(lambda text: f" {text}\n"))

TOOLS = ["search", "get_order", "refund", ""]
CALL = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(TOOLS) | st.none(), "tool": st.sampled_from(TOOLS)}
)
CALLS = st.none() | st.lists(CALL | st.just("search"), max_size=3)
READS = st.frozensets(st.sampled_from(TOOLS), max_size=3)
FINDINGS = st.lists(st.just(FabricationFinding("A-17", "kv", "high", "It is nowhere.")), max_size=1)
INTENT = st.none() | st.builds(
    IntentVerdict, st.sampled_from(["action", "knowledge", "ambiguous"]), st.floats(0, 1)
)


@many
@given(ACTIVATION | st.none(), TAG_SET)
def test_confidence_and_sensitive_hit(activation, tags):
    assert activation_confidence(activation) == reference_confidence.compute_confidence(activation)
    assert sensitive_hit(activation, tags) == reference_confidence.detect_sensitive_hit(activation, tags)


def middleware(provider: Any = None, preferences: Any = (), **config: Any) -> Any:
    """Their critic; ``config`` are FrameworkConfig's fields about it."""
    domain = reference_domain.DomainTemplate(
        core_preferences=[
            reference_domain.CorePreference(
                statement=preference.statement,
                priority=int(preference.priority),
                sensitive_tags=sorted(preference.sensitive_tags),
            )
            for preference in preferences
        ]
    )
    return reference.MetacognitiveMiddleware(
        model_provider=provider,
        config=reference_config.FrameworkConfig.model_construct(metacognition_enabled=True, **config),
        domain=domain,
    )


@many
@given(
    draft=DRAFT,
    activation=ACTIVATION,
    tags=TAG_SET,
    threshold=st.floats(0, 1) | st.sampled_from([0.0, 0.5, 0.6, 1.0]),
    selective=st.booleans(),
    mode=st.sampled_from(["off", "observe", "refuse"]),
    calls=CALLS,
    reads=READS,
    findings=FINDINGS,
    intent=INTENT,
)
@example("", {}, frozenset(), 0.6, True, "off", [], frozenset(), [], None)
def test_the_gate(draft, activation, tags, threshold, selective, mode, calls, reads, findings, intent):
    confidence = reference_confidence.compute_confidence(activation)
    hit = reference_confidence.detect_sensitive_hit(activation, tags)
    theirs = middleware(
        metacognition_confidence_threshold=threshold,
        metacognition_selective_gate=selective,
        metacognition_sensitive_tags=sorted(tags),
        read_only_tools=sorted(reads),
    )._resolve_gate_fires(
        confidence=confidence,
        sensitive_hit=hit,
        draft=draft,
        tool_calls_this_turn=calls,
        fabrication_findings=findings,
        intent_verdict=intent,
        scope=None,
        run_id="r1",
    )
    gate = decide_gate(
        draft,
        activation,
        threshold=threshold,
        tags=tags,
        fabrication_mode=mode,
        findings=findings,
        selective=selective,
        tool_calls=calls,
        read_only_tools=reads,
        intent=intent,
    )
    assert (gate.fires, gate.confidence, gate.sensitive_tag) == (theirs, confidence, hit)


@many
@given(DRAFT)
def test_acknowledgments(draft):
    assert is_trivial_acknowledgment(draft) == reference_gate.draft_is_trivial_ack(draft)


@pytest.mark.parametrize("phrase", PHRASES)
def test_every_phrase_is_one_there_too(phrase):
    assert is_trivial_acknowledgment(phrase)
    assert reference_gate.draft_is_trivial_ack(phrase)


@pytest.mark.parametrize(
    ("draft", "expected"), [("Ana ok", True), ("12 ok", False), ("x" * 200 + " ok", False), ("вот ok", True)]
)
def test_pieces_of_the_drafts_decide(draft, expected):
    """The comparison above means something: such drafts are of both kinds."""
    assert is_trivial_acknowledgment(draft) is expected
    assert reference_gate.draft_is_trivial_ack(draft) is expected


class Provider:
    """A provider as symfonic's, whose model always gives one reply."""

    def __init__(self, reply: str) -> None:
        self.reply = reply

    def get_chat_model(self, config: Any) -> Any:
        return self

    async def ainvoke(self, messages: Any) -> Any:
        return SimpleNamespace(content=self.reply, usage_metadata={"input_tokens": 3, "output_tokens": 4})


PREFERENCES = (
    CriticPreference(7, "Never reveal keys", frozenset({"payment"})),
    CriticPreference(2, "Be kind"),
)
# Where the reply keeps to the contract both read the same; what else there is, 9.12.0 reads without a check.
REPLY = st.fixed_dictionaries(
    {
        "verdict": st.sampled_from(["approve", "revise", "refuse"]),
        "revised_draft": st.sampled_from(["Better.", " é\n"]),
        "refusal_message": st.sampled_from(["No.", " ñ\u2028 "]),
    },
    optional={
        "matched_preferences": st.sampled_from([[], ["Never reveal keys"], ["Never reveal keys", "Be kind"]])
    },
)
BROKEN = st.sampled_from(
    ["", "approve", "[]", "{", '{"verdict": "escalate"}', "null", "{'verdict': 'refuse'}"]
)
AROUND = st.sampled_from(["%s", "```json\n%s\n```", "```\n%s\n```", "  %s\n"])


@settings(max_examples=max(100, CASES // 10), deadline=None, database=None)
@given(ACTIVATION, REPLY.map(json.dumps) | BROKEN, AROUND)
def test_a_whole_reflection(activation, reply, around):
    provider = Provider(around % reply)
    theirs = middleware(provider, PREFERENCES, metacognition_sensitive_tags=["health"])
    event = asyncio.run(
        theirs.evaluate(run_id="r1", draft="Your key is 42.", activation_log=activation, scope=None)
    )
    ours = CriticCapability(provider, sensitive_tags=frozenset({"health"}), preferences=PREFERENCES)
    verdict = asyncio.run(ours.review("Your key is 42.", activation))
    expected = read_recorded_value(
        {name: getattr(event, name) for name in reference_events.ReflectionEvent.__dataclass_fields__}
    )
    assert verdict.recorded_value() | {"reflection_latency_ms": 0} == expected.recorded_value() | {
        "reflection_latency_ms": 0
    }
    assert verdict.gate is not None
    if verdict.gate.fires and not verdict.degraded:
        assert (verdict.tokens_in, verdict.tokens_out) == (expected.tokens_in, expected.tokens_out) == (3, 4)
