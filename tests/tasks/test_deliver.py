"""The task and the sweep send what agent runtimes are to be told, and hand on when there is more."""

from __future__ import annotations

import pytest

from reviews import tasks
from reviews.models import Delivery
from reviews.models.runtimes import DeliveryAction, DeliveryState
from reviews.services.deliveries import enqueue
from reviews.services.runtimes import set_runtime
from tests.factories import make_skill
from tests.services.peers import peer, reply

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(tenant, settings):
    """Three messages for a runtime that takes them."""
    settings.OUTBOUND_ALLOW_PRIVATE = True
    with peer(lambda seen: reply(200, {})) as server:
        set_runtime(tenant=tenant, actor=None, base_url=server.url, runtime_tenant="acme", auth="")
        for number in range(3):
            enqueue(skill=make_skill(tenant, runtime_id=f"rt-{number}"), action=DeliveryAction.APPROVE)
        yield


def states(tenant) -> list[str]:
    return list(Delivery.objects.for_tenant(tenant).order_by("id").values_list("state", flat=True))


@pytest.mark.parametrize("task", [tasks.deliver, tasks.sweep])
def test_messages_that_are_due_are_sent(tenant, waiting, task):
    task()
    assert states(tenant) == [DeliveryState.DELIVERED] * 3


def test_a_task_that_is_out_of_time_hands_on(tenant, waiting, monkeypatch):
    monkeypatch.setattr(tasks, "SECONDS_PER_TASK", 0)
    hints = []
    monkeypatch.setattr(tasks.deliver, "delay", lambda: hints.append(states(tenant)))
    tasks.deliver()
    assert hints == [[DeliveryState.DELIVERED, DeliveryState.WAITING, DeliveryState.WAITING]]
    tasks.deliver()
    tasks.deliver()
    assert len(hints) == 2
