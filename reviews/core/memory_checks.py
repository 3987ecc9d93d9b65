"""Memory assertions in a test of an agent, with nothing but ``assert``-like failures:

def test_the_card_number_stays_out():
    turn = run_agent("What did I buy?")
    check_memory(turn.attributes, PromptRecallExcludes("4111 1111 1111 1111"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviews.core.memory_assertions import AssertionVerdict, MemoryAssertion

__all__ = ["check_memory", "verdict_line"]


def check_memory(attributes: Mapping[str, Any], *assertions: MemoryAssertion) -> list[AssertionVerdict]:
    """Evaluate all assertions, and return their verdicts when all have passed.

    Raises:
        AssertionError: one or more failed; the message has all their reasons, counts and digests, and nothing
            of what they looked at.
        ValueError: without an assertion, which would pass whatever the agent does.
    """
    if not assertions:
        raise ValueError("check_memory needs at least one assertion")
    verdicts = [assertion.evaluate(attributes) for assertion in assertions]
    failed = [f"{verdict.name}: {verdict_line(verdict)}" for verdict in verdicts if not verdict.passed]
    if failed:
        raise AssertionError("\n".join(failed))
    return verdicts


def verdict_line(verdict: AssertionVerdict) -> str:
    """Reason, counts and digests in a line."""
    counts = ", ".join(f"{name} {count}" for name, count in verdict.evidence.items())
    leaked = f"; leaked {', '.join(verdict.digests)}" if verdict.digests else ""
    return f"{verdict.reason} ({counts}{leaked})"
