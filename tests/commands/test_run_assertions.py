"""``manage.py run_assertions``, as the continuous integration of an agent runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from tests.factories import make_tenant

ROOT = Path(__file__).resolve().parents[2]
SECRET = "zebra-4111-crossing"
SUITE = {
    "name": "privacy",
    "tags": ["recalled"],
    "sampling": 0.0,
    "assertions": [
        {"type": "prompt_recall_excludes", "label": "no card", "fragments": [SECRET]},
        {"type": "prompt_recall_contains", "fragments": ["window"]},
    ],
}
GOOD = {
    "external_id": "good",
    "draft": "x",
    "attributes": {"tags": ["recalled"], "prompt_recall": "window seat"},
}
LEAKS = {
    "external_id": "le\u0007aks <&>",
    "draft": "x",
    "attributes": {"tags": ["recalled"], "prompt_recall": f"window {SECRET}"},
}
UNTAGGED = {"external_id": "other", "draft": "x", "attributes": {"prompt_recall": SECRET}}


def lines(path: Path, *documents: Any) -> Path:
    path.write_text("\n".join(d if isinstance(d, str) else json.dumps(d) for d in documents), "utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], **options: Any) -> tuple[int, str]:
    """Exit status and what was printed."""
    status = 0
    try:
        call_command("run_assertions", **options)
    except SystemExit as ended:
        status = int(ended.code or 0)
    return status, capsys.readouterr().out


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return lines(tmp_path / "suite.json", SUITE)


def test_all_that_passes_ends_with_0_whatever_the_sample(tmp_path, suite, capsys):
    status, said = run(capsys, suite=str(suite), file=lines(tmp_path / "t.jsonl", GOOD, UNTAGGED))
    assert status == 0
    assert said.splitlines()[-1] == ("2 turns, 1 not looked at; 2 assertions, 0 failed; 0 lines unreadable")


def test_a_failure_ends_with_1_and_tells_turn_reason_and_counts(tmp_path, suite, capsys):
    report = tmp_path / "report.xml"
    turns = lines(tmp_path / "t.jsonl", GOOD, LEAKS)
    status, said = run(capsys, suite=str(suite), file=turns, junit=report)
    assert status == 1
    assert "no card: 1 fragment reached the model. (fragments 1, leaked 1; leaked " in said
    assert SECRET not in said
    raw = report.read_text("utf-8")
    assert SECRET not in raw
    root = ElementTree.fromstring(raw)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "0")
    (node,) = root.findall("testsuite")
    assert (node.get("name"), node.get("tests"), node.get("failures")) == ("privacy", "4", "1")
    (failed,) = [case for case in node.findall("testcase") if case.find("failure") is not None]
    assert (failed.get("classname"), failed.get("name")) == ("privacy.no card", "le\ufffdaks <&>")


def test_without_anything_to_evaluate_nothing_is_said_to_pass(tmp_path, suite, capsys):
    status, _ = run(capsys, suite=str(suite), file=lines(tmp_path / "t.jsonl", UNTAGGED))
    assert status == 1


def test_a_line_that_is_no_turn_is_told_and_ends_with_2(tmp_path, suite, capsys):
    report = tmp_path / "report.xml"
    turns = lines(tmp_path / "t.jsonl", GOOD, '{"external_id": "x"}')
    status, said = run(capsys, suite=str(suite), file=turns, junit=report)
    assert status == 2
    assert "line 2: /draft" in said
    assert ElementTree.parse(report).getroot().get("errors") == "1"


@pytest.mark.parametrize("wrapped", [lambda s: s, lambda s: [s], lambda s: {"version": 3, "suites": [s]}])
def test_a_file_holds_a_suite_a_list_or_what_the_api_answers(tmp_path, capsys, wrapped):
    suite = lines(tmp_path / "suite.json", wrapped(SUITE))
    assert run(capsys, suite=str(suite), file=lines(tmp_path / "t.jsonl", GOOD))[0] == 0


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "is not JSON"),
        ([], "no suite"),
        ({"name": "x"}, "/0/assertions"),
        ({"name": "x", "assertions": [{"type": "y"}]}, "/0/assertions/0/type"),
        ({"name": "x", "assertions": [{"type": "prompt_recall_excludes"}]}, "/0/assertions/0"),
        ({**SUITE, "sampling": 2}, "/0/sampling"),
    ],
)
def test_a_suite_that_cannot_be_used_is_refused_with_the_spot(tmp_path, document, said):
    suite = lines(tmp_path / "suite.json", document)
    with pytest.raises(CommandError, match=said) as refused:
        call_command("run_assertions", suite=str(suite), file=lines(tmp_path / "t.jsonl", GOOD))
    assert refused.value.returncode == 2


@pytest.mark.parametrize("missing", ["suite", "file", "junit"])
def test_a_file_that_cannot_be_opened_is_named(tmp_path, suite, missing):
    options = {"suite": str(suite), "file": lines(tmp_path / "t.jsonl", GOOD)}
    options[missing] = str(tmp_path / "no" / missing) if missing == "suite" else tmp_path / "no" / missing
    with pytest.raises(CommandError, match=f"no/{missing}") as refused:
        call_command("run_assertions", **options)
    assert refused.value.returncode == 2


@pytest.mark.django_db
def test_a_suite_in_force_is_found_by_its_name(tmp_path, capsys):
    make_tenant(assertion_suites=[SUITE])
    turns = lines(tmp_path / "t.jsonl", LEAKS)
    assert run(capsys, suite="privacy", tenant="acme", file=turns)[0] == 1
    with pytest.raises(CommandError, match="there are: privacy"):
        call_command("run_assertions", suite="other", tenant="acme", file=turns)
    with pytest.raises(CommandError, match="no tenant 'nobody'"):
        call_command("run_assertions", suite="privacy", tenant="nobody", file=turns)


@pytest.mark.slow
def test_the_exit_status_is_that_of_the_process_and_no_database_is_needed(tmp_path, suite):
    turns = lines(tmp_path / "t.jsonl", LEAKS)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DATABASE_", "REVIEWS_"))}
    # Nobody listens there: a command that asked the database would fail.
    environment |= {
        "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
        "REVIEWS_DATA_DIR": str(tmp_path / "data"),
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "run_assertions", "--suite", suite, "--file", turns],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "no card" in done.stdout
