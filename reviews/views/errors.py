"""Pages for what went wrong. They say nothing of any tenant, and the same of a missing and a foreign object.

None of them asks the database for more than the person's preferences, and the one for our own failures not
even for that.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, "invalid", "The request could not be read.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A member without the role. Only a reason that one of our own checks gave is repeated."""
    said = str(exception) if isinstance(exception, PermissionDenied) else ""
    return _answer(request, 403, "forbidden", said or "You may not do this.", said=said)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 404, "not_found", "There is no such thing here.")


def failed(request: HttpRequest) -> HttpResponse:
    return _answer(request, 500, "internal", "Something went wrong on our side.", with_person=False)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that is too old, or came from somewhere else. ``reason`` is for developers and not shown."""
    return _answer(request, 403, "forbidden", "The form was too old.", stale=True)


def _answer(
    request: HttpRequest, status: int, code: str, message: str, *, with_person: bool = True, **context: Any
) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse({"code": code, "message": message}, status=status)
    # Without a request no context processor runs: no form token, so that equal pages are equal to the byte.
    person = {"request": request} if with_person else {}
    page = loader.render_to_string(f"{status}.html", {**person, **context})
    return HttpResponse(page, status=status)
