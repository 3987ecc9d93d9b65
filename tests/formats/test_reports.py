from __future__ import annotations

from typing import Any

import pytest

from tests.formats.samples import cut, outcomes, refusal

REPORT = {
    "id": "rep-1",
    "user_message": "Ship it.",
    "draft": "Shipped as RUN-81.",
    "tool_calls": [{"name": "ship", "args": '{"to": "live"}', "result": "refused"}],
    "hydrated_context": "live is frozen",
    "intent": None,
    "expected": [{"identifier": "RUN-81", "kind": "claimed_identifier", "fabricated": True}],
    "source": "acme/tool#4",
    "why": "The call was refused.",
}


def test_a_report_is_one_turn_and_keeps_what_is_known_about_it() -> None:
    (record,) = cut("reports", REPORT)
    assert (record.external_id, record.conversation_id) == ("rep-1", "")
    assert (record.user_message, record.draft) == ("Ship it.", "Shipped as RUN-81.")
    assert (record.hydrated_context, record.tool_calls[0].args) == ("live is frozen", {"to": "live"})
    # What the refusal means is read from its words later.
    assert outcomes(record) == [("ship", "refused", None, None)]
    assert record.attributes == {key: REPORT[key] for key in ("source", "why", "expected")}


@pytest.mark.parametrize(
    ("more", "ok", "error"),
    [
        ({"ok": True}, True, None),
        ({"ok": False}, False, None),
        ({"error": "no"}, False, "no"),
        ({"ok": 1}, None, None),
    ],
)
def test_success_where_it_is_stated(more: Any, ok: Any, error: Any) -> None:
    (record,) = cut("reports", {"id": "r", "draft": "x", "tool_calls": [{"name": "ship", **more}]})
    assert outcomes(record) == [("ship", None, ok, error)]


@pytest.mark.parametrize(
    ("document", "spot"),
    [
        ([], ""),
        ({"id": "r"}, "/draft"),
        ({"draft": "x", "tool_calls": {"a": 1}}, "/tool_calls"),
        ({"draft": "x", "tool_calls": [3]}, "/tool_calls/0"),
    ],
)
def test_other_shapes_are_refused(document: Any, spot: str) -> None:
    assert refusal(cut, "reports", document).pointer == spot
