"""Taking in what a runtime found and judged itself: its events, as it emits them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from rest_framework.response import Response

from reviews.api import answers
from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
from reviews.api.bodies import Body, read_body
from reviews.formats import RecordError, RowError, decode_event
from reviews.formats.body import split_body
from reviews.formats.reflection_event import decode_reflection
from reviews.models.tenants import Scope
from reviews.services.events import accept_events
from reviews.services.reflections import Reflected, accept_reflections

CONFLICT = "This turn holds another event already; nothing was changed."
OTHER_VERDICT = "This turn holds another verdict of its runtime already; nothing was changed."

T = TypeVar("T")


class FabricationEvents(ApiView):
    """``POST``: one event, a list, or NDJSON."""

    scopes: ClassVar = {"POST": Scope.INGEST}

    def post(self, request: ApiRequest) -> Response:
        body = read_body(request)
        decoded = _decode(body, decode_event)
        events = [row for row in decoded if not isinstance(row, RowError)]
        stored = accept_events(tenant=request.tenant, events=events)
        return answers.answer(answers.merged(decoded, stored), as_list=body.is_list, conflict=CONFLICT)


class ReflectionEvents(ApiView):
    """``POST``: one verdict of a runtime's critic, a list, or NDJSON."""

    scopes: ClassVar = {"POST": Scope.INGEST}

    def post(self, request: ApiRequest) -> Response:
        body = read_body(request)
        decoded = _decode(body, decode_reflection)
        events = [row for row in decoded if not isinstance(row, RowError)]
        stored = accept_reflections(tenant=request.tenant, events=events)
        rows = answers.merged(decoded, [reflected.accepted for reflected in stored])
        response = answers.answer(rows, as_list=body.is_list, conflict=OTHER_VERDICT)
        _tell_standing(response.data, stored)
        return response


def _decode(body: Body, decode: Callable[[bytes], T]) -> list[T | RowError]:
    rows: list[T | RowError] = []
    for index, (line, document) in enumerate(split_body(body.raw, body.content_type)):
        try:
            rows.append(decode(document))
        except RecordError as error:
            rows.append(RowError(index, error.pointer, error.message, line))
    return rows


def _tell_standing(answer: dict[str, Any], stored: Sequence[Reflected]) -> None:
    """Add to the answer of each stored verdict whether it is the turn's."""
    bodies = [row for row in answer.get("results", [answer]) if row["status"] != "invalid"]
    for body, reflected in zip(bodies, stored, strict=True):
        body["stands"] = reflected.stands
