"""The critic's contract: each branch of the published capability, and what is added to it."""

from __future__ import annotations

import asyncio
import itertools
import json
from types import SimpleNamespace

import pytest

from reviews.core.critic import CriticCapability, CriticPreference, rules_query
from reviews.core.critic_gate import GateDecision
from reviews.core.critic_reply import STANDARD_REFUSAL
from reviews.core.critic_verdict import CriticVerdict
from reviews.core.fabrication import FabricationFinding
from reviews.core.intent import IntentVerdict
from reviews.core.model_failure import ModelOverBudget
from reviews.core.model_provider import (
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelReply,
    ModelTimeout,
    ModelTooLarge,
    ModelUnavailable,
)
from reviews.core.patterns import compile_pattern
from tests.core.critic_models import Model, asked_check

DRAFT = "Your key is 42."
KEYS = CriticPreference(10, "Never reveal keys", frozenset({"secret"}))
KIND = CriticPreference(2, "Be kind")
FINDING = FabricationFinding("A-17", "kv", "high", "It is nowhere.")
# 0.4 * 1 + 0.3 * min(1, 3 / 3) = 0.7
SURE = {"activated_nodes": [{"score": 1.0, "tags": ["secret"]}], "inference_paths": [["b"], ["a", "b"], []]}


def answer(verdict="approve", **fields):
    return json.dumps({"check": "%CHECK%", "verdict": verdict} | fields)


def ticking(step=0.25):
    """A clock that is ``step`` seconds later each time it is read."""
    ticks = itertools.count()
    return lambda: next(ticks) * step


def review(model, activation=None, draft=DRAFT, turn=None, **options):
    return asyncio.run(CriticCapability(model, **options).review(draft, activation, **(turn or {})))


class Rules:
    def __init__(self, found):
        self.found = found
        self.asked = []

    async def rules(self, query, limit):
        self.asked.append((query, limit))
        if self.found is None:
            await asyncio.Event().wait()
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


def test_a_turn_that_passes_the_gate_costs_no_call():
    model, rules = Model(answer("refuse")), Rules(["x"])
    verdict = review(model, SURE, rules_source=rules, preferences=(KIND,), monotonic=ticking())
    assert (model.asked, rules.asked) == ([], [])
    assert verdict.reflection_latency_ms > 0
    value = verdict.recorded_value()
    assert value.pop("reflection_latency_ms") == verdict.reflection_latency_ms
    assert value == {
        "verdict": "approve",
        "confidence_before": pytest.approx(0.7),
        "sensitive_tag_hit": None,
        "revised_draft": None,
        "refusal_message": None,
        "matched_preferences": [],
    }
    assert verdict.counts == {"approve": 1}
    assert verdict.provenance == "critic-reflection-v1"
    assert not verdict.degraded
    assert verdict.gate == GateDecision(False, pytest.approx(0.7), "confident")


def test_low_confidence_asks_once():
    model = Model(answer(), model="tiny-1", tokens_in=300, tokens_out=20)
    verdict = review(model)
    assert len(model.asked) == 1
    assert verdict == CriticVerdict(
        "approve",
        0.5,
        reflection_latency_ms=verdict.reflection_latency_ms,
        tokens_in=300,
        tokens_out=20,
        model="tiny-1",
        gate=GateDecision(True, 0.5, "low_confidence"),
    )


def test_the_threshold_is_the_capabilitys():
    assert not review(Model(answer()), confidence_threshold=0.5).gate.fires
    assert review(Model(answer()), SURE, confidence_threshold=0.71).gate.fires


@pytest.mark.parametrize(
    "options",
    [{"sensitive_tags": frozenset({"secret", "other"})}, {"preferences": (KIND, KEYS)}],
)
def test_a_sensitive_tag_of_the_capability_or_a_preference_asks(options):
    model = Model(answer())
    verdict = review(model, SURE, **options)
    assert (verdict.sensitive_tag_hit, verdict.gate.reason) == ("secret", "sensitive_tag")
    assert '"secret"' in model.asked[0][1]


def test_revise():
    fields = {"revised_draft": "I cannot show it.", "matched_preferences": ["Never reveal keys", "Be rude"]}
    verdict = review(Model(answer("revise", **fields)), preferences=(KEYS,))
    assert verdict.recorded_value() == {
        "verdict": "revise",
        "confidence_before": 0.5,
        "sensitive_tag_hit": None,
        "revised_draft": "I cannot show it.",
        "refusal_message": None,
        "matched_preferences": ["Never reveal keys"],
        "reflection_latency_ms": verdict.reflection_latency_ms,
    }
    assert verdict.counts == {"revise": 1}


def test_refuse():
    verdict = review(Model(answer("refuse", refusal_message="No.", revised_draft="x")))
    assert (verdict.verdict, verdict.refusal_message, verdict.revised_draft) == ("refuse", "No.", None)
    assert review(Model(answer("refuse"))).refusal_message == STANDARD_REFUSAL


def test_preferences_are_shown_the_weightiest_first():
    given = (KIND, CriticPreference(5, "first of two"), CriticPreference(5.0, "second of two"), KEYS)
    model = Model(answer())
    capability = CriticCapability(model, preferences=given)
    asyncio.run(capability.review(DRAFT, None))
    shown = [line for line in model.asked[0][1].splitlines() if '"statement"' in line]
    assert [json.loads(line)["statement"] for line in shown] == [
        "Never reveal keys",
        "first of two",
        "second of two",
        "Be kind",
    ]
    assert capability.preferences == given


def test_rules_are_asked_for_by_labels_and_shown():
    source = Rules([f"rule {n}" for n in range(7)])
    model = Model(answer())
    activation = {"inference_paths": [[f"l{n:02}" for n in range(12, 0, -1)], ["l03", "a b"]]}
    verdict = review(model, activation, rules_source=source)
    assert source.asked == [("a b l01 l02 l03 l04 l05 l06 l07 l08 l09", 5)]
    assert verdict.rules == ("rule 0", "rule 1", "rule 2", "rule 3", "rule 4")
    assert '"rule 4"' in model.asked[0][1]
    assert "rule 5" not in model.asked[0][1]


def test_a_rule_may_be_an_object_with_its_text_in_content():
    source = Rules((SimpleNamespace(content="look it up"), "say the date"))
    verdict = review(Model(answer()), {"inference_paths": [["a"]]}, rules_source=source)
    assert verdict.rules == ("look it up", "say the date")


@pytest.mark.parametrize(
    "paths", [None, [], [[]], "ab", [None, 5, {"a": 1}], [[None, 5]], {"a": ["b"]}, [["", ""]]]
)
def test_without_labels_no_rules_are_asked_for(paths):
    source = Rules(["x"])
    verdict = review(Model(answer()), {"inference_paths": paths}, rules_source=source)
    assert (source.asked, verdict.rules, verdict.degraded) == ([], (), False)


def test_labels_are_counted_once_and_texts_only():
    assert rules_query({"inference_paths": (("b", "a", 3), ["b", ["c"]])}) == "a b"
    assert rules_query(None) == ""


@pytest.mark.parametrize("model", [Model("Well."), Model(RuntimeError()), Model(answer())])
def test_what_the_model_was_shown_is_recorded_whatever_it_answers(model):
    verdict = review(model, {"inference_paths": [["a"]]}, rules_source=Rules(["look it up"]))
    assert verdict.rules == ("look it up",)


class Unprintable:
    def __str__(self):
        raise RuntimeError("cannot be shown")


@pytest.mark.parametrize("found", [RuntimeError("down"), TimeoutError(), 5, None, [Unprintable()]])
def test_rules_that_cannot_be_had_are_none(found):
    model = Model(answer())
    options = {"rules_source": Rules(found), "rules_timeout_seconds": 0.001}
    verdict = review(model, {"inference_paths": [["a"]]}, **options)
    assert (verdict.rules, verdict.degraded, len(model.asked)) == ((), False, 1)


def test_a_source_that_is_none_gives_no_rules():
    verdict = review(Model(answer()), {"inference_paths": [["a"]]}, rules_source=object())
    assert (verdict.rules, verdict.degraded) == ((), False)


@pytest.mark.parametrize(
    ("model", "cause", "retry_after"),
    [
        (None, "no_model", None),
        (object(), "no_model", None),
        (Model(ModelTimeout(DRAFT)), "timeout", 60.0),
        (Model(ModelRefused(DRAFT)), "refused", None),
        (Model(answer(), finish_reason="content_filter"), "refused", None),
        (Model(ModelTooLarge(DRAFT)), "too_large", None),
        (Model("x" * 1_000_001), "too_large", None),
        (Model(ModelOverBudget(DRAFT)), "over_budget", None),
        (Model(ModelUnavailable(DRAFT)), "unavailable", 60.0),
        (Model(ModelRateLimited(DRAFT, retry_after=7.0)), "rate_limited", 7.0),
        (Model(ModelRejected(401)), "rejected", None),
        (Model(RuntimeError(DRAFT)), "failed", None),
        (Model(SimpleNamespace()), "failed", None),
        (Model(ModelReply(None)), "failed", None),
        (Model("I approve."), "malformed", None),
        (Model(answer("escalate")), "malformed", None),
        (Model(answer("revise")), "malformed", None),
        (Model('{"verdict": "approve"}'), "malformed", None),
        (Model(answer().replace("%CHECK%", "0" * 32)), "malformed", None),
        (Model(answer()[:-1]), "truncated", None),
        (Model("Well,", finish_reason="length"), "truncated", None),
    ],
)
def test_whatever_goes_wrong_the_verdict_approves_and_names_the_cause(model, cause, retry_after):
    verdict = review(model, SURE, sensitive_tags=frozenset({"secret"}))
    assert (verdict.verdict, verdict.degraded, verdict.cause) == ("approve", True, cause)
    assert verdict.retry_after == retry_after
    assert verdict.detail.endswith(".")
    assert DRAFT not in verdict.detail
    assert (verdict.confidence_before, verdict.sensitive_tag_hit) == (pytest.approx(0.7), "secret")
    assert (verdict.revised_draft, verdict.refusal_message, verdict.matched_preferences) == (None, None, ())
    assert verdict.counts == {"approve": 1}


def test_a_verdict_is_read_though_the_reply_was_cut_behind_it():
    assert not review(Model(answer(), finish_reason="length")).degraded


def test_what_a_useless_reply_cost_is_kept():
    verdict = review(Model("Well.", model="tiny-1", tokens_in=300, tokens_out=2))
    assert (verdict.model, verdict.tokens_in, verdict.tokens_out) == ("tiny-1", 300, 2)


def test_a_model_that_never_answers_times_out():
    verdict = review(Model(None), timeout_seconds=0.001)
    assert (verdict.cause, verdict.retry_after) == ("timeout", 60.0)


@pytest.mark.parametrize("slow", [{"model_provider": Model(None)}, {"rules_source": Rules(None)}])
def test_being_cancelled_is_passed_on(slow):
    capability = CriticCapability(**{"model_provider": Model(answer())} | slow)

    async def cancelled():
        task = asyncio.create_task(capability.review(DRAFT, {"inference_paths": [["a"]]}))
        # Two rounds of the loop: one to start the task, one to reach what it waits for.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_a_draft_that_is_too_long_is_not_judged_by_its_beginning():
    model = Model(answer())
    verdict = review(model, draft="x" * 11, max_draft_characters=10)
    assert (verdict.cause, model.asked) == ("too_large", [])
    assert not review(model, draft="x" * 10, max_draft_characters=10).degraded


@pytest.mark.parametrize("draft", [None, 5, b"x"])
def test_a_draft_that_is_no_text_does_not_raise(draft):
    assert review(Model(answer()), draft=draft).verdict == "approve"


def test_limits_reach_the_model():
    model = Model(answer())
    review(model, max_tokens=77)
    assert model.asked[0][2] == 77


def test_latency_spans_gate_rules_and_call():
    # Read at the start of review and of reflect, and at the end of each: three steps of 250 ms in all.
    assert review(Model(answer()), monotonic=ticking()).reflection_latency_ms == 750.0


def test_every_call_has_its_own_fence_and_token():
    model = Model(answer())
    capability = CriticCapability(model)
    for _ in range(2):
        asyncio.run(capability.review(DRAFT, None))
    fences = {prompt.split("[")[1].split()[0] for _, prompt, _ in model.asked}
    tokens = {asked_check(system) for system, _, _ in model.asked}
    assert len(fences | tokens) == 4
    assert all(len(secret) >= 32 for secret in fences | tokens)


class TestFabricationModeRevise:
    turn = {"fabrication_mode": "revise", "findings": [FINDING]}

    def test_a_finding_asks_however_sure_and_is_shown(self):
        model = Model(answer("revise", revised_draft="Better."))
        verdict = review(model, SURE, turn=self.turn)
        assert (verdict.verdict, verdict.revised_draft, verdict.forced) == ("revise", "Better.", False)
        assert verdict.gate.reason == "fabrication_revise"
        assert '"A-17"' in model.asked[0][1]

    def test_it_stands_in_place_of_an_approval(self):
        verdict = review(Model(answer()), SURE, turn=self.turn)
        assert (verdict.verdict, verdict.revised_draft, verdict.forced) == ("revise", None, True)
        assert not verdict.degraded

    def test_a_refusal_stays(self):
        verdict = review(Model(answer("refuse", refusal_message="No.")), SURE, turn=self.turn)
        assert (verdict.verdict, verdict.refusal_message, verdict.forced) == ("refuse", "No.", False)

    @pytest.mark.parametrize("model", [None, Model("Well."), Model(RuntimeError())])
    def test_it_holds_without_a_judgement(self, model):
        verdict = review(model, SURE, turn=self.turn)
        assert (verdict.verdict, verdict.forced, verdict.degraded) == ("revise", True, True)

    def test_findings_of_other_modes_are_not_shown(self):
        model = Model(answer())
        turn = {"fabrication_mode": "observe", "findings": [FINDING]}
        assert review(model, turn=turn).verdict == "approve"
        assert "A-17" not in model.asked[0][1]


def test_the_selective_gate():
    model = Model(answer("refuse"))
    options = {"selective_gate": True, "read_only_tools": frozenset({"search"})}
    turn = {"tool_calls": [{"name": "search"}], "intent": IntentVerdict("knowledge", 0.9)}
    verdict = review(model, None, "Sure!", turn, **options)
    assert (verdict.verdict, verdict.gate.reason, model.asked) == ("approve", "trivial_acknowledgment", [])
    turn["tool_calls"] = [{"name": "refund"}]
    assert review(model, None, "Sure!", turn, **options).verdict == "refuse"


def test_the_selective_gate_knows_own_acknowledgments():
    patterns = (compile_pattern("tamam[.!]?"), compile_pattern("Roger that"))
    capability = CriticCapability(None, selective_gate=True, acknowledgment_patterns=patterns)
    drafts = ("Tamam!", "Roger that", "Sure", "Tamam, oldu", "vale un potosi")
    assert [capability.decide(draft, None).fires for draft in drafts] == [False, False, False, True, False]


def test_the_gate_may_be_decided_before():
    model = Model(answer("refuse"))
    capability = CriticCapability(model, monotonic=ticking())
    gate = capability.decide(DRAFT, None)
    assert (gate.reason, model.asked) == ("low_confidence", [])
    verdict = asyncio.run(capability.reflect(DRAFT, None, gate))
    assert (verdict.verdict, verdict.gate, verdict.reflection_latency_ms) == ("refuse", gate, 250.0)


FOUR_FIELDS = json.dumps(
    {"verdict": "refuse", "revised_draft": None, "refusal_message": "No.", "matched_preferences": ["Be kind"]}
)


class Chat:
    """A chat model as LangChain's, or a provider of one as symfonic's."""

    def __init__(self):
        self.configs, self.messages = [], []

    def get_chat_model(self, config):
        self.configs.append(config)
        return SimpleNamespace(ainvoke=self.ainvoke)

    async def ainvoke(self, messages):
        self.messages.append(messages)
        return SimpleNamespace(
            content=FOUR_FIELDS, usage_metadata={"input_tokens": 5, "output_tokens": 6}, response_metadata={}
        )


def test_symfonics_providers_answer_with_four_fields():
    chat = Chat()
    verdict = review(chat, preferences=(KIND,), model_config="small")
    assert (verdict.verdict, verdict.refusal_message) == ("refuse", "No.")
    assert (verdict.matched_preferences, verdict.tokens_in, verdict.tokens_out) == (("Be kind",), 5, 6)
    assert chat.configs == ["small"]
    assert "check" not in chat.messages[0][0]["content"]


def test_a_chat_model_is_a_provider_too():
    assert review(SimpleNamespace(ainvoke=Chat().ainvoke)).verdict == "refuse"


def test_the_token_can_be_asked_of_everybody_and_of_nobody():
    assert review(Chat(), check_reply=True).cause == "malformed"
    assert review(Model(FOUR_FIELDS)).cause == "malformed"
    assert review(Model(FOUR_FIELDS), check_reply=False).verdict == "refuse"


def test_a_template_of_ones_own_asks_for_four_fields():
    model = Model(FOUR_FIELDS)
    verdict = review(model, prompt_template="Judge {draft} by {core_preferences}")
    assert verdict.verdict == "refuse"
    assert model.asked[0][1].startswith("Judge \n[")
    assert review(model, prompt_template="Judge {draft}", check_reply=True).cause == "malformed"


@pytest.mark.parametrize(
    "template",
    [
        *("", "no draft", "{core_preferences}", "{{draft}}", "{draft} {unknown}", "{draft} {0}", "{draft} {"),
        *("{draft} {}", "{draft!r}", "{draft:.9}", "{draft.x}", "{draft} {core_preferences!s}", None, 5),
    ],
)
def test_a_template_that_cannot_work_is_refused(template):
    with pytest.raises(ValueError, match="prompt_template"):
        CriticCapability(None, prompt_template=template)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("confidence_threshold", -0.1),
        ("confidence_threshold", 1.1),
        ("confidence_threshold", float("nan")),
        ("confidence_threshold", True),
        ("confidence_threshold", "0.6"),
        ("sensitive_tags", "secret"),
        ("sensitive_tags", frozenset({5})),
        ("read_only_tools", "search"),
        ("preferences", ("Be kind",)),
        ("acknowledgment_patterns", ("tamam",)),
        ("timeout_seconds", 0),
        ("rules_timeout_seconds", -1),
        ("max_tokens", 0),
        ("max_draft_characters", float("inf")),
    ],
)
def test_settings_that_cannot_work_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        CriticCapability(None, **{name: value})


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ((float("nan"), "Be kind"), "priority"),
        (("10", "Be kind"), "priority"),
        ((True, "Be kind"), "priority"),
        ((5, ""), "statement"),
        ((5, " \n"), "statement"),
        ((5, None), "statement"),
        ((5, "Be kind", "secret"), "sensitive_tags"),
        ((5, "Be kind", [None]), "sensitive_tags"),
    ],
)
def test_a_preference_that_is_none_is_refused(fields, name):
    with pytest.raises(ValueError, match=name):
        CriticPreference(*fields)


def test_the_defaults_are_the_contracts():
    capability = CriticCapability(None)
    assert (capability.confidence_threshold, capability.sensitive_tags) == (0.6, frozenset())
    assert (capability.preferences, capability.rules_source, capability.model_config) == ((), None, None)
    assert not capability.selective_gate
    assert CriticPreference(5.0, "Be kind").sensitive_tags == frozenset()
