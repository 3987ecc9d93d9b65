"""Answers that are cheap to ask for again: 304 where the caller holds them already."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec
from django.utils.http import parse_etags
from rest_framework.request import Request

from reviews.models import Tenant


def answer_etag(name: str, tenant: Tenant, answer: Any) -> str:
    """An ETag of the answer itself: after a restore, or with a newer release, a number may say another thing.

    The tenant is part of it, so that a client which changes its key keeps nothing of another tenant.
    """
    digest = blake2b(msgspec.json.encode([tenant.pk, answer]), digest_size=12).hexdigest()
    return f'"{name}-{digest}"'


def is_held(request: Request, etag: str) -> bool:
    """Whether ``If-None-Match`` names this answer."""
    held = [known.removeprefix("W/") for known in parse_etags(request.META.get("HTTP_IF_NONE_MATCH", ""))]
    return etag in held or "*" in held
