"""The policy in force, for agents that decide by it; cheap to ask for again and again."""

from __future__ import annotations

from hashlib import blake2b
from typing import ClassVar

import msgspec
from django.utils.http import parse_etags
from rest_framework.response import Response

from reviews.api.authentication import ApiRequest
from reviews.api.base import ApiView
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
        # Of the answer itself: after a restore, or with a newer release, a number may say another thing.
        # The tenant is part of it, so that a client which changes its key keeps nothing of another tenant.
        digest = blake2b(msgspec.json.encode([request.tenant.pk, answer]), digest_size=12).hexdigest()
        etag = f'"policy-{policy.number}-{digest}"'
        headers = {"ETag": etag}
        held = [known.removeprefix("W/") for known in parse_etags(request.META.get("HTTP_IF_NONE_MATCH", ""))]
        if etag in held or "*" in held:
            return Response(status=304, headers=headers)
        return Response(answer, headers=headers)
