"""A server on loopback that speaks the API and keeps what it is told: for tests of the agent's side alone."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 30.0


@dataclass
class Recorded:
    """``policy``, ``skills`` and ``verdict`` are what it answers; ``away`` has it answer 503,
    and note to what."""

    port: int = 0
    turns: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    policy: dict[str, Any] = field(default_factory=dict)
    skills: list[dict[str, Any]] = field(default_factory=list)
    verdict: dict[str, Any] = field(default_factory=lambda: {"outcome": "none", "findings": []})
    away: bool = False
    turned_away: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def turn(self) -> dict[str, Any]:
        """The only one there is."""
        assert len(self.turns) == 1, [turn["external_id"] for turn in self.turns]
        return self.turns[0]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


def _documents(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in body.splitlines() if line.strip()]


@contextmanager
def recording() -> Iterator[Recorded]:
    kept = Recorded()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            path = self.path.split("?")[0]
            if path.endswith("/policy"):
                self._answer(200, kept.policy)
            else:
                self._answer(200, {"skills": kept.skills, "next_cursor": None})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            documents = [] if kept.away else _documents(body)
            if self.path.endswith("/turns"):
                kept.turns += documents
                rows = [
                    {"index": i, "status": "accepted", "id": i, "external_id": d["external_id"]}
                    for i, d in enumerate(documents)
                ]
                self._answer(200, {"accepted": len(rows), "results": rows})
            elif self.path.endswith("/check"):
                kept.checks += documents
                self._answer(200, {"status": "accepted", **kept.verdict})
            else:
                kept.events += documents
                self._answer(201, {"status": "accepted", "id": 1})

        def _answer(self, status: int, said: Any) -> None:
            if kept.away:
                kept.turned_away.append(self.path)
                status, said = 503, {"code": "unavailable"}
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    kept.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
