"""A server on loopback that tells what it was asked and answers whatever a test wants, HTTP or not."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

#: Far more than anything here takes on a slow machine.
PATIENCE = 30.0


@dataclass(frozen=True)
class Seen:
    """One request as it arrived; names of headers in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


#: What is sent back: bytes, several pieces of them, or None to hang up without a word.
Reply = bytes | Iterator[bytes] | None


@dataclass
class Peer:
    """``seen`` fills up as requests arrive. ``gone``: the client has hung up in the middle of a reply."""

    port: int
    seen: list[Seen] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        return [f"{seen.method} {seen.path}" for seen in self.seen]


def reply(status: int = 200, body: Any = None, **headers: str) -> bytes:
    """A whole answer with a JSON body; underscores in the names of headers become hyphens."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(content)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


@contextmanager
def peer(answer: Callable[[Seen], Reply], *, tls: ssl.SSLContext | None = None) -> Iterator[Peer]:
    """Serve on a free port of 127.0.0.1; every connection takes one request."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = Peer(server.getsockname()[1])

        def serve() -> None:
            while True:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return  # the test is over
                with suppress(OSError), connection:
                    connection.settimeout(PATIENCE)
                    taken = tls.wrap_socket(connection, server_side=True) if tls else connection
                    with taken:
                        _take(made, taken, answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE)


def _take(made: Peer, connection: socket.socket, answer: Callable[[Seen], Reply]) -> None:
    with connection.makefile("rb") as stream:
        method, path, _ = stream.readline().decode().split(" ", 2)
        headers = {}
        while line := stream.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))
    seen = Seen(method, path, headers, body)
    made.seen.append(seen)
    said = answer(seen)
    try:
        for piece in [said] if isinstance(said, bytes) else said or ():
            connection.sendall(piece)
    except OSError:
        made.gone.set()
