"""What can be set on a client, with limits that are checked when it is made."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from reviews.client.sender import Pace
from reviews.client.transport import TransportOptions

__all__ = ["Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Sizes in turns and bytes, times in seconds.

    Attributes:
        spill: Folder for turns while the server is away; None keeps them in memory only. One folder for each
            tenant: whoever opens it sends what lies in it with its own key.
        spill_bytes: Most bytes in that folder, those of other processes included.
        agent: Name of the agent for turns that name none.
        queue_size: Most turns in memory.
        queue_bytes: Most bytes of turns in memory.
        batch_size: Most turns a request, up to 1,000.
        batch_bytes: Most bytes a request before compression; a larger turn goes alone.
        flush_seconds: How long a turn waits for others to go with it.
        timeout: For one request, from the name server to the last byte; ``check`` has its own.
        gzip_above: Requests with more bytes are compressed.
        retry_first: Pause after a first failure; it doubles with each one that follows.
        retry_most: Longest pause of ours; what the server asks for (``Retry-After``) is kept beside it.
        policy_max_age: How long a policy is taken for the one in force without asking.
        policy_file: Where the last policy is kept; ``policy.json`` in the spill folder when there is one.
        verify: Certificates to trust, as httpx takes it.
        proxy: Address of a proxy, as httpx takes it.
        trust_env: Whether proxies and certificates named in the environment are used.
    """

    spill: str | os.PathLike[str] | None = None
    spill_bytes: int = 1024 * 1024 * 1024
    agent: str = ""
    queue_size: int = 10_000
    queue_bytes: int = 64 * 1024 * 1024
    batch_size: int = 200
    batch_bytes: int = 1024 * 1024
    flush_seconds: float = 0.5
    timeout: float = 10.0
    gzip_above: int = 16 * 1024
    retry_first: float = 0.25
    retry_most: float = 30.0
    policy_max_age: float = 30.0
    policy_file: str | os.PathLike[str] | None = None
    verify: bool | ssl.SSLContext = True
    proxy: str | None = None
    trust_env: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError with the name of what is wrong."""
        for name in ("spill_bytes", "queue_size", "queue_bytes", "batch_size", "batch_bytes"):
            _check(name, getattr(self, name), least=1)
        for name in ("flush_seconds", "gzip_above", "retry_first", "retry_most", "policy_max_age"):
            _check(name, getattr(self, name), least=0)
        if self.batch_size > 1000:
            raise ValueError("batch_size must be 1,000 at most; the server takes no more")
        if not 0 < self.timeout <= 86_400:
            raise ValueError("timeout must be more than 0, and a day at most")

    @property
    def spill_folder(self) -> Path | None:
        return None if self.spill is None else Path(self.spill)

    @property
    def policy_path(self) -> Path | None:
        if self.policy_file is not None:
            return Path(self.policy_file)
        return None if self.spill is None else Path(self.spill) / "policy.json"

    @property
    def pace(self) -> Pace:
        return Pace(
            batch_size=self.batch_size,
            batch_bytes=self.batch_bytes,
            flush_seconds=self.flush_seconds,
            timeout=self.timeout,
            gzip_above=self.gzip_above,
            retry_first=self.retry_first,
            retry_most=self.retry_most,
        )

    @property
    def transport(self) -> TransportOptions:
        return TransportOptions(verify=self.verify, proxy=self.proxy, trust_env=self.trust_env)


def _check(name: str, value: float, *, least: int) -> None:
    if not value >= least:
        raise ValueError(f"{name} must be {least} or more")
