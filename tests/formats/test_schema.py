from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reviews.formats import limits
from reviews.formats.record import CriticRecord, IntentRecord, ToolCall, ToolInfo, TurnRecord
from reviews.formats.schema import render_schema, turn_schema

DOCS = Path(__file__).parents[2] / "docs"


def test_the_committed_schema_is_current() -> None:
    committed = (DOCS / "schema" / "turn.schema.json").read_text(encoding="utf-8")
    assert committed == render_schema(), (
        "run: python -m reviews.formats.schema > docs/schema/turn.schema.json"
    )


@pytest.mark.parametrize("record", [TurnRecord, ToolCall, ToolInfo, IntentRecord, CriticRecord])
def test_every_field_is_in_the_schema_and_no_other_is_allowed(record: Any) -> None:
    definition = turn_schema()["$defs"][record.__name__]
    fields = msgspec.structs.fields(record)
    assert list(definition["properties"]) == [field.encode_name for field in fields]
    assert definition["required"] == [field.encode_name for field in fields if field.required]
    assert definition["additionalProperties"] is False


def test_limits_are_in_the_schema() -> None:
    definitions = turn_schema()["$defs"]
    turn, call = definitions["TurnRecord"]["properties"], definitions["ToolCall"]["properties"]
    assert turn["external_id"]["maxLength"] == limits.EXTERNAL_ID_CHARS
    assert turn["tool_calls"]["maxItems"] == limits.TOOL_CALLS
    assert {"type": "string", "format": "date-time"} in turn["occurred_at"]["anyOf"]
    assert {"type": "number", "minimum": 0} in call["duration_ms"]["anyOf"]
    assert definitions["IntentRecord"]["properties"]["label"]["enum"] == list(limits.INTENT_LABELS)


def test_the_documentation_names_every_field() -> None:
    page = (DOCS / "native-format.md").read_text(encoding="utf-8")
    for definition in turn_schema()["$defs"].values():
        for field in definition["properties"]:
            assert f"`{field}`" in page or f'"{field}"' in page, field


def test_the_example_in_the_documentation_is_a_good_turn() -> None:
    from reviews.formats import decode_turn

    page = (DOCS / "native-format.md").read_text(encoding="utf-8")
    example = page.split("```json\n")[1].split("```")[0]
    assert decode_turn(example.encode()).external_id == json.loads(example)["external_id"]
