"""The policy in force, asked for seldom and remembered for as long as the server is away."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from reviews.client.errors import ReviewClientError
from reviews.client.transport import Answer, Transport

__all__ = ["PolicyInForce", "PolicyKeeper"]

#: No caller waits longer for a confirmation of the policy at hand.
CONFIRM_SECONDS: Final = 2.0
#: After a failure the policy at hand is good for at least this long, and for ten times what the failure took:
#: a server that is silent costs an agent a tenth of its time at most.
RETRY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInForce:
    """A published policy. The dicts are the caller's own.

    Attributes:
        version: 0 while the tenant has published none and the defaults hold.
        settings: All settings (docs/policies.md).
        framework_config: Those that symfonic's ``FrameworkConfig`` takes as they are.
        stale: The server could not be asked when it should have been; this is what it said last.
        confirmed_at: When the server last said so, in seconds since the epoch.
    """

    version: int
    settings: dict[str, Any]
    framework_config: dict[str, Any]
    stale: bool
    confirmed_at: float

    @property
    def number(self) -> int:
        return self.version


class _Held(NamedTuple):
    raw: bytes
    etag: str
    confirmed_at: float


class PolicyKeeper:
    """``held`` may be called anywhere, ``ask`` in the loop."""

    def __init__(self, *, max_age: float, file: Path | None, owner: str) -> None:
        self._max_age = max_age
        self._file = file
        # A file of another key may be of another tenant.
        self._owner = sha256(owner.encode()).hexdigest()
        self._held: _Held | None = None
        self._stale = False
        self._good_until = 0.0
        self._asking: asyncio.Lock | None = None

    def held(self) -> PolicyInForce | None:
        """What needs no question yet; None when the server has to be asked."""
        held = self._held
        if held is None or time.monotonic() >= self._good_until:
            return None
        return _read(held, stale=self._stale)

    async def ask(self, transport: Transport, seconds: float) -> PolicyInForce:
        """Ask the server, once for all who want to know. Raises ReviewClientError when nothing is held."""
        if self._asking is None:
            self._asking = asyncio.Lock()
        async with self._asking:
            if (held := self.held()) is not None:
                return held
            if self._held is None:
                self._held = self._load()
            known = self._held
            if known is not None:
                seconds = min(seconds, CONFIRM_SECONDS)
            asked_at = time.monotonic()
            try:
                headers = {"If-None-Match": known.etag} if known is not None and known.etag else {}
                self._held = self._understood(
                    await transport.request("GET", "policy", seconds=seconds, headers=headers)
                )
            except ReviewClientError:
                if known is None:
                    raise
                self._stale = True
                now = time.monotonic()
                self._good_until = now + min(self._max_age, max(RETRY_SECONDS, 10 * (now - asked_at)))
                return _read(known, stale=True)
            self._stale = False
            self._good_until = time.monotonic() + self._max_age
            self._store(self._held)
            return _read(self._held, stale=False)

    def last(self) -> PolicyInForce | None:
        """What is held, however old."""
        held = self._held
        return None if held is None else _read(held, stale=True)

    def forget(self) -> None:
        """In a forked child: nobody asks here."""
        self._asking = None

    def _understood(self, answer: Answer) -> _Held:
        if answer.status == 304 and self._held is not None:
            return self._held._replace(confirmed_at=time.time())
        if answer.status != 200:
            raise ReviewClientError(f"the server answered with status {answer.status} and no policy")
        held = _Held(answer.body, answer.headers.get("etag", ""), time.time())
        if not _is_policy(held.raw):
            raise ReviewClientError("the answer is no policy")
        return held

    # -- On disk

    def _load(self) -> _Held | None:
        if self._file is None:
            return None
        try:
            kept = json.loads(self._file.read_bytes())
            held = _Held(str(kept["policy"]).encode(), str(kept["etag"]), float(kept["confirmed_at"]))
            mine = kept["owner"] == self._owner
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return held if mine and _is_policy(held.raw) else None

    def _store(self, held: _Held) -> None:
        """Whole or not at all; a policy that cannot be kept is no reason to fail."""
        if self._file is None:
            return
        kept = {
            "owner": self._owner,
            "etag": held.etag,
            "confirmed_at": held.confirmed_at,
            "policy": held.raw.decode(),
        }
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = self._file.with_name(f"{self._file.name}.{uuid4().hex}")
            try:
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w") as file:
                    json.dump(kept, file)
                part.replace(self._file)
            finally:
                part.unlink(missing_ok=True)


def _is_policy(raw: bytes) -> bool:
    try:
        found = json.loads(raw.decode())
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(found, dict)
        and isinstance(found.get("version"), int)
        and isinstance(found.get("settings"), dict)
        and isinstance(found.get("framework_config"), dict)
    )


def _read(held: _Held, *, stale: bool) -> PolicyInForce:
    found = json.loads(held.raw)
    return PolicyInForce(
        version=found["version"],
        settings=found["settings"],
        framework_config=found["framework_config"],
        stale=stale,
        confirmed_at=held.confirmed_at,
    )
