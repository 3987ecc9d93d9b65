"""Suites of memory assertions of the demo's tenants."""

from __future__ import annotations

from typing import Any, Final

from reviews.demo.memory import LEAK

SUITES: Final[list[dict[str, Any]]] = [
    {
        "name": "Privacy",
        "tags": ["recalled"],
        "queue": True,
        "assertions": [
            {"type": "prompt_recall_excludes", "label": "No card number in the recall", "fragments": [LEAK]}
        ],
    },
    {
        "name": "Memory hygiene",
        "tags": ["recalled"],
        "assertions": [
            {
                "type": "memory_category_separated",
                "label": "Records keep their category",
                "expected": {"profile": "customer", "booking": "trip", "preference": "customer"},
            },
            {"type": "response_does_not_contradict_recall", "label": "Answer fits what was recalled"},
        ],
    },
]
