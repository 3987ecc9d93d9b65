"""Requests go to the address that was judged, and to none that lies where a tenant has no business."""

from __future__ import annotations

import gzip
import logging
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from reviews.services import outbound
from reviews.services.outbound import Answer, OutboundError, RefusedError, check_url, request
from tests.services.peers import PATIENCE, Seen, peer, reply

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
#: Addresses of the outside world, at which no test knocks.
OUTSIDE, OUTSIDE_V6 = "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"


@pytest.fixture
def open_inside(settings):
    settings.OUTBOUND_ALLOW_PRIVATE = True


def ok(seen: Seen) -> bytes:
    return reply(200, {"path": seen.path})


def answering(*addresses: str):
    """A resolver that knows one answer, whatever it is asked."""
    return lambda host, port: list(addresses)


# -- Which URLs


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("https://runtime.example/api/v1", "https://runtime.example/api/v1"),
        (" HTTP://Runtime.Example:8080/a ", "http://runtime.example:8080/a"),
        ("https://runtime.example:443/", "https://runtime.example/"),
        ("HTTPS://runtime.example:443/", "https://runtime.example/"),
        (f"https://{OUTSIDE}/", f"https://{OUTSIDE}/"),
        (f"https://[{OUTSIDE_V6}]:8443/", f"https://[{OUTSIDE_V6}]:8443/"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
    ],
)
def test_an_address_of_the_web_is_taken(url, spelled):
    assert check_url(url) == spelled


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "runtime.example",
            "/api",
            "//runtime.example/",
            "ftp://runtime.example/",
            "file:///etc/passwd",
        ),
        *("gopher://runtime.example/", "javascript:alert(1)", "http://", "https:///api", "http://[::1/"),
        *("http://user@runtime.example/", "http://user:secret@runtime.example/", "http://:secret@a.example/"),
        *("http://runtime.example:99999/", "http://runtime.example:x/", "http://run\ntime.example/"),
    ],
)
def test_what_is_no_address_of_the_web_is_refused(url):
    with pytest.raises(RefusedError) as refused:
        check_url(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("port", [80, 443, 1024, 8000, 8443, 65535])
def test_ports_of_web_servers_are_taken(port):
    check_url(f"http://runtime.example:{port}/")


# Some below 1024; the others are bad ports of https://fetch.spec.whatwg.org/#port-blocking.
@pytest.mark.parametrize("port", [0, 1, 22, 25, 1023, 2049, 5060, 6000, 6667, 10080])
def test_ports_of_other_protocols_are_refused(port):
    with pytest.raises(RefusedError, match=f"Port {port} "):
        check_url(f"http://runtime.example:{port}/")


# -- Which addresses

#: Each of another block, or from an end of one; from the IANA registries and the clouds' documentation.
PRIVATE = [
    *("127.0.0.1", "127.255.255.254", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "100.64.0.1", "100.127.255.255", "::1", "fc00::1", "fdff::1"),
]
NEVER = [
    *("0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1"),
    *("198.51.100.7", "203.0.113.9", "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
    *("255.255.255.255", "100.100.100.200", "168.63.129.16", "::", "fe80::1", "fe80::1%eth0", "febf::1"),
    *("fec0::1", "ff02::1", "fd00:ec2::254", "fd20:ce::254", "2001:db8::1", "100::1", "3fff::1"),
    # IPv4 in the clothes of IPv6: mapped, compatible, NAT64 (both prefixes), 6to4, Teredo.
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", f"::ffff:{OUTSIDE}", "::127.0.0.1", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:7f00:1::"),
]
ALLOWED = [
    *(OUTSIDE, "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
    *("128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255"),
    *("192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", OUTSIDE_V6, "2a00:1450::1"),
]


def literal(address: str) -> str:
    return f"http://[{address}]:8000/" if ":" in address else f"http://{address}:8000/"


@pytest.mark.parametrize("address", [*PRIVATE, *NEVER])
def test_an_address_inside_is_refused_as_a_literal_and_behind_a_name(address):
    if "%" not in address:
        with pytest.raises(RefusedError):
            check_url(literal(address))
    with pytest.raises(RefusedError):
        request("GET", "http://runtime.example:8000/", resolve=answering(address))


@pytest.mark.parametrize("address", ALLOWED)
def test_an_address_outside_is_taken(address):
    check_url(literal(address))


@pytest.mark.parametrize("address", PRIVATE)
@pytest.mark.usefixtures("open_inside")
def test_the_operator_can_open_private_networks_and_loopback(address):
    check_url(literal(address))


@pytest.mark.parametrize("address", NEVER)
@pytest.mark.usefixtures("open_inside")
def test_metadata_link_local_and_disguised_addresses_stay_closed_even_then(address):
    with pytest.raises(RefusedError):
        request("GET", "http://runtime.example:8000/", resolve=answering(address))


@pytest.mark.parametrize("spelling", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0"])
def test_other_spellings_of_loopback_are_refused_once_the_system_has_read_them(spelling):
    with peer(ok) as server:
        with pytest.raises((RefusedError, OutboundError)):
            request("GET", f"http://{spelling}:{server.port}/")
        assert server.seen == []


def test_one_forbidden_address_among_several_forbids_the_name():
    with peer(ok) as server:
        with pytest.raises(RefusedError):
            request("GET", f"http://runtime.example:{server.port}/", resolve=answering(OUTSIDE, "127.0.0.1"))
        with pytest.raises(RefusedError):
            request("GET", f"http://runtime.example:{server.port}/", resolve=answering("127.0.0.1", OUTSIDE))
        assert server.seen == []


def test_private_networks_are_closed_unless_somebody_opens_them(settings):
    assert settings.OUTBOUND_ALLOW_PRIVATE is False


# -- The connection goes to what was judged


@pytest.mark.usefixtures("open_inside")
def test_a_name_is_resolved_once_and_the_connection_goes_to_that_answer():
    """DNS rebinding: the second answer would be another one; nobody asks for it."""
    with peer(ok) as server:
        answers = iter([["127.0.0.1"], [OUTSIDE]])
        asked = []

        def resolve(host, port):
            asked.append((host, port))
            return next(answers)

        answer = request("GET", f"http://runtime.example:{server.port}/x?y=1", resolve=resolve)
        assert (answer.status, answer.json()) == (200, {"path": "/x?y=1"})
        assert asked == [("runtime.example", server.port)]
        assert server.seen[0].headers["host"] == f"runtime.example:{server.port}"


def test_a_second_answer_that_would_be_fine_does_not_save_a_first_that_is_not():
    answers = iter([["127.0.0.1"], [OUTSIDE]])
    with pytest.raises(RefusedError):
        request("GET", "http://runtime.example:8000/", resolve=lambda host, port: next(answers))
    assert next(answers) == [OUTSIDE]


@pytest.mark.usefixtures("open_inside")
def test_an_address_that_does_not_answer_leaves_its_turn_to_the_next():
    with peer(ok) as server:
        url = f"http://runtime.example:{server.port}/"
        # The server listens on IPv4 only.
        assert request("GET", url, resolve=answering("::1", "127.0.0.1")).status == 200


@pytest.mark.usefixtures("open_inside")
def test_proxies_of_the_environment_are_not_used(monkeypatch):
    with peer(ok) as server, peer(lambda seen: reply(502)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert request("GET", server.url).status == 200
        assert proxy.seen == []


@pytest.mark.usefixtures("open_inside")
def test_redirects_are_answers_and_not_followed():
    with peer(ok) as target, peer(lambda seen: reply(307, None, Location=target.url)) as server:
        answer = request("POST", server.url, json={})
        assert (answer.status, answer.headers["location"]) == (307, target.url)
        assert target.seen == []


@pytest.mark.usefixtures("open_inside")
def test_what_is_sent():
    with peer(ok) as server:
        request("PATCH", f"{server.url}/a%2Fb", headers={"X-Tenant-ID": "acme"}, json={"steps": ["é"]})
        request("POST", server.url)
        patch, post = server.seen
    assert (patch.method, patch.path, patch.json) == ("PATCH", "/a%2Fb", {"steps": ["é"]})
    assert patch.headers["x-tenant-id"] == "acme"
    assert patch.headers["content-type"] == "application/json"
    assert patch.headers["accept-encoding"] == "identity"
    assert (post.body, "content-type" in post.headers) == (b"", False)


# -- TLS


def certificate(folder: Path, name: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate for ``name`` that signs itself: the file to trust, and the server's side of it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    trusted, private = folder / f"{name}.pem", folder / f"{name}.key"
    trusted.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, private)
    return trusted, context


@pytest.fixture
def fresh_tls() -> Iterator[None]:
    outbound._ssl_context.cache_clear()
    yield
    outbound._ssl_context.cache_clear()


@pytest.mark.usefixtures("open_inside", "fresh_tls")
def test_the_certificate_is_the_names_although_the_connection_goes_to_the_address(tmp_path, monkeypatch):
    trusted, context = certificate(tmp_path, "runtime.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    asked_for = []
    context.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    with peer(ok, tls=context) as server:
        url = f"https://runtime.example:{server.port}/"
        assert request("GET", url, resolve=answering("127.0.0.1")).status == 200
        assert asked_for == ["runtime.example"]
        with pytest.raises(OutboundError, match="certificate"):
            request("GET", f"https://other.example:{server.port}/", resolve=answering("127.0.0.1"))
        assert len(server.seen) == 1


@pytest.mark.usefixtures("open_inside", "fresh_tls")
def test_a_certificate_that_nobody_vouches_for_is_not_accepted(tmp_path):
    _, context = certificate(tmp_path, "runtime.example")
    with peer(ok, tls=context) as server:
        with pytest.raises(OutboundError, match="certificate is not accepted"):
            request("GET", f"https://runtime.example:{server.port}/", resolve=answering("127.0.0.1"))
        assert server.seen == []


# -- Answers that are none


def endless(first: bytes, piece: bytes, pause: threading.Event | None = None) -> Iterator[bytes]:
    yield first
    for _ in count():
        if pause is not None:
            pause.wait(0.05)
        yield piece


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda: endless(HEAD + b"\r\n", b"x" * 65536), id="without an end"),
        pytest.param(lambda: iter([reply(200, b"x" * (1024 * 1024 + 1))]), id="a byte too long"),
    ],
)
@pytest.mark.usefixtures("open_inside")
def test_an_answer_that_is_too_large_is_given_up(answer):
    with peer(lambda seen: answer()) as server, pytest.raises(OutboundError, match="larger than 1024 KiB"):
        request("GET", server.url)


@pytest.mark.usefixtures("open_inside")
def test_the_largest_answer_there_may_be():
    with peer(lambda seen: reply(200, b"x" * (1024 * 1024))) as server:
        assert len(request("GET", server.url).body) == 1024 * 1024
    with peer(lambda seen: reply(200, b"x" * 11)) as server, pytest.raises(OutboundError):
        request("GET", server.url, max_bytes=10)


@pytest.mark.parametrize(
    "drip",
    [
        pytest.param(lambda: endless(HEAD, b"X-A: b\r\n", threading.Event()), id="of headers"),
        pytest.param(lambda: endless(HEAD + b"\r\n", b"x", threading.Event()), id="of a body"),
    ],
)
@pytest.mark.usefixtures("open_inside")
def test_a_drip_that_never_pauses_for_long_ends_with_the_time(settings, drip):
    settings.OUTBOUND_TIMEOUT_SECONDS = 0.4
    with peer(lambda seen: drip()) as server:
        with pytest.raises(OutboundError, match=r"no complete answer within 0\.4 seconds"):
            request("GET", server.url)
        assert server.gone.wait(PATIENCE)


@pytest.mark.usefixtures("open_inside")
def test_a_peer_that_says_nothing_ends_with_the_time(settings):
    settings.OUTBOUND_TIMEOUT_SECONDS = 0.2
    done = threading.Event()

    def silent(seen: Seen) -> None:
        done.wait(PATIENCE)

    with peer(silent) as server:
        with pytest.raises(OutboundError, match="no complete answer"):
            request("GET", server.url)
        done.set()


@pytest.mark.parametrize(
    "sent",
    [b"", b"220 smtp.example ESMTP\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"\0" * 500],
)
@pytest.mark.usefixtures("open_inside")
def test_what_is_no_whole_answer_is_told_in_our_words(sent):
    with peer(lambda seen: sent or None) as server, pytest.raises(OutboundError) as failed:
        request("GET", server.url)
    assert "smtp" not in str(failed.value)
    assert len(str(failed.value)) < 100


@pytest.mark.usefixtures("open_inside")
def test_a_packed_answer_is_not_unpacked():
    packed = gzip.compress(b"[" + b" " * 10_000_000 + b"]")
    with peer(lambda seen: reply(200, packed, Content_Encoding="gzip")) as server:
        answer = request("GET", server.url)
    assert answer.body == packed
    with pytest.raises(OutboundError, match="not JSON"):
        answer.json()


@pytest.mark.usefixtures("open_inside")
def test_nobody_is_there():
    with peer(ok) as server:
        url = server.url
    with pytest.raises(OutboundError, match="The connection was refused"):
        request("GET", url)


def test_a_name_that_nobody_knows():
    with pytest.raises(OutboundError, match="name of the host is not known"):
        request("GET", "http://no-such-host.invalid:8000/")
    with pytest.raises(OutboundError, match="name of the host is not known"):
        request("GET", "http://runtime.example:8000/", resolve=answering())


@pytest.mark.usefixtures("open_inside")
def test_secrets_show_neither_in_errors_nor_in_logs(caplog):
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": "Bearer sk-4711"}
    with peer(lambda seen: reply(500, {"detail": "no"})) as server:
        assert request("GET", server.url, headers=headers).status == 500
    with pytest.raises(OutboundError) as failed:
        request("GET", server.url, headers=headers)
    broken = {"Authorization": "Bearer sk-4711\r\nX-Other: 1"}
    with peer(ok) as server, pytest.raises(OutboundError) as refused:
        request("GET", server.url, headers=broken)
    assert server.seen == []
    for said in (str(failed.value), str(refused.value), repr(failed.value.__cause__), caplog.text):
        assert "sk-4711" not in said


# -- Reading an answer


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("Sun, 01 Mar 2026 12:01:30 GMT", 90.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        *((text, None) for text in ("", "-5", "1.5", "soon", "٣", "Sun, 99 Mar 2026 12:00:00 GMT")),
    ],
)
def test_how_long_a_peer_asks_us_to_wait(value, seconds):
    assert Answer(429, {"retry-after": value}, b"").retry_after(NOW) == seconds


def test_without_the_header_there_is_no_wait():
    assert Answer(429, {}, b"").retry_after(NOW) is None


def test_text_that_no_database_holds_is_repaired():
    assert Answer(200, {}, b'["a\\u0000b\\ud800"]').json() == ["a\ufffdb\ufffd"]
