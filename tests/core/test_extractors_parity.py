"""Our extractors beside symfonic-core 9.12.0: the same drafts of the same episodes and replies.

``PARITY_TURNS`` sets the number of generated cases (default 20,000), ``PARITY_SEED`` their seed.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.draft_prompt import draft_prompt, skill_lines
from reviews.core.draft_reply import read_draft_reply
from reviews.core.drafts import MemoryEntry, ProceduralDraft, draft_to_json, draft_to_memory_entry
from reviews.core.episodes import Episode, ToolUse
from reviews.core.pattern_extractor import PatternExtractor

pytestmark = pytest.mark.parity

if os.environ.get("CI"):
    # A skipped parity suite would look like a passed one: let the import error fail the run.
    import symfonic.core.learning.phases_procedural_promotion as reference_phase
    import symfonic.core.learning.procedural_extractor as reference_protocol
    import symfonic.core.learning.procedural_extractor_llm as reference
    from symfonic.memory.models.entry import MemoryEntry as ReferenceEntry
    from symfonic.memory.types import MemoryLayer
else:
    reference = pytest.importorskip("symfonic.core.learning.procedural_extractor_llm")
    reference_protocol = pytest.importorskip("symfonic.core.learning.procedural_extractor")
    reference_phase = pytest.importorskip("symfonic.core.learning.phases_procedural_promotion")
    ReferenceEntry = pytest.importorskip("symfonic.memory.models.entry").MemoryEntry
    MemoryLayer = pytest.importorskip("symfonic.memory.types").MemoryLayer

CASES = max(200, int(os.environ.get("PARITY_TURNS", "20000")) // 10)
SEED = int(os.environ.get("PARITY_SEED", "9120"))
SCOPE = SimpleNamespace(tenant_id="shop")


def as_json(draft: Any) -> dict[str, Any]:
    return {name: getattr(draft, name) for name in ProceduralDraft.__dataclass_fields__}


# What both read alike is left to the generators; left out is where 9.12.0 raises or keeps what we do not:
# NaN, which becomes 1.0 there, whole numbers beyond every float, NUL and halves of surrogate pairs.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
NUMBER = st.integers(-(10**300), 10**300) | st.floats(allow_nan=False)
VALUE = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)
SPOKEN = st.sampled_from(["before refund", " get_order ", "", " \n", "because\u3000"]) | TEXT
ITEM = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["action", "preflight", "recovery", "guardrail", "habit", "Action"]) | VALUE,
        "trigger": SPOKEN | VALUE,
        "action": SPOKEN | VALUE,
        "rationale": SPOKEN | VALUE,
        "confidence": NUMBER | st.sampled_from(["0.3", " 1 ", "inf", "1e3", "x"]) | VALUE,
        "precondition": SPOKEN | st.lists(SPOKEN | VALUE, max_size=4) | VALUE,
        "source_episode_ids": st.lists(TEXT | VALUE, max_size=4) | VALUE,
    },
)
GOOD_ITEM = st.fixed_dictionaries({"trigger": SPOKEN, "action": SPOKEN, "rationale": SPOKEN, "kind": VALUE})
PAYLOAD = st.fixed_dictionaries({"drafts": st.lists(ITEM | GOOD_ITEM | VALUE, max_size=5) | VALUE}) | VALUE
CHATTER = st.sampled_from(["", "Sure:\n```json\n", "```", "{", "}", "\n", " {} ", "é"])


@settings(max_examples=CASES, deadline=None, database=None)
@given(PAYLOAD, CHATTER, CHATTER, st.integers(1, 4), st.booleans(), st.integers(0, 60))
def test_replies_give_the_same_drafts(payload, before, after, max_drafts, ascii_only, cut):
    text = before + json.dumps(payload, ensure_ascii=ascii_only) + after
    for reply in (text, text[:cut]):
        theirs = reference.LlmProceduralExtractor(None, max_drafts_per_run=max_drafts)._parse_response(reply)
        ours = read_draft_reply(reply, max_drafts=max_drafts).drafts
        assert [as_json(draft) for draft in ours] == [as_json(draft) for draft in theirs], reply


def test_the_fields_of_a_draft_are_the_same():
    theirs = reference_protocol.ProceduralDraft("action", "t", "a", "r")
    assert draft_to_json(ProceduralDraft("action", "t", "a", "r")) == as_json(theirs)
    assert list(theirs.__dataclass_fields__) == list(ProceduralDraft.__dataclass_fields__)


@settings(max_examples=300, deadline=None, database=None)
@given(
    st.tuples(
        st.sampled_from(["action", "preflight", "recovery", "guardrail"]),
        TEXT | st.just("x" * 120),
        TEXT,
        TEXT,
        st.floats(0, 1),
        st.none() | TEXT | st.lists(TEXT, max_size=3),
        st.lists(TEXT, max_size=3),
    )
)
def test_drafts_give_the_same_memory_entry(fields):
    ours = draft_to_memory_entry(ProceduralDraft(*fields), SCOPE)
    theirs = reference.draft_to_memory_entry(reference_protocol.ProceduralDraft(*fields), SCOPE)
    assert (ours.layer, ours.tenant_id, ours.content, ours.importance) == (
        theirs.layer.value,
        theirs.tenant_id,
        theirs.content,
        theirs.importance,
    )
    assert list(ours.metadata.items()) == list(theirs.metadata.items())


CONTENTS = [
    "I ran the tests", "then I  RAN the Tests.", "I sent mail\nto all", "I used  .x", "Then i read it",
    "hello", "I ran\n\nfoo bar", "I queried " + "word " * 30, "", "  ", "I opened a b c d e f g h",
    "I opened a b c d e f z", "Iran it", "I pulled\u00a0main", "ı ran it", "I uſed it",
]  # fmt: skip


def episode_pair(choose: random.Random, number: int, now: datetime) -> tuple[Episode, Any]:
    """One episode in our shape and in the reference's."""
    metadata: dict[str, Any] = {}
    if choose.random() < 0.3:
        metadata["action_type"] = choose.choice([" Check  Order", "check order", "", " ", 7])
    if choose.random() < 0.2:
        metadata["durability"] = choose.choice(["transient", "durable", "expired", "odd"])
    speaker = choose.choice(["user", "user", "user", "Human", "assistant", " AI ", None])
    calls = [
        choose.choice(["get_order", "Get_Order", " ", "issue refund"]) for _ in range(choose.randint(0, 2))
    ]
    content = choose.choice(CONTENTS)
    at = choose.choice([None, now, now - timedelta(days=choose.randint(0, 40), hours=1)])
    ours = Episode(str(number), content, speaker, at, tuple(map(ToolUse, calls)), metadata)
    theirs = dict(metadata)
    if speaker is not None:
        theirs["speaker"] = speaker
    if calls:
        theirs["tool_calls"] = [{"name": name, "args": {}, "result": ""} for name in calls]
    # An unreadable time is how the reference knows that it is unknown.
    theirs["created_at"] = "unknown" if at is None else at.isoformat()
    entry = ReferenceEntry(
        id=str(number), layer=MemoryLayer.EPISODIC, tenant_id="shop", content=content, metadata=theirs
    )
    return ours, entry


class Store:
    """The two memories the reference's phase works with."""

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries
        self.stored: list[Any] = []

    async def list_events(self, scope: Any, limit: int) -> list[Any]:
        return self.entries

    async def query_skills(self, *args: Any, **options: Any) -> list[Any]:
        return []

    async def store_skill(self, scope: Any, entry: Any, status: str) -> Any:
        self.stored.append(entry)
        return SimpleNamespace(id=str(len(self.stored)))


def test_episodes_give_the_same_patterns():
    found = 0
    for case in range(CASES):
        choose = random.Random(f"{SEED}/{case}")
        now = datetime.now(UTC)
        pairs = [episode_pair(choose, number, now) for number in range(choose.randint(0, 60))]
        options = {
            "min_pattern_count": choose.choice([1, 2, 3]),
            "recency_days": choose.choice([7, 30]),
            "promote_assistant_content": choose.random() < 0.5,
        }
        most, from_calls = choose.choice([1, 3, 5]), choose.random() < 0.7
        store = Store([entry for _, entry in pairs])
        asyncio.run(
            reference_phase.promote_episodic_to_procedural(
                store, store, SCOPE, max_drafts_per_run=most, use_tool_calls_fallback=from_calls, **options
            )
        )
        extractor = PatternExtractor(
            clock=lambda now=now: now, max_drafts=most, action_type_from_tool_calls=from_calls, **options
        )
        run = extractor.run([ours for ours, _ in pairs])
        ours = [extracted.to_memory_entry(SCOPE).metadata for extracted in run.drafts]
        theirs = [entry.metadata for entry in store.stored]
        # The wording of the context is ours, and so is the step of a pattern whose contents are all blank.
        for mine, other in zip(ours, theirs, strict=True):
            assert list(mine) == list(other), case
            blank = mine["steps"] == [mine["pattern_name"]] and mine["steps"] != other["steps"]
            assert not blank or len(other["steps"]) == 1
            left_out = {"context", "steps"} if blank else {"context"}
            assert {k: v for k, v in mine.items() if k not in left_out} == {
                k: v for k, v in other.items() if k not in left_out
            }, case
        found += len(ours)
    assert found > CASES


def test_a_blank_speaker_is_the_one_difference():
    """9.12.0 counts it as somebody; the documentation skips episodes without a speaker."""
    entry = ReferenceEntry(
        layer=MemoryLayer.EPISODIC, tenant_id="shop", content="I ran it", metadata={"speaker": " "}
    )
    store = Store([entry])
    asyncio.run(reference_phase.promote_episodic_to_procedural(store, store, SCOPE, min_pattern_count=1))
    assert len(store.stored) == 1
    ours = PatternExtractor(clock=lambda: datetime.now(UTC), min_pattern_count=1)
    assert ours.run([Episode("1", "I ran it", " ")]).drafts == ()


def longest_run(character: str, text: str) -> int:
    return max(map(len, re.findall(f"{character}+", text)), default=0)


@pytest.mark.parametrize("length", [10, 199, 200, 201, 599, 600, 601, 5000])
def test_prompts_show_as_much(length):
    entry = ReferenceEntry(
        layer=MemoryLayer.EPISODIC,
        tenant_id="shop",
        content="S" * length,
        metadata={"tool_calls": [{"name": "get", "args": {"q": "Q" * length}, "result": "R" * length}]},
    )
    theirs = reference.LlmProceduralExtractor(None)._format_episodes([entry])
    episode = Episode("1", "S" * length, tool_calls=(ToolUse("get", {"q": "Q" * length}, "R" * length),))
    ours = draft_prompt([episode], [], max_drafts=5, fence="k3y").prompt
    for character in "SQR":
        assert longest_run(character, ours) == longest_run(character, theirs)


@pytest.mark.parametrize("length", [1, 10, 77, 399, 2000, 3990, 5000])
def test_as_many_skills_are_shown(length):
    """Our note that there are more counts towards the limit, theirs does not: so much may be missing."""
    metadata = {"label": "L" * length}
    theirs = reference.LlmProceduralExtractor(None)._format_existing_skills(
        [ReferenceEntry(layer=MemoryLayer.PROCEDURAL, tenant_id="shop", content="", metadata=metadata)] * 5000
    )
    ours = skill_lines([MemoryEntry("procedural", "shop", "", metadata=metadata)] * 5000)
    shown, expected = (sum("L" in line for line in lines) for lines in (ours, theirs.splitlines()))
    assert 0 <= expected - shown <= math.ceil(len("- (more)\n") / (length + 3))
