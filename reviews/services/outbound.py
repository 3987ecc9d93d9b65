"""Requests to addresses that people of a tenant have typed in: runtimes today, webhooks as well.

Such an address must not become a way into the network this server stands in. A name is resolved once, every
address it has is judged, and the connection goes to one of those and to no other, so that a second answer of
the name server changes nothing. Redirects are not followed, proxies of the environment not used, and one
clock runs over the whole request, so that a peer that sends a byte now and then holds up nobody for long.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple

import httpcore
import httpx
import msgspec
from django.conf import settings

from reviews import __version__
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_lenient

#: Bytes of an answer's body that are read, unless a caller says otherwise.
MAX_ANSWER_BYTES = 1024 * 1024
#: Addresses of one name that are tried.
_ADDRESSES_TRIED = 4
_BYTES_AT_ONCE = 64 * 1024

#: Below these two only other protocols listen; of the rest, those that browsers refuse as well
#: (https://fetch.spec.whatwg.org/#port-blocking, "bad port").
_LOW_PORTS = frozenset({80, 443})
_FREE_PORTS = range(1024, 65536)
_BAD_PORTS = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080}
)

# From the IANA registries of special-purpose addresses (RFC 6890), and where clouds answer their machines.
_PRIVATE = [
    ip_network(text)
    for text in (
        *("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
        *("::1/128", "fc00::/7"),
    )
]
_NEVER = [
    ip_network(text)
    for text in (
        # This network, link-local with most metadata services, assignments, documentation, benchmarks,
        # 6to4 relays, multicast, reserved and broadcast.
        *("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        # Metadata of Alibaba Cloud, Azure's host, metadata of AWS and of Google Cloud over IPv6.
        *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
        # Protocol assignments with Teredo, documentation, 6to4.
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
]
#: All global unicast of IPv6 is in here. What is not: unspecified, IPv4-mapped, NAT64, link-local, multicast.
_GLOBAL_V6 = ip_network("2000::/3")

# Visible ASCII, with spaces only in between (RFC 9110, section 5.5).
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")

#: From a name and a port to all its addresses, as texts.
Resolver = Callable[[str, int], Sequence[str]]


class OutboundError(Exception):
    """A request that got no usable answer. The message is a short sentence without secrets."""


class RefusedError(OutboundError):
    """Our own rules forbid the request; nothing was sent."""


class TooLargeError(OutboundError):
    """The answer's body is longer than the caller takes."""


class Answer(NamedTuple):
    """``headers`` have lower-case names; of a repeated one the last counts."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON with text that a database can hold. Raises OutboundError."""
        try:
            return parse_lenient(self.body)
        except RecordError:
            raise OutboundError("The answer is not JSON.") from None

    def retry_after(self, now: datetime) -> float | None:
        """Seconds the peer asks us to wait (RFC 9110, section 10.2.3), 0 or more; None when it does not."""
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdecimal():
            return float(value)
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())


def check_url(url: str) -> str:
    """The URL, spelled in the standard way, as far as it can be judged without asking a name server.

    Raises:
        RefusedError: it is none, or leads where no request of ours may go.
    """
    return str(_checked(url))


def is_header_value(text: str) -> bool:
    """Whether the text can stand in a header, and in no other way than as a whole."""
    return _HEADER_VALUE.fullmatch(text) is not None


def resolve_host(host: str, port: int) -> list[str]:
    """All addresses of a name, best first. Raises OutboundError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise OutboundError("The name of the host is not known.") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    max_bytes: int = MAX_ANSWER_BYTES,
    resolve: Resolver = resolve_host,
) -> Answer:
    """Send one request and read the whole answer, whatever its status, within ``OUTBOUND_TIMEOUT_SECONDS``.

    Call it outside any transaction. Raises OutboundError.
    """
    clock = _Clock(settings.OUTBOUND_TIMEOUT_SECONDS)
    if not all(is_header_value(value) for value in (headers or {}).values()):
        # Checked here as well, because the HTTP library quotes what it refuses in its log.
        raise RefusedError("A header holds characters that none may hold.")
    target = _checked(url)
    addresses = _addresses(target, resolve)
    content = b"" if json is None else msgspec.json.encode(json)
    sent = {
        "Host": target.netloc.decode("ascii"),
        "User-Agent": f"symfonic-review/{__version__}",
        "Accept": "application/json",
        # Nothing here unpacks, so nothing small can become large.
        "Accept-Encoding": "identity",
        **({"Content-Type": "application/json"} if json is not None else {}),
        **(headers or {}),
    }
    backend = _Pinned(addresses, clock)
    try:
        with (
            httpcore.ConnectionPool(
                ssl_context=_ssl_context(), max_connections=1, network_backend=backend
            ) as pool,
            pool.stream(method, _core_url(target), headers=list(sent.items()), content=content) as response,
        ):
            received = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
            }
            return Answer(response.status, received, _body(response.iter_stream(), max_bytes))
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise OutboundError(_told(error, clock)) from None


# -- What may be asked


def _checked(url: str) -> httpx.URL:
    try:
        # Twice, because a default port goes only behind a scheme in lower case.
        target = httpx.URL(str(httpx.URL(url.strip())))
    except (httpx.InvalidURL, UnicodeError):
        raise RefusedError("This is not an address of the web.") from None
    if target.scheme not in {"http", "https"} or not target.host:
        raise RefusedError("The address must begin with http:// or https:// and name a host.")
    if target.userinfo:
        raise RefusedError("The address must not hold a user name or password.")
    port = _port(target)
    if not (port in _LOW_PORTS or port in _FREE_PORTS) or port in _BAD_PORTS:
        raise RefusedError(f"Port {port} is none that web servers use.")
    try:
        literal = ip_address(target.host)
    except ValueError:
        return target  # a name: judged once it is resolved
    _judge(literal)
    return target


def _port(target: httpx.URL) -> int:
    if target.port is not None:
        return target.port
    return 443 if target.scheme == "https" else 80


def _addresses(target: httpx.URL, resolve: Resolver) -> list[str]:
    """The addresses that the target may be reached at; one that is forbidden forbids the whole name."""
    addresses = []
    for text in resolve(target.raw_host.decode("ascii"), _port(target)):
        address = ip_address(text)
        _judge(address)
        addresses.append(str(address))
    if not addresses:
        raise OutboundError("The name of the host is not known.")
    return addresses[:_ADDRESSES_TRIED]


def _judge(address: IPv4Address | IPv6Address) -> None:
    """Raises RefusedError for an address that no request of ours may go to."""
    private = any(address in network for network in _PRIVATE)
    if any(address in network for network in _NEVER) or (
        address.version == 6 and not private and address not in _GLOBAL_V6
    ):
        raise RefusedError("The address is reserved; no runtime can be reached there.")
    if private and not settings.OUTBOUND_ALLOW_PRIVATE:
        raise RefusedError(
            "The address lies in a private network. Whoever runs this server can allow that "
            "(OUTBOUND_ALLOW_PRIVATE)."
        )


# -- How it is asked


class _Clock:
    """Runs from its making, for ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, more than 0. Raises httpcore.TimeoutException when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise httpcore.TimeoutException
        return left


class _Pinned(httpcore.NetworkBackend):
    """Connects to the given addresses, whatever name is asked for; the name still says which certificate."""

    def __init__(self, addresses: Sequence[str], clock: _Clock) -> None:
        self._addresses = addresses
        self._clock = clock
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        *others, last = self._addresses
        for address in others:
            # A share of the time for each, so that one that is silent leaves some for the next.
            share = self._clock.left() / len(self._addresses)
            try:
                return self._connected(address, port, share)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connected(last, port, self._clock.left())

    def _connected(self, address: str, port: int, timeout: float) -> httpcore.NetworkStream:
        return _Timed(self._network.connect_tcp(address, port, timeout=timeout), self._clock)


class _Timed(httpcore.NetworkStream):
    """A stream whose every operation ends with the clock."""

    def __init__(self, stream: httpcore.NetworkStream, clock: _Clock) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout=self._clock.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _BYTES_AT_ONCE):
            self._stream.write(buffer[start : start + _BYTES_AT_ONCE], timeout=self._clock.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Timed(
            self._stream.start_tls(ssl_context, server_hostname, timeout=self._clock.left()), self._clock
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


@cache
def _ssl_context() -> ssl.SSLContext:
    """Made once, for it reads some hundred certificates; those of ``SSL_CERT_FILE``, where it is set."""
    return httpx.create_ssl_context(trust_env=True)


def _core_url(target: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=target.raw_scheme, host=target.raw_host, port=target.port, target=target.raw_path
    )


def _body(chunks: Iterable[bytes], max_bytes: int) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise TooLargeError(f"The answer is larger than {max_bytes // 1024} KiB.")
    return bytes(body)


def _told(error: Exception, clock: _Clock) -> str:
    """What went wrong, in our words: those of libraries may quote the peer."""
    if isinstance(error, httpcore.TimeoutException):
        return f"There was no complete answer within {clock.seconds:g} seconds."
    if isinstance(error, httpcore.ConnectError):
        [cause] = error.args or [None]  # the system's error, of which only the kind is told
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "The host's certificate is not accepted."
        if isinstance(cause, ConnectionRefusedError):
            return "The connection was refused."
        return "The connection could not be made."
    if isinstance(error, httpcore.NetworkError):
        return "The connection broke off."
    return "The connection ended before the answer did, or the answer is not HTTP."
