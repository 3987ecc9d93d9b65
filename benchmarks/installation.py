"""A real installation in a folder of its own, run by the programs that ``manage.py serve`` runs.

The listening socket is held here, as the supervisor holds it: while the web server is down, clients wait in
the socket's queue. Unlike the supervisor, ``start`` starts a killed program again at once.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reviews.management.commands.serve import programs
from reviews.server.supervisor import listen

ROOT = Path(__file__).resolve().parent.parent
#: Far more than any step takes, on a slow machine too.
PATIENCE = 120.0
SETTINGS_PREFIXES = ("ALLOWED_", "CELERY_", "DATABASE_", "LOG_", "MODEL_", "REVIEWS_", "SECRET_", "STATIC_")


class Installation:
    """Web server, worker and scheduler on an empty SQLite database with one tenant; use it with ``with``.

    ``secret`` is that of a key which may send turns.
    """

    def __init__(self, data: Path, *, workers: int = 1, environment: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(SETTINGS_PREFIXES)},
            "PYTHONPATH": str(ROOT),
            "REVIEWS_DATA_DIR": str(data),
            "LOG_LEVEL": "WARNING",
            **(environment or {}),
        }
        self._listener = listen("127.0.0.1", 0)
        self._programs = {
            p.name: p for p in programs(self._listener.fileno(), data_dir=data, workers=workers)
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._database: sqlite3.Connection | None = None
        self.secret = ""

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        self.data.mkdir(parents=True, exist_ok=True)
        self.manage("migrate", "--verbosity", "0")
        self.manage(
            "create_tenant", "--name", "Acme", "--slug", "acme", "--owner", "olga", "--password-stdin",
            given="correct horse battery\n",
        )  # fmt: skip
        self.secret = self.manage("create_key", "--tenant", "acme", "--name", "benchmark").strip()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.terminate()
        for name in list(self._running):
            try:
                self._running[name].wait(15)
            except subprocess.TimeoutExpired:
                self._running[name].kill()
            self._collect(name)
        self._listener.close()
        if self._database is not None:
            self._database.close()

    def manage(self, *arguments: str, given: str = "") -> str:
        """Run a command and return what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=self.environment, input=given, text=True, capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"manage.py {arguments[0]} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    # -- Programs: web, worker, beat

    def start(self, *names: str) -> None:
        for name in names or tuple(self._programs):
            program = self._programs[name]
            with (self.data / f"{name}.log").open("ab") as log:
                self._running[name] = subprocess.Popen(
                    [sys.executable, "-m", "reviews.server.child", *program.arguments],
                    cwd=ROOT,
                    env=self.environment,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=program.descriptors,
                )

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def kill(self, name: str) -> None:
        """SIGKILL, and wait until it is gone."""
        self._running[name].send_signal(signal.SIGKILL)
        self._collect(name)

    def _collect(self, name: str) -> None:
        process = self._running.pop(name)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def wait_until_up(self) -> None:
        """Return once the web server answers. Its clients need not wait, but measurements must."""
        connection = self.connect()
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
        connection.close()
        if status != 200:
            raise RuntimeError(f"the web server answered with {status}, see {self.data / 'web.log'}")

    # -- HTTP and the database

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def post(
        self, connection: HTTPConnection, path: str, body: bytes, content_type: str = "application/x-ndjson"
    ) -> tuple[int, bytes]:
        """POST with the key; raises what a broken connection raises."""
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": content_type}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Read from the database file itself."""
        if self._database is None:
            uri = f"file:{self.data / 'reviews.sqlite3'}?mode=ro"
            self._database = sqlite3.connect(uri, uri=True, timeout=PATIENCE, check_same_thread=False)
        return self._database.execute(sql).fetchall()

    def wait_for(self, sql: str, what: str, *, seconds: float = PATIENCE) -> None:
        """Wait until a query's first value is true."""
        deadline = time.monotonic() + seconds
        while not self.query(sql)[0][0]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds:.0f} s in vain for: {what}")
            time.sleep(0.01)
