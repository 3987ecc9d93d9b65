"""What the turn's page says of claims that the evidence profile looked at."""

from __future__ import annotations

import html
import re

import pytest

from reviews.models.tenants import Role
from tests.factories import call, make_member, make_tenant, make_turn

CANCELLED = "I've cancelled your order for you."


@pytest.fixture
def tenant(db):
    return make_tenant(detection_profile="evidence")


@pytest.fixture
def page_of(client, tenant):
    client.force_login(make_member(tenant, Role.REVIEWER, "rita"))

    def read(turn):
        answer = client.get(f"/t/acme/turns/{turn.pk}/")
        assert answer.status_code == 200
        text = html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode()))
        return re.sub(r"\s+", " ", text), answer.content.decode()

    return read


def test_a_finding_says_in_a_sentence_what_was_claimed_what_ran_and_what_is_missing(tenant, page_of):
    text, _ = page_of(make_turn(tenant, CANCELLED, tool_calls=[call("get_order", {"id": 7}, ok=True)]))
    assert "It says" in text
    assert "only get_order ran" in text
    assert re.search(r"What is missing a call that \w+", text)
    assert "Held against results of this turn" in text


def test_a_call_that_failed_is_told_with_its_reason(tenant, page_of):
    turn = make_turn(tenant, CANCELLED, tool_calls=[call("cancel_order", {"error": "order is locked"})])
    text, _ = page_of(turn)
    assert re.search(r"Of the calls cancel_order failed \w+", text)


def test_claims_that_are_borne_out_are_listed_with_what_does_it(tenant, page_of):
    turn = make_turn(
        tenant,
        f"{CANCELLED} I sent you a receipt.",
        tool_calls=[call("cancel_order", {"status": "cancelled"}, ok=True)],
    )
    text, _ = page_of(turn)
    assert "Borne out 1" in text
    assert "claimed action, by the result of cancel_order" in text


def test_calls_of_the_conversation_that_are_stored_here_are_shown(tenant, page_of):
    make_turn(
        tenant, "Good morning.", conversation_id="talk", tool_calls=[call("get_weather", "mild", ok=True)]
    )
    text, _ = page_of(make_turn(tenant, CANCELLED, conversation_id="talk"))
    assert "Earlier in the conversation 1 call" in text
    assert "get_weather" in text


def test_what_a_tool_is_called_stays_text(tenant, page_of):
    name = "<img src=x onerror=alert(1)>"
    _, raw = page_of(make_turn(tenant, CANCELLED, tool_calls=[call(name, {"error": "<b>no</b>"})]))
    assert "<img src=x" not in raw
    assert "<b>no</b>" not in raw
