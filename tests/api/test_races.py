"""Several senders at the same moment: on SQLite one lock puts them in line, PostgreSQL lets them race."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from reviews.core.fabrication import detect_fabrication
from reviews.core.outcome import apply_fabrication_policy
from reviews.models import DailyCount, Finding, Turn, TurnPayload
from tests.factories import CLAIM, make_tenant

from .conftest import ApiClient

SENDERS = 6

pytestmark = [
    pytest.mark.services,
    pytest.mark.django_db(transaction=True),
    # SQLite in memory, as tests have it, refuses two connections at once instead of letting one wait.
    pytest.mark.postgresql,
]


@pytest.fixture
def secret() -> str:
    from reviews.services.keys import create_key

    return create_key(tenant=make_tenant(), author=None, name="k", scopes=["ingest"]).secret


def _together(secret: str, bodies: list[tuple[str, object]]) -> list:
    """Send all bodies at the same moment, each from a thread of its own."""
    barrier = Barrier(len(bodies))

    def send(path: str, body: object):
        try:
            client = ApiClient(secret)
            raw = json.dumps(body)
            barrier.wait()
            return client.send(path, raw)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(bodies)) as pool:
        futures = [pool.submit(send, path, body) for path, body in bodies]
        return [future.result() for future in futures]


def _event() -> dict:
    outcome = apply_fabrication_policy(findings=detect_fabrication(CLAIM), mode="refuse", draft=CLAIM)
    return outcome.to_event_payload("run-1", CLAIM)


@pytest.mark.parametrize("path", ["/api/v1/turns", "/api/v1/check"])
def test_one_turn_sent_by_many_is_stored_once(secret, path):
    body = {"external_id": "run-1", "draft": CLAIM}
    answers = [r.json() for r in _together(secret, [(path, body)] * SENDERS)]
    assert sorted(a["status"] for a in answers) == ["accepted"] + ["duplicate"] * (SENDERS - 1)
    assert len({a["id"] for a in answers}) == 1


def test_of_different_turns_with_one_id_one_wins(secret):
    bodies = [("/api/v1/turns", {"external_id": "run-1", "draft": f"x{n}"}) for n in range(SENDERS)]
    responses = _together(secret, bodies)
    assert sorted(r.status_code for r in responses) == [201] + [409] * (SENDERS - 1)
    (winner,) = [n for n, r in enumerate(responses) if r.status_code == 201]
    assert TurnPayload.objects.across_tenants().get().draft == f"x{winner}"


def test_overlapping_batches_in_any_order_neither_deadlock_nor_double(secret):
    rows = [{"external_id": f"run-{n:03}", "draft": "x"} for n in range(200)]
    shuffled = [random.Random(n).sample(rows, len(rows)) for n in range(SENDERS)]
    responses = _together(secret, [("/api/v1/turns", batch) for batch in shuffled])
    assert {r.status_code for r in responses} == {200}
    assert sum(r.json()["accepted"] for r in responses) == len(rows)
    assert sum(r.json()["duplicates"] for r in responses) == len(rows) * (SENDERS - 1)
    assert Turn.objects.across_tenants().count() == len(rows)


def test_one_event_sent_by_many_is_stored_once(secret):
    responses = _together(secret, [("/api/v1/events/fabrication", _event())] * SENDERS)
    assert sorted(r.status_code for r in responses) == [200] * (SENDERS - 1) + [201]
    assert Finding.objects.across_tenants().count() == 3
    assert DailyCount.objects.across_tenants().get(name="turns").count == 1


def test_an_event_and_its_turn_meet_in_one_row(secret):
    turn = {"external_id": "run-1", "draft": CLAIM, "agent": "ann"}
    bodies = [("/api/v1/events/fabrication", _event()), ("/api/v1/turns", turn)] * (SENDERS // 2)
    responses = _together(secret, bodies)
    assert {r.status_code for r in responses} == {200, 201}
    stored = Turn.objects.across_tenants().select_related("payload").get()
    assert (stored.agent, stored.source, stored.outcome) == ("ann", "turn", "refuse_replaced")
    assert stored.payload.runtime_event == _event()


def test_of_different_turns_that_fill_in_an_event_one_wins(secret):
    ApiClient(secret).send("/api/v1/events/fabrication", _event())
    bodies = [("/api/v1/turns", {"external_id": "run-1", "draft": f"x{n}"}) for n in range(SENDERS)]
    responses = _together(secret, bodies)
    assert sorted(r.status_code for r in responses) == [201] + [409] * (SENDERS - 1)
    (winner,) = [n for n, r in enumerate(responses) if r.status_code == 201]
    assert TurnPayload.objects.across_tenants().get().draft == f"x{winner}"
