"""What an agent tells of the memory behind an answer: seldom wrong, and wrong in all ways that matter."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["LEAK", "memory_evidence"]

#: What must never reach a model.
LEAK = "4929 4771 2211 6032"
_CATEGORIES = {"profile": "customer", "booking": "trip", "preference": "customer"}
_SLIPS = 0.03


def memory_evidence(recall: str, key: str) -> dict[str, Any]:
    """Attributes of a turn whose model was shown ``recall``; the same for the same ``key``, none without."""
    if not recall:
        return {}
    rng = random.Random(key)  # noqa: S311
    records = [
        {"record_id": f"mem-{number}", "category": category, "subject": subject}
        for number, (category, subject) in enumerate(_CATEGORIES.items(), 1)
    ]
    if rng.random() < _SLIPS:
        # One record that the memory keeps in two places.
        records.append({**records[0], "category": "preference"})
    claims = {"name": "known", "tier": rng.choice(("basic", "gold")), "language": "as asked"}
    said = dict(rng.sample(sorted(claims.items()), k=rng.randint(1, 3)))
    if rng.random() < _SLIPS:
        said["tier"] = "platinum"
    leaked = f"\nCard on file: {LEAK}" if rng.random() < _SLIPS / 2 else ""
    return {
        "prompt_recall": recall + leaked,
        "memory_classifications": records,
        "recall_claims": claims,
        "response_claims": said,
    }
