"""Suites of memory assertions: those in force, and a proposal of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from rest_framework.response import Response

from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
from reviews.api.bodies import read_body
from reviews.api.etags import answer_etag, is_held
from reviews.formats.errors import RecordError
from reviews.formats.strict import decode_strict
from reviews.models.tenants import Scope
from reviews.services.errors import InvalidError
from reviews.services.policies import current_policy
from reviews.services.suites import save_suites

BODY_BYTES = 1024 * 1024
LARGEST_VERSION = 2**31 - 1
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_FIELDS = ("suites", "based_on", "note")


class Suites(ApiView):
    """``GET``: the suites in force. ``POST``: all suites as they should be, kept as a draft of the policy,
    which a manager publishes or discards.

    304 when ``If-None-Match`` says that the answer is known.
    """

    scopes: ClassVar = {"GET": Scope.SUITES, "POST": Scope.SUITES}

    def get(self, request: ApiRequest) -> Response:
        policy = current_policy(tenant=request.tenant)
        answer = {
            "version": policy.number,
            "suites": [suite.to_json() for suite in policy.settings.assertion_suites],
        }
        etag = answer_etag("suites", request.tenant, answer)
        if is_held(request, etag):
            return Response(status=304, headers={"ETag": etag})
        return Response(answer, headers={"ETag": etag})

    def post(self, request: ApiRequest) -> Response:
        sent = _checked(decode_strict(read_body(request, limit=BODY_BYTES).raw, _DECODER))
        based_on = sent.get("based_on")
        if based_on is None:
            based_on = current_policy(tenant=request.tenant).number
        try:
            draft = save_suites(
                tenant=request.tenant,
                author=None,
                suites=sent["suites"],
                based_on=based_on,
                note=sent.get("note", ""),
            )
        except InvalidError as error:
            path, text = next(iter(error.details["fields"].items()), ("", error.message))
            raise RecordError(_pointer(path), text) from error
        return Response({"version": draft.number, "state": draft.state}, status=201)


def _pointer(path: str) -> str:
    """The spot in the body for a path among the settings: those of suites begin with their number."""
    if path[:1].isdecimal():
        return f"/suites/{path}"
    return f"/{path}" if path in _FIELDS else "/suites"


def _checked(sent: Any) -> Mapping[str, Any]:
    """The document, with fields of the right types; what is in a suite is checked with the settings."""
    if not isinstance(sent, Mapping):
        raise RecordError("", "Expected an object with suites.")
    if unknown := sent.keys() - set(_FIELDS):
        raise RecordError(f"/{min(unknown)}", f"There is no such field; there are {', '.join(_FIELDS)}.")
    if not isinstance(sent.get("suites"), list):
        raise RecordError("/suites", "Expected a list of suites.")
    based_on = sent.get("based_on")
    if based_on is not None and (
        isinstance(based_on, bool) or not isinstance(based_on, int) or not 0 <= based_on <= LARGEST_VERSION
    ):
        raise RecordError("/based_on", "Expected the number of a policy version.")
    if not isinstance(sent.get("note", ""), str):
        raise RecordError("/note", "Expected a string.")
    return sent
