"""A model behind real HTTP that judges drafts as it is told."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.services.model_server import Answer, completion, send


def token_of(question: dict[str, Any]) -> str:
    """The token that the answer has to repeat: it stands in the instructions only."""
    system = question["messages"][0]["content"]
    found = re.search(r"nowhere in the material: ([0-9a-f]{32})", system)
    assert found, system
    return found[1]


def draft_of(question: dict[str, Any]) -> str:
    """The draft that is to be judged."""
    prompt = question["messages"][1]["content"]
    found = re.search(r"\[[0-9a-f]{32} BEGIN draft\]\n(.*)\n\[[0-9a-f]{32} END draft\]", prompt)
    assert found, prompt
    return json.loads(found[1])


def judging(verdict: str, **fields: Any) -> Answer:
    """Says ``verdict`` of every draft, tied to the question as asked."""

    def answer(handler: Any) -> None:
        body = {"check": token_of(handler.question), "verdict": verdict, **fields}
        send(handler, 200, completion(json.dumps(body)))

    return answer
