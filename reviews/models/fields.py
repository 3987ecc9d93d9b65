"""Column types that both databases keep to the letter."""

from __future__ import annotations

from typing import Any

import msgspec
from django.db import models


class JsonText(models.TextField):  # type: ignore[type-arg]  # cannot be subscripted at run time
    """JSON kept as the text it was sent as.

    PostgreSQL's jsonb reorders keys and respells numbers, and the detector looks at a value's spelling; so
    the text itself is the truth. NULL means "nothing": an empty list or object is stored as NULL and read
    as None.
    """

    # For the type checker: any JSON value goes in and comes out.
    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else msgspec.json.decode(value)

    def get_prep_value(self, value: Any) -> str | None:
        return encode_json(value)

    def to_python(self, value: Any) -> Any:
        return value


def encode_json(value: Any) -> str | None:
    """The stored form of a JSON value; None when there is nothing to keep."""
    return msgspec.json.encode(value).decode() if value else None
