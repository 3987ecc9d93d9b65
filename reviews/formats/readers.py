"""All file formats under their names, and one way to go through a file of any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from reviews.formats.anthropic import read_anthropic
from reviews.formats.checks import check_turn
from reviews.formats.documents import DOCUMENT_BYTES, DocumentFile
from reviews.formats.errors import RecordError
from reviews.formats.gemini import read_gemini
from reviews.formats.hammerbench import read_hammerbench
from reviews.formats.limits import TURN_BYTES
from reviews.formats.native import decode_turn, encode_turn
from reviews.formats.openai_chat import read_openai_chat
from reviews.formats.origin import FileOrigin, LineOrigin
from reviews.formats.otel_genai import read_otel_genai
from reviews.formats.provider_wire import read_provider_wire
from reviews.formats.recognise import recognise_file
from reviews.formats.record import TurnRecord
from reviews.formats.reports import read_reports
from reviews.formats.responses import read_responses
from reviews.formats.swe_agent import read_swe_agent
from reviews.formats.tau2 import read_tau2
from reviews.formats.tau_bench import read_tau_bench

__all__ = ["AUTO", "FORMATS", "Reader", "TurnFile", "TurnLine", "open_native_lines", "open_turns"]

Reader = Callable[[bytes, LineOrigin], Iterable[tuple[int, TurnRecord]]]
"""From one raw document to its turns with their numbers; raises ``RecordError``."""


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One turn of a file, or one error: exactly one of ``record`` and ``error`` is set.

    ``line`` counts documents from 1 (lines, or items of a JSON list), ``turn`` the turns in it from 1; it is
    0 for an error that concerns the whole document.
    """

    line: int
    turn: int
    record: TurnRecord | None = None
    error: RecordError | None = None


def _read_native(raw: bytes, _origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
    yield 1, decode_turn(raw)


AUTO = "auto"
"""Instead of a format: it is told from the file's first documents (``recognise``)."""

FORMATS: dict[str, Reader] = {
    "anthropic": read_anthropic,
    "gemini": read_gemini,
    "hammerbench": read_hammerbench,
    "native": _read_native,
    "openai-chat": read_openai_chat,
    "otel-genai": read_otel_genai,
    "provider-wire": read_provider_wire,
    "reports": read_reports,
    "responses": read_responses,
    "swe-agent": read_swe_agent,
    "tau-bench": read_tau_bench,
    "tau2": read_tau2,
}


def open_turns(format_name: str, path: Path | str, *, keep_draftless: bool = False) -> TurnFile:
    """The turns of a file, one after the other in constant memory; see ``TurnFile``.

    With ``AUTO`` the format is told from the file; one that nobody knows gives a single error. Raises
    ``KeyError`` for an unknown format and ``OSError`` when the file cannot be opened.
    """
    if format_name == AUTO:
        try:
            format_name = recognise_file(path)
        except RecordError as error:
            return TurnFile(_refusing(error), Path(path), keep_draftless=keep_draftless, most=1)
    return TurnFile(FORMATS[format_name], Path(path), keep_draftless=keep_draftless)


def _refusing(error: RecordError) -> Reader:
    def read(_raw: bytes, _origin: LineOrigin) -> Iterator[tuple[int, TurnRecord]]:
        raise error

    return read


def open_native_lines(path: Path | str) -> DocumentFile:
    """The raw documents of a native file, for callers that decode them elsewhere, in batches."""
    return DocumentFile(Path(path), max_bytes=TURN_BYTES)


class TurnFile(Iterator[TurnLine]):
    """Iterates over the ``TurnLine`` s of a file; close it, or use it with ``with``.

    A bad document or turn becomes an error and the reading goes on. Turns of a conversation that ended
    before the agent answered hold nothing to review: they are left out unless ``keep_draftless``; they
    keep their number either way, and their calls and user messages are history of later turns. ``most``
    documents are read, all when it is None.
    ``bytes_read`` of ``bytes_total`` tells the progress.
    """

    def __init__(self, reader: Reader, path: Path, *, keep_draftless: bool, most: int | None = None) -> None:
        self._documents = DocumentFile(
            path, max_bytes=TURN_BYTES if reader is _read_native else DOCUMENT_BYTES
        )
        self._reader = reader
        self._most = most
        # "runs.jsonl.gz" and "runs.jsonl" are the same runs and must give the same ids.
        self._origin = FileOrigin(path.name.removesuffix(".gz").rsplit(".", 1)[0])
        self._keep_draftless = keep_draftless or reader is _read_native
        self._lines = self._read()

    @property
    def bytes_read(self) -> int:
        return self._documents.bytes_read

    @property
    def bytes_total(self) -> int:
        return self._documents.bytes_total

    def __next__(self) -> TurnLine:
        return next(self._lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._documents.close()

    def _read(self) -> Iterator[TurnLine]:
        line = 0
        try:
            for line, raw in islice(self._documents, self._most):
                yield from self._read_document(line, raw)
        except RecordError as error:
            # The file itself is damaged; nothing can be read after this spot.
            yield TurnLine(line + 1, 0, error=error)
        finally:
            self.close()

    def _read_document(self, line: int, raw: bytes) -> Iterator[TurnLine]:
        try:
            for number, record in self._reader(raw, LineOrigin(self._origin, line)):
                if record.draft or self._keep_draftless:
                    yield _checked(line, number, record)
        except RecordError as error:
            yield TurnLine(line, 0, error=error)


def _checked(line: int, number: int, record: TurnRecord) -> TurnLine:
    try:
        check_turn(record)
        if (size := len(encode_turn(record))) > TURN_BYTES:
            raise RecordError("", f"found a turn of {size} bytes, expected at most {TURN_BYTES}")
    except RecordError as error:
        return TurnLine(line, number, error=error)
    return TurnLine(line, number, record=record)
