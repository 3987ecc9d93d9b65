from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from reviews.formats import FORMATS, TurnLine, decode_turn, encode_turn, open_native_lines, open_turns
from reviews.formats.limits import TURN_BYTES
from tests.formats.samples import raw, shared, turn


def read(format_name: str, path: Path, *, keep_draftless: bool = False) -> list[TurnLine]:
    with open_turns(format_name, path, keep_draftless=keep_draftless) as file:
        return list(file)


@pytest.mark.parametrize(
    ("format_name", "name", "turns", "with_tools", "all_turns"),
    [
        ("tau-bench", "tau_bench_airline.jsonl", 878, 348, 1002),
        ("openai-chat", "tau2_sim_es_en.jsonl", 708, 296, 874),
        ("openai-chat", "hammerbench_zh.jsonl", 123, 123, 183),
    ],
)
def test_turns_of_the_shared_transcripts(
    format_name: str, name: str, turns: int, with_tools: int, all_turns: int
) -> None:
    path = shared(name)
    lines = read(format_name, path)
    records = [line.record for line in lines if line.record]
    assert len(records) == len(lines) == turns
    assert sum(bool(record.tool_calls) for record in records) == with_tools
    assert all(record.draft.strip() for record in records)
    assert len({record.external_id for record in records}) == turns
    everything = read(format_name, path, keep_draftless=True)
    assert len(everything) == all_turns
    assert [line for line in everything if line.record and line.record.draft] == lines


@pytest.mark.parametrize(
    ("format_name", "name"),
    [
        ("tau-bench", "tau_bench_airline.jsonl"),
        ("openai-chat", "tau2_sim_es_en.jsonl"),
        ("openai-chat", "hammerbench_zh.jsonl"),
        ("openai-chat", "provider_wire.jsonl"),
    ],
)
def test_every_turn_read_from_a_file_is_a_good_native_turn(format_name: str, name: str) -> None:
    for line in read(format_name, shared(name), keep_draftless=True):
        if line.record:
            assert decode_turn(encode_turn(line.record)) == line.record


@pytest.mark.parametrize("name", ["tau_bench_airline.jsonl", "tau2_sim_es_en.jsonl"])
def test_every_call_of_the_agent_finds_its_result(name: str) -> None:
    format_name = "tau-bench" if name.startswith("tau_bench") else "openai-chat"
    for line in read(format_name, shared(name), keep_draftless=True):
        assert line.record
        assert all(call.result is not None for call in line.record.tool_calls)


def test_wire_recordings_of_other_providers_are_errors_of_their_lines() -> None:
    lines = read("openai-chat", shared("provider_wire.jsonl"))
    errors = [line.error for line in lines if line.error]
    records = [line.record for line in lines if line.record]
    assert len(errors) == 65 + 60 + 37
    assert {error.pointer for error in errors} == {"/format"}
    assert (len(records), sum(bool(record.tool_calls) for record in records)) == (87, 33)
    assert not any(b";base64," in encode_turn(record) for record in records)


@pytest.mark.parametrize("name", ["reports.jsonl", "swe_agent_traj.jsonl", "otel_genai_examples.jsonl"])
@pytest.mark.parametrize("format_name", sorted(FORMATS))
def test_a_file_of_another_format_gives_errors_not_a_crash(format_name: str, name: str) -> None:
    lines = read(format_name, shared(name))
    assert lines
    assert all(line.error and line.turn == 0 for line in lines)


def test_ids_are_the_same_on_every_reading_packed_or_not(tmp_path: Path) -> None:
    path = shared("hammerbench_zh.jsonl")
    packed = tmp_path / "hammerbench_zh.jsonl.gz"
    with path.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    assert read("openai-chat", packed) == read("openai-chat", path)


def test_lines_that_share_an_id_become_distinct(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    path.write_bytes(
        b"\n".join(
            [raw({"id": "a", "messages": messages}), raw(messages), raw({"id": "a", "messages": messages})]
        )
    )
    ids = [line.record.external_id for line in read("openai-chat", path) if line.record]
    assert ids == ["a/1", "log:2/1", "a~2/1"]


def test_a_native_file_keeps_good_lines_and_reports_bad_ones(tmp_path: Path) -> None:
    path = tmp_path / "turns.ndjson"
    rows = [
        raw(turn()),
        b"",
        b"{",
        raw(turn(draft=3)),
        raw(turn(draft="x" * TURN_BYTES)),
        raw(turn(draft="")),
    ]
    path.write_bytes(b"\n".join(rows))
    lines = read("native", path)
    assert [(line.line, line.turn, line.error.pointer if line.error else None) for line in lines] == [
        (1, 1, None),
        (3, 0, ""),
        (4, 0, "/draft"),
        (5, 0, ""),
        (6, 1, None),
    ]
    assert lines[3].error
    assert "at most 4194304" in lines[3].error.message


def test_native_lines_can_be_decoded_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_bytes(raw(turn()) + b"\n\n" + raw(turn(external_id="t2")))
    with open_native_lines(path) as file:
        decoded = [(number, decode_turn(document).external_id) for number, document in file]
    assert decoded == [(1, "t1"), (3, "t2")]


def test_a_turn_over_the_limits_is_an_error_of_that_turn_only(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    call = {"role": "assistant", "content": "y", "tool_calls": [{"name": "x" * 201, "arguments": {}}]}
    big = {"role": "assistant", "content": "y" * TURN_BYTES}
    ask = {"role": "user", "content": "x"}
    path.write_bytes(
        raw({"id": "a", "messages": [ask, {"role": "assistant", "content": "y"}, ask, call]}) + b"\n"
    )
    first, second = read("openai-chat", path)
    assert first.record
    assert second.error
    assert (second.turn, second.error.pointer) == (2, "/tool_calls/0/name")
    path.write_bytes(raw({"id": "a", "messages": [ask, big]}))
    (only,) = read("openai-chat", path)
    assert only.error
    assert "found a turn of" in only.error.message


def test_a_damaged_message_keeps_the_other_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = raw([{"role": "assistant", "content": "y"}])
    path.write_bytes(good + b"\n" + raw([{"role": "narrator"}]) + b"\n" + good)
    assert [(line.line, bool(line.record)) for line in read("openai-chat", path)] == [
        (1, True),
        (2, False),
        (3, True),
    ]


def test_a_file_that_breaks_off_ends_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl.gz"
    path.write_bytes(gzip.compress(raw(turn()) + b"\n")[:-4])
    lines = read("native", path)
    assert lines[-1].error
    assert (lines[-1].turn, "damaged" in lines[-1].error.message) == (0, True)


def test_progress_and_closing(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_bytes(b"\n".join([raw(turn())] * 5000))
    with open_turns("native", path) as file:
        next(file)
        assert 0 < file.bytes_read < file.bytes_total == path.stat().st_size
        assert len(list(file)) == 4999
        assert file.bytes_read == file.bytes_total


def test_unknown_formats_and_missing_files_are_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        open_turns("csv", tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        open_turns("native", tmp_path / "x")
