"""Drafts of skills from outside: from an agent's own extractor, or another system's memory."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.response import Response

from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
from reviews.api.bodies import Body, read_body
from reviews.formats.body import RowError, split_body
from reviews.formats.errors import RecordError
from reviews.formats.skill_draft import ReceivedDraft, decode_draft
from reviews.models.skills import SkillOrigin
from reviews.models.tenants import Scope
from reviews.services.drafts import NewDraft, Taken, take_drafts

_STATUSES = ("new", "folded", "came_back", "unchanged")


class Drafts(ApiView):
    """``POST``: one draft, a list of them, or NDJSON."""

    scopes: ClassVar = {"POST": Scope.SKILLS}

    def post(self, request: ApiRequest) -> Response:
        body = read_body(request)
        rows = _decode(body)
        drafts = [NewDraft(row.extracted, row.details) for row in rows if not isinstance(row, RowError)]
        taken = iter(take_drafts(tenant=request.tenant, drafts=drafts, origin=SkillOrigin.API))
        answers = [row if isinstance(row, RowError) else next(taken) for row in rows]
        if body.is_list or len(answers) != 1:
            return Response(_batch(answers))
        (answer,) = answers
        if isinstance(answer, RowError):
            raise RecordError(answer.pointer, answer.message)
        return Response(_taken(answer), status=201 if answer.status == "new" else 200)


def _decode(body: Body) -> list[ReceivedDraft | RowError]:
    rows: list[ReceivedDraft | RowError] = []
    for index, (line, document) in enumerate(split_body(body.raw, body.content_type)):
        try:
            rows.append(decode_draft(document))
        except RecordError as error:
            rows.append(RowError(index, error.pointer, error.message, line))
    return rows


def _taken(taken: Taken) -> dict[str, Any]:
    return {
        "status": taken.status,
        "id": taken.skill.pk,
        "state": taken.skill.state,
        "similarity": taken.similarity,
        "episodes_added": taken.added,
    }


def _batch(answers: list[Taken | RowError]) -> dict[str, Any]:
    counts = dict.fromkeys((*_STATUSES, "invalid"), 0)
    results: list[dict[str, Any]] = []
    for index, answer in enumerate(answers):
        if isinstance(answer, RowError):
            counts["invalid"] += 1
            refused = {
                "index": index,
                "status": "invalid",
                "pointer": answer.pointer,
                "message": answer.message,
            }
            results.append(refused if answer.line is None else {**refused, "line": answer.line})
        else:
            counts[answer.status] += 1
            results.append({"index": index, **_taken(answer)})
    return {**counts, "results": results}
