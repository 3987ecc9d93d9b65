"""The handlers in a process without the agents' libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.installation import ROOT

_BLOCK = """
import sys
for name in ("symfonic", "langchain_core", "langgraph", "django", "msgspec"):
    sys.modules[name] = None
"""

_LAZY = """
import sys
import reviews.client.handlers as handlers

def none_of_them():
    assert not any(sys.modules.get(name) for name in ("symfonic", "langchain_core", "django"))

none_of_them()
assert set(handlers.__all__) <= set(dir(handlers))
handlers.turn, handlers.reviewed
none_of_them()
try:
    handlers.nothing
except AttributeError as error:
    assert "nothing" in str(error)
"""

_DUCKS = """
import asyncio
from types import SimpleNamespace as Event
from uuid import uuid4
from reviews.client.handlers import LangChainReviewHandler, SymfonicReviewHandler

class Kept:
    turns = []
    def record(self, turn):
        self.turns.append(turn)
        return True
    def policy(self):
        return Event(framework_config={"fabrication_check_mode": "refuse", "unheard_of": 1})

review = SymfonicReviewHandler(Kept(), "acme")
async def run():
    for hook in ("on_node_start", "on_node_end", "on_node_error", "on_token_composition"):
        await getattr(review, hook)(Event(run_id="", error="", error_type=""))
    await review.on_agent_start(Event(run_id="r", query="Export"))
    await review.on_agent_end(Event(run_id="r", final_response="Done."))
asyncio.run(run())
assert review.policy_overrides() == {"fabrication_check_mode": "refuse"}

chain, root = LangChainReviewHandler(Kept()), uuid4()
chain.on_chain_start({}, "Export", run_id=root)
chain.on_chain_end("Exported.", run_id=root)
assert [(turn["user_message"], turn["draft"]) for turn in Kept.turns] == [
    ("Export", "Done."), ("Export", "Exported.")
]
assert review.counts.failures == chain.counts.failures == 0
"""


@pytest.mark.parametrize("program", [_LAZY, _BLOCK + _LAZY, _BLOCK + _DUCKS])
def test_neither_library_is_needed(program):
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
