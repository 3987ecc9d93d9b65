"""A server with OpenAI's chat API on loopback, that answers as it is told: a fake behind real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class ModelServer:
    """``answers`` are used up one a request, the last one again and again. ``requests`` are what came."""

    url: str
    answers: list[Answer]
    requests: list[dict[str, Any]] = field(default_factory=list)
    #: Set when the test is over: lets go of answers that never end.
    over: Event = field(default_factory=Event)


@contextmanager
def serving(*answers: Answer) -> Iterator[ModelServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.question = {
                "path": self.path,
                "headers": {k.lower(): v for k, v in self.headers.items()},
                **json.loads(body),
            }
            found.requests.append(self.question)
            answer = found.answers.pop(0) if len(found.answers) > 1 else found.answers[0]
            try:
                answer(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client has heard enough

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = ModelServer(f"http://127.0.0.1:{server.server_address[1]}/v1", list(answers))
    server.over = found.over
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    content_type: str = "application/json",
    **headers: str,
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def completion(content: str | None, *, finish: str = "stop", refusal: str | None = None) -> bytes:
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "served-model",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish,
                    "message": {"role": "assistant", "content": content, "refusal": refusal},
                }
            ],
            "usage": {"prompt_tokens": 1200, "completion_tokens": 300, "total_tokens": 1500},
        }
    ).encode()


def says(content: str | None, **options: Any) -> Answer:
    return lambda handler: send(handler, 200, completion(content, **options))


def fails(status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message, "code": code, "type": "error"}}).encode()
    return lambda handler: send(handler, status, body, **headers)


def raw(body: bytes, content_type: str = "application/json", **headers: str) -> Answer:
    return lambda handler: send(handler, 200, body, content_type, **headers)


def never(handler: BaseHTTPRequestHandler) -> None:
    """Accepts the question and says nothing."""
    handler.server.over.wait()
    handler.close_connection = True


def endless(handler: BaseHTTPRequestHandler) -> None:
    """A body without a length that goes on and on."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    handler.wfile.write(b'{"choices": [{"message": {"content": "')
    while not handler.server.over.is_set():
        handler.wfile.write(b"x" * 65536)


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
