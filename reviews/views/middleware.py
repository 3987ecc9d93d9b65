"""Headers that hold on every page, and what HTMX gets when the session is gone."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

Handler = Callable[[HttpRequest], HttpResponse]

#: Nothing inline, nothing from elsewhere, no frames: what an agent wrote can never run here.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def security_headers(get_response: Handler) -> Handler:
    """Add the content security policy, and forbid storing anything but static files."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers["X-Frame-Options"] = "DENY"
        if not request.path.startswith(settings.STATIC_URL):
            response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
            response.headers["Cache-Control"] = "no-store"
        return response

    return middleware


def htmx_login_redirect(get_response: Handler) -> Handler:
    """Turn a redirect to the login page into one that HTMX follows as a page, not into a fragment.

    Stands outside LoginRequiredMiddleware, whose redirect it rewrites.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if getattr(request, "htmx", None) and response.status_code == 302:
            location = response.headers["Location"]
            login = reverse(settings.LOGIN_URL)
            if location.startswith(login):
                return HttpResponseClientRedirect(f"{login}?{urlencode({'next': _page_of(request)})}")
        return response

    return middleware


def _page_of(request: HttpRequest) -> str:
    """The path of the page the request came from: where the person wants to be after logging in."""
    return str(request.htmx.current_url_abs_path or "/")  # type: ignore[attr-defined]
