"""Files as a stream of raw JSON documents: lines, a JSON list, or one pretty-printed object; also gzipped.

Memory stays with the largest document, whatever the size of the file.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from reviews.formats.errors import RecordError

__all__ = ["DOCUMENT_BYTES", "DocumentFile"]

DOCUMENT_BYTES = 64 * 1024 * 1024
"""One document of a file, which may be a long conversation; more is refused, and the reading goes on."""

_CHUNK = 1024 * 1024
_SPACE = " \t\r\n"
_BOM = b"\xef\xbb\xbf"


class DocumentFile:
    """Iterates (number from 1, raw bytes) over the documents of one file; use it with ``with``.

    The number is the line in a file of lines, the position in a JSON list. A document over ``max_bytes``
    comes cut to ``max_bytes + 1`` bytes, so that whoever decodes it refuses it. ``bytes_read`` of
    ``bytes_total`` (both as on disk) is for a progress bar. Raises ``OSError`` when the file cannot be
    opened, and ``RecordError`` while iterating when it is damaged beyond going on.
    """

    def __init__(self, path: Path, *, max_bytes: int = DOCUMENT_BYTES) -> None:
        self.bytes_total = path.stat().st_size
        self._max_bytes = max_bytes
        self._disk = path.open("rb")
        packed = self._disk.read(2) == b"\x1f\x8b"  # by content: names lie
        self._disk.seek(0)
        self._file = cast(BinaryIO, gzip.GzipFile(fileobj=self._disk)) if packed else self._disk

    @property
    def bytes_read(self) -> int:
        return self.bytes_total if self._disk.closed else self._disk.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self._disk.close()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        try:
            first = self._first_line()
            if _starts_a_longer_document(first):
                yield from self._whole_documents(first)
            else:
                yield from self._lines(first)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise RecordError("", f"the compressed file is damaged: {error}") from None

    def _first_line(self) -> bytes:
        """The first line that is not blank, in front of it as many newlines as were skipped."""
        skipped = b""
        while line := self._line():
            line = line.removeprefix(_BOM)
            if line.strip():
                return skipped + line
            skipped += b"\n"
        return b""

    def _lines(self, first: bytes) -> Iterator[tuple[int, bytes]]:
        blank = len(first) - len(first.lstrip(b"\n"))
        number, line = blank + 1, first[blank:]
        while line:
            if document := line.strip(b" \t\r\n"):
                yield number, document
            line = self._line()
            number += 1

    def _line(self) -> bytes:
        """The next line; of an over-long one the beginning, the rest is passed over."""
        limit = self._max_bytes + 1
        line = self._file.readline(limit)
        rest = line
        while len(rest) == limit and not rest.endswith(b"\n"):
            rest = self._file.readline(limit)
        return line

    def _whole_documents(self, first: bytes) -> Iterator[tuple[int, bytes]]:
        source = _TextWindow(self._file, first, self._max_bytes)
        if source.peek() != "[":
            yield 1, source.document()
            source.expect_end()
            return
        source.skip()
        number = 0
        while source.peek() != "]":
            if number:
                source.expect(",")
            number += 1
            yield number, source.document()
        source.skip()
        source.expect_end()


def _starts_a_longer_document(line: bytes) -> bool:
    """Whether the first line is only the beginning of a JSON list or object, or a whole list of objects
    that are documents themselves (messages have a role, documents have not)."""
    text = line.strip().decode("utf-8", "replace")
    if not text.startswith(("[", "{")):
        return False
    try:
        value = json.loads(text, strict=False)
    except RecursionError:
        return False
    except json.JSONDecodeError:
        # Pretty-printed lines end like this. Anything else is a damaged line among lines.
        return text.endswith(("{", "[", ","))
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "role" not in value[0]


class _TextWindow:
    """A sliding piece of the file's text, from which one JSON value after the other is taken."""

    def __init__(self, file: BinaryIO, first: bytes, max_bytes: int) -> None:
        self._file = file
        self._max_bytes = max_bytes
        self._text = ""
        self._at = 0
        self._pending = first
        self._ended = False
        self._scanner = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)

    def peek(self) -> str:
        """The next character that is not space, "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or not self._more(_CHUNK):
                return self._text[self._at : self._at + 1]

    def skip(self) -> None:
        self._at += 1

    def expect(self, character: str) -> None:
        if self.peek() != character:
            raise RecordError("", f"not valid JSON: found {self.peek()!r} between documents, expected ','")
        self._at += 1

    def expect_end(self) -> None:
        if self.peek():
            raise RecordError("", f"not valid JSON: found {self.peek()!r} after the end of the document")

    def document(self) -> bytes:
        """The next value as it stands; the window doubles, so attempts stay few."""
        self.peek()
        while True:
            try:
                _value, end = self._scanner.raw_decode(self._text, self._at)
            except RecursionError:
                raise RecordError("", "found a document nested too deep to be read") from None
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > self._max_bytes:
                    expected = f"expected at most {self._max_bytes} in one document"
                    raise RecordError(
                        "", f"found more than {self._max_bytes} characters, {expected}"
                    ) from None
                if not self._more(max(_CHUNK, len(self._text))):
                    raise RecordError("", f"not valid JSON: {error.msg}") from None
                continue
            # Numbers may go on in the next piece, but documents are objects or lists, which end visibly.
            start, self._at = self._at, end
            return self._text[start:end].encode("utf-8", "surrogateescape")

    def _more(self, size: int) -> bool:
        if self._ended:
            return False
        # A piece may end inside a character; the escape mends it, as both halves become their bytes again.
        piece = self._pending + self._file.read(size)
        self._pending = b""
        self._ended = not piece
        # What was taken already goes now, not document by document: that would copy the window each time.
        self._text, self._at = self._text[self._at :], 0
        self._text += piece.decode("utf-8", "surrogateescape")
        return bool(piece)
