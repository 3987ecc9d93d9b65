"""A turn as one line of JSON, quickly, so that what the agent does to it afterwards changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import uuid4

from reviews.client.plain import Plainer, obvious

__all__ = ["Encoded", "encode", "id_of", "repair"]

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=obvious)
_CAREFUL = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Encoded(NamedTuple):
    """``raw`` is one line of UTF-8; ``reworded`` tells whether a value became other text."""

    raw: bytes
    external_id: str
    reworded: bool


def encode(turn: Mapping[str, Any], *, agent: str = "") -> Encoded:
    """The turn with an id, and with ``agent`` where it names none.

    The usual turn takes the quick way through the encoder; what that cannot write goes value by value.
    Integers beyond 64 bits, nesting and keys that JSON makes equal are not looked for: ``repair`` mends them
    once the server has refused them. Raises what a hostile mapping raises.
    """
    fields = dict(turn)
    external_id = fields.get("external_id")
    if external_id is None or external_id == "":
        external_id = fields["external_id"] = uuid4().hex
    elif not isinstance(external_id, str):
        external_id = fields["external_id"] = str(external_id)
    if agent and not fields.get("agent"):
        fields["agent"] = agent
    try:
        raw = _ENCODER.encode(fields).encode()
    except Exception:
        return _encode_carefully(fields, external_id)
    # A text may also just speak of "\\u0000"; the careful way leaves it as it is.
    return (
        Encoded(raw, external_id, False) if b"\\u0000" not in raw else _encode_carefully(fields, external_id)
    )


def _encode_carefully(fields: dict[str, Any], external_id: str) -> Encoded:
    plainer = Plainer()
    value = plainer.plain(fields)
    return Encoded(_CAREFUL.encode(value).encode(), value["external_id"], plainer.reworded > 0)


def repair(raw: bytes) -> bytes | None:
    """The turn with everything in it sendable; None when it was, or when it is no JSON."""
    plainer = Plainer()
    try:
        value = plainer.plain(json.loads(raw, object_pairs_hook=plainer.pairs))
        return _CAREFUL.encode(value).encode() if plainer.reworded else None
    except (ValueError, RecursionError):
        return None


def id_of(line: bytes) -> str:
    """The ``external_id`` in a line; "" when it holds none."""
    try:
        return str(json.loads(line)["external_id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
