"""A fake server, and clients that are quick to try again and are closed in the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reviews.client import ReviewClient
from tests.client.fake_server import PATIENCE, FakeServer, serving

KEY = "sr_k3x0a9qz_secret"
QUICK: dict[str, Any] = {"flush_seconds": 0.01, "retry_first": 0.01, "retry_most": 0.05}


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    with serving() as server:
        yield server


@pytest.fixture
def make_client() -> Iterator[Callable[..., ReviewClient]]:
    made: list[ReviewClient] = []

    def make(url: str, **options: Any) -> ReviewClient:
        made.append(ReviewClient(url, KEY, **{**QUICK, **options}))
        return made[-1]

    yield make
    for client in made:
        client.close(0.5)


@pytest.fixture
def client(fake: FakeServer, make_client: Callable[..., ReviewClient]) -> ReviewClient:
    return make_client(fake.url)


def balanced(client: ReviewClient) -> bool:
    """The identity that ``Counters`` promises."""
    c = client.counters
    known = c.sent + c.duplicates + c.conflicts + c.refused + c.dropped + c.waiting
    return c.recorded + c.adopted == known


def wait_until(true: Callable[[], bool]) -> None:
    """Until counters, which nobody announces, say so."""
    ends = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.001)
