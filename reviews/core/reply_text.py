"""What all readers of a model's reply share: how much is read, what can be stored, and whether it was cut."""

from __future__ import annotations

from typing import Final

__all__ = ["REPLY_CHARACTERS", "is_unclosed", "storable"]

#: A longer reply is not parsed: five drafts of skills, or one answer anew, need a few thousand characters.
REPLY_CHARACTERS: Final = 1_000_000

# What a text column of a database cannot hold: NUL, and halves of surrogate pairs.
_UNSTORABLE: Final = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def storable(text: str) -> str:
    """The text with a replacement character for each that a database cannot hold."""
    return text.translate(_UNSTORABLE)


def is_unclosed(text: str) -> bool:
    """Whether a string, list or object of ``text``, which starts with one, is still open at its end."""
    depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
    return in_string or depth > 0
