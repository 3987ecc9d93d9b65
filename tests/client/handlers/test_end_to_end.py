"""The loop closed: an agent fabricates, people see it, a policy is published, the next turn is refused."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any

import httpx
import pytest

from reviews.client import ReviewClient
from reviews.client.handlers import LangChainReviewHandler, SymfonicReviewHandler
from tests.client.handlers.recording import PATIENCE

if not os.environ.get("CI"):
    # There a skipped test would look like a passed one: the import error itself fails the run.
    pytest.importorskip("symfonic")
    pytest.importorskip("langgraph")

from langchain_core.messages import AIMessage
from langgraph.prebuilt import create_react_agent
from symfonic.core.callbacks import BaseCallbackHandler
from symfonic.core.contracts.callbacks import FabricationDetectedEvent

from tests.client.handlers.agents import (
    FABRICATED,
    QUESTION,
    SCOPE,
    SaysInTurn,
    Scripted,
    asks_for,
    export_rows,
    symfonic_agent,
)

pytestmark = [
    pytest.mark.parity,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

#: All but the sentence of the reason, which each side words for itself.
FIELDS = ("identifier", "kind", "severity", "key", "pattern_kind", "confidence")

_CONFIRM = """
from reviews.models import Tenant, Turn, User
from reviews.services.review import decide_turn
tenant = Tenant.objects.get(slug="acme")
turn = Turn.objects.for_tenant(tenant).get(pk={turn})
decide_turn(tenant=tenant, actor=User.objects.get(username="olga"), turn_id=turn.pk, label="fabricated",
            seen_version=turn.version)
"""
_PUBLISH = """
from reviews.models import Tenant
from reviews.services.publishing import publish_settings
print(publish_settings(tenant=Tenant.objects.get(slug="acme"), author=None, values={values!r}).number)
"""


class Witness(BaseCallbackHandler):
    """The runtime's own word."""

    def __init__(self) -> None:
        self.events: list[FabricationDetectedEvent] = []

    async def on_fabrication_detected(self, event: FabricationDetectedEvent) -> None:
        self.events.append(event)


@pytest.fixture
def client(installation):
    url = f"http://127.0.0.1:{installation.port}"
    with ReviewClient(url, installation.agent_key, agent="exporter", policy_max_age=0.0) as made:
        yield made


def publish(installation: Any, **values: Any) -> int:
    """A policy of these settings, judged by the detector that finds what the runtime's own does."""
    values.setdefault("detection_profile", "reference")
    program = _PUBLISH.format(values=values)
    return int(installation.manage("shell", "--no-imports", "-c", program).split()[-1])


def dashboard(installation: Any, external_id: str, until: Any) -> dict[str, Any]:
    """The turn as the API shows it, once ``until`` holds."""
    headers = {"Authorization": f"Bearer {installation.agent_key}"}
    url = f"http://127.0.0.1:{installation.port}/api/v1/turns/lookup"
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = httpx.get(url, params={"external_id": external_id}, headers=headers)
        turn = answer.json() if answer.status_code == 200 else {}
        if turn and until(turn):
            return turn
        assert time.monotonic() < deadline, f"waited in vain: {answer.status_code} {turn}"


def whole(turn: dict[str, Any]) -> bool:
    """Analysed, which an event alone is not, and with the runtime's event."""
    return turn["policy_version"] is not None and turn["payload"]["runtime_event"] is not None


def same_findings(turn: dict[str, Any], event: FabricationDetectedEvent) -> None:
    assert [{name: finding[name] for name in FIELDS} for finding in turn["findings"]] == [
        {name: finding[name] for name in FIELDS} for finding in event.findings
    ]
    assert [tuple(f["span"]) for f in turn["findings"]] == [tuple(f["span"]) for f in event.findings]


def test_a_symfonic_agent_and_the_dashboard_see_the_same_and_the_next_turn_is_refused(installation, client):
    handler = SymfonicReviewHandler(client, "acme")

    def run(**config: Any) -> tuple[Any, FabricationDetectedEvent]:
        witness = Witness()
        provider = Scripted(asks_for("orders"), AIMessage(FABRICATED))
        agent = symfonic_agent(provider, **config)
        response = asyncio.run(handler.run(agent, QUESTION, callbacks=[witness], scope=SCOPE))
        (event,) = witness.events
        assert client.flush(PATIENCE)
        return response, event

    publish(installation, fabrication_check_mode="observe")
    assert handler.policy_overrides()["fabrication_check_mode"] == "observe"
    response, event = run(**handler.policy_overrides())
    assert response.final_response == FABRICATED
    turn = dashboard(installation, response.run_id, whole)
    assert turn["findings"]
    same_findings(turn, event)
    assert turn["outcome"] == event.action_taken == "observed"
    assert turn["payload"]["draft"] == FABRICATED
    assert turn["payload"]["runtime_event"]["run_id"] == response.run_id
    assert turn["source"] == "turn"

    installation.manage("shell", "--no-imports", "-c", _CONFIRM.format(turn=turn["id"]))
    decided = dashboard(installation, response.run_id, lambda turn: turn["review_state"] == "decided")
    assert {finding["label"] for finding in decided["findings"]} == {"fabricated"}
    number = publish(installation, fabrication_check_mode="refuse", fabrication_refuse_min_confidence=0.6)
    assert client.policy().version == number
    overrides = handler.policy_overrides()
    assert overrides["fabrication_check_mode"] == "refuse"

    response, event = run(**overrides)
    assert response.final_response != FABRICATED
    turn = dashboard(installation, response.run_id, whole)
    same_findings(turn, event)
    assert turn["outcome"] == event.action_taken == "refuse_replaced"
    assert turn["payload"]["draft"] == FABRICATED
    assert turn["policy_version"] == number
    assert handler.counts.failures == handler.events.refused == handler.events.lost == 0


def test_what_the_runtime_did_stands_on_the_dashboard_whatever_the_policy_says(installation, client):
    """An agent with settings of its own, whose event may come before or after its turn."""
    publish(installation, fabrication_check_mode="observe")
    handler = SymfonicReviewHandler(client, "acme")
    agent = symfonic_agent(fabrication_check_mode="refuse")
    response = asyncio.run(handler.run(agent, QUESTION, scope=SCOPE))
    assert client.flush(PATIENCE)
    turn = dashboard(installation, response.run_id, whole)
    assert turn["outcome"] == "refuse_replaced"
    assert turn["payload"]["user_message"] == QUESTION


def test_a_langgraph_agent_is_refused_by_the_policy_that_people_publish(installation, client):
    handler = LangChainReviewHandler(client, deadline=PATIENCE)

    def run() -> tuple[str, dict[str, Any]]:
        model = SaysInTurn(responses=[asks_for("orders"), AIMessage(FABRICATED)])
        graph = create_react_agent(model, [export_rows], post_model_hook=handler.check_node)
        config = {"callbacks": [handler], "configurable": {"thread_id": "talk"}}
        answer = graph.invoke({"messages": [("user", QUESTION)]}, config)["messages"][-1].content
        assert client.flush(PATIENCE)
        headers = {"Authorization": f"Bearer {installation.agent_key}"}
        url = f"http://127.0.0.1:{installation.port}/api/v1/turns"
        listed = httpx.get(url, params={"agent": "exporter", "limit": 1}, headers=headers).json()["turns"][0]
        return answer, dashboard(installation, listed["external_id"], lambda turn: turn["policy_version"])

    publish(installation, fabrication_check_mode="observe")
    answer, turn = run()
    assert answer == FABRICATED
    assert turn["outcome"] == "observed"
    assert turn["source"] == "check"
    assert turn["conversation_id"] == "talk"
    assert "9f2b1e47c0ffee00" in json.dumps(turn["findings"])
    assert [call["name"] for call in turn["payload"]["tool_calls"]] == ["export_rows"]

    installation.manage("shell", "--no-imports", "-c", _CONFIRM.format(turn=turn["id"]))
    publish(installation, fabrication_check_mode="refuse", fabrication_refuse_min_confidence=0.6)
    answer, turn = run()
    assert answer != FABRICATED
    assert turn["outcome"] == "refuse_replaced"
    assert turn["payload"]["draft"] == FABRICATED
    assert handler.counts.checked == 2
    assert handler.counts.recorded == handler.counts.failures == 0
