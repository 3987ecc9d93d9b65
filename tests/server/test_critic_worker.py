"""The critic with a real worker and a model behind real HTTP that fails now and then."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.critic import run

pytestmark = pytest.mark.slow


def test_a_thousand_turns_end_with_a_verdict_or_a_named_cause_within_the_budget(tmp_path: Path) -> None:
    """A tenth of the replies is slow, broken, 429 or 500, and the day's calls do not reach for all turns."""
    report = run(tmp_path / "data", turns=1_000, faults=0.1, calls=950)

    assert report.violations == []
    assert report.calls <= 950
    # Each fault did happen, and each turn says what became of it.
    assert {"slow", "broken", "429", "500"} <= report.asked.keys()
    assert set(report.verdicts) == {"approve", "degraded"}
    assert sum(report.verdicts.values()) == 1_000
    assert {"over_budget", "truncated"} <= report.causes.keys()
    assert sum(report.causes.values()) == report.verdicts["degraded"]
