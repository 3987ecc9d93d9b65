"""A recording server and a real client that sends to it at once."""

from __future__ import annotations

import logging

import pytest

from benchmarks.installation import Installation
from reviews.client import ReviewClient
from tests.client.handlers.recording import PATIENCE, recording


@pytest.fixture
def server():
    with recording() as kept:
        yield kept


@pytest.fixture
def client(server):
    with ReviewClient(server.url, "sr_test_key", agent="ops", flush_seconds=0.0, policy_max_age=0.0) as made:
        yield made


@pytest.fixture
def sent(server, client):
    """Wait until the server has answered everything; the turns it has by then."""

    def flushed():
        assert client.flush(PATIENCE)
        return server.turns

    return flushed


@pytest.fixture
def log():
    """Lines of the handlers' own log, which the settings of a server may keep from the root logger."""
    lines = []

    class Keep(logging.Handler):
        def emit(self, record):
            lines.append(self.format(record))

    logger, keep = logging.getLogger("reviews.client.handlers"), Keep()
    level = logger.level
    logger.addHandler(keep)
    logger.setLevel(logging.DEBUG)
    yield lines
    logger.removeHandler(keep)
    logger.setLevel(level)


@pytest.fixture(scope="package")
def installation(tmp_path_factory):
    """The whole product, running: web server, worker and scheduler. ``agent_key`` may do what agents may."""
    with Installation(tmp_path_factory.mktemp("installation") / "data") as made:
        scopes = ("--scope=ingest", "--scope=policy", "--scope=skills", "--scope=read")
        made.agent_key = made.manage("create_key", "--tenant", "acme", "--name", "agent", *scopes).strip()
        made.start()
        made.wait_until_up()
        yield made
