"""Reading a request's body: media type, size limit and compression, before anything is parsed."""

from __future__ import annotations

import zlib
from typing import Protocol

from django.http import HttpRequest
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from reviews.api.errors import TooLargeError
from reviews.formats.body import NDJSON_TYPES
from reviews.formats.errors import RecordError
from reviews.formats.limits import BODY_BYTES

_JSON_TYPES = frozenset({"application/json", "text/json"})
_UTF8_NAMES = frozenset({"utf-8", "utf8", "us-ascii"})
#: zlib's window bits for "a gzip header must be there".
_GZIP = 31


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Body:
    """A body as sent, decompressed."""

    def __init__(self, raw: bytes, content_type: str) -> None:
        self.raw = raw
        self.content_type = content_type

    @property
    def is_list(self) -> bool:
        """Whether the sender means several documents, also when there is only one in it.

        NDJSON without its media type shows only by holding more than one row.
        """
        return self.content_type in NDJSON_TYPES or self.raw.lstrip(b" \t\r\n").startswith(b"[")


def read_body(request: Request, *, limit: int = BODY_BYTES) -> Body:
    """The body of at most ``limit`` bytes, counted after decompression.

    Raises:
        UnsupportedMediaType: neither JSON nor NDJSON, another charset than UTF-8, another encoding than gzip.
        TooLargeError: over the limit; a length announced in the header is refused before reading.
        RecordError: the compressed data are damaged.
    """
    http: HttpRequest = request._request
    content_type = _content_type(http)
    encoding = http.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise UnsupportedMediaType(
            encoding, f'The content encoding "{encoding[:50]}" is not known; use gzip.'
        )
    raw = _read(http, limit)
    return Body(_gunzip(raw, limit) if encoding == "gzip" else raw, content_type)


def _content_type(http: HttpRequest) -> str:
    """The media type without its parameters; none at all is taken for JSON."""
    content_type = (http.content_type or "").strip().lower()
    if content_type and content_type not in _JSON_TYPES and content_type not in NDJSON_TYPES:
        raise UnsupportedMediaType(
            content_type,
            f'The media type "{content_type[:100]}" is not known; send JSON as application/json '
            "or lines of it as application/x-ndjson.",
        )
    charset = (http.content_params or {}).get("charset", "utf-8").strip().lower()
    if charset not in _UTF8_NAMES:
        raise UnsupportedMediaType(
            charset, f'The charset "{charset[:50]}" is not known; JSON is sent as UTF-8.'
        )
    return content_type


def _read(http: HttpRequest, limit: int) -> bytes:
    try:
        announced = int(http.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        announced = 0
    if announced > limit:
        raise TooLargeError(limit)
    stream: _Readable = http
    if not announced and http.META.get("wsgi.input_terminated"):
        # Sent in chunks: Django itself reads nothing that has no length, the server knows where it ends.
        stream = http.META["wsgi.input"]
    pieces: list[bytes] = []
    left = limit + 1
    while left > 0 and (piece := stream.read(left)):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise TooLargeError(limit)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _gunzip(raw: bytes, limit: int) -> bytes:
    """One gzip member; a second one is refused, for a body of countless empty ones would take for ever."""
    member = zlib.decompressobj(_GZIP)
    try:
        out = member.decompress(raw, limit + 1)
    except zlib.error:
        raise RecordError("", "found a body that is not gzip, as its Content-Encoding says") from None
    if len(out) > limit:
        raise TooLargeError(limit)
    if not member.eof:
        raise RecordError("", "found gzip data that end too early")
    if member.unused_data:
        raise RecordError("", "found data after the end of the gzip data")
    return out
