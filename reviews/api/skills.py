"""Approved skills for agents that read them themselves; cheap to ask for again and again."""

from __future__ import annotations

from hashlib import sha256
from typing import ClassVar

from rest_framework.response import Response

from reviews.api import cursors, parameters
from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
from reviews.api.etags import is_held
from reviews.api.parameters import Parameters
from reviews.models.tenants import Scope
from reviews.services.skill_index import skills_state
from reviews.services.skill_listing import Place, skill_page

PAGE_SIZE = 100
LONGEST_PAGE = 500


class Skills(ApiView):
    """``GET``: a page of approved skills, oldest change first; with ``since`` also those approved no longer.

    304 when ``If-None-Match`` says that the answer is known.
    """

    scopes: ClassVar = {"GET": Scope.SKILLS}

    def get(self, request: ApiRequest) -> Response:
        query = Parameters(request.query_params, ("since", "cursor", "limit"))
        since = query.read("since", parameters.moment, None)
        after = query.read("cursor", cursors.decode, None)
        limit = query.read("limit", parameters.number(1, LONGEST_PAGE), PAGE_SIZE)
        query.done()
        etag = _etag(request, since, after, limit)
        headers = {"ETag": etag}
        if is_held(request, etag):
            return Response(status=304, headers=headers)
        place = Place(after.occurred_at, after.id) if after else None
        page = skill_page(tenant=request.tenant, since=since, after=place, limit=limit)
        answer = {
            "skills": page.skills,
            "next_cursor": cursors.encode(cursors.Position(*page.end)) if page.end else None,
        }
        return Response(answer, headers=headers)


def _etag(request: ApiRequest, *asked: object) -> str:
    """Moves with every change to a skill of the tenant, and is another one for each question."""
    state = skills_state(request.tenant)
    said = repr((request.tenant.pk, request.tenant.slug, *state[:-1], *asked))
    return f'"skills-{sha256(said.encode()).hexdigest()[:32]}"'
