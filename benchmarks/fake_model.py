"""A model behind real HTTP that approves every draft after a while, or fails as it is told."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = ("slow", "broken", "429", "500")
_TOKEN = re.compile(r"nowhere in the material: ([0-9a-f]{32})")


@dataclass
class FakeModel:
    """``url`` to ask at; what was asked is counted by how it was answered."""

    url: str = ""
    answered: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def asked(self) -> int:
        return sum(self.answered.values())


@contextmanager
def fake_model(
    *, seconds: float = 0.05, faults: float = 0.0, slow_seconds: float = 5.0, seed: int = 1
) -> Iterator[FakeModel]:
    """Serve on loopback. ``faults``: the share of requests that go wrong, in one of FAULTS's ways each."""
    model, draws = FakeModel(), random.Random(seed)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Two small packets would wait for each other.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with model.lock:
                fault = draws.choice(FAULTS) if draws.random() < faults else "answer"
                model.answered[fault] += 1
            time.sleep(slow_seconds if fault == "slow" else seconds)
            try:
                self._answer(question, fault)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _answer(self, question: dict[str, Any], fault: str) -> None:
            if fault in ("429", "500"):
                self._send(int(fault), {"error": {"message": fault, "type": "error"}}, retry_after="1")
                return
            found = _TOKEN.search(question["messages"][0]["content"])
            said = {"check": found[1] if found else "", "verdict": "approve"}
            text = json.dumps(said)[:20] if fault == "broken" else json.dumps(said)
            message = {"role": "assistant", "content": text}
            self._send(
                200,
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "fake",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                    "usage": {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940},
                },
            )

        def _send(self, status: int, body: dict[str, Any], *, retry_after: str = "") -> None:
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            if retry_after:
                self.send_header("Retry-After", retry_after)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
