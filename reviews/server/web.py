"""The web server process: waitress on a socket that the supervisor has opened.

Waitress takes in a whole request and sends out a whole response from one event loop, so a slow client holds
a connection, never one of the threads that run views. ``docs/server-choice.md`` tells how it was chosen.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import resource
import signal
import socket
import time
from types import FrameType
from typing import Any

from django.conf import settings
from waitress.server import TcpWSGIServer, create_server
from waitress.wasyncore import loop

#: Threads that run views.
THREADS = 8
#: Connections held at once, idle and slow ones included.
CONNECTIONS = 1000
#: The intake's own limit is 16 MiB and answers in JSON; this one is for bodies that nothing would read.
MAX_BODY_BYTES = 17 * 1024 * 1024
#: Seconds that running requests get to finish once the server is told to stop.
DRAIN_SECONDS = 8.0


def serve(listener: socket.socket) -> None:
    """Answer requests on ``listener`` until SIGTERM or SIGINT, then finish the running ones and return."""
    from reviews.server.wsgi import application

    # What is loaded now stays: no collection needs to look through it again while requests wait.
    gc.collect()
    gc.freeze()
    # A request that waits for a free thread is not worth a line in the log.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    sockets: dict[int, Any] = {}
    server = create_server(
        application,
        map=sockets,
        sockets=[listener],
        threads=THREADS,
        connection_limit=min(CONNECTIONS, _open_file_limit() - 100),
        asyncore_use_poll=True,
        channel_timeout=60,
        cleanup_interval=15,
        max_request_body_size=MAX_BODY_BYTES,
        max_request_header_size=64 * 1024,
        # Read in large pieces, and keep bodies of ordinary size in memory instead of in a temporary file.
        recv_bytes=256 * 1024,
        inbuf_overflow=2 * 1024 * 1024,
        ident=None,
        **_proxy_options(),
    )
    stopping = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True
        server.pull_trigger()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    while not stopping:
        loop(timeout=1, map=sockets, use_poll=True, count=1)
    drain(server, sockets, DRAIN_SECONDS)


def drain(server: TcpWSGIServer, sockets: dict[int, Any], seconds: float) -> None:
    """Accept nothing more, let running requests finish and their responses leave, for at most ``seconds``."""
    server.accepting = False
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(
        channel.requests or channel.total_outbufs_len for channel in server.active_channels.values()
    ):
        loop(timeout=0.1, map=sockets, use_poll=True, count=1)
    server.task_dispatcher.shutdown(timeout=1)


def _open_file_limit() -> int:
    """Raise the soft limit of open files to what the connections need, and return what it now is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS * 2
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft


def _proxy_options() -> dict[str, Any]:
    """Take client address and scheme from a reverse proxy, but only where the settings say there is one."""
    if not settings.SECURE_PROXY_SSL_HEADER:
        return {}
    return {
        "trusted_proxy": "*",
        "trusted_proxy_count": 1,
        "trusted_proxy_headers": {"x-forwarded-for", "x-forwarded-proto"},
    }
