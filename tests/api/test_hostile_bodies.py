"""Whatever is sent to a door that takes bodies: a 4xx in JSON that says where, and nothing is stored."""

from __future__ import annotations

from io import BytesIO

import pytest

from reviews.api.suites import BODY_BYTES as SUITES_BYTES
from reviews.formats.limits import BODY_BYTES, TURN_BYTES
from reviews.models import Turn

DOORS = [
    "/api/v1/turns",
    "/api/v1/check",
    "/api/v1/events/fabrication",
    "/api/v1/events/reflection",
    "/api/v1/suites",
]

HOSTILE = {
    "empty": b"",
    "space": b" \n ",
    "no json": b"hello",
    "cut off": b'{"external_id": "a", "draft": "',
    "two objects": b'{"a": 1} {"b": 2}',
    "trailing comma": b'{"external_id": "a", "draft": "x",}',
    "null": b"null",
    "number": b"12",
    "string": b'"text"',
    "nan": b'{"external_id": "a", "draft": "x", "attributes": {"n": NaN}}',
    "infinity": b'{"external_id": "a", "draft": "x", "attributes": {"n": -Infinity}}',
    "overflow": b'{"external_id": "a", "draft": "x", "attributes": {"n": 1e999}}',
    "huge integer": b'{"external_id": "a", "draft": "x", "attributes": {"n": 99999999999999999999}}',
    "endless integer": b'{"external_id": "a", "draft": "x", "attributes": {"n": ' + b"9" * 100_000 + b"}}",
    "escaped nul": b'{"external_id": "a", "draft": "x\\u0000"}',
    "nul in a key": b'{"external_id": "a", "draft": "x", "attributes": {"\\u0000": 1}}',
    "raw nul": b'{"external_id": "a", "draft": "x\x00"}',
    "lone surrogate": b'{"external_id": "a", "draft": "\\ud800"}',
    "not utf-8": b'{"external_id": "a", "draft": "\xff\xfe"}',
    "utf-16": '{"external_id": "a", "draft": "x"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"external_id": "a", "draft": "x"}',
    "duplicate key": b'{"external_id": "a", "draft": "x", "draft": "y"}',
    "duplicate key inside": b'{"external_id": "a", "draft": "x", "attributes": {"b": {"c": 1, "c": 2}}}',
    "too deep": b'{"external_id": "a", "draft": "x", "attributes": {"a": ' + b"[" * 70 + b"]" * 70 + b"}}",
    "an abyss": b'{"external_id": "a", "draft": "x", "attributes": {"a": ' + b"[" * 100_000,
    "an abyss of objects": b'{"a":' * 100_000,
    "brackets": b"[" * 1_000_000,
    "missing field": b'{"external_id": "a"}',
    "unknown field": b'{"external_id": "a", "draft": "x", "secret": 1}',
    "wrong type": b'{"external_id": "a", "draft": ["x"]}',
    "wrong call": b'{"external_id": "a", "draft": "x", "tool_calls": [{"name": "t"}, {"name": 7}]}',
    "calls no list": b'{"external_id": "a", "draft": "x", "tool_calls": {"0": {"name": "t"}}}',
    "blank id": b'{"external_id": " ", "draft": "x"}',
    "long id": b'{"external_id": "' + b"a" * 201 + b'", "draft": "x"}',
    "time without zone": b'{"external_id": "a", "draft": "x", "occurred_at": "2026-01-31T12:00:00"}',
    "time out of calendar": b'{"external_id": "a", "draft": "x", "occurred_at": "0001-01-01T00:00:00+23:00"}',
    "time as number": b'{"external_id": "a", "draft": "x", "occurred_at": 1769860800}',
    "confidence of two": b'{"external_id": "a", "draft": "", "intent": {"label": "action", "confidence": 2}}',
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", HOSTILE)
def test_is_refused(api, tenant, door, name):
    response = api.send(door, HOSTILE[name])
    assert response.status_code == 400
    body = response.json()
    assert body["code"] == "invalid"
    assert isinstance(body["pointer"], str)
    assert 0 < len(body["message"]) < 2000
    assert not Turn.objects.for_tenant(tenant).exists()


@pytest.mark.parametrize(
    ("name", "pointer"),
    [
        ("nan", "/attributes/n"),
        ("escaped nul", "/draft"),
        ("duplicate key inside", "/attributes/b/c"),
        ("missing field", "/draft"),
        ("wrong call", "/tool_calls/1/name"),
        ("time without zone", "/occurred_at"),
        ("confidence of two", "/intent/confidence"),
    ],
)
def test_points_at_the_spot(api, name, pointer):
    for door in DOORS[:2]:
        assert api.send(door, HOSTILE[name]).json()["pointer"] == pointer


@pytest.mark.parametrize("name", [n for n in HOSTILE if n not in ("empty", "space", "an abyss", "brackets")])
def test_is_one_bad_row_among_lines(api, tenant, name):
    good = b'{"external_id": "good-%d", "draft": "x"}'
    lines = b"\n".join([good % 1, HOSTILE[name].replace(b"\n", b" "), good % 2])
    response = api.send(DOORS[0], lines, content_type="application/x-ndjson")
    assert response.status_code == 200
    statuses = [result["status"] for result in response.json()["results"]]
    assert statuses == ["accepted", "invalid", "accepted"]
    assert Turn.objects.for_tenant(tenant).count() == 2


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/html",
        "application/xml",
        "application/json; charset=utf-16",
        "x" * 5000,
    ],
)
def test_another_media_type_is_415(api, door, content_type):
    response = api.send(door, b'{"external_id": "a", "draft": "x"}', content_type=content_type)
    assert response.status_code == 415
    assert response.json()["code"] == "unsupported_media_type"
    assert len(response.content) < 500


class _Counting(BytesIO):
    taken = 0

    def read(self, size=-1):
        piece = super().read(size)
        self.taken += len(piece)
        return piece


@pytest.mark.parametrize("door", DOORS)
def test_a_body_announced_too_large_is_not_read(api, door):
    stream = _Counting(b"x" * 100)
    response = api.generic(
        "POST", door, content_type="application/json", CONTENT_LENGTH=str(10**12), **{"wsgi.input": stream}
    )
    assert response.status_code == 413
    assert response.json()["code"] == "too_large"
    assert stream.taken == 0


@pytest.mark.parametrize("door", DOORS)
def test_a_body_in_chunks_is_read_no_further_than_the_limit(api, door):
    limit = {"check": TURN_BYTES, "suites": SUITES_BYTES}.get(door.rpartition("/")[2], BODY_BYTES)
    stream = _Counting(b" " * (limit + 1_000_000))
    response = api.generic(
        "POST",
        door,
        content_type="application/json",
        **{"CONTENT_LENGTH": "", "wsgi.input": stream, "wsgi.input_terminated": True},
    )
    assert response.status_code == 413
    assert stream.taken == limit + 1


def test_a_body_in_chunks_is_read(api):
    stream = BytesIO(b'{"external_id": "a", "draft": "x"}')
    response = api.generic(
        "POST",
        DOORS[0],
        content_type="application/json",
        **{"CONTENT_LENGTH": "", "wsgi.input": stream, "wsgi.input_terminated": True},
    )
    assert response.status_code == 201


@pytest.mark.parametrize("length", ["-5", "many", "1e3", "१२"])
def test_a_nonsensical_length_is_no_error_of_ours(api, length):
    response = api.generic(
        "POST",
        DOORS[0],
        content_type="application/json",
        **{"CONTENT_LENGTH": length, "wsgi.input": BytesIO(b"{")},
    )
    assert response.status_code == 400


def test_a_connection_that_breaks_is_400(api):
    class Broken(BytesIO):
        def read(self, size=-1):
            raise OSError("gone")

    response = api.generic(
        "POST", DOORS[0], content_type="application/json", CONTENT_LENGTH="10", **{"wsgi.input": Broken()}
    )
    assert response.status_code == 400
    assert response.json()["message"] == "The request could not be read."


def test_one_turn_that_is_too_large_spoils_only_itself(api, tenant):
    large = b'{"external_id": "large", "draft": "' + b"x" * TURN_BYTES + b'"}'
    response = api.send(DOORS[0], b'[{"external_id": "a", "draft": "x"}, ' + large + b"]")
    assert response.status_code == 200
    assert [r["status"] for r in response.json()["results"]] == ["accepted", "invalid"]
    assert Turn.objects.for_tenant(tenant).get().external_id == "a"
