from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.origin import FileOrigin, LineOrigin
from reviews.formats.record import TurnRecord
from reviews.formats.tau_bench import read_tau_bench
from tests.formats.samples import raw, refusal

MESSAGES = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]


def read(document: Any) -> list[TurnRecord]:
    return [record for _number, record in read_tau_bench(raw(document), LineOrigin(FileOrigin("tau"), 1))]


def test_a_run_keeps_its_task_and_reward() -> None:
    (record,) = read({"id": "r", "task_id": 0, "trial": 1, "reward": 0.0, "traj": MESSAGES, "info": {}})
    assert record.external_id == "r/1"
    assert record.attributes == {"task_id": 0, "trial": 1, "reward": 0.0}


def used(call_id: str, name: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "function": {"name": name}}]}


def test_an_id_used_again_an_empty_result_and_an_end_on_a_tool() -> None:
    run = [
        {"role": "user", "content": "x"},
        used("call_1", "find"),
        {"role": "tool", "tool_call_id": "call_1", "name": "find", "content": ""},
        used("call_1", "book"),
        {"role": "tool", "tool_call_id": "call_1", "name": "book", "content": "booked"},
    ]
    (record,) = read({"id": "r", "traj": run})
    assert [(call.name, call.result, call.ok) for call in record.tool_calls] == [
        ("find", "", None),
        ("book", "booked", None),
    ]
    assert record.draft == ""


def test_a_run_that_ends_on_the_user_ends_on_a_turn_without_a_draft() -> None:
    answered, last = read({"id": "r", "traj": [*MESSAGES, {"role": "user", "content": "thanks"}]})
    assert (answered.draft, last.draft, last.external_id) == ("y", "", "r/2")
    assert last.earlier_user_messages == ["x"]


@pytest.mark.parametrize(
    ("document", "spot"), [([], ""), ({"messages": []}, "/traj"), ({"traj": [{"role": "x"}]}, "/traj/0/role")]
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(read, document).pointer == spot
