"""From a parsed JSON value to a typed record, with a pointer and a friendly message when it does not fit.

Only documents that the fast decoder refused come here, so it walks in plain Python and reads the shapes off
the msgspec types themselves: a new field needs no change here.
"""

from __future__ import annotations

import difflib
import json
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect as shape

from reviews.formats.errors import RecordError, pointer

__all__ = ["convert", "describe"]

T = TypeVar("T")
Path = tuple[str | int, ...]

# What other formats call our fields: closer to what the sender means than any spelling distance.
_ALIASES = {
    "arguments": "args",
    "context": "hydrated_context",
    "function": "name",
    "id": "external_id",
    "input": "args",
    "output": "result",
    "prompt": "user_message",
    "response": "draft",
    "response_text": "draft",
    "session_id": "conversation_id",
    "timestamp": "occurred_at",
    "tool": "name",
    "tool_name": "name",
    "turn_id": "external_id",
}

_PYTHON: dict[type[shape.Type], type] = {
    shape.BoolType: bool,
    shape.DateTimeType: str,
    shape.DictType: dict,
    shape.ListType: list,
    shape.NoneType: type(None),
    shape.StrType: str,
    shape.StructType: dict,
}
_NAMES: dict[type[shape.Type], str] = {
    shape.BoolType: "true or false",
    shape.DateTimeType: "a time as a string (RFC 3339)",
    shape.DictType: "an object",
    shape.FloatType: "a number",
    shape.IntType: "an integer",
    shape.ListType: "a list",
    shape.NoneType: "null",
    shape.StrType: "a string",
    shape.StructType: "an object",
}


def convert(value: Any, target: type[T]) -> T:
    """``value`` (as ``diagnose`` returns it) as ``target``; raises only ``RecordError``."""
    _check(value, _shape(cast(Any, target)), ())
    try:
        return msgspec.convert(value, target)
    except (msgspec.MsgspecError, ValueError) as error:
        # The walk above should have found it; if it did not, a refusal without a spot is still a refusal.
        raise RecordError("", str(error)) from None


def describe(value: Any) -> str:
    """A JSON value in a few words, for "found …": short and without raw control characters."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        shown = value if len(value) <= 40 else value[:40] + "…"
        return f"the string {json.dumps(shown)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "an object"


@cache
def _shape(target: Any) -> shape.Type:
    return shape.type_info(target)


def _check(value: Any, wanted: shape.Type, path: Path) -> None:
    if isinstance(wanted, shape.AnyType):
        return
    if isinstance(wanted, shape.UnionType):
        # Our unions are all "this or null".
        if value is None and any(isinstance(option, shape.NoneType) for option in wanted.types):
            return
        _check(value, next(o for o in wanted.types if not isinstance(o, shape.NoneType)), path)
    elif not _fits(value, wanted):
        raise RecordError(pointer(path), f"found {describe(value)}, expected {_name(wanted)}")
    elif isinstance(wanted, shape.StructType):
        _check_struct(value, wanted, path)
    elif isinstance(wanted, shape.ListType):
        for index, item in enumerate(value):
            _check(item, wanted.item_type, (*path, index))
    elif isinstance(wanted, shape.DictType):
        for key, item in value.items():
            _check(item, wanted.value_type, (*path, key))
    elif isinstance(wanted, shape.DateTimeType):
        _check_datetime(value, path)


def _check_struct(value: dict[str, Any], wanted: shape.StructType, path: Path) -> None:
    fields = {field.encode_name: field for field in wanted.fields}
    for key, item in value.items():
        if key not in fields:
            raise RecordError(pointer((*path, key)), _unknown(key, list(fields)))
        _check(item, fields[key].type, (*path, key))
    for key, field in fields.items():
        if field.required and key not in value:
            raise RecordError(pointer((*path, key)), f"missing, expected {_name(field.type)}")


def _check_datetime(value: str, path: Path) -> None:
    try:
        msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        expected = "a time like 2026-01-31T12:00:00Z (RFC 3339)"
        raise RecordError(pointer(path), f"found {describe(value)}, expected {expected}") from None


def _unknown(key: str, known: list[str]) -> str:
    alias = _ALIASES.get(key.lower())
    close = [alias] if alias in known else difflib.get_close_matches(key[:100].lower(), known, n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"expected one of {', '.join(known)}"
    shown = json.dumps(key if len(key) <= 40 else key[:40] + "…")
    return f"found the unknown field {shown}; {hint}"


def _fits(value: Any, wanted: shape.Type) -> bool:
    if isinstance(wanted, shape.FloatType):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(wanted, shape.IntType):
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, _PYTHON[type(wanted)])


def _name(wanted: shape.Type) -> str:
    if isinstance(wanted, shape.UnionType):
        return " or ".join(_name(option) for option in wanted.types)
    return _NAMES.get(type(wanted), "a JSON value")
