from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.formats.documents import DocumentFile, _TextWindow
from tests.formats.samples import objects, raw, refusal


def read(path: Path, **options: Any) -> list[tuple[int, bytes]]:
    with DocumentFile(path, **options) as file:
        return list(file)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.jsonl"


def test_lines_are_numbered_and_blank_ones_skipped(path: Path) -> None:
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"b": 2}\n[]')
    assert read(path) == [(1, b'{"a": 1}'), (4, b'{"b": 2}'), (5, b"[]")]


def test_blank_lines_in_front_count(path: Path) -> None:
    path.write_bytes(b'\n\n{"a": 1}\n{"b": 2}')
    assert read(path) == [(3, b'{"a": 1}'), (4, b'{"b": 2}')]


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_nothing_in_nothing_out(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert read(path) == []


def test_a_list_of_messages_per_line_stays_a_line(path: Path) -> None:
    path.write_bytes(b'[{"role": "user"}]\n[{"role": "user"}]\n')
    assert [number for number, _document in read(path)] == [1, 2]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_a_json_list_gives_its_items(path: Path, indent: int | None) -> None:
    items = [{"id": "é" * 9, "n": [1.50, {}]}, {"id": "]"}, {"id": "\u2028"}]
    path.write_text(json.dumps(items, indent=indent, ensure_ascii=False), encoding="utf-8")
    found = read(path)
    assert [number for number, _document in found] == [1, 2, 3]
    assert [json.loads(document) for _number, document in found] == items


def test_one_pretty_printed_object(path: Path) -> None:
    path.write_bytes(b"\n" + raw({"messages": [{"role": "user"}]}, indent=2) + b"\n")
    ((number, document),) = read(path)
    assert (number, json.loads(document)) == (1, {"messages": [{"role": "user"}]})


@given(st.lists(objects, min_size=1), st.integers(1, 7))
def test_windows_may_end_anywhere(items: list[dict[str, Any]], size: int) -> None:
    class Dribble:
        """A file that gives a few bytes at a time, also in the middle of a character."""

        def __init__(self, content: bytes) -> None:
            self.content = content

        def read(self, _size: int) -> bytes:
            piece, self.content = self.content[:size], self.content[size:]
            return piece

    content = json.dumps(items, ensure_ascii=False).encode()
    window = _TextWindow(Dribble(content), b"", 10_000)  # type: ignore[arg-type]
    assert window.peek() == "["
    window.skip()
    for number, item in enumerate(items):
        if number:
            window.expect(",")
        assert json.loads(window.document()) == item
    assert window.peek() == "]"
    window.skip()
    window.expect_end()


@pytest.mark.parametrize(
    ("content", "documents"),
    [
        (b'[\n{"a": 1},\n{"b": \n', 1),
        (b'[\n{"a": 1}\n{"b": 2}]', 1),
        (b'[\n{"a": 1}\n] x', 1),
        (b'{\n"a": 1\n} {', 1),
        (b"[\n" + b"[" * 100_000, 0),
    ],
)
def test_a_damaged_list_ends_with_an_error(path: Path, content: bytes, documents: int) -> None:
    path.write_bytes(content)
    with DocumentFile(path) as file:
        found = iter(file)
        for number in range(1, documents + 1):
            assert next(found)[0] == number
        refusal(next, found)


def test_a_damaged_first_line_is_only_a_line(path: Path) -> None:
    path.write_bytes(b'{"a": tru\n{"b": 2}\n')
    assert read(path) == [(1, b'{"a": tru'), (2, b'{"b": 2}')]


def test_gzip_is_known_by_its_content(path: Path) -> None:
    path.write_bytes(gzip.compress(b'{"a": 1}\n{"b": 2}\n'))
    assert len(read(path)) == 2


def test_damaged_gzip_is_a_record_error(path: Path) -> None:
    packed = gzip.compress(b'{"a": 1}\n' * 1000)
    for content in (packed[:-9], packed[:20] + b"\xff" * 20, packed + b"junk"):
        path.write_bytes(content)
        assert "compressed file is damaged" in refusal(read, path).message


def test_an_over_long_line_is_cut_and_the_next_ones_are_read(path: Path) -> None:
    path.write_bytes(b"x" * 1000 + b"\n{}\n" + b"y" * 33 + b"\n[]")
    assert read(path, max_bytes=32) == [(1, b"x" * 33), (2, b"{}"), (3, b"y" * 33), (4, b"[]")]


def test_an_over_long_item_is_an_error(path: Path) -> None:
    path.write_bytes(b'[\n{"a": "' + b"x" * 100 + b'"}]')
    with DocumentFile(path, max_bytes=32) as file:
        assert len(next(iter(file))[1]) > 32  # whoever decodes it refuses it
    path.write_bytes(b'[\n{"a": "' + b"x" * 3_000_000)
    assert "at most 32" in refusal(lambda: read(path, max_bytes=32)).message


def test_progress_runs_to_the_end(path: Path) -> None:
    path.write_bytes(b"{}\n" * 100_000)
    with DocumentFile(path) as file:
        assert file.bytes_total == 300_000
        seen = [file.bytes_read for _document in file]
    assert seen == sorted(seen)
    assert 0 < seen[0] < 300_000
    assert seen[-1] == file.bytes_read == 300_000
