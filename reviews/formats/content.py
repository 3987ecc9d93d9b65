"""Message content of the chat formats as text: null, a string, or a list of parts."""

from __future__ import annotations

from typing import Any

__all__ = ["content_text", "is_media_only", "result_value"]

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


def content_text(content: Any) -> str:
    """The readable text; a media part leaves a short mark, its bytes are never kept. Unknown shapes: ""."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    return "\n".join(text for part in content if (text := _part_text(part)))


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
