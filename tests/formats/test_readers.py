from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from reviews.formats import FORMATS, TurnLine, decode_turn, encode_turn, open_native_lines, open_turns
from reviews.formats.limits import TURN_BYTES
from reviews.formats.recognise import recognise_file
from reviews.formats.record import ToolCall
from tests.formats.samples import raw, shared, turn

SHARED_FORMATS = {
    "hammerbench_zh.jsonl": "hammerbench",
    "otel_genai_examples.jsonl": "otel-genai",
    "provider_wire.jsonl": "provider-wire",
    "reports.jsonl": "reports",
    "swe_agent_traj.jsonl": "swe-agent",
    "tau2_sim_es_en.jsonl": "tau2",
    "tau_bench_airline.jsonl": "tau-bench",
}


def read(format_name: str, path: Path, *, keep_draftless: bool = False) -> list[TurnLine]:
    with open_turns(format_name, path, keep_draftless=keep_draftless) as file:
        return list(file)


@pytest.mark.parametrize(
    ("format_name", "name", "turns", "with_tools", "all_turns"),
    [
        ("tau-bench", "tau_bench_airline.jsonl", 878, 348, 1002),
        ("openai-chat", "tau2_sim_es_en.jsonl", 708, 296, 874),
        ("openai-chat", "hammerbench_zh.jsonl", 123, 123, 183),
        ("tau2", "tau2_sim_es_en.jsonl", 708, 296, 874),
        ("hammerbench", "hammerbench_zh.jsonl", 123, 123, 183),
        # README: 139 with tools. It counts no turn whose only calls the provider ran without naming them as
        # functions (see the next test).
        ("provider-wire", "provider_wire.jsonl", 281, 139 + 13, 319),
        ("swe-agent", "swe_agent_traj.jsonl", 13, 13, 13),
        ("otel-genai", "otel_genai_examples.jsonl", 6, 2, 6),
        ("reports", "reports.jsonl", 29, 11, 29),
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


def test_turns_whose_only_calls_are_the_providers_own() -> None:
    own = {"code_interpreter", "file_search", "google_search_web", "tool_search", "web_search"}
    documents = shared("provider_wire.jsonl").read_bytes().split(b"\n")
    found = 0
    for line in read("provider-wire", shared("provider_wire.jsonl")):
        assert line.record
        names = {call.name for call in line.record.tool_calls}
        if names and names <= own and b'"format": "anthropic"' not in documents[line.line - 1][:400]:
            found += 1
    assert found == 13


@pytest.mark.parametrize("name", sorted(SHARED_FORMATS))
def test_the_format_of_a_shared_file_is_recognised(name: str) -> None:
    assert recognise_file(shared(name)) == SHARED_FORMATS[name]
    assert read("auto", shared(name)) == read(SHARED_FORMATS[name], shared(name))


@pytest.mark.parametrize("name", sorted(SHARED_FORMATS.keys() - {"reports.jsonl"}))
def test_later_turns_carry_what_was_called_and_said_before(name: str) -> None:
    before: dict[str, tuple[list[ToolCall], list[str]]] = {}
    for line in read(SHARED_FORMATS[name], shared(name), keep_draftless=True):
        assert line.record
        record = line.record
        assert "history_left_out" not in record.attributes
        if record.conversation_id not in before and not record.external_id.endswith("/1"):
            # A turn from before the first user message was left out; what it held is history all the same.
            before[record.conversation_id] = ([*record.earlier_calls], [*record.earlier_user_messages])
        called, said = before.setdefault(record.conversation_id, ([], []))
        assert (record.earlier_calls, record.earlier_user_messages) == (called, said)
        called.extend(record.tool_calls)
        if record.user_message.strip():
            said.append(record.user_message)


@pytest.mark.parametrize(
    ("name", "succeeded", "failed"),
    [
        # The simulator's own flag, on every result.
        ("tau2_sim_es_en.jsonl", 314, 48),
        ("provider_wire.jsonl", 102, 15),
        # These formats state nothing.
        ("tau_bench_airline.jsonl", 0, 0),
        ("hammerbench_zh.jsonl", 0, 0),
        ("swe_agent_traj.jsonl", 0, 0),
        ("otel_genai_examples.jsonl", 0, 0),
        ("reports.jsonl", 0, 0),
    ],
)
def test_success_is_what_the_format_states(name: str, succeeded: int, failed: int) -> None:
    records = [line.record for line in read(SHARED_FORMATS[name], shared(name)) if line.record]
    calls = [call for record in records for call in record.tool_calls]
    assert sum(call.ok is True for call in calls) == succeeded
    assert sum(call.ok is False for call in calls) == failed
    assert all(call.error for call in calls if call.ok is False)
    assert not any(call.error for call in calls if call.ok is not False)


@pytest.mark.parametrize(
    ("format_name", "name"),
    [
        *((format_name, name) for name, format_name in SHARED_FORMATS.items()),
        ("openai-chat", "tau2_sim_es_en.jsonl"),
        ("openai-chat", "hammerbench_zh.jsonl"),
        ("openai-chat", "provider_wire.jsonl"),
    ],
)
def test_every_turn_read_from_a_file_is_a_good_native_turn(format_name: str, name: str) -> None:
    for line in read(format_name, shared(name), keep_draftless=True):
        if line.record:
            assert decode_turn(encode_turn(line.record)) == line.record


@pytest.mark.parametrize("name", ["tau_bench_airline.jsonl", "tau2_sim_es_en.jsonl", "reports.jsonl"])
def test_every_call_of_the_agent_finds_its_result(name: str) -> None:
    for line in read(SHARED_FORMATS[name], shared(name), keep_draftless=True):
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


@pytest.mark.parametrize(
    ("format_name", "name"),
    [
        (format_name, name)
        for name in ("reports.jsonl", "swe_agent_traj.jsonl", "otel_genai_examples.jsonl")
        for format_name in sorted(FORMATS.keys() - {SHARED_FORMATS[name]})
    ],
)
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
