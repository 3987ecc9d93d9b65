from __future__ import annotations

from typing import Any

import pytest

from reviews.formats.content import content_text, is_media_only, joined_text, result_value, without_blobs

TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}
RETURNED = {"type": "text", "text": "This is file 99631f:"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("hello", "hello"),
        ([], ""),
        ([TEXT, TEXT], "hello\nhello"),
        ([TEXT, IMAGE, FILE], "hello\n[image]\n[file]"),
        ([{"type": "input_audio", "input_audio": {"data": "AAAA"}}], "[audio]"),
        ([{"type": "thinking", "thinking": [TEXT]}, TEXT], "hello"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        (["a", "b"], "a\nb"),
        ([{"text": "untyped"}], "untyped"),
        ([{"type": "hologram", "data": "AAAA"}], "[hologram]"),
        (TEXT, "hello"),
        (5, ""),
        ([5, None, {"type": 5}], ""),
    ],
)
def test_content_as_text(content: Any, text: str) -> None:
    assert content_text(content) == text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([IMAGE], True),
        ([RETURNED, FILE], True),
        ([RETURNED], False),
        ([TEXT, IMAGE], False),
        ("[image]", False),
        ([], False),
        ([IMAGE, "look"], False),
        ([{"type": "hologram"}], False),
    ],
)
def test_media_that_a_tool_returned(content: Any, expected: bool) -> None:
    assert is_media_only(content) is expected


def test_results_keep_json_and_lose_media() -> None:
    assert result_value([TEXT, IMAGE]) == "hello\n[image]"
    assert result_value([1, 2]) == [1, 2]
    assert result_value({"a": 1}) == {"a": 1}
    assert result_value("") == ""
    assert result_value(None) is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hello", "hello"),
        ([TEXT, IMAGE, TEXT], "hellohello"),
        (TEXT, "hello"),
        ([{"type": "refusal", "refusal": "no"}, {"text": 5}, "x", None], "no"),
        (None, ""),
        (5, ""),
    ],
)
def test_parts_of_one_text(content: Any, text: str) -> None:
    assert joined_text(content) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("QUJD" * 501, "[2004 characters]"),
        ("data:image/png;base64," + "QUJD" * 501, "[2026 characters]"),
        ("QUJD\r\n" * 401, "[2406 characters]"),
        ("QUJD" * 500, "QUJD" * 500),
        ("all good " * 300, "all good " * 300),
        ("查" * 3000, "查" * 3000),
        ({"a": ["QUJD" * 501, 1, None]}, {"a": ["[2004 characters]", 1, None]}),
    ],
)
def test_only_long_base64_becomes_a_note(value: Any, expected: Any) -> None:
    assert without_blobs(value) == expected
