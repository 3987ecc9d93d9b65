from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.record import ToolCall, ToolInfo
from tests.formats.samples import cut, refusal


def test_a_dialogue_of_calls_without_results() -> None:
    document = {
        "id": "h",
        "tools": ["Taxi.rate", "News.rate"],
        "messages": [
            {"role": "user", "content": "给司机打分"},
            {"role": "function call", "content": {"name": "Taxi.rate", "arguments": {}}},
            {"role": "assistant", "content": "请提供评价分数"},
            {"role": "user", "content": "五分"},
            {"role": "function call", "content": {"name": "Taxi.rate", "arguments": {"rating": "5"}}},
        ],
    }
    first, last = cut("hammerbench", document)
    assert (first.external_id, first.draft) == ("h/1", "请提供评价分数")
    assert first.tool_calls == [ToolCall(name="Taxi.rate", args={})]
    assert first.tools == [ToolInfo(name="Taxi.rate"), ToolInfo(name="News.rate")]
    assert (last.draft, last.tool_calls[0].args) == ("", {"rating": "5"})
    assert (last.earlier_calls, last.earlier_user_messages) == (first.tool_calls, ["给司机打分"])


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        ([], ""),
        ({}, "/messages"),
        ({"messages": [{"role": "function call", "content": 3}]}, "/messages/0/content"),
    ],
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(cut, "hammerbench", document).pointer == spot
