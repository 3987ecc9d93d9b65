"""Importing files of turns: read as a stream, judged in worker processes, stored chunk by chunk.

Workers decode, judge and prepare rows and never touch the database; this process stores what they return,
in the order of the file, one transaction a chunk. Whatever ends an import half-way, the same import again
goes on from there: what is stored counts as duplicates.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import msgspec
from django.utils import timezone

from reviews.core.settings import TenantSettings
from reviews.formats import RecordError, TurnRecord, decode_turn, open_native_lines, open_turns
from reviews.models import Tenant
from reviews.models.turns import Source
from reviews.services.errors import DomainError
from reviews.services.intake import Status, store_prepared
from reviews.services.judge import Judgement, judge
from reviews.services.policies import current_policy
from reviews.services.rows import PreparedTurn, prepare

logger = logging.getLogger(__name__)

#: Turns a chunk, which is also a transaction: enough that a commit costs little a turn.
CHUNK_TURNS = 500
#: A chunk of long turns ends earlier, so that memory stays bounded.
CHUNK_BYTES = 8 * 1024 * 1024
#: Chunks a worker has before it, beside the one it is at, so that it never waits for this process.
CHUNKS_AHEAD = 2
#: Errors that a report keeps; all are counted.
KEPT_ERRORS = 100
#: Below this many bytes, starting worker processes takes longer than the work.
SMALL_IMPORT_BYTES = 4 * 1024 * 1024


class WorkerDiedError(DomainError):
    """A worker process ended before its work was done."""

    code = "worker_died"


class Spot(NamedTuple):
    """Where something stands: document (line) and turn in it, both from 1; turn 0 is the whole document."""

    line: int
    turn: int


class ImportError_(NamedTuple):
    """A row that was not taken; ``pointer`` is a JSON pointer into the document, "" for all of it."""

    file: str
    line: int
    turn: int
    pointer: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        turn = f" (turn {self.turn})" if self.turn > 1 else ""
        return f"{place}{turn}: {self.pointer + ': ' if self.pointer else ''}{self.message}"
