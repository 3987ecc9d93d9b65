"""Whether a call succeeded, by the stated rules."""

from __future__ import annotations

import pytest

from reviews.core.evidence_profile import EvidenceCall, call_outcome
from tests.core.evidence_profile.turns import call

FAILED = [
    {"error": "no seat left"},
    {"errors": [{"code": 7}]},
    {"success": False},
    {"ok": "false"},
    {"status": "rejected"},
    {"status": 503},
    {"status_code": 404, "body": ""},
    {"exit_code": 2, "stdout": "x"},
    {"isError": True, "content": []},
    {"data": {"error": "gone"}},
    '{"error": {"message": "bad token"}}',
    "Error: the calendar is read-only",
    "[error] upstream closed",
    "ValueError: month must be 1..12",
    "HTTP 502 from the gateway",
    "Traceback (most recent call last):\n  File x\nKeyError: 'a'",
    "Permission denied (publickey).",
    "The folder could not be found.",
    "command is not supported here",
    "missing_permission: calendar.write",
    "No se pudo guardar el cambio.",
    "Não foi possível concluir o pedido.",
    "Impossible de joindre le serveur.",
    "Der Vorgang ist fehlgeschlagen.",
    "Prenotazione non trovata",
    "操作失败，请重试",
    "権限がありません",
]
SUCCEEDED = [
    "",
    "OK",
    [],
    {},
    {"error": None, "id": 4},
    {"errors": []},
    {"status": "pending"},
    {"status": 200},
    {"exit_code": 0, "stdout": "14 passed, 0 failed"},
    "12 tests run, no errors",
    "The page explains what to do when an upload failed. " * 20,
    '[{"id": 1, "title": "Error handling in practice"}]',
    "reservado: mesa 4",
    42,
    True,
]


@pytest.mark.parametrize("result", FAILED)
def test_a_result_that_tells_of_failure(result):
    outcome = call_outcome(call("t", result))
    assert outcome.state == "failed"
    assert outcome.why


@pytest.mark.parametrize("result", SUCCEEDED)
def test_a_result_that_does_not(result):
    assert call_outcome(call("t", result)).state == "succeeded"


def test_what_was_recorded_goes_before_what_the_result_says():
    assert call_outcome(call("t", "Error: old text", ok=True)).state == "succeeded"
    assert call_outcome(call("t", "OK", ok=False)).state == "failed"
    assert call_outcome(call("t", "OK", error="timed out")).state == "failed"


def test_a_call_whose_result_was_never_seen_is_unknown():
    assert call_outcome(EvidenceCall(name="t")).state == "unknown"
