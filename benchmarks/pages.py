"""How fast pages and API answer over HTTP, with 10,000 and with 1,000,000 turns.

    python benchmarks/pages.py [--sizes 10000,1000000] [--database-url postgres://…] [--keep DIR]

Builds each database once (kept under ``--keep`` and used again), starts the real server on it, and prints p50
and p95 in milliseconds with the number of queries, and the ratio of the largest to the smallest size.
On PostgreSQL each size gets a database of its own beside the one named.
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.stored import PASSWORD, add_options, built  # noqa: E402

SAMPLES = 300

#: What was measured to p50 and p95 in milliseconds and the number of queries.
Timings = dict[str, tuple[float, float, int | None]]


def main() -> None:
    options = _options()
    results: dict[int, Timings] = {}
    for size in options.sizes:
        results[size] = measure(built(options, size))
    _print(results)


# -- Measuring


@contextmanager
def serving(environment: dict[str, str]) -> Iterator[int]:
    """The real server, without a worker, on a free port for the duration of the block."""
    port = _free_port()
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "serve", "--no-worker", "--port", str(port)],
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, server)
        yield port
    finally:
        server.terminate()
        server.wait(20)


def measure(environment: dict[str, str]) -> Timings:
    with serving(environment) as port:
        client = Client(port)
        client.log_in()
        key = (Path(environment["REVIEWS_DATA_DIR"]) / "bench-key").read_text()
        api = {"Authorization": f"Bearer {key}"}
        queries = _queries(environment)
        results = {}
        gets = {
            "list API, 50": ("/api/v1/turns?limit=50", api),
            "list API, 50, deep": (_deep_cursor(client, api), api),
            "queue": ("/t/bench/queue/", {}),
            "queue, by kind": ("/t/bench/queue/?kind=kv", {}),
            "queue, by agent": ("/t/bench/queue/?agent=ops-bot", {}),
            "queue, newest": ("/t/bench/queue/?order=newest", {}),
            "queue, two filters": ("/t/bench/queue/?kind=uuid&agent=ops-bot", {}),
            "overview": ("/t/bench/", {}),
            "review page": (client.first_turn(), {}),
        }
        for name, (path, headers) in gets.items():
            timings = [client.timed("GET", path, headers=headers) for _ in range(SAMPLES)][20:]
            results[name] = (*_percentiles(timings), queries.get(name))
        results["save a decision"] = (
            *_percentiles(client.decide(SAMPLES)[20:]),
            queries.get("save a decision"),
        )
    return results


class Client:
    """One keep-alive connection with a session, as a browser holds it."""

    def __init__(self, port: int) -> None:
        self.connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookies: dict[str, str] = {}

    def request(self, method: str, path: str, body: str = "", headers: dict[str, str] | None = None):
        sent = dict(headers or {})
        if self.cookies and "Authorization" not in sent:
            sent["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        if body:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        if self.connection.sock is None:
            self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.request(method, path, body or None, sent)
        response = self.connection.getresponse()
        text = response.read().decode()
        for name, value in response.getheaders():
            if name.lower() == "set-cookie":
                cookie = value.split(";")[0].split("=", 1)
                self.cookies[cookie[0]] = cookie[1]
        return response, text

    def timed(self, method: str, path: str, body: str = "", headers: dict[str, str] | None = None) -> float:
        began = time.perf_counter()
        response, text = self.request(method, path, body, headers)
        spent = (time.perf_counter() - began) * 1e3
        if response.status not in (200, 302):
            raise SystemExit(f"{method} {path}: {response.status}\n{text[:500]}")
        return spent

    def log_in(self) -> None:
        self.request("GET", "/login/")
        form = {"username": "bench", "password": PASSWORD, "csrfmiddlewaretoken": self.cookies["csrftoken"]}
        response, _ = self.request("POST", "/login/", urlencode(form))
        if response.status != 302:
            raise SystemExit(f"login failed: {response.status}")

    def first_turn(self) -> str:
        _, text = self.request("GET", "/t/bench/queue/")
        return re.search(r'class="row" href="([^"]+)"', text)[1]

    def decide(self, count: int) -> list[float]:
        """Label claims as a reviewer would: HTMX posts, the answer is the next claim or turn."""
        path = self.first_turn()
        timings = []
        _, text = self.request("GET", path)
        while len(timings) < count:
            row = re.search(r'claim-row current" method="post" action="([^"]+)".*?</form>', text, re.S)
            if row is None:
                _, text = self.request("GET", self.first_turn())
                continue
            fields = dict(re.findall(r'name="(version|position)" value="(\d+)"', row[0]))
            body = urlencode({**fields, "label": "fabricated", "spent": "3.5"})
            headers = {"HX-Request": "true", "X-CSRFToken": self.cookies["csrftoken"]}
            began = time.perf_counter()
            response, text = self.request("POST", row[1].replace("&amp;", "&"), body, headers)
            timings.append((time.perf_counter() - began) * 1e3)
            if response.status != 200:
                raise SystemExit(f"decision: {response.status}\n{text[:500]}")
        return timings


def _deep_cursor(client: Client, api: dict[str, str]) -> str:
    import json

    path = "/api/v1/turns?limit=200"
    for _ in range(20):
        _, text = client.request("GET", path, headers=api)
        cursor = json.loads(text).get("next_cursor") or json.loads(text).get("next")
        if not cursor:
            break
        path = f"/api/v1/turns?limit=200&cursor={cursor}"
    return path.replace("limit=200", "limit=50")


def _queries(environment: dict[str, str]) -> dict[str, int]:
    """Query counts of the pages, counted in a process of its own through Django's test client."""
    code = (
        "import django, json; django.setup()\n"
        "from django.test import Client\n"
        "from django.test.utils import CaptureQueriesContext\n"
        "from django.db import connection\n"
        "from reviews.models import User\n"
        "c = Client(HTTP_HOST='localhost'); c.force_login(User.objects.get(username='bench'))\n"
        "out = {}\n"
        "for name, path in json.loads(input()).items():\n"
        "    c.get(path)\n"
        "    with CaptureQueriesContext(connection) as q: c.get(path)\n"
        "    out[name] = len(q)\n"
        "print(json.dumps(out))\n"
    )
    import json

    pages = {
        "queue": "/t/bench/queue/",
        "queue, by kind": "/t/bench/queue/?kind=kv",
        "queue, by agent": "/t/bench/queue/?agent=ops-bot",
        "queue, newest": "/t/bench/queue/?order=newest",
        "queue, two filters": "/t/bench/queue/?kind=uuid&agent=ops-bot",
        "overview": "/t/bench/",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        input=json.dumps(pages),
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def _percentiles(timings: list[float]) -> tuple[float, float]:
    ordered = sorted(timings)
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]


def _print(results: dict[int, Timings]) -> None:
    sizes = sorted(results)
    print(f"{'':22}" + "".join(f"{size:>12,} turns      " for size in sizes) + "  ratio of p50   queries")
    for name in results[sizes[0]]:
        cells = "".join("   p50 {:6.2f} p95 {:6.2f}".format(*results[size][name][:2]) for size in sizes)
        ratio = results[sizes[-1]][name][0] / results[sizes[0]][name][0]
        print(f"{name:22}{cells}   {ratio:8.2f}   {results[sizes[-1]][name][2] or '':>8}")


# -- Surroundings


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, sizes="10000,1000000")
    return parser.parse_args()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(port: int, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    main()
