"""``manage.py detect``: findings as JSON lines, in a place without any database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reviews.formats.native import encode_turn
from tests.factories import call, make_record

ROOT = Path(__file__).resolve().parents[2]


def detect(*arguments: str | Path, data: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DATABASE_", "REVIEWS_"))}
    # Nobody listens there: a command that asked the database would fail.
    environment |= {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "REVIEWS_DATA_DIR": str(data)}
    return subprocess.run(
        [sys.executable, "manage.py", "detect", *map(str, arguments)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    turns = [
        make_record("I sent it, booking=B-17.", external_id="claimed"),
        make_record("I sent it.", external_id="done", tool_calls=[call("send_mail")]),
    ]
    path = tmp_path / "turns.jsonl"
    path.write_bytes(b"\n".join([*map(encode_turn, turns), b'{"draft": 1}']))
    return path


def test_every_turn_and_every_error_is_one_line(file, tmp_path):
    done = detect("--format", "native", "--profile", "reference", file, data=tmp_path)
    assert done.returncode == 0, done.stderr
    claimed, grounded, broken = rows(done)
    assert [finding["kind"] for finding in claimed.pop("findings")] == ["verb_claim"]
    assert claimed == {
        "file": str(file), "line": 1, "turn": 1, "external_id": "claimed", "outcome": "observed",
    }  # fmt: skip
    assert (grounded["findings"], grounded["outcome"]) == ([], "none")
    assert (broken["line"], broken["error"]["pointer"]) == (3, "/draft")
    assert "2 turns, 1 flagged, 1 errors" in done.stderr


def test_settings_are_those_of_the_options(file, tmp_path):
    keywords = tmp_path / "keywords.json"
    keywords.write_text('{"send_mail": ["invoice"]}')
    options = ("--mode", "refuse", "--identifier-keys", "Booking,trip", "--keywords", keywords)
    claimed = rows(detect("--format", "native", *options, file, data=tmp_path))[0]
    assert [finding["identifier"] for finding in claimed["findings"]] == ["I sent", "B-17"]
    assert claimed["outcome"] == "refuse_replaced"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--identifier-keys", "no key!"), "cannot be a key"),
        (("--refuse-min-confidence", "1.5"), "from 0 to 1"),
        (("--keywords", "missing.json"), "cannot be read"),
        (("--keywords", __file__), "not valid JSON"),
    ],
)
def test_a_wrong_setting_is_told(file, tmp_path, options, words):
    done = detect("--format", "native", *options, file, data=tmp_path)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stdout == ""


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_read(file, tmp_path):
    done = detect("--format", "native", tmp_path / "missing.jsonl", file, data=tmp_path)
    assert done.returncode == 1
    assert "missing.jsonl: cannot be read" in done.stderr
    assert len(rows(done)) == 3


def test_each_profile_can_be_asked_and_evidence_tells_what_bears_a_claim_out(tmp_path):
    turns = [
        make_record("I've cancelled it.", external_id="invented"),
        make_record(
            "I've cancelled it.", external_id="done", tool_calls=[call("cancel_order", {"ok": True}, ok=True)]
        ),
    ]
    path = tmp_path / "turns.jsonl"
    path.write_bytes(b"\n".join(encode_turn(turn) for turn in turns))
    invented, done = rows(detect("--format", "native", path, data=tmp_path))
    (finding,) = invented["findings"]
    assert finding["kind"] == "verb_claim"
    assert finding["evidence"]["missing"]
    assert (done["findings"], [claim["source"]["tool"] for claim in done["grounded"]]) == (
        [],
        ["cancel_order"],
    )
    for row in rows(detect("--format", "native", "--profile", "reference", path, data=tmp_path)):
        assert row["findings"] == []
        assert "grounded" not in row
