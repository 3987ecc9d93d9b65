"""Turns on disk while the server is away: files of JSON lines that outlive the process.

A folder may be shared by many processes: each writes files of its own and holds a lock (``flock``) on them
for as long as it lives; the system lets go of the lock when the process ends, however it ends, and the next
one takes the files over. A file is removed once every line in it is answered. Until then it stays as it was
written, so after a crash its lines are sent again, and the server knows them by their ``external_id``.

Lines go to the system in one write for each batch, so they outlive the process at once. They are forced to
the disk when a file is full and when the client is closed: a machine that loses power may lose the last ones.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

__all__ = ["Spill"]

#: A file is closed and a new one begun beyond this, so that room is given back while the rest is replayed.
SEGMENT_BYTES: Final = 16 * 1024 * 1024
#: Files taken over at once: each is open for as long as it is ours, and the agent needs descriptors, too.
MOST_ADOPTED: Final = 32
_SUFFIX: Final = ".turns.jsonl"
_READ_BYTES: Final = 1024 * 1024
#: How often the folder's files are counted together; between that only what is written here is added.
_MEASURE_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Segment:
    """A file of ours: ``answered`` bytes of it are done, ``given`` more are out with the sender."""

    path: Path
    descriptor: int
    size: int = 0
    rows: int = 0
    answered: int = 0
    given: int = 0
    given_rows: int = 0


class Spill:
    """One process's part of a spill folder. Used by one thread; ``forget`` by a forked child."""

    def __init__(self, folder: Path, *, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._writing: _Segment | None = None
        self._full: deque[_Segment] = deque()
        self._used = 0
        self._used_at = -math.inf
        #: Lines in files of ours that are not answered.
        self.rows = 0
        #: Lines that a crash had cut off, and that say nothing any more.
        self.torn = 0
        #: What went wrong last, in a few words; "" after a success.
        self.trouble = ""

    # -- Writing

    def append(self, lines: Sequence[bytes]) -> bool:
        """Write the lines, all or none; False when there is no room or the disk refuses (see ``trouble``)."""
        data = b"\n".join(lines) + b"\n"
        try:
            if self._measured() + len(data) > self._most_bytes:
                self.trouble = "the spill is full"
                return False
            segment = self._writable()
            if not self._write(segment, data):
                return False
        except OSError as error:
            self.trouble = f"the spill cannot be written: {error.strerror}"
            return False
        self._used += len(data)
        segment.size += len(data)
        segment.rows += len(lines)
        self.rows += len(lines)
        self.trouble = ""
        return True

    def _measured(self) -> int:
        """Bytes of all processes in the folder, as they were a moment ago."""
        now = time.monotonic()
        if now - self._used_at < _MEASURE_SECONDS:
            return self._used
        used = 0
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX):
                    with suppress(FileNotFoundError):
                        used += entry.stat().st_size
        self._used, self._used_at = used, now
        return used

    def _writable(self) -> _Segment:
        if self._writing is not None and self._writing.size >= SEGMENT_BYTES:
            self._seal(sync=True)
        if self._writing is None:
            self._writing = self._create()
        return self._writing

    def _create(self) -> _Segment:
        """A new file, locked. What the turns say is nobody else's to read."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            path = self._folder / f"{os.getpid()}-{uuid4().hex}{_SUFFIX}"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            segment = _Segment(path, os.open(path, flags, 0o600))
            # Another process may have taken it for a leftover in between.
            if _lock(segment):
                return segment
            os.close(segment.descriptor)

    def _write(self, segment: _Segment, data: bytes) -> bool:
        try:
            if os.write(segment.descriptor, data) == len(data):
                return True
            self.trouble = "the spill cannot be written: no space left"
        except OSError as error:
            self.trouble = f"the spill cannot be written: {error.strerror}"
        # Half a line must not swallow the one after it.
        try:
            os.ftruncate(segment.descriptor, segment.size)
        except OSError:
            self._seal()
        return False

    def _seal(self, *, sync: bool = False) -> None:
        """No more is written into the current file."""
        segment, self._writing = self._writing, None
        if segment is not None:
            if sync:
                with suppress(OSError):
                    os.fsync(segment.descriptor)
            self._full.append(segment)

    # -- Taking over what others left

    def adopt(self) -> int:
        """Lock files whose processes are gone, some of them; the number of lines found in them."""
        ours = {segment.path.name for segment in (*self._full, self._writing) if segment is not None}
        found = 0
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(self._folder)):
                if len(self._full) >= MOST_ADOPTED:
                    break
                if name.endswith(_SUFFIX) and name not in ours:
                    with suppress(OSError):
                        found += self._adopt(self._folder / name)
        return found

    def _adopt(self, path: Path) -> int:
        segment = _Segment(path, os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC))
        try:
            locked = _lock(segment)
            if locked:
                segment.size = os.fstat(segment.descriptor).st_size
                segment.rows = _count_lines(segment)
        except BaseException:
            os.close(segment.descriptor)
            raise
        if not locked:
            os.close(segment.descriptor)
            return 0
        if not segment.rows:
            _remove(segment)
            return 0
        self._full.append(segment)
        self.rows += segment.rows
        return segment.rows

    @property
    def has_leftovers(self) -> bool:
        """Whether there may be something to adopt; anyone may ask."""
        try:
            return any(name.endswith(_SUFFIX) for name in os.listdir(self._folder))
        except OSError:
            return False

    # -- Replaying

    def next(self, rows: int, size: int) -> list[bytes]:
        """The oldest lines, about so many rows and bytes; the same again until ``done`` is called."""
        while True:
            if not self._full:
                self._seal()
            if not self._full:
                return []
            segment = self._full[0]
            try:
                lines = self._read(segment, rows, size)
            except OSError as error:
                # Left where it is: whoever comes next may be able to read it.
                self.trouble = f"the spill cannot be read: {error.strerror}"
                self._let_go(segment)
                continue
            if lines:
                return lines
            self._finish(segment)

    def done(self) -> None:
        """What ``next`` gave is answered."""
        segment = self._full[0]
        segment.answered += segment.given
        segment.rows -= segment.given_rows
        self.rows -= segment.given_rows
        segment.given = segment.given_rows = 0
        if segment.answered >= segment.size:
            self._finish(segment)

    def _read(self, segment: _Segment, rows: int, size: int) -> list[bytes]:
        while True:
            chunk = os.pread(segment.descriptor, size, segment.answered)
            at_end = segment.answered + len(chunk) >= segment.size or not chunk
            if at_end or b"\n" in chunk:
                break
            size *= 2
        *whole, rest = chunk.split(b"\n")
        taken = whole[:rows]
        given = sum(map(len, taken)) + len(taken)
        # The server skips blank lines and would then count its answers otherwise.
        lines = [line for line in taken if line.strip(b" \t\r")]
        if at_end and rest and len(taken) == len(whole) < rows:
            # The process was killed while it wrote this line.
            given += len(rest)
            if _is_object(rest):
                lines.append(rest)
            else:
                self.torn += 1
                segment.rows -= 1
                self.rows -= 1
        segment.given, segment.given_rows = given, len(lines)
        if not lines and given < segment.size - segment.answered:
            segment.answered += given
            return self._read(segment, rows, size)
        return lines

    def _finish(self, segment: _Segment) -> None:
        self._let_go(segment, remove=True)

    def _let_go(self, segment: _Segment, *, remove: bool = False) -> None:
        self._full.remove(segment)
        self.rows -= segment.rows
        if remove:
            _remove(segment)
        else:
            os.close(segment.descriptor)

    # -- The end

    def close(self) -> None:
        """Force everything to the disk and unlock it, for the next process."""
        self._seal(sync=True)
        while self._full:
            segment = self._full.popleft()
            if segment.answered >= segment.size:
                _remove(segment)
            else:
                os.close(segment.descriptor)

    def forget(self) -> None:
        """In a forked child: the files are the parent's, and so is the lock, which the child shares."""
        for segment in (*self._full, self._writing):
            if segment is not None:
                with suppress(OSError):
                    os.close(segment.descriptor)
        self._full.clear()
        self._writing = None
        self.rows = self.torn = 0


def _lock(segment: _Segment) -> bool:
    """Whether the file is ours now: nobody else has it, and nobody has removed it before we came."""
    try:
        fcntl.flock(segment.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return os.fstat(segment.descriptor).st_nlink > 0


def _remove(segment: _Segment) -> None:
    """Removed first and unlocked then, so that nobody adopts it."""
    with suppress(OSError):
        segment.path.unlink()
    os.close(segment.descriptor)


def _count_lines(segment: _Segment) -> int:
    """Lines that are not blank, one without its end included."""
    count, at, before = 0, 0, b"\n"
    while chunk := os.pread(segment.descriptor, _READ_BYTES, at):
        count += chunk.count(b"\n")
        at += len(chunk)
        before = chunk[-1:]
    return count + (before != b"\n")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
