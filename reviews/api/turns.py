"""Turns: taking them in, listing them, reading one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rest_framework.response import Response

from reviews import tasks
from reviews.api import answers, cursors, parameters
from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
from reviews.api.bodies import read_body
from reviews.api.parameters import Parameters
from reviews.api.turn_detail import read_turn
from reviews.api.turn_pages import TurnFilter, read_page
from reviews.formats import RowError, decode_turns
from reviews.formats.limits import AGENT_CHARS, EXTERNAL_ID_CHARS
from reviews.models.tenants import Scope
from reviews.models.turns import ActionTaken, Kind, ReviewState
from reviews.services import intake
from reviews.services.errors import InvalidError

PAGE_SIZE = 50
LONGEST_PAGE = 200

_FILTERS: dict[str, Callable[[str], Any]] = {
    "agent": parameters.text(AGENT_CHARS),
    "review_state": parameters.choice(ReviewState.values),
    "kind": parameters.choice(Kind.values),
    "outcome": parameters.choice(ActionTaken.values),
    "external_id": parameters.text(EXTERNAL_ID_CHARS),
    "since": parameters.moment,
    "until": parameters.moment,
}
_LIST_PARAMETERS = (*_FILTERS, "limit", "cursor")


class Turns(ApiView):
    """``GET``: a page of turns, newest first. ``POST``: one turn, a list of them, or NDJSON."""

    scopes: ClassVar = {"GET": Scope.READ, "POST": Scope.INGEST}

    def get(self, request: ApiRequest) -> Response:
        query = Parameters(request.query_params, _LIST_PARAMETERS)
        wanted: dict[str, Any] = {name: query.read(name, read, None) for name, read in _FILTERS.items()}
        limit = query.read("limit", parameters.number(1, LONGEST_PAGE), PAGE_SIZE)
        after = query.read("cursor", cursors.decode, None)
        query.done()
        page = read_page(tenant=request.tenant, wanted=TurnFilter(**wanted), after=after, limit=limit)
        return Response({"turns": page.turns, "next_cursor": cursors.encode(page.end) if page.end else None})

    def post(self, request: ApiRequest) -> Response:
        body = read_body(request)
        decoded = decode_turns(body.raw, body.content_type)
        records = [row for row in decoded if not isinstance(row, RowError)]
        stored = intake.accept_turns(tenant=request.tenant, records=records) if records else []
        rows = answers.merged(decoded, stored)
        if answers.any_accepted(rows):
            # Their rows are committed; the workers may know.
            tasks.hint_analysis()
        return answers.answer(rows, as_list=body.is_list)


class TurnDetail(ApiView):
    """``GET``: one turn with its payload, findings and decisions."""

    scopes: ClassVar = {"GET": Scope.READ}

    def get(self, request: ApiRequest, turn_id: str) -> Response:
        return Response(read_turn(tenant=request.tenant, pk=int(turn_id)))


class TurnLookup(ApiView):
    """``GET``: the same, by the sender's own id (``?external_id=``)."""

    scopes: ClassVar = {"GET": Scope.READ}

    def get(self, request: ApiRequest) -> Response:
        query = Parameters(request.query_params, ("external_id",))
        external_id = query.read("external_id", parameters.text(EXTERNAL_ID_CHARS), "")
        query.done()
        if not external_id:
            raise InvalidError("Some parameters cannot be used.", fields={"external_id": "Must be given."})
        return Response(read_turn(tenant=request.tenant, external_id=external_id))
