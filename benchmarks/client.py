"""What recording costs an agent: with the server up, slow, and away; turns delivered; memory.

    python benchmarks/client.py [--turns 20000] [--away-turns 100000] [--only up,slow,hanging,away,memory]

Each measurement runs in a process of its own, as an agent would: nothing but the client is in it. Turns are
about 1.5 KB of native JSON (benchmarks/turns.py). "Paced" is one turn a millisecond, "at once" a loop without
a pause, which no agent is but which shows what the client's own thread takes away. The ratio is to a bare
``json.dumps(turn).encode()`` of the same turns in the same process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from reviews.client import ReviewClient  # noqa: E402

PACE = 0.001
DIFFERENT = 2_000
#: Takes in whatever is sent, a second for each request.
SLOW_SERVER = """
import json, sys, time, gzip
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Slow(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        rows = (gzip.decompress(body) if self.headers.get("Content-Encoding") else body).count(b"\\n") + 1
        time.sleep(1)
        said = json.dumps({"results": [{"index": n, "status": "accepted"} for n in range(rows)]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *_): pass
class Server(ThreadingHTTPServer):
    def handle_error(self, *_): pass
server = Server(("127.0.0.1", 0), Slow)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--away-turns", type=int, default=100_000)
    parser.add_argument("--only", default="up,slow,hanging,away,memory")
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        measure(*options.part)
        return
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before\n")
    servers: dict[str, Callable[[Path], Any]] = {
        "up": installed,
        "slow": slow,
        "hanging": hanging,
        "away": away,
        "memory": away,
    }
    for name in options.only.split(","):
        with (
            tempfile.TemporaryDirectory(prefix="reviews-client-") as folder,
            servers[name](Path(folder)) as at,
        ):
            turns = options.away_turns if name == "memory" else options.turns
            url, key = at
            part = [name, str(turns), url, key]
            subprocess.run(
                [sys.executable, __file__, "--part", *part],
                check=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )


# -- In the agent's process


def measure(name: str, turns: str, url: str, key: str) -> None:
    documents = make_documents()
    if name == "memory":
        for spilling in (True, False):
            measure_memory(documents, int(turns), url, key, spilling=spilling)
        return
    bare = percentiles(time_each(int(turns), lambda n: json.dumps(documents[n % DIFFERENT]).encode()))
    say(f"bare json.dumps, {int(turns)} turns", bare, bare)
    for way, pause, count in (("paced", PACE, min(5_000, int(turns))), ("at once", 0.0, int(turns))):
        client = ReviewClient(url, key, spill=Path(f"spill-{way}"), timeout=5.0)
        started = time.perf_counter()

        def record(number: int, way: str = way, client: ReviewClient = client) -> None:
            document = documents[number % DIFFERENT]
            document["external_id"] = f"{way}-{number}"
            client.record(document)

        taken = time_each(count, record, pause=pause)
        say(f"record(), server {name}, {way}", percentiles(taken), bare)
        if name == "up":
            client.flush(300)
            rate = client.counters.sent / (time.perf_counter() - started)
            print(f"{'  delivered, from the first record to the last answer':<52}{rate:>10.0f} turns/s")
        client.close(2)
        c = client.counters
        print(f"  sent {c.sent}, on disk {c.waiting}, spilled {c.spilled}, dropped {c.dropped}\n", flush=True)


def measure_memory(
    documents: list[dict[str, Any]], turns: int, url: str, key: str, *, spilling: bool
) -> None:
    client = ReviewClient(url, key, spill=Path("spill") if spilling else None)
    client.record(documents[0])
    client.flush(0.5)
    before = resident()
    most = 0
    for number in range(turns):
        document = documents[number % DIFFERENT]
        document["external_id"] = f"memory-{number}"
        client.record(document)
        if number % 1_000 == 0:
            most = max(most, resident())
    size = turns * len(json.dumps(documents[0]))
    kept = "with a spill" if spilling else "without a spill"
    growth = (max(most, resident()) - before) / 2**20
    print(f"server away, {turns} turns ({size / 2**20:.0f} MB), {kept}: memory grew by {growth:.1f} MB")
    client.close(2)
    c = client.counters
    print(f"  on disk {c.waiting}, dropped {c.dropped}\n", flush=True)


def make_documents() -> list[dict[str, Any]]:
    from benchmarks.turns import make_turns
    from reviews.formats.native import encode_turn

    return [json.loads(encode_turn(turn)) for turn in make_turns(DIFFERENT)]


def time_each(count: int, call: Callable[[int], object], *, pause: float = 0.0) -> list[float]:
    taken = []
    for number in range(count):
        if pause:
            time.sleep(pause)
        started = time.perf_counter()
        call(number)
        taken.append(time.perf_counter() - started)
    return taken


def percentiles(taken: list[float]) -> tuple[float, float, float]:
    """p50, p99 and p99.9 in microseconds."""
    ordered = sorted(taken)
    return tuple(
        ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e6 for share in (0.5, 0.99, 0.999)
    )  # type: ignore[return-value]


def say(what: str, found: tuple[float, float, float], bare: tuple[float, float, float]) -> None:
    p50, p99, p999 = found
    ratio = p50 / bare[0]
    print(
        f"{what:<44}p50 {p50:7.1f}  p99 {p99:7.1f}  p99.9 {p999:8.1f} µs  ({ratio:.1f} times, p50)",
        flush=True,
    )


def resident() -> int:
    """Bytes of memory in use; on other systems than Linux the most that ever were."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * resource.getpagesize()


# -- Servers


@contextmanager
def installed(data: Path) -> Iterator[tuple[str, str]]:
    from benchmarks.installation import Installation

    with Installation(data / "data") as installation:
        installation.start("web")
        installation.wait_until_up()
        yield f"http://127.0.0.1:{installation.port}", installation.secret


@contextmanager
def slow(_data: Path) -> Iterator[tuple[str, str]]:
    server = subprocess.Popen([sys.executable, "-c", SLOW_SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}", "key"
    finally:
        server.terminate()
        server.communicate()


@contextmanager
def hanging(_data: Path) -> Iterator[tuple[str, str]]:
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", "key"


@contextmanager
def away(_data: Path) -> Iterator[tuple[str, str]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield f"http://127.0.0.1:{port}", "key"


if __name__ == "__main__":
    main()
