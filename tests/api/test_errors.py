"""What no view should let happen still ends as JSON."""

from __future__ import annotations

import pytest
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError

from reviews.api import policy
from reviews.services.errors import ConflictError, InvalidError, NotFoundError

POLICY = "/api/v1/policy"
NAMED = {"limit": "Too many."}


def _failing(monkeypatch, error):
    def fail(**_):
        raise error

    monkeypatch.setattr(policy, "current_policy", fail)


@pytest.mark.parametrize(
    ("error", "status", "body"),
    [
        (NotFoundError("a name"), 404, {"code": "not_found", "message": "There is no such thing here."}),
        (ConflictError("Taken."), 409, {"code": "conflict", "message": "Taken."}),
        (InvalidError("No.", fields=NAMED), 400, {"code": "invalid", "message": "No.", "fields": NAMED}),
        (SuspiciousOperation("x"), 400, {"code": "invalid", "message": "The request could not be read."}),
        (RequestDataTooBig("x"), 413, {"code": "too_large", "message": "The body is too large."}),
    ],
)  # fmt: skip
def test_refusals(api, monkeypatch, error, status, body):
    _failing(monkeypatch, error)
    response = api.get(POLICY)
    assert (response.status_code, response.json()) == (status, body)


def test_a_database_that_is_busy_asks_to_try_again(api, monkeypatch):
    _failing(monkeypatch, OperationalError("database is locked: /secret/path"))
    response = api.get(POLICY)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "1"
    assert response.json()["code"] == "unavailable"
    assert b"secret" not in response.content


def test_a_fault_of_ours_tells_nothing(api, monkeypatch, caplog):
    _failing(monkeypatch, RuntimeError("secret detail"))
    api.raise_request_exception = False
    response = api.get(POLICY)
    assert response.status_code == 500
    assert response.json() == {"code": "internal", "message": "Something went wrong on our side."}
    assert "secret detail" in caplog.text


def test_a_fault_of_ours_is_raised_in_tests(api, monkeypatch):
    _failing(monkeypatch, RuntimeError("seen"))
    with pytest.raises(RuntimeError, match="seen"):
        api.get(POLICY)
