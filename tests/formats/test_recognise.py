from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from reviews.formats import AUTO, FORMATS, open_turns
from reviews.formats.recognise import LOOKED_AT, RULES, recognise_document, recognise_file
from tests.formats.samples import raw, refusal, turn

ASK = {"role": "user", "content": "x"}
ANSWER = {"role": "assistant", "content": "y"}
TOOL_USE = {"role": "assistant", "content": [{"type": "tool_use", "name": "a"}]}

EXAMPLES: list[tuple[str, Any]] = [
    ("anthropic", {"messages": [ASK, TOOL_USE]}),
    ("anthropic", {"messages": [ASK], "system": "Be kind."}),
    ("anthropic", {"request": {"messages": [ASK]}, "response": {"type": "message", "content": []}}),
    ("gemini", {"contents": []}),
    ("gemini", {"request": {"contents": []}, "response": {}}),
    ("hammerbench", {"messages": [ASK, {"role": "function call", "content": {}}]}),
    ("native", turn()),
    ("openai-chat", [ASK, ANSWER]),
    ("openai-chat", {"messages": [ASK, {"role": "user", "content": [{"type": "text"}, 3]}]}),
    ("openai-chat", {"request": {"messages": [ASK]}, "response": {"choices": []}}),
    ("otel-genai", {"resourceSpans": []}),
    ("otel-genai", {"spans": []}),
    ("provider-wire", {"format": "openai", "request": {"messages": [ASK]}}),
    ("reports", {"id": "r", "draft": "x", "expected": []}),
    ("responses", {"request": {"input": "x"}}),
    ("responses", {"input": []}),
    ("swe-agent", {"history": [ASK]}),
    ("tau-bench", {"traj": [ASK]}),
    ("tau2", {"messages": [ASK], "termination_reason": "user_stop"}),
    ("tau2", {"messages": [ASK, {"role": "tool", "requestor": "assistant"}]}),
]


def test_every_format_has_a_rule_and_an_example() -> None:
    assert {name for name, _what, _rule in RULES} == FORMATS.keys()
    assert {name for name, _document in EXAMPLES} == FORMATS.keys()


@pytest.mark.parametrize(("name", "document"), EXAMPLES)
def test_a_document_is_told_by_its_fields(name: str, document: Any) -> None:
    assert recognise_document(document) == name


@pytest.mark.parametrize(
    "document", [None, 3, "x", [], [3], {}, {"messages": []}, {"messages": [3]}, {"traj": 3}]
)
def test_a_document_that_fits_no_rule(document: Any) -> None:
    assert recognise_document(document) is None


def write(path: Path, *documents: Any) -> Path:
    path.write_bytes(b"\n".join(item if isinstance(item, bytes) else raw(item) for item in documents))
    return path


def test_a_file_of_one_format_also_packed_and_with_damaged_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"traj": }', {"traj": [ASK, ANSWER]}, 3, {"traj": [ASK]})
    assert recognise_file(path) == "tau-bench"
    packed = tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert recognise_file(packed) == "tau-bench"


def test_bare_messages_are_taken_for_the_format_of_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"messages": [ASK, ANSWER]}, {"messages": [ASK, TOOL_USE]})
    assert recognise_file(path) == "anthropic"


def test_two_formats_in_one_file_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"traj": [ASK]}, {"history": [ASK]})
    assert "found documents of swe-agent and tau-bench" in refusal(recognise_file, path).message


def test_an_unknown_file_is_told_what_was_tried(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"utterances": []}, {"utterances": []})
    message = refusal(recognise_file, path).message
    assert all(f"{name} ({what})" in message for name, what, _rule in RULES)
    with open_turns(AUTO, path) as file:
        (only,) = file
    assert only.error
    assert (only.line, only.turn, only.error.message) == (1, 0, message)


def test_only_the_first_documents_are_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *[{"traj": [ASK, ANSWER]}] * LOOKED_AT, {"history": [ASK]})
    assert recognise_file(path) == "tau-bench"
    with open_turns(AUTO, path) as file:
        lines = list(file)
    assert [bool(line.record) for line in lines] == [True] * LOOKED_AT + [False]


def test_a_missing_file_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_turns(AUTO, tmp_path / "x")
