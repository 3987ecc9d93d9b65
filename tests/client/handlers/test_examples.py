"""The examples of the documentation, each run as a program of its own against the running product."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.installation import PATIENCE, ROOT

if not os.environ.get("CI"):
    # There a skipped test would look like a passed one: the example's own import error fails the run.
    pytest.importorskip("symfonic")
    pytest.importorskip("langgraph")

pytestmark = [pytest.mark.parity, pytest.mark.slow]

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
LONGEST = 40
_PUBLISH = """
from reviews.models import Tenant
from reviews.services.publishing import publish_settings
publish_settings(tenant=Tenant.objects.get(slug="acme"), author=None,
                 values={{"fabrication_check_mode": "{mode}", "fabrication_refuse_min_confidence": 0.6}})
"""


def run(installation: Any, example: Path) -> str:
    environment = installation.environment | {
        "REVIEWS_URL": f"http://127.0.0.1:{installation.port}",
        "REVIEWS_KEY": installation.agent_key,
    }
    done = subprocess.run(
        [sys.executable, str(example)],
        env=environment,
        text=True,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def newest(installation: Any, count: int) -> dict[str, Any]:
    """The last turn, once there are so many and all of them have been analysed."""
    done = "policy_version_id IS NOT NULL AND analysis_state <> 'pending'"
    sql = f"SELECT count(*) = {count} AND sum({done}) = {count} FROM reviews_turn"
    installation.wait_for(sql, f"{count} turns, analysed")
    headers = {"Authorization": f"Bearer {installation.agent_key}"}
    url = f"http://127.0.0.1:{installation.port}/api/v1/turns"
    turn: dict[str, Any] = httpx.get(url, headers=headers).json()["turns"][0]
    return turn


def test_there_are_examples_for_every_kind_of_agent():
    assert [example.name for example in EXAMPLES] == [
        "langgraph_agent.py",
        "plain_loop.py",
        "symfonic_agent.py",
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_works_and_obeys_the_policy(example, installation):
    ((before,),) = installation.query("SELECT count(*) FROM reviews_turn")
    assert len(example.read_text().splitlines()) <= LONGEST
    for turns, mode in enumerate(("observe", "refuse"), start=before + 1):
        installation.manage("shell", "--no-imports", "-c", _PUBLISH.format(mode=mode))
        said = run(installation, example)
        turn = newest(installation, turns)
        assert turn["agent"] == "exporter"
        assert "verb_claim" in turn["kinds"]
        assert turn["outcome"] == ("observed" if mode == "observe" else "refuse_replaced")
        assert ("9f2b1e47c0ffee00" in said) == (mode == "observe")
