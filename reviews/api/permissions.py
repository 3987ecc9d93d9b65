"""What a key may do: every view says which scope each of its methods needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.exceptions import MethodNotAllowed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from reviews.models import ApiKey

if TYPE_CHECKING:
    # rest_framework.views itself loads this module, which the settings name.
    from rest_framework.views import APIView


class HasScope(BasePermission):
    """Allows a method when the key has the scope that ``view.scopes`` names for it.

    Fails closed: a method that a view serves without naming a scope is refused to every key.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        key = request.auth
        if not isinstance(key, ApiKey):
            return False
        method = str(request.method)
        if method not in view.allowed_methods:
            raise MethodNotAllowed(method)
        scope = getattr(view, "scopes", {}).get("GET" if method == "HEAD" else method)
        if scope is None:
            return False
        if scope not in key.scope_list:
            raise PermissionDenied(f'This needs the scope "{scope}", which the key does not have.')
        return True
