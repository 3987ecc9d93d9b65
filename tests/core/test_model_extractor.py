"""One question to a model, and what becomes of every kind of answer."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.draft_reply import REPLY_CHARACTERS
from reviews.core.drafts import MemoryEntry, ProceduralDraft, draft_to_memory_entry
from reviews.core.episodes import Episode
from reviews.core.extraction import Extraction, ModelUse
from reviews.core.model_extractor import ModelExtractor
from reviews.core.model_provider import (
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelReply,
    ModelTimeout,
    ModelTooLarge,
    ModelUnavailable,
)

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
SCOPE = SimpleNamespace(tenant_id="shop")
EPISODES = [Episode("e1", "refund failed", "user", NOW), Episode("e2", "refund again", "user", NOW)]
ITEM = {
    "kind": "preflight",
    "trigger": "before refund",
    "action": "get_order",
    "rationale": "it failed",
    "source_episode_ids": ["e1", "e9"],
}
FOUND = json.dumps({"drafts": [ITEM]})


class Model:
    """Answers with a fixed reply, raises a fixed error, or never answers."""

    def __init__(self, answer=FOUND, **fields):
        self.answer = ModelReply(answer, **fields) if isinstance(answer, str) else answer
        self.asked = []

    async def complete(self, *, system, prompt, max_tokens):
        self.asked.append((system, prompt, max_tokens))
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def extractor(model, **options):
    return ModelExtractor(model, **{"clock": lambda: NOW, "fence": lambda: "k3y"} | options)


def run(model, episodes=EPISODES, skills=(), **options):
    return asyncio.run(extractor(model, **options).run(episodes, skills))


def test_a_draft_is_found():
    found = run(Model(FOUND, model="tiny-1", tokens_in=900, tokens_out=80, finish_reason="stop"))
    draft = ProceduralDraft("preflight", "before refund", "get_order", "it failed", 0.0, None, ["e1", "e9"])
    assert (found.outcome, found.scanned, found.emitted) == ("found", 2, 1)
    assert found.cost == ModelUse("tiny-1", 900, 80)
    extracted = found.drafts[0]
    assert extracted.draft == draft
    assert (extracted.source, extracted.label) == (
        "phase_12_llm_extractor",
        "Auto-learned (preflight): before refund",
    )
    assert extracted.to_memory_entry(SCOPE) == draft_to_memory_entry(draft, SCOPE)


def test_sources_that_the_model_was_not_shown_are_told():
    assert run(Model()).drafts[0].unknown_episode_ids == ("e9",)


def test_extract_gives_the_drafts_alone():
    drafts = asyncio.run(extractor(Model()).extract(EPISODES, [], SCOPE))
    assert [draft.trigger for draft in drafts] == ["before refund"]
    assert asyncio.run(extractor(None).extract(EPISODES, [], SCOPE)) == []


def test_the_newest_episodes_are_shown_newest_first():
    model = Model()
    episodes = [Episode(f"e{n}", "x", "user", NOW - timedelta(hours=n)) for n in (3, 1, 2, 0)]
    assert run(model, episodes, max_episodes=3).scanned == 3
    shown = [json.loads(line)["id"] for line in model.asked[0][1].splitlines() if line.startswith("{")]
    assert shown == ["e0", "e1", "e2"]


def test_a_hundred_episodes_by_default():
    model = Model()
    assert run(model, [Episode(str(n), "x", "user", NOW) for n in range(130)]).scanned == 100
    assert model.asked[0][1].count('"summary"') == 100


def test_old_and_assistant_episodes_are_not_shown():
    episodes = [
        *EPISODES,
        Episode("old", "x", "user", NOW - timedelta(days=31)),
        Episode("own", "x", "assistant", NOW),
        Episode("who", "x", None, NOW),
    ]
    assert run(Model(), episodes).scanned == 2
    assert run(Model(), episodes, promote_assistant_content=True).scanned == 4
    assert run(Model(), episodes, recency_days=31).scanned == 3


def test_limits_and_skills_reach_the_prompt():
    model = Model()
    run(model, skills=[MemoryEntry("procedural", "shop", "known skill")], max_drafts=4, max_tokens=77)
    system, prompt, max_tokens = model.asked[0]
    assert "at most 4 drafts" in system
    assert "- known skill" in prompt
    assert max_tokens == 77


def test_every_call_has_its_own_unguessable_fence():
    model = Model()
    for _ in range(2):
        asyncio.run(ModelExtractor(model, clock=lambda: NOW).run(EPISODES))
    fences = {prompt.splitlines()[0] for _, prompt, _ in model.asked}
    assert len(fences) == 2
    assert all(len(fence) >= len("[ BEGIN known skills]") + 32 for fence in fences)


def test_without_a_model_or_episodes_nobody_is_asked():
    assert run(None).outcome == "no_model"
    model = Model()
    assert run(model, []).outcome == "nothing"
    assert run(model, [Episode("1", "x")]).outcome == "nothing"
    assert model.asked == []


@pytest.mark.parametrize(
    ("answer", "finish_reason", "outcome"),
    [
        ('{"drafts": []}', "stop", "nothing"),
        (FOUND, "length", "found"),
        ("I am sorry, I cannot do that.", "stop", "malformed"),
        ("", "stop", "malformed"),
        ('{"drafts": "none"}', "stop", "malformed"),
        ('{"drafts": [{}]}', "stop", "malformed"),
        (FOUND[:-5], "stop", "truncated"),
        ("First I will look at", "length", "truncated"),
        (FOUND, "content_filter", "refused"),
        ("", "refusal", "refused"),
        (FOUND + " " * REPLY_CHARACTERS, "stop", "too_large"),
    ],
)
def test_the_outcome_says_what_the_answer_was(answer, finish_reason, outcome):
    got = run(Model(answer, model="tiny-1", tokens_in=9, tokens_out=9, finish_reason=finish_reason))
    assert got.outcome == outcome
    assert bool(got.drafts) == (outcome == "found")
    assert (got.scanned, got.cost, got.retry_after) == (2, ModelUse("tiny-1", 9, 9), None)
    assert got.detail


@pytest.mark.parametrize(
    ("error", "outcome", "retry_after"),
    [
        (ModelTimeout(), "timeout", 60.0),
        (TimeoutError(), "timeout", 60.0),
        (ModelRefused(), "refused", None),
        (ModelTooLarge(), "too_large", None),
        (ModelRejected(401), "failed", None),
        (ModelUnavailable(), "failed", 60.0),
        (ModelRateLimited(retry_after=7), "failed", 7),
        (ModelRateLimited(), "failed", 60.0),
        (ValueError("secret text"), "failed", None),
        (RecursionError(), "failed", None),
    ],
)
def test_a_model_that_fails_is_told_and_not_raised(error, outcome, retry_after):
    got = run(Model(error))
    assert (got.drafts, got.scanned, got.outcome, got.retry_after) == ((), 2, outcome, retry_after)
    assert "secret" not in got.detail


def test_a_model_that_never_answers_is_given_up():
    got = run(Model(None), timeout_seconds=0.01)
    assert (got.outcome, got.scanned) == ("timeout", 2)


def test_being_cancelled_from_outside_is_passed_on():
    async def cancelled():
        task = asyncio.create_task(extractor(Model(None)).run(EPISODES))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


@pytest.mark.parametrize("name", ["max_episodes", "max_drafts", "recency_days"])
def test_impossible_limits_are_refused_by_name(name):
    with pytest.raises(ValueError, match=name):
        extractor(Model(), **{name: 0})


odd = st.none() | st.integers() | st.text(max_size=9) | st.lists(st.integers(), max_size=2)


@settings(database=None, deadline=None)
@given(
    st.lists(st.builds(Episode, odd, odd, odd | st.just("user"), odd, odd, odd) | odd, max_size=4) | odd,
    st.lists(st.builds(MemoryEntry, st.just("procedural"), odd, odd, metadata=odd) | odd, max_size=2) | odd,
    st.builds(ModelReply, odd, odd, odd, odd, odd) | odd,
)
def test_no_input_and_no_answer_makes_it_raise(episodes, skills, reply):
    assert isinstance(run(Model(reply if reply is not None else 3), episodes, skills), Extraction)
