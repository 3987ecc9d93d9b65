"""The dashboard's API on loopback, as far as a client sees it, with every fault a network has.

Turns are read by the product's own decoder and kept by ``external_id``; what a request meets is scripted.
"""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from typing import Any

from reviews.formats import RowError, decode_turns
from reviews.formats.native import content_hash
from reviews.formats.record import TurnRecord

PATIENCE = 60.0
NDJSON = "application/x-ndjson"


@dataclass(frozen=True)
class Seen:
    """A request as it came, its body unpacked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def rows(self) -> int:
        return len(self.body.splitlines())


Fault = Callable[["Handler"], None]


@dataclass
class FakeServer:
    """``faults`` are used up one a request, before the server behaves; ``always`` is never used up."""

    faults: list[Fault] = field(default_factory=list)
    always: Fault | None = None
    seen: list[Seen] = field(default_factory=list)
    turns: dict[str, TurnRecord] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=lambda: policy_of(3))
    pages: dict[str, dict[str, Any]] = field(default_factory=dict)
    port: int = 0
    #: Set when the test is over: lets go of answers that never end.
    over: Event = field(default_factory=Event)
    changed: Condition = field(default_factory=Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_for(self, true: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(true, PATIENCE), "waited in vain"

    def take_in(self, body: bytes) -> dict[str, Any]:
        """As ``POST /turns`` answers NDJSON (docs/api.md)."""
        results: list[dict[str, Any]] = []
        for index, row in enumerate(decode_turns(body, NDJSON)):
            if isinstance(row, RowError):
                status = "invalid"
                told: dict[str, Any] = {"pointer": row.pointer, "message": row.message, "line": row.line}
            else:
                status = self._stored(row)
                told = {"id": 1, "external_id": row.external_id}
            self.counts[status] = self.counts.get(status, 0) + 1
            results.append({"index": index, "status": status, **told})
        return {"accepted": 0, "duplicates": 0, "conflicts": 0, "invalid": 0, "results": results}

    def _stored(self, turn: TurnRecord) -> str:
        known = self.turns.setdefault(turn.external_id, turn)
        if known is turn:
            return "accepted"
        return "duplicate" if content_hash(known) == content_hash(turn) else "conflict"


def policy_of(version: int) -> dict[str, Any]:
    return {
        "version": version,
        "settings": {"fabrication_check_mode": "observe"},
        "framework_config": {"fabrication_check_mode": "observe"},
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeServer
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._handle(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._handle(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)

    def _handle(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.request_seen = Seen(self.command, self.path, headers, body)
        with self.fake.changed:
            self.fake.seen.append(self.request_seen)
            fault = self.fake.faults.pop(0) if self.fake.faults else self.fake.always
            self.fake.changed.notify_all()
        try:
            behave(self) if fault is None else fault(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has heard enough
        with self.fake.changed:
            self.fake.changed.notify_all()

    def answer(self, status: int, said: Any = None, **headers: str) -> None:
        body = said if isinstance(said, bytes) else b"" if said is None else json.dumps(said).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


def behave(handler: Handler) -> None:
    """As the product does."""
    fake, seen = handler.fake, handler.request_seen
    path = seen.path.partition("?")[0]
    if path == "/api/v1/turns":
        with fake.changed:
            said = fake.take_in(seen.body)
        handler.answer(200, said)
    elif path == "/api/v1/check":
        with fake.changed:
            row = fake.take_in(seen.body)["results"][0]
        if row["status"] == "invalid":
            handler.answer(400, {"code": "invalid", "message": row["message"], "pointer": row["pointer"]})
        else:
            handler.answer(200, judgement(row["external_id"]))
    elif path == "/api/v1/policy":
        etag = f'"policy-{fake.policy["version"]}"'
        known = seen.headers.get("if-none-match") == etag
        handler.answer(304, ETag=etag) if known else handler.answer(200, fake.policy, ETag=etag)
    elif path == "/api/v1/skills":
        handler.answer(200, fake.pages[seen.path.partition("cursor=")[2]])
    else:
        handler.answer(404, {"code": "not_found", "message": "There is no such path."})


def judgement(external_id: str) -> dict[str, Any]:
    """As in docs/api.md."""
    finding = {"identifier": "I sent", "kind": "verb_claim", "severity": "medium", "confidence": 0.8}
    return {
        "id": 4713, "external_id": external_id, "status": "accepted", "policy_version": 3, "mode": "refuse",
        "outcome": "refuse_replaced", "max_finding_confidence": 0.8, "refuse_threshold": 0.8,
        "findings": [finding], "safe_refusal": "I could not verify that.", "forced_critic_verdict": None,
    }  # fmt: skip


# -- Faults


def says(status: int, said: Any = None, **headers: str) -> Fault:
    return lambda handler: handler.answer(status, said, **headers)


def hangs_up(handler: Handler) -> None:
    handler.close_connection = True


def stores_and_hangs_up(handler: Handler) -> None:
    """The answer is lost, the turns are not."""
    with handler.fake.changed:
        handler.fake.take_in(handler.request_seen.body)
    handler.close_connection = True


def never(handler: Handler) -> None:
    handler.fake.over.wait()
    handler.close_connection = True


def waits_for(event: Event) -> Fault:
    """Behaves, once the event is set."""

    def fault(handler: Handler) -> None:
        assert event.wait(PATIENCE)
        behave(handler)

    return fault


def drips_headers(handler: Handler) -> None:
    """A byte of a header now and then, without an end: no single read takes long."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.fake.over.wait(0.02):
        handler.wfile.write(b"x")


def drips_body(handler: Handler) -> None:
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
    while not handler.fake.over.wait(0.02):
        handler.wfile.write(b" ")


def talks_nonsense(handler: Handler) -> None:
    handler.close_connection = True
    handler.wfile.write(b"\x00\xff\xfe SSH-2.0-OpenSSH_9.2\r\n" * 4)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[Handler]) -> None:
        self.connections: list[socket.socket] = []
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.append(request)
        super().process_request(request, client_address)

    def server_close(self) -> None:
        """As when its process is killed: what was open is broken."""
        super().server_close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no news."""


@contextmanager
def serving(fake: FakeServer | None = None, *, port: int = 0) -> Iterator[FakeServer]:
    """``port`` brings a server back where it was."""
    found = fake or FakeServer()
    found.over = Event()
    server = _Server(("127.0.0.1", port), type("Bound", (Handler,), {"fake": found}))
    found.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
