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


@pytest.mark.parametrize(
    ("document", "spot"), [([], ""), ({"messages": []}, "/traj"), ({"traj": [{"role": "x"}]}, "/traj/0/role")]
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(read, document).pointer == spot
