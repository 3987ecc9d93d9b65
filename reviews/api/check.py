"""Checking a draft before it is shown: judged now, by the policy in force, and stored."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.response import Response

from reviews import tasks
from reviews.api.answers import CONFLICT
from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
from reviews.api.bodies import read_body
from reviews.formats import decode_turn
from reviews.formats.limits import TURN_BYTES
from reviews.models.tenants import Scope
from reviews.services.intake import Checked, Status, check_turn


class Check(ApiView):
    """``POST``: one turn; the answer says what was found and what to do with the draft.

    No model is called. A turn sent again is answered again; a different one under the same id is judged, not
    stored, and answered with 409.
    """

    scopes: ClassVar = {"POST": Scope.INGEST}

    def post(self, request: ApiRequest) -> Response:
        body = read_body(request, limit=TURN_BYTES)
        checked = check_turn(tenant=request.tenant, record=decode_turn(body.raw))
        if checked.accepted.status is Status.ACCEPTED and not checked.accepted.analysed:
            # It filled in what a runtime's event had told, and is analysed with that.
            tasks.hint_analysis()
        if checked.accepted.critic_waits:
            tasks.hint_critic()
        answer = _answer(checked)
        if checked.accepted.status is Status.CONFLICT:
            return Response({"code": "conflict", "message": CONFLICT, **answer}, status=409)
        return Response(answer)


def _answer(checked: Checked) -> dict[str, Any]:
    outcome = checked.judgement.outcome
    return {
        "id": checked.accepted.turn_id,
        "external_id": checked.accepted.external_id,
        "status": checked.accepted.status.value,
        "policy_version": checked.policy.number,
        "outcome": outcome.action_taken,
        "mode": outcome.mode,
        "max_finding_confidence": outcome.max_finding_confidence,
        "refuse_threshold": outcome.refuse_threshold,
        "findings": [finding.to_event_payload() for finding in outcome.findings],
        "safe_refusal": outcome.replacement_draft,
        "forced_critic_verdict": outcome.forced_critic_verdict,
    }
