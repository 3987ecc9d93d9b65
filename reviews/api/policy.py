"""The policy in force, for agents that decide by it; cheap to ask for again and again."""

from __future__ import annotations

from typing import ClassVar

from rest_framework.response import Response

from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
from reviews.api.etags import answer_etag, is_held
from reviews.core.framework_config import framework_config
from reviews.models.tenants import Scope
from reviews.services.policies import current_policy


class CurrentPolicy(ApiView):
    """``GET``: the published version; 304 when ``If-None-Match`` says it is known.

    ``settings`` are all of them, ``framework_config`` those that a symfonic runtime takes as they are:
    ``FrameworkConfig(**answer["framework_config"])``.
    """

    scopes: ClassVar = {"GET": Scope.POLICY}

    def get(self, request: ApiRequest) -> Response:
        policy = current_policy(tenant=request.tenant)
        values = policy.settings.to_json()
        # What must not leak is not for everyone who reads thresholds; suites have an address of their own.
        del values["assertion_suites"]
        answer = {
            "version": policy.number,
            "settings": values,
            "framework_config": framework_config(policy.settings),
        }
        etag = answer_etag(f"policy-{policy.number}", request.tenant, answer)
        headers = {"ETag": etag}
        if is_held(request, etag):
            return Response(status=304, headers=headers)
        return Response(answer, headers=headers)
