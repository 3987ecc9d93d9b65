"""No process of an installation can be killed at a moment that costs or doubles a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.chaos import run

pytestmark = pytest.mark.slow


def test_twenty_kills_lose_double_and_forget_no_turn(tmp_path: Path) -> None:
    report = run(tmp_path / "data", turns=20_000, kills=20)

    assert report.violations == []
    assert (report.web_kills, report.worker_kills) == (14, 6)
    # The kills did hit something: requests without an answer, and batches that a worker had claimed.
    assert report.resent > 0
    assert report.interrupted > 0
