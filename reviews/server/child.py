"""Entry point of every process that the supervisor starts: ``python -m reviews.server.child web 5``.

Standard input is a pipe whose other end only the supervisor holds. When that end closes, the supervisor is
gone, whatever killed it, and this process must not outlive it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import warnings
from threading import Thread

PR_SET_PDEATHSIG = 1


def die_with_supervisor() -> None:
    """Arrange that this process is killed as soon as the supervisor has ended.

    The thread that reads the pipe does this on every system. Linux is asked as well: the kernel acts even
    while the interpreter is too busy to run a thread.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    Thread(target=_watch_supervisor, name="watch-supervisor", daemon=True).start()


def _watch_supervisor() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def main(arguments: list[str]) -> None:
    die_with_supervisor()
    match arguments:
        case ["web", descriptor]:
            from reviews.server.web import serve

            serve(socket.socket(fileno=int(descriptor)))
        case ["celery", *_]:
            # Celery's eight lines about running as root; ``serve`` says it in one.
            warnings.filterwarnings("ignore", module=r"celery\.platforms")
            from celery.__main__ import main as celery

            sys.argv = arguments
            celery()
        case _:
            sys.exit(f"reviews.server.child: cannot run {arguments!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
