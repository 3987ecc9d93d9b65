"""``RecordError``: the one way in which a reader refuses something."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["RecordError", "pointer"]

# A hostile document may use megabytes of key; an error must not send them back.
_TOKEN_CHARS = 200
_POINTER_CHARS = 1000


class RecordError(ValueError):
    """A document, or a spot in it, that is not accepted.

    ``pointer`` is a JSON pointer (RFC 6901) to the spot, "" for the whole document; ``message`` says what
    was found there and what was expected. Pickles, so a worker process can send it back.
    """

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(pointer, message)
        self.pointer = pointer
        self.message = message

    def __str__(self) -> str:
        return f"{self.pointer or 'document'}: {self.message}"


def pointer(path: Iterable[str | int]) -> str:
    """The JSON pointer for a path of keys and indexes.

    Over-long keys are shortened and a pointer that grows too long stops at an ancestor of the spot.
    Characters that UTF-8 cannot carry become U+FFFD, so that every pointer can be sent.
    """
    out = ""
    for step in path:
        token = str(step) if isinstance(step, int) else _token(step)
        if len(out) + len(token) > _POINTER_CHARS:
            break
        out += "/" + token
    return out


def _token(key: str) -> str:
    short = key if len(key) <= _TOKEN_CHARS else key[:_TOKEN_CHARS] + "…"
    safe = short.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return safe.replace("~", "~0").replace("/", "~1")
