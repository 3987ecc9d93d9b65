"""Requests to the server: one clock over each of them, whatever the server does."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx

from reviews import __version__
from reviews.client.errors import UnreachableError

__all__ = ["Answer", "Transport", "TransportOptions", "check_key", "check_url"]

#: More than any answer of the server holds: 1,000 rows, or 500 skills.
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
_PREFIX: Final = "/api/v1/"
#: No server asks in earnest to be left alone for longer.
_LONGEST_WAIT: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportOptions:
    """How the server is reached: as httpx takes them."""

    verify: bool | ssl.SSLContext = True
    proxy: str | None = None
    trust_env: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def retry_after(self) -> float | None:
        """Seconds the server asks us to wait (RFC 9110, section 10.2.3); None when it does not."""
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdecimal():
            return min(float(value), _LONGEST_WAIT)
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        return min(max(0.0, seconds), _LONGEST_WAIT)


def check_url(url: str) -> str:
    """The address of the API's folder. Raises ValueError for what is no address of a server."""
    try:
        parsed = httpx.URL(url.strip())
    except (httpx.InvalidURL, AttributeError, UnicodeError):
        raise ValueError("url must be an address such as https://reviews.example.org") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError("url must begin with http:// or https:// and name a host")
    if parsed.userinfo:
        raise ValueError("url must not hold a user name or password; the key is given by itself")
    if parsed.query or parsed.fragment:
        raise ValueError("url must end with the path at which the dashboard is served")
    path = parsed.path.rstrip("/").removesuffix(_PREFIX.rstrip("/")).rstrip("/")
    return str(parsed.copy_with(path=path + _PREFIX))


def check_key(key: str) -> str:
    """The key without white space around it. Raises ValueError for what cannot stand in a header."""
    stripped = key.strip() if isinstance(key, str) else ""
    if not stripped or not all("!" <= letter <= "~" for letter in stripped):
        raise ValueError("key must be an API key, as Settings → API keys has shown it")
    return stripped


class _Pool:
    """Connections, and how many requests use them now."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.users = 0


class Transport:
    """Requests with the key. Used in the thread of the loop only.

    A request that is cancelled in the middle may leave a pool of connections with one place less, for good.
    So each one that is given up has its pool replaced; what else is under way there ends in the old one.
    """

    def __init__(self, url: str, key: str, options: TransportOptions) -> None:
        self._url, self._key, self._options = url, key, options
        # Made once, for it reads some hundred certificates.
        self._trust = (
            httpx.create_ssl_context(verify=options.verify, trust_env=options.trust_env)
            if isinstance(options.verify, bool)
            else options.verify
        )
        self._pool = self._new_pool()
        self._closings: set[asyncio.Task[None]] = set()
        #: Requests sent once more because a connection broke.
        self.repeats = 0

    def _new_pool(self) -> _Pool:
        return _Pool(
            httpx.AsyncClient(
                base_url=self._url,
                headers={
                    "Authorization": f"Bearer {self._key}",
                    "User-Agent": f"symfonic-review-client/{__version__}",
                    "Accept": "application/json",
                    # Nothing here unpacks, so nothing small can become large.
                    "Accept-Encoding": "identity",
                },
                verify=self._trust,
                proxy=self._options.proxy,
                trust_env=self._options.trust_env,
                follow_redirects=False,
                # The clock of each request is the only limit.
                timeout=None,  # noqa: S113
            )
        )

    async def request(
        self,
        method: str,
        path: str,
        *,
        seconds: float,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request and read the whole answer within ``seconds``, from the name server to the last byte.

        Every request of this client can be repeated, so one whose connection breaks is sent once more: the
        server may just have closed a connection that had been idle. Raises UnreachableError.
        """
        pool = self._pool
        pool.users += 1
        given_up = True
        try:
            async with asyncio.timeout(seconds):
                request = pool.client.build_request(
                    method,
                    path,
                    content=content,
                    headers=dict(headers or {}),
                    params=dict(params or {}) or None,
                )
                answer = await self._sent(pool.client, request)
            given_up = False
            return answer
        except TimeoutError:
            raise UnreachableError(f"no complete answer within {seconds:g} s") from None
        except Exception as error:  # also what lies beneath httpx; its words may quote the server
            given_up = False
            raise UnreachableError(_words(error)) from None
        finally:
            pool.users -= 1
            if given_up and pool is self._pool:
                self._pool = self._new_pool()
            if pool is not self._pool and not pool.users:
                self._close_later(pool)

    async def _sent(self, client: httpx.AsyncClient, request: httpx.Request) -> Answer:
        try:
            return await _answer(client, request)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            self.repeats += 1
            return await _answer(client, request)

    def _close_later(self, pool: _Pool) -> None:
        closing = asyncio.create_task(_close(pool))
        self._closings.add(closing)
        closing.add_done_callback(self._closings.discard)

    async def close(self) -> None:
        await asyncio.gather(_close(self._pool), *self._closings)


async def _close(pool: _Pool) -> None:
    with suppress(Exception):  # nobody needs it any more
        await pool.client.aclose()


async def _answer(client: httpx.AsyncClient, request: httpx.Request) -> Answer:
    response = await client.send(request, stream=True)
    try:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                raise UnreachableError("the answer is larger than any of the server's")
        return Answer(response.status_code, dict(response.headers), bytes(body))
    finally:
        await response.aclose()


def _words(error: Exception) -> str:
    if isinstance(error, UnreachableError):
        return str(error)
    if isinstance(error, httpx.ConnectError):
        return _why_not_connected(error)
    return f"the request failed ({type(error).__name__})"


def _why_not_connected(error: BaseException) -> str:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return "the server's certificate is not accepted"
        if isinstance(seen, ConnectionRefusedError):
            return "the connection was refused"
        if isinstance(seen, OSError) and type(seen).__name__ == "gaierror":
            return "the name of the host is not known"
        seen = seen.__cause__ or seen.__context__
    return "the connection could not be made"
