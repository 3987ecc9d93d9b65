"""Answers as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from rest_framework.renderers import BaseRenderer

_ENCODER = msgspec.json.Encoder()


class MsgspecRenderer(BaseRenderer):
    """JSON by msgspec: times as RFC 3339, structs and dataclasses as objects."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else _ENCODER.encode(data)
