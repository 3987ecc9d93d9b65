"""Message content of the chat formats as text: null, a string, or a list of parts."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["content_text", "is_media_only", "joined_text", "result_value", "without_blobs"]

_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
# The model's own thinking is not something it told the user.
_HIDDEN_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning"})
_MARKS = {
    "audio": "[audio]",
    "document": "[file]",
    "file": "[file]",
    "image": "[image]",
    "image_url": "[image]",
    "input_audio": "[audio]",
    "input_file": "[file]",
    "input_image": "[image]",
    "video": "[video]",
    "video_url": "[video]",
}
_RETURNED_FILE = "This is file "
# Base64 of that length is a picture or a key, never something an answer can be compared with.
_BLOB_CHARS = 2000
_BLOB = re.compile(r"(?:data:[^,]{0,100},)?[A-Za-z0-9+/=_\-\r\n]+")


def content_text(content: Any) -> str:
    """The readable text; a media part leaves a short mark, its bytes are never kept. Unknown shapes: ""."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    return "\n".join(text for part in content if (text := _part_text(part)))


def joined_text(content: Any) -> str:
    """The text parts put together without a separator: providers split one sentence into several parts."""
    if isinstance(content, str):
        return content
    parts = [content] if isinstance(content, dict) else content
    return "".join(
        text
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and isinstance(text := part.get("text") or part.get("refusal"), str)
    )


def without_blobs(value: Any) -> Any:
    """A JSON value with long base64 strings replaced by a note of their length."""
    if isinstance(value, str):
        long = len(value) > _BLOB_CHARS and value.isascii()
        return f"[{len(value)} characters]" if long and _BLOB.fullmatch(value) else value
    if isinstance(value, dict):
        return {key: without_blobs(item) for key, item in value.items()}
    return [without_blobs(item) for item in value] if isinstance(value, list) else value


def result_value(content: Any) -> Any:
    """A tool's result: lists of parts become text, any other JSON value stays what it is."""
    if isinstance(content, list) and content and all(_is_part(part) for part in content):
        return content_text(content)
    return content


def is_media_only(content: Any) -> bool:
    """Whether a user message only hands over the media that a tool returned.

    Clients that cannot put a file into a tool message post it as the user: media parts, at most announced
    by "This is file …", and not one word of the user's own.
    """
    if not isinstance(content, list):
        return False
    media = 0
    for part in content:
        if not _is_part(part):
            return False
        if part["type"] in _TEXT_TYPES:
            if not str(part.get("text", "")).startswith(_RETURNED_FILE):
                return False
        elif part["type"] in _MARKS:
            media += 1
        else:
            return False
    return media > 0


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = part.get("type", "text")
    if not isinstance(kind, str) or kind in _HIDDEN_TYPES:
        return ""
    if kind in _TEXT_TYPES or kind == "refusal":
        text = part.get("refusal" if kind == "refusal" else "text")
        return text if isinstance(text, str) else ""
    return _MARKS.get(kind, f"[{kind[:30]}]")
