"""Agents fork, are killed, and end without a word; their turns are sent all the same, each once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reviews.client import ReviewClient
from tests.client.conftest import wait_until
from tests.client.fake_server import PATIENCE, FakeServer, free_port, never

ROOT = Path(__file__).resolve().parents[2]
MakeClient = Callable[..., ReviewClient]


def start(program: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> str:
    printed, complained = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, complained
    return printed


RECORD_FOR_EVER = """
import sys
from itertools import count
from reviews.client import ReviewClient
client = ReviewClient(sys.argv[1], "sr_key", spill=sys.argv[2], flush_seconds=0.001, timeout=3600)
for number in count():
    while not client.record({"external_id": str(number), "draft": "d" * 500}):
        pass
"""


REPLAY = """
import sys
from reviews.client import ReviewClient
ReviewClient(sys.argv[1], "sr_key", spill=sys.argv[2], timeout=3600).flush(3600)
"""


def lines_of(folder: Path) -> list[bytes]:
    return [line for file in folder.glob("*.turns.jsonl") for line in file.read_bytes().split(b"\n")[:-1]]


def test_what_a_killed_agent_had_spilled_is_sent_by_the_next_one_each_turn_once(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path
) -> None:
    agent = start(RECORD_FOR_EVER, f"http://127.0.0.1:{free_port()}", tmp_path)
    wait_until(lambda: len(lines_of(tmp_path)) > 5_000)
    agent.kill()
    agent.communicate()
    assert agent.returncode == -signal.SIGKILL
    spilled = [json.loads(line)["external_id"] for line in lines_of(tmp_path)]
    assert len(set(spilled)) == len(spilled)
    # As if the kill had hit in the middle of a write.
    [file, *_] = sorted(tmp_path.glob("*.turns.jsonl"))
    with file.open("ab") as torn:
        torn.write(b'{"external_id":"torn","dra')

    client = make_client(fake.url, spill=tmp_path)
    assert client.flush(PATIENCE)
    assert sorted(fake.turns, key=int) == sorted(spilled, key=int)
    assert fake.counts == {"accepted": len(spilled)}
    assert client.counters.dropped == 1  # the torn one
    assert list(tmp_path.glob("*.turns.jsonl")) == []


def test_a_killed_agent_whose_answer_was_under_way_doubles_nothing(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path
) -> None:
    """The server has stored what the spill still holds."""

    def store_and_hang(handler: Any) -> None:
        with fake.changed:
            fake.take_in(handler.request_seen.body)
        never(handler)

    (tmp_path / "1-a.turns.jsonl").write_bytes(
        b"".join(b'{"external_id":"s%d","draft":"d"}\n' % n for n in range(50))
    )
    fake.always = store_and_hang
    agent = start(REPLAY, fake.url, tmp_path)
    fake.wait_for(lambda: len(fake.turns) == 50)
    agent.kill()
    agent.communicate()
    fake.always = None
    client = make_client(fake.url, spill=tmp_path)
    assert client.flush(PATIENCE)
    assert (client.counters.adopted, client.counters.duplicates, client.counters.sent) == (50, 50, 0)
    assert fake.counts["accepted"] == len(fake.turns) == 50
    assert list(tmp_path.glob("*.turns.jsonl")) == []


FORK = """
import json, os, sys
from reviews.client import ReviewClient
client = ReviewClient(sys.argv[1], "sr_key", spill=sys.argv[2], flush_seconds=3600)
for number in range(50):
    client.record({"external_id": f"parent-{number}", "draft": "d"})
if os.fork() == 0:
    assert client.counters.recorded == client.counters.waiting == 0
    client.record({"external_id": "child", "draft": "d"})
    assert client.check("a draft", external_id="asked by the child", deadline=30).answered
    assert client.close(30)
    os._exit(0 if client.counters.sent == 1 else 1)
_, status = os.wait()
assert status == 0, status
assert client.counters.waiting == 50
assert client.check("a draft", external_id="asked by the parent", deadline=30).answered
assert client.close(30)
print(client.counters.sent)
"""


def test_a_forked_child_leaves_the_parents_turns_to_the_parent(fake: FakeServer, tmp_path: Path) -> None:
    assert finish(start(FORK, fake.url, tmp_path)) == "50\n"
    parents = {f"parent-{number}" for number in range(50)}
    assert set(fake.turns) == parents | {"child", "asked by the child", "asked by the parent"}
    assert fake.counts == {"accepted": 53}


FORK_WITH_SPILL = """
import os, sys
from reviews.client import ReviewClient
client = ReviewClient(sys.argv[1], "sr_key", spill=sys.argv[2], flush_seconds=0.001)
client.record({"external_id": "parent", "draft": "d"})
while not client.counters.spilled:
    pass
if os.fork() == 0:
    sys.stdin.readline()  # outlives its parent
    sys.exit()
os._exit(9)
"""


def test_a_child_does_not_hold_the_files_of_a_parent_that_died(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path
) -> None:
    parent = start(FORK_WITH_SPILL, f"http://127.0.0.1:{free_port()}", tmp_path, stdin=subprocess.PIPE)
    assert parent.wait(PATIENCE) == 9
    client = make_client(fake.url, spill=tmp_path)
    assert client.flush(PATIENCE)
    assert list(fake.turns) == ["parent"]
    parent.communicate("go\n", timeout=PATIENCE)


AT_EXIT = """
import sys
from reviews.client import ReviewClient
client = ReviewClient(sys.argv[1], "sr_key", spill=sys.argv[2] or None, flush_seconds=3600)
client.record({"external_id": "last words", "draft": "d"})
"""


def test_what_waits_at_the_interpreters_end_is_sent(fake: FakeServer) -> None:
    # A name, for it has to be resolved when no thread pool works any more.
    assert finish(start(AT_EXIT, f"http://localhost:{fake.port}", "")) == ""
    assert list(fake.turns) == ["last words"]


def test_or_spilled_when_the_server_is_away(
    fake: FakeServer, make_client: MakeClient, tmp_path: Path
) -> None:
    finish(start(AT_EXIT, f"http://127.0.0.1:{free_port()}", tmp_path))
    assert len(lines_of(tmp_path)) == 1
    assert make_client(fake.url, spill=tmp_path).flush(PATIENCE)
    assert list(fake.turns) == ["last words"]


def test_a_server_that_hangs_does_not_keep_the_interpreter(fake: FakeServer, tmp_path: Path) -> None:
    """That the process ends while the server is silent is the proof."""
    fake.always = never
    finish(start(AT_EXIT, fake.url, tmp_path))
    assert len(lines_of(tmp_path)) == 1


IDLE_FORKS = """
import os, sys, threading
from reviews.client import ReviewClient
client = ReviewClient(sys.argv[1], "sr_key")
assert threading.active_count() == 1  # nothing runs before it is needed
workers = []
for worker in range(3):
    if (pid := os.fork()) == 0:
        client.record({"external_id": f"worker-{worker}", "draft": "d"})
        sys.exit()
    workers.append(pid)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in workers)
"""


def test_a_client_made_before_the_workers_are_forked_serves_each_of_them(fake: FakeServer) -> None:
    finish(start(IDLE_FORKS, fake.url))
    assert sorted(fake.turns) == ["worker-0", "worker-1", "worker-2"]
