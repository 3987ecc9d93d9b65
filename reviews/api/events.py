"""Taking in what a runtime found itself: its ``FabricationDetectedEvent``, as it emits it."""

from __future__ import annotations

from typing import ClassVar

from rest_framework.response import Response

from reviews.api import answers
from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
from reviews.api.bodies import Body, read_body
from reviews.formats import FabricationEvent, RecordError, RowError, decode_event
from reviews.formats.body import split_body
from reviews.models.tenants import Scope
from reviews.services.events import accept_events

CONFLICT = "This turn holds another event already; nothing was changed."


class FabricationEvents(ApiView):
    """``POST``: one event, a list, or NDJSON."""

    scopes: ClassVar = {"POST": Scope.INGEST}

    def post(self, request: ApiRequest) -> Response:
        body = read_body(request)
        decoded = _decode(body)
        events = [row for row in decoded if not isinstance(row, RowError)]
        stored = accept_events(tenant=request.tenant, events=events)
        return answers.answer(answers.merged(decoded, stored), as_list=body.is_list, conflict=CONFLICT)


def _decode(body: Body) -> list[FabricationEvent | RowError]:
    rows: list[FabricationEvent | RowError] = []
    for index, (line, document) in enumerate(split_body(body.raw, body.content_type)):
        try:
            rows.append(decode_event(document))
        except RecordError as error:
            rows.append(RowError(index, error.pointer, error.message, line))
    return rows
