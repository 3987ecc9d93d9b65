"""Runs web server, Celery worker and Celery beat as one tree of processes, and keeps them running.

One thread, one loop: it copies the children's output line by line, starts again what has crashed, and stops
everything on SIGTERM, SIGINT (Ctrl-C) or SIGHUP. The first program is the web server; the others start once
it answers, so that they do not hold it up on a small machine. The listening socket belongs
to the supervisor, so a port that is taken is found before anything starts, and while a crashed web server
comes back its clients wait in the queue of the socket instead of being refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

#: Seconds before a crashed child is started again: 1, 2, 4, … up to this.
LONGEST_WAIT = 30.0
#: A child that ran this long has recovered; its next crash counts as the first.
RECOVERED_AFTER = 60.0
#: Seconds that children get between SIGTERM and SIGKILL.
STOP_SECONDS = 10.0
#: Seconds the web server gets to answer one health question; between two questions without an answer; and
#: before the next question when the answer was an error.
PROBE_SECONDS = 30.0
PROBE_WAIT = 0.25
UNWELL_WAIT = 2.0
#: A web server that crashes this often before it ever answered will not come up by itself.
HOPELESS_CRASHES = 3
#: A line of output longer than this is cut in pieces.
LONGEST_LINE = 64 * 1024


class CannotStartError(Exception):
    """Says why nothing was started; the text is for the person at the terminal."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to run: a name for the log, the arguments of ``reviews.server.child``, descriptors to pass on."""

    name: str
    arguments: tuple[str, ...]
    descriptors: tuple[int, ...] = ()


@dataclass(kw_only=True)
class Child:
    """One program and, while it runs, its process."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    crashes: int = 0
    #: When to start it (again); None while it runs or waits for the web server.
    due: float | None = None
    partial: bytearray = field(default_factory=bytearray)


@contextlib.contextmanager
def exclusive(data_dir: Path) -> Iterator[None]:
    """Hold the data folder for this process; a second one is refused.

    The lock is the kernel's and ends with the process, so nothing stale is left behind. The number in the
    file is only for the message.
    """
    path = data_dir / "serve.pid"
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise CannotStartError(
                f"The data folder {data_dir} is already in use by another serve (process {holder}). "
                "Stop that one first, or choose another folder with --data."
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        file.truncate(0)


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket; port 0 takes any free one."""
    if not 0 <= port <= 65535:
        raise CannotStartError(f"Port {port} does not exist: a port is a number from 0 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise CannotStartError(f"Cannot find the host {host!r}: {error.strerror}.") from error
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise CannotStartError(
            f"Cannot listen on {host} port {port}: {error.strerror}. "
            "Stop what uses that port, or choose another one with --port."
        ) from error
    return listener


class Supervisor:
    """Keeps ``programs`` running; ``run`` returns the exit code when all of them have ended."""

    def __init__(
        self,
        programs: list[Program],
        *,
        listener: socket.socket,
        health_host: str,
        ready_text: str,
        environment: Mapping[str, str],
        out: IO[str] = sys.stdout,
    ) -> None:
        self._children = [Child(program=program) for program in programs]
        self._web = self._children[0]
        self._web.due = 0.0
        self._listener = listener
        self._health_host = health_host
        self._ready_text = ready_text
        self._environment = dict(environment)
        self._out = out
        self._selector = selectors.DefaultSelector()
        self._ready = False
        self._probe: socket.socket | None = None
        self._probe_due = 0.0
        self._exit_code = 0
        #: Set once stopping has begun: when the children that are left get SIGKILL.
        self._kill_at: float | None = None

    def run(self) -> int:
        with self._signals():
            while not (self._stopping and all(child.process is None for child in self._children)):
                self._start_what_is_due()
                self._ask_health()
                for key, _ in self._selector.select(self._seconds_to_next_event()):
                    key.data()
                self._reap()
                self._kill_what_will_not_stop()
        self._selector.close()
        return self._exit_code

    # -- Children

    def _start_what_is_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if not self._stopping and child.due is not None and child.due <= now:
                self._start(child)

    def _start(self, child: Child) -> None:
        program = child.program
        child.process = subprocess.Popen(  # noqa: S603  (our own interpreter and arguments)
            [sys.executable, "-m", "reviews.server.child", *program.arguments],
            # The child ends when this pipe closes, and only this process holds its other end.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            pass_fds=program.descriptors,
            # Ctrl-C reaches the supervisor alone, which then stops the children in its own way.
            process_group=0,
        )
        child.started_at = time.monotonic()
        child.due = None
        output = child.process.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        self._selector.register(output, selectors.EVENT_READ, lambda: self._copy_output(child))
        self._say("serve", f"started {program.name} (process {child.process.pid})")

    def _reap(self) -> None:
        for child in self._children:
            if child.process is not None and child.process.poll() is not None:
                self._ended(child, child.process)

    def _ended(self, child: Child, process: subprocess.Popen[bytes]) -> None:
        self._copy_output(child)
        if child.partial:
            self._say(child.program.name, child.partial)
            child.partial.clear()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            if stream in self._selector.get_map():
                self._selector.unregister(stream)
            with contextlib.suppress(OSError):
                stream.close()
        child.process = None
        how = _describe(process.returncode)
        if self._stopping:
            self._say("serve", f"{child.program.name} stopped")
            return
        if time.monotonic() - child.started_at >= RECOVERED_AFTER:
            child.crashes = 0
        child.crashes += 1
        if child is self._web and not self._ready and child.crashes >= HOPELESS_CRASHES:
            self._say("serve", f"web {how} {child.crashes} times before it answered; giving up")
            self._exit_code = 1
            self._stop()
            return
        wait = seconds_before_restart(child.crashes)
        child.due = time.monotonic() + wait
        self._say("serve", f"{child.program.name} {how}; starting it again in {wait:.0f} s")

    # -- Output

    def _copy_output(self, child: Child) -> None:
        assert child.process is not None
        assert child.process.stdout is not None
        while True:
            try:
                data = os.read(child.process.stdout.fileno(), 65536)
            except BlockingIOError:
                return
            if not data:
                if child.process.stdout in self._selector.get_map():
                    self._selector.unregister(child.process.stdout)
                return
            child.partial += data
            *lines, rest = child.partial.split(b"\n")
            for line in lines:
                if line.strip():
                    self._say(child.program.name, line)
            while len(rest) > LONGEST_LINE:
                self._say(child.program.name, rest[:LONGEST_LINE])
                del rest[:LONGEST_LINE]
            child.partial = rest

    def _say(self, name: str, text: str | bytes | bytearray) -> None:
        if not isinstance(text, str):
            text = text.decode(errors="replace").rstrip("\r")
        try:
            self._out.write(f"{name:<6} | {text}\n")
            self._out.flush()
        except (OSError, ValueError):
            # Nobody reads any more: the pipe or the terminal that this ran in is gone.
            self._out = open(os.devnull, "w")  # noqa: SIM115
            if not self._stopping:
                self._stop()

    # -- Health: one question at a time, answered through the same loop

    def _ask_health(self) -> None:
        if self._ready or self._stopping or self._probe is not None or time.monotonic() < self._probe_due:
            return
        self._probe_due = time.monotonic() + PROBE_SECONDS
        try:
            probe = socket.create_connection(_loopback_of(self._listener), timeout=1)
            # The scheme is what a proxy would say; without it a redirect to https would be the answer.
            probe.sendall(
                f"GET /healthz HTTP/1.1\r\nHost: {self._health_host}\r\nX-Forwarded-Proto: https\r\n"
                "Connection: close\r\n\r\n".encode()
            )
            probe.setblocking(False)
        except OSError:
            self._probe_due = time.monotonic() + PROBE_WAIT
            return
        self._probe = probe
        self._selector.register(probe, selectors.EVENT_READ, self._hear_health)

    def _hear_health(self) -> None:
        probe = self._probe
        assert probe is not None
        try:
            answer = probe.recv(64)
        except OSError:
            answer = b""
        self._forget_probe()
        status = answer[9:12]
        if answer.startswith(b"HTTP/1.") and status < b"400":
            self._ready = True
            self._say("serve", self._ready_text)
            for child in self._children:
                if child is not self._web:
                    child.due = 0.0
        else:
            if status:
                self._say("serve", f"web does not answer well yet (status {status.decode(errors='replace')})")
            self._probe_due = time.monotonic() + (UNWELL_WAIT if status else PROBE_WAIT)

    def _forget_probe(self) -> None:
        if self._probe is not None:
            self._selector.unregister(self._probe)
            self._probe.close()
            self._probe = None

    # -- Stopping

    @property
    def _stopping(self) -> bool:
        return self._kill_at is not None

    def _stop(self) -> None:
        """Ask all children to end; asked a second time, end them at once."""
        if self._kill_at is not None:
            self._kill_at = 0.0
            return
        self._kill_at = time.monotonic() + STOP_SECONDS
        self._forget_probe()
        self._say("serve", "stopping")
        for child in self._children:
            if child.process is not None:
                child.process.terminate()

    def _kill_what_will_not_stop(self) -> None:
        if self._kill_at is None or time.monotonic() < self._kill_at:
            return
        for child in self._children:
            if child.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.process.pid, signal.SIGKILL)
                child.process.wait()

    # -- The loop's clock and signals

    def _seconds_to_next_event(self) -> float | None:
        if self._kill_at is not None:
            moments = [self._kill_at]
        else:
            moments = [child.due for child in self._children if child.due is not None]
            if not self._ready and self._probe is None:
                moments.append(self._probe_due)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Let signals wake the loop: a pipe becomes readable, and the loop decides what that means."""
        reader, writer = os.pipe()
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        stop_signals = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            # Unless started with nohup, which means: go on without the terminal.
            stop_signals.append(signal.SIGHUP)

        def wake() -> None:
            if any(number in stop_signals for number in os.read(reader, 512)):
                self._stop()

        def ignore(_signal: int, _frame: FrameType | None) -> None:
            """The wake-up pipe carries the signal."""

        before = {number: signal.signal(number, ignore) for number in (*stop_signals, signal.SIGCHLD)}
        previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._selector.register(reader, selectors.EVENT_READ, wake)
        try:
            yield
        finally:
            self._selector.unregister(reader)
            signal.set_wakeup_fd(previous)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reader)
            os.close(writer)


def seconds_before_restart(crashes: int) -> float:
    """1, 2, 4, … seconds after the first, second, third, … crash in a row."""
    return min(2.0 ** (crashes - 1), LONGEST_WAIT)


def _loopback_of(listener: socket.socket) -> tuple[str, int]:
    """Where this machine reaches a listener, also one that listens on every address."""
    host, port = listener.getsockname()[:2]
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port  # noqa: S104


def address_of(listener: socket.socket) -> str:
    """The address to open in a browser on this machine."""
    host, port = _loopback_of(listener)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _describe(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"
    return f"ended with code {code}"
