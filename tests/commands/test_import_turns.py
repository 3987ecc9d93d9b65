"""``manage.py import_turns``: what is stored, what is told, and how the command ends."""

from __future__ import annotations

import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reviews.formats.native import encode_turn
from reviews.management.commands.import_turns import ProgressBar
from reviews.models import Turn
from reviews.models.turns import AnalysisState, Source
from reviews.services.importing import Progress
from tests.factories import make_record
from tests.formats.samples import shared

CHAT = [
    {"role": "user", "content": "Please send the invoice."},
    {"role": "assistant", "content": "I sent it, ticket_id=A-17."},
]


def run(*arguments: str | Path, **options: Any) -> tuple[str, str]:
    """What the command printed on standard output and on standard error."""
    out, err = StringIO(), StringIO()
    call_command("import_turns", *map(str, arguments), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def run_json(*arguments: str | Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run("--tenant", "acme", "--json", *arguments)[0])
    return answer


@pytest.fixture
def native(tmp_path: Path) -> Path:
    """Three turns; the last line is the first one again."""
    lines = [encode_turn(make_record(external_id=f"run-{n}")) for n in (1, 2, 1)]
    file = tmp_path / "turns.jsonl"
    file.write_bytes(b"\n".join(lines))
    return file


def test_turns_are_stored_as_analysed_by_the_policy_in_force(tenant, native):
    answer = run_json("--format", "native", native)
    assert (answer["accepted"], answer["duplicates"], answer["analysed"]) == (2, 1, 2)
    turns = Turn.objects.for_tenant(tenant)
    assert {(turn.analysis_state, turn.source) for turn in turns} == {(AnalysisState.DONE, Source.IMPORT)}
    assert all(turn.policy_version is not None and turn.finding_count == 3 for turn in turns)


def test_a_second_import_changes_nothing(tenant, native):
    run_json("--format", "native", native)
    answer = run_json("--format", "native", native)
    assert (answer["accepted"], answer["duplicates"], answer["analysed"]) == (0, 3, 0)
    assert Turn.objects.for_tenant(tenant).count() == 2


def test_other_content_under_the_same_id_is_a_conflict_and_changes_nothing(tenant, native, tmp_path):
    run_json("--format", "native", native)
    other = tmp_path / "other.jsonl"
    other.write_bytes(encode_turn(make_record("Something else.", external_id="run-1")))
    answer = run_json("--format", "native", other)
    assert (answer["accepted"], answer["conflicts"], answer["invalid"]) == (0, 1, 0)
    assert (answer["errors"][0]["line"], answer["errors"][0]["pointer"]) == (1, "/external_id")
    assert Turn.objects.for_tenant(tenant).get(external_id="run-1").finding_count == 3


def test_a_bad_row_is_told_with_file_line_and_pointer_and_the_others_are_stored(tenant, tmp_path):
    file = tmp_path / "turns.jsonl"
    good = encode_turn(make_record())
    file.write_bytes(good + b'\n{"external_id": "x", "draft": 7}\nno json\n')
    out, err = run("--tenant", "acme", "--format", "native", file)
    assert "1 accepted" in out
    assert "2 invalid" in out
    first, second = err.splitlines()
    assert first.startswith(f"{file}:2: /draft: found the number 7")
    assert second.startswith(f"{file}:3: ")


def test_bad_rows_end_a_strict_import_with_code_1(tenant, tmp_path):
    file = tmp_path / "turns.jsonl"
    file.write_text("no json\n")
    with pytest.raises(SystemExit) as ended:
        run("--tenant", "acme", "--format", "native", "--strict", file)
    assert ended.value.code == 1


def test_a_file_that_cannot_be_read_ends_with_code_1_and_the_others_are_stored(tenant, native, tmp_path):
    with pytest.raises(SystemExit) as ended:
        run("--tenant", "acme", "--format", "native", tmp_path / "missing.jsonl", native)
    assert ended.value.code == 1
    assert Turn.objects.for_tenant(tenant).count() == 2


def test_chat_files_also_compressed_are_read_and_counted_each(tenant, tmp_path):
    plain, packed = tmp_path / "one.jsonl", tmp_path / "two.jsonl.gz"
    plain.write_text(json.dumps(CHAT) + "\n")
    packed.write_bytes(gzip.compress((json.dumps(CHAT) + "\n" + json.dumps({"format": "gemini"})).encode()))
    answer = run_json("--format", "openai-chat", plain, packed)
    assert [(file["accepted"], file["invalid"]) for file in answer["files"]] == [(1, 0), (1, 1)]
    assert (answer["accepted"], answer["invalid"]) == (2, 1)
    assert answer["errors"][0]["file"] == str(packed)
    assert answer["errors"][0]["pointer"] == "/format"


# Turns and turns with calls. Of provider_wire, the README counts 139 with calls: it passes over 13 turns
# whose only calls the provider ran itself.
SHARED_FILES = {
    "hammerbench_zh.jsonl": ("hammerbench", 123, 123),
    "otel_genai_examples.jsonl": ("otel-genai", 6, 2),
    "provider_wire.jsonl": ("provider-wire", 281, 139 + 13),
    "reports.jsonl": ("reports", 29, 11),
    "swe_agent_traj.jsonl": ("swe-agent", 13, 13),
    "tau2_sim_es_en.jsonl": ("tau2", 708, 296),
    "tau_bench_airline.jsonl": ("tau-bench", 878, 348),
}


@pytest.mark.parametrize("name", sorted(SHARED_FILES))
def test_every_shared_file_is_imported_under_its_format(tenant, name):
    format_name, turns, with_calls = SHARED_FILES[name]
    answer = run_json("--format", format_name, "--strict", shared(name))
    assert (answer["accepted"], answer["analysed"], answer["invalid"]) == (turns, turns, 0)
    calls = Turn.objects.for_tenant(tenant).values_list("payload__tool_calls", flat=True)
    assert sum(bool(of_turn) for of_turn in calls) == with_calls
    # Recognised, the same turns come out: nothing is stored a second time.
    again = run_json("--format", "auto", "--strict", shared(name))
    assert (again["accepted"], again["duplicates"], again["conflicts"]) == (0, turns, 0)


def test_a_file_that_no_rule_fits_is_told_what_was_tried(tenant, tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text('{"utterances": []}\n' * 3)
    answer = run_json("--format", "auto", file)
    assert (answer["accepted"], answer["invalid"]) == (0, 1)
    assert "tau-bench (traj)" in answer["errors"][0]["message"]


def test_an_agent_is_given_to_turns_without_one_only(tenant, tmp_path):
    file = tmp_path / "turns.jsonl"
    named, nameless = make_record(external_id="a"), make_record(external_id="b", agent="")
    file.write_bytes(encode_turn(named) + b"\n" + encode_turn(nameless))
    run("--tenant", "acme", "--format", "native", "--agent", "night-bot", file)
    agents = dict(Turn.objects.for_tenant(tenant).values_list("external_id", "agent"))
    assert agents == {"a": "support-bot", "b": "night-bot"}


def test_an_empty_file_is_no_error(tenant, tmp_path):
    file = tmp_path / "empty.jsonl"
    file.touch()
    assert run("--tenant", "acme", "--format", "native", file)[0].startswith("0 accepted")


def test_an_unknown_tenant_is_answered_with_those_there_are(tenant, native):
    with pytest.raises(CommandError, match=r"no tenant 'nobody'.*There are: acme"):
        run("--tenant", "nobody", "--format", "native", native)


@pytest.mark.parametrize("jobs", ["0", "-1"])
def test_jobs_must_be_at_least_one(tenant, native, jobs):
    with pytest.raises(CommandError, match="--jobs"):
        run("--tenant", "acme", "--format", "native", "--jobs", jobs, native)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_bar_is_for_terminals_only():
    hidden, shown = StringIO(), Terminal()
    for out in (hidden, shown):
        bar = ProgressBar(out)
        bar.SECONDS_BETWEEN = 0.0
        bar.show(Progress(bytes_done=50, bytes_total=100, turns=7))
        bar.clear()
    assert hidden.getvalue() == ""
    assert " 50%  7 turns" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[K")
