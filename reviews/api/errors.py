"""From what went wrong to an answer: always a JSON object with ``code`` and ``message``, never a page."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import OperationalError
from django.http import UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from reviews.formats.errors import RecordError
from reviews.services.errors import DomainError, InvalidError

logger = logging.getLogger(__name__)

#: The one text for an object that does not exist and one that belongs to somebody else.
NOT_FOUND = "There is no such thing here."

_DOMAIN_STATUS = {"not_found": 404, "conflict": 409, "invalid": 400}
_STATUS_CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    500: "internal",
    503: "unavailable",
}


class TooLargeError(exceptions.APIException):
    """The body is over the limit."""

    status_code = 413

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body may hold at most {limit} bytes.")


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Answer for any exception of a view; what nobody expected is logged and becomes a 500."""
    match error:
        case RecordError():
            return _answer(400, error.message, pointer=error.pointer)
        case DomainError():
            return _domain_answer(error)
        case exceptions.APIException():
            return _api_answer(error)
        case RequestDataTooBig():
            return _answer(413, "The body is too large.")
        case UnreadablePostError() | SuspiciousOperation():
            return _answer(400, "The request could not be read.")
    return _failure(error, context)


def _api_answer(error: exceptions.APIException) -> Response:
    # The 401 says how to log in. What a 405 allows is said on every answer (the view's default headers).
    header = getattr(error, "auth_header", None)
    headers = {"WWW-Authenticate": header} if header else None
    return _answer(error.status_code, _text_of(error), headers=headers)


def _failure(error: Exception, context: dict[str, Any]) -> Response:
    """Our fault: in the log with its traceback, without a word about it in the answer."""
    logger.error("request failed", exc_info=error)
    if isinstance(error, OperationalError):
        message = "The database is busy or away; please try again."
        return _answer(503, message, headers={"Retry-After": "1"})
    request = context.get("request")
    got_request_exception.send(sender=type(context.get("view")), request=getattr(request, "_request", None))
    return _answer(500, "Something went wrong on our side.")


def _domain_answer(error: DomainError) -> Response:
    status = _DOMAIN_STATUS.get(error.code, 400)
    if status == 404:
        return _answer(404, NOT_FOUND)
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if isinstance(error, InvalidError) and "fields" in error.details:
        body["fields"] = error.details["fields"]
    return Response(body, status=status)


def _answer(status: int, message: str, *, headers: dict[str, str] | None = None, **more: Any) -> Response:
    body = {"code": _STATUS_CODES.get(status, "refused"), "message": message, **more}
    return Response(body, status=status, headers=headers)


def _text_of(error: exceptions.APIException) -> str:
    detail = error.detail
    return str(detail) if isinstance(detail, str) else "The request was refused."
