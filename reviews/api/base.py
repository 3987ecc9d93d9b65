"""What every view of the API shares."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from reviews.models.confinement import confine, release
from reviews.models.tenants import Scope
from reviews.services.errors import NotFoundError


class AlwaysJson(BaseContentNegotiation):
    """JSON, whatever the Accept header says: there is nothing else to offer."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return None

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class ApiView(APIView):
    """Base of the views. ``scopes`` says for each method which scope a key needs (``HasScope``)."""

    http_method_names = ["get", "head", "post"]
    content_negotiation_class = AlwaysJson
    scopes: ClassVar[dict[str, Scope]] = {}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        # From here on the connection sees the key's tenant only; ``dispatch`` ends that.
        confine(str(request.tenant.pk))  # type: ignore[attr-defined]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        finally:
            release()


class UnknownPath(ApiView):
    """Every path under the API that is none: the answer is JSON, too, and the same for everyone."""

    authentication_classes = []
    permission_classes = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFoundError("There is no such path.")
