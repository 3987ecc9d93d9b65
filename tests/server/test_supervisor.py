"""``manage.py serve`` as real processes: started, crashed, killed and stopped."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from waitress.server import create_server
from waitress.wasyncore import loop

from reviews.server.supervisor import CannotStartError, exclusive, listen, seconds_before_restart
from reviews.server.web import drain

ROOT = Path(__file__).resolve().parents[2]
#: Far more than anything here takes on a slow machine; a test that needs it has failed.
PATIENCE = 30.0

pytestmark = pytest.mark.slow


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} s in vain for: {what}"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process lives; one that has ended but was not collected by its parent does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        state = stat.read_text().rpartition(") ")[2] if Path("/proc/self").exists() else _state_from_ps(pid)
    except OSError:
        return False
    return bool(state) and not state.startswith("Z")


def _state_from_ps(pid: int) -> str:
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.strip()


class Serve:
    """One ``manage.py serve`` and what it has printed so far."""

    def __init__(self, data: Path, *arguments: str, port: int = 0) -> None:
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("DATABASE_", "CELERY_", "REVIEWS_"))
        }
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", str(port), "--data", str(data), *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, pattern: str, *, times: int = 1) -> str:
        """The first group of the ``times``-th line that matches, waiting until it is printed."""
        found: list[str] = []

        def search() -> bool:
            found[:] = [match[1] for line in self.lines if (match := re.search(pattern, line))]
            return len(found) >= times or not self._reader.is_alive()

        with self._changed:
            self._changed.wait_for(search, PATIENCE)
        shown = "\n".join(line[:200] for line in self.lines[-40:])
        assert len(found) >= times, f"{pattern!r} was not printed {times} times:\n{shown}"
        return found[times - 1]

    def pid(self, name: str, *, times: int = 1) -> int:
        return int(self.wait_for(rf"^serve  \| started {name} \(process (\d+)\)$", times=times))

    def port(self) -> int:
        return int(self.wait_for(r"^serve  \| Symfonic Review is ready at http://127\.0\.0\.1:(\d+)/"))

    def ended(self) -> int:
        """Wait for the end and return the exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Serve]]:
    started: list[Serve] = []

    def start(*arguments: str, data: Path = tmp_path / "data", **options: Any) -> Serve:
        started.append(Serve(data, *arguments, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.ended()


def status_of(port: int, path: str = "/healthz", **request: Any) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(request.pop("method", "GET"), path, **request)
        return connection.getresponse().status
    finally:
        connection.close()


def test_crashed_children_come_back_and_sigterm_stops_everything(serve: Callable[..., Serve]) -> None:
    served = serve()
    port = served.port()
    pids = {name: served.pid(name) for name in ("web", "worker", "beat")}

    os.kill(pids["worker"], signal.SIGKILL)
    served.wait_for(r"(worker was ended by SIGKILL; starting it again in 1 s)")
    new_worker = served.pid("worker", times=2)
    assert new_worker != pids["worker"]

    os.kill(pids["web"], signal.SIGKILL)
    served.wait_for(r"(web was ended by SIGKILL; starting it again in 1 s)")
    # Nobody listens at this moment, and yet the request is answered, not refused.
    assert status_of(port) == 200
    new_web = served.pid("web", times=2)
    assert is_running(pids["beat"])

    served.process.send_signal(signal.SIGTERM)
    assert served.ended() == 0
    assert not any(is_running(pid) for pid in (new_worker, new_web, pids["beat"]))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    # Migrations and warnings come first; from there on every line says whose it is.
    own = served.lines[served.lines.index(f"serve  | started web (process {pids['web']})") :]
    assert all(re.match(r"(serve |web   |worker|beat  ) \| ", line) for line in own)


def test_children_die_with_a_killed_supervisor(serve: Callable[..., Serve]) -> None:
    served = serve()
    served.port()
    pids = [served.pid(name) for name in ("web", "worker", "beat")]
    served.process.kill()
    wait_until(lambda: not any(is_running(pid) for pid in pids), "the children to be gone")


def test_the_data_folder_of_a_killed_supervisor_can_be_used_at_once(
    serve: Callable[..., Serve],
) -> None:
    first = serve("--no-worker")
    first.port()
    first.process.kill()
    first.ended()
    second = serve("--no-worker")
    assert status_of(second.port()) == 200


def test_ctrl_c_stops_cleanly(serve: Callable[..., Serve]) -> None:
    served = serve("--no-worker")
    served.port()
    web = served.pid("web")
    served.process.send_signal(signal.SIGINT)
    assert served.ended() == 0
    assert not is_running(web)
    assert "Traceback" not in served.output
    assert "started worker" not in served.output


def test_a_port_in_use_is_refused_before_anything_starts(serve: Callable[..., Serve]) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        served = serve(port=port)
        assert served.ended() == 1
    assert f"Cannot listen on 127.0.0.1 port {port}: Address already in use." in served.output
    assert "started" not in served.output
    assert "Traceback" not in served.output


def test_a_data_folder_in_use_is_refused(serve: Callable[..., Serve]) -> None:
    first = serve("--no-worker")
    first.port()
    second = serve("--no-worker")
    assert second.ended() == 1
    assert f"already in use by another serve (process {first.process.pid})" in second.output
    assert "started" not in second.output
    assert first.process.poll() is None


def test_slow_clients_block_nobody(serve: Callable[..., Serve]) -> None:
    port = serve("--no-worker").port()
    slow = []
    try:
        for opening in (
            b"GET / HTTP/1.1\r\nHost: x",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\nx",
        ):
            for _ in range(30):
                slow.append(socket.create_connection(("127.0.0.1", port)))
                slow[-1].sendall(opening)
        assert status_of(port) == 200
    finally:
        for connection in slow:
            connection.close()


def test_a_body_beyond_the_limit_is_refused(serve: Callable[..., Serve]) -> None:
    port = serve("--no-worker").port()
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 18000000\r\n\r\n")
        assert connection.recv(64).startswith(b"HTTP/1.1 413 ")
    assert status_of(port) == 200


def test_running_requests_finish_when_the_server_stops() -> None:
    entered, release, stopping = threading.Event(), threading.Event(), threading.Event()

    def application(_environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        entered.set()
        release.wait(PATIENCE)
        start_response("200 OK", [("Content-Length", "4")])
        return [b"done"]

    sockets: dict[int, Any] = {}
    with listen("127.0.0.1", 0) as listener:
        server = create_server(application, map=sockets, sockets=[listener])

        def run() -> None:
            while not stopping.is_set():
                loop(timeout=0.1, map=sockets, use_poll=True, count=1)
            drain(server, sockets, PATIENCE)

        thread = threading.Thread(target=run)
        thread.start()
        host, port = listener.getsockname()
        idle = HTTPConnection(host, port)
        idle.connect()
        running = HTTPConnection(host, port, timeout=PATIENCE)
        running.request("GET", "/")
        assert entered.wait(PATIENCE)
        stopping.set()
        release.set()
        answer = running.getresponse()
        assert (answer.status, answer.read()) == (200, b"done")
        # The idle connection does not hold up the end.
        thread.join(PATIENCE)
        assert not thread.is_alive()
        idle.close()
        running.close()
        for channel in list(server.active_channels.values()):
            channel.handle_close()
        server.trigger.close()


def test_gives_up_when_the_web_server_never_comes_up() -> None:
    script = (
        "import os, sys; from reviews.server.supervisor import Program, Supervisor, listen\n"
        "programs = [Program(name='web', arguments=('nonsense',))]\n"
        "options = dict(listener=listen('127.0.0.1', 0), health_host='localhost', ready_text='ready')\n"
        "sys.exit(Supervisor(programs, environment=os.environ, **options).run())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 1
    assert "web    | reviews.server.child: cannot run ['nonsense']" in ended.stdout
    assert "web ended with code 1 3 times before it answered; giving up" in ended.stdout


def test_waits_grow_and_are_capped() -> None:
    assert [seconds_before_restart(crashes) for crashes in range(1, 9)] == [1, 2, 4, 8, 16, 30, 30, 30]


def test_exclusive_releases_the_folder(tmp_path: Path) -> None:
    refused = pytest.raises(CannotStartError, match=f"process {os.getpid()}")
    with exclusive(tmp_path), refused, exclusive(tmp_path):
        pass
    with exclusive(tmp_path):
        assert (tmp_path / "serve.pid").read_text() == f"{os.getpid()}\n"


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(CannotStartError, match=r"Cannot find the host 'no such host'"):
        listen("no such host", 0)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_named(port: int) -> None:
    with pytest.raises(CannotStartError, match=f"Port {port} does not exist"):
        listen("127.0.0.1", port)
