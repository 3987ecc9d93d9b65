"""Importing files of turns: read as a stream, judged in worker processes, stored chunk by chunk.

Workers decode, judge and prepare rows and never touch the database; this process stores what they return,
in the order of the files, one transaction a chunk. Whatever ends an import half-way, the same import again
goes on from there: what is stored counts as duplicates.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import msgspec
from django.utils import timezone

from reviews.formats import RecordError, TurnRecord, decode_turn, encode_turn, open_native_lines, open_turns
from reviews.models import Tenant
from reviews.models.turns import Source
from reviews.services.errors import DomainError
from reviews.services.intake import Status, store_prepared
from reviews.services.judge import Judgement, Policy, judge
from reviews.services.policies import current_policy
from reviews.services.rows import PreparedTurn, prepare

logger = logging.getLogger(__name__)

#: Turns a chunk, which is also a transaction: enough that a commit costs little a turn.
CHUNK_TURNS = 1000
#: A chunk of long turns ends earlier, so that memory stays bounded.
CHUNK_BYTES = 4 * 1024 * 1024
#: Chunks that wait for each worker beside the one it is at, so that it never waits for this process.
CHUNKS_AHEAD = 2
#: How often the workers are looked at while a result is waited for.
WATCH_SECONDS = 2.0
#: New objects between two searches for cyclic garbage: about those of one chunk. Python's own 700 would
#: have an import spend a tenth of its time on searches that find nothing.
COLLECT_EVERY = 100_000
#: Problems that a report keeps; all are counted.
KEPT_PROBLEMS = 100
#: Below this many bytes, starting worker processes takes longer than the work.
SMALL_IMPORT_BYTES = 4 * 1024 * 1024

CONFLICT = "found content that differs from the stored turn of this id; the stored one was kept"


class WorkerDiedError(DomainError):
    """A worker process ended before its work was done."""

    code = "worker_died"


class Problem(NamedTuple):
    """A row that was not taken. ``line`` counts documents of the file, ``turn`` the turns in one; both from
    1, and 0 where the whole is meant. ``pointer`` is a JSON pointer into the turn, or into the document."""

    file: str
    line: int
    turn: int
    pointer: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        turn = f" turn {self.turn}" if self.turn > 1 else ""
        spot = f"{self.pointer}: " if self.pointer else ""
        return f"{place}{turn}: {spot}{self.message}"


@dataclass
class FileReport:
    """What became of one file's turns; ``unreadable`` says why the file could not be read (to its end)."""

    file: str
    accepted: int = 0
    duplicates: int = 0
    conflicts: int = 0
    invalid: int = 0
    analysed: int = 0
    unreadable: str = ""


@dataclass
class ImportReport:
    """What became of all of them; ``problems`` are the first ``KEPT_PROBLEMS`` rows not taken."""

    files: list[FileReport] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    seconds: float = 0.0

    def total(self, name: str) -> int:
        """The sum of one of the files' counts."""
        return sum(getattr(file, name) for file in self.files)

    @property
    def unreadable(self) -> list[Problem]:
        return [Problem(file.file, 0, 0, "", file.unreadable) for file in self.files if file.unreadable]


class Progress(NamedTuple):
    """How far an import is, in bytes of the files as on disk, and the turns met so far."""

    bytes_done: int
    bytes_total: int
    turns: int


class Item(NamedTuple):
    """One turn on its way to a worker: as raw native JSON, or as a record of another format."""

    line: int
    turn: int
    content: bytes | TurnRecord


@dataclass
class Chunk:
    """Turns of one file (by its number) that travel and are stored together, and the errors met so far.

    ``bytes_read`` is how far the file had been read.
    """

    file: int
    bytes_read: int = 0
    items: list[Item] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass
class Judged:
    """A chunk after a worker: rows, each with its line and turn, and all errors."""

    file: int
    bytes_read: int
    rows: list[PreparedTurn]
    spots: list[tuple[int, int]]
    problems: list[Problem]


@dataclass(frozen=True)
class Job:
    """All that a worker needs to know: the tenant, the policy in force when the import began, the files."""

    tenant_id: int
    policy: Policy
    agent: str
    files: tuple[str, ...]


def import_files(
    *,
    tenant: Tenant,
    format_name: str,
    paths: Sequence[Path],
    jobs: int = 1,
    agent: str = "",
    on_progress: Callable[[Progress], None] | None = None,
) -> ImportReport:
    """Store the turns of ``paths`` as analysed by the policy in force.

    ``jobs`` worker processes judge them; 1 means none, this process does it. ``agent`` is for turns that
    name none. A file that cannot be read is reported, and the others are imported all the same.

    Raises:
        WorkerDiedError: a worker process was ended from outside. The chunks stored by then stay stored.
    """
    started = time.monotonic()
    policy = current_policy(tenant=tenant)
    job = Job(tenant.pk, policy, agent, tuple(map(str, paths)))
    report = ImportReport(files=[FileReport(name) for name in job.files])
    sizes = [_size(path) for path in paths]
    turns = 0
    chunks = _chunks(paths, format_name, report)
    with _rare_collections(), closing(_judged(chunks, job, jobs)) as judged_chunks:
        for judged in judged_chunks:
            _store(tenant, judged, report)
            turns += len(judged.rows)
            if on_progress:
                on_progress(Progress(sum(sizes[: judged.file]) + judged.bytes_read, sum(sizes), turns))
    report.seconds = time.monotonic() - started
    return report


def default_jobs(paths: Sequence[Path]) -> int:
    """Worker processes that are worth it: one a processor, none for a small import."""
    small = sum(map(_size, paths)) < SMALL_IMPORT_BYTES
    return 1 if small else os.cpu_count() or 1


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for cyclic garbage, which an import hardly makes, less often; workers inherit it."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_EVERY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _store(tenant: Tenant, judged: Judged, report: ImportReport) -> None:
    file = report.files[judged.file]
    problems = judged.problems
    file.invalid += len(problems)
    answers = store_prepared(tenant=tenant, prepared=judged.rows) if judged.rows else []
    for (line, turn), answer in zip(judged.spots, answers, strict=True):
        if answer.status is Status.ACCEPTED:
            file.accepted += 1
            file.analysed += answer.analysed
        elif answer.status is Status.DUPLICATE:
            file.duplicates += 1
        else:
            file.conflicts += 1
            problems.append(Problem(file.file, line, turn, "/external_id", CONFLICT))
    problems.sort(key=lambda problem: (problem.line, problem.turn))
    report.problems += problems[: KEPT_PROBLEMS - len(report.problems)]


# -- Reading, in this process


def _chunks(paths: Sequence[Path], format_name: str, report: ImportReport) -> Iterator[Chunk]:
    read = _read_native if format_name == "native" else partial(_read_records, format_name)
    for number, path in enumerate(paths):
        chunk, size = Chunk(number), 0
        try:
            for found, length, chunk.bytes_read in read(path):
                if isinstance(found, Problem):
                    chunk.problems.append(found)
                else:
                    chunk.items.append(found)
                size += length
                if len(chunk.items) + len(chunk.problems) >= CHUNK_TURNS or size >= CHUNK_BYTES:
                    yield chunk
                    chunk, size = Chunk(number, chunk.bytes_read), 0
        except OSError as error:
            report.files[number].unreadable = f"cannot be read: {error.strerror or error}"
        yield chunk


def _read_native(path: Path) -> Iterator[tuple[Item | Problem, int, int]]:
    """Every document, still raw, with its length and how far the file has been read."""
    line = 0
    with open_native_lines(path) as documents:
        try:
            for line, raw in documents:
                yield Item(line, 1, raw), len(raw), documents.bytes_read
        except RecordError as error:
            yield _problem(path, line + 1, 0, error), 0, documents.bytes_read


def _read_records(format_name: str, path: Path) -> Iterator[tuple[Item | Problem, int, int]]:
    """Every turn or error, with its length and how far the file has been read."""
    with open_turns(format_name, path) as turns:
        for found in turns:
            if found.record is not None:
                item = Item(found.line, found.turn, found.record)
                yield item, len(encode_turn(found.record)), turns.bytes_read
            elif found.error is not None:
                yield _problem(path, found.line, found.turn, found.error), 0, turns.bytes_read


def _problem(file: Path | str, line: int, turn: int, error: RecordError) -> Problem:
    return Problem(str(file), line, turn, error.pointer, error.message)


# -- Judging, in a worker process or in this one


def judge_chunk(job: Job, chunk: Chunk) -> Judged:
    """Decode, judge and prepare a chunk. Touches no database."""
    judged = Judged(chunk.file, chunk.bytes_read, [], [], chunk.problems)
    now = timezone.now()
    for line, turn, content in chunk.items:
        try:
            record = decode_turn(content) if isinstance(content, bytes) else content
        except RecordError as error:
            judged.problems.append(_problem(job.files[chunk.file], line, 0, error))
            continue
        if job.agent and not record.agent:
            record = msgspec.structs.replace(record, agent=job.agent)
        judged.spots.append((line, turn))
        judged.rows.append(
            prepare(
                record,
                tenant_id=job.tenant_id,
                source=Source.IMPORT.value,
                received_at=now,
                judgement=_judgement(record, job.policy),
                policy=job.policy,
            )
        )
    return judged


def _judgement(record: TurnRecord, policy: Policy) -> Judgement | None:
    """None when judging fails: the turn is then stored as pending, and analysis keeps and shows the error."""
    try:
        return judge(record, policy)
    except Exception:
        logger.exception("analysis failed", extra={"external_id": record.external_id})
        return None


# -- Worker processes


def _judged(chunks: Iterator[Chunk], job: Job, jobs: int) -> Generator[Judged]:
    """The chunks in their order, judged by ``jobs`` processes; a bounded number is under way."""
    if jobs == 1:
        for chunk in chunks:
            yield judge_chunk(job, chunk)
        return
    # Forked, so that workers need not load Django again. They use none of the connections they inherit.
    pool = ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("fork"), initializer=_start_worker, initargs=(job,)
    )
    under_way: deque[Future[Judged]] = deque()
    try:
        for chunk in chunks:
            under_way.append(pool.submit(_work, chunk))
            if len(under_way) > jobs * CHUNKS_AHEAD:
                yield _result(under_way.popleft(), pool)
        while under_way:
            yield _result(under_way.popleft(), pool)
    except (BrokenProcessPool, _WorkerGoneError) as error:
        raise WorkerDiedError(
            "A worker process was ended before its work was done; the machine may be short of memory. "
            "What was stored stays stored: the same import again goes on from there."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


class _WorkerGoneError(Exception):
    """A worker ended, and the pool has not noticed."""


def _result(future: Future[Judged], pool: ProcessPoolExecutor) -> Judged:
    """The future's result, with an eye on the workers.

    A worker that is killed while it writes a result leaves half a message, for whose rest the pool waits for
    ever. So the workers are looked at while we wait; when one is gone, the others are ended and the pipe is
    closed, upon which the pool ends as well. (It has no public way to do either.)
    """
    while True:
        try:
            return future.result(timeout=WATCH_SECONDS)
        except TimeoutError:
            workers = list((pool._processes or {}).values())
            if future.done() or all(worker.is_alive() for worker in workers):
                continue
        for worker in workers:
            worker.kill()
        pool._result_queue._writer.close()  # type: ignore[attr-defined]
        raise _WorkerGoneError


_job: Job


def _start_worker(job: Job) -> None:
    global _job  # noqa: PLW0603  (a worker process has one job for its whole life)
    _job = job
    # Ctrl-C reaches all processes of a terminal; the importing one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _work(chunk: Chunk) -> Judged:
    return judge_chunk(_job, chunk)
