"""Turns, hypothesis strategies and the shared transcripts, for all tests of the formats."""

from __future__ import annotations

import json
import os
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from reviews.formats import FORMATS, CriticRecord, IntentRecord, RecordError, ToolCall, ToolInfo, TurnRecord
from reviews.formats.limits import CRITIC_VERDICTS, INT_MAX, INT_MIN, INTENT_LABELS
from reviews.formats.origin import FileOrigin, LineOrigin

SHARED = Path(os.environ.get("SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")


def shared(name: str) -> Path:
    """A file of the shared transcripts; absent ones skip the test locally and fail it in CI."""
    path = SHARED / name
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{path} is missing")
        pytest.skip(f"{path} is missing")
    return path


def turn(**fields: Any) -> dict[str, Any]:
    return {"external_id": "t1", "draft": "Done.", **fields}


def raw(value: Any, **options: Any) -> bytes:
    return json.dumps(value, **options).encode()


def cut(format_name: str, document: Any, line: int = 1) -> list[TurnRecord]:
    """The turns that a reader finds in one document of a file named "log"."""
    turns = FORMATS[format_name](raw(document), LineOrigin(FileOrigin("log"), line))
    return [record for _number, record in turns]


def stream(*events: dict[str, Any]) -> dict[str, str]:
    """A streamed reply as recorded: the raw event text."""
    lines = [f"event: x\r\ndata: {json.dumps(event, ensure_ascii=False)}\r\n\r\n" for event in events]
    return {"string": ": keep-alive\r\n\r\n" + "".join(lines)}


def outcomes(record: TurnRecord) -> list[tuple[str, Any, bool | None, str | None]]:
    return [(call.name, call.result, call.ok, call.error) for call in record.tool_calls]


def refusal(call: Any, *args: Any) -> RecordError:
    """The error that ``call`` raises: exactly a ``RecordError``."""
    with pytest.raises(RecordError) as caught:
        call(*args)
    return caught.value


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
names = texts.filter(lambda text: text.strip() != "")
numbers = st.floats(allow_nan=False, allow_infinity=False)
shares = st.floats(0, 1)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(INT_MIN, INT_MAX) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
milliseconds = st.none() | st.floats(0, 1e9)
calls = st.builds(
    ToolCall,
    name=names,
    args=values,
    result=values,
    ok=st.none() | st.booleans(),
    error=st.none() | texts,
    id=st.none() | texts,
    duration_ms=milliseconds,
)
intents = st.builds(
    IntentRecord,
    label=st.sampled_from(INTENT_LABELS),
    confidence=shares,
    matched_tool_keywords=st.lists(texts, max_size=2),
    reasoning=texts,
    action_score=numbers,
    knowledge_score=numbers,
)
critics = st.builds(
    CriticRecord,
    verdict=st.sampled_from(CRITIC_VERDICTS),
    confidence_before=st.none() | shares,
    revised_draft=st.none() | texts,
    matched_preferences=st.lists(texts, max_size=2),
    reflection_latency_ms=milliseconds,
)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(timezones=zones).filter(lambda when: 1 < when.year < 9999)
records = st.builds(
    TurnRecord,
    external_id=names,
    draft=texts,
    user_message=texts,
    hydrated_context=texts,
    tool_calls=st.lists(calls, max_size=2),
    earlier_calls=st.lists(calls, max_size=1),
    earlier_user_messages=st.lists(texts, max_size=2),
    tools=st.lists(st.builds(ToolInfo, name=names, description=texts), max_size=2),
    conversation_id=texts,
    agent=texts,
    model=texts,
    occurred_at=st.none() | times,
    intent=st.none() | intents,
    critic=st.none() | critics,
    activation=st.none() | objects,
    attributes=objects,
)
